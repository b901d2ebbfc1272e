//! What is said about an event: its names, how its payload was read, where its schema came from.

use onoff_etl::Guid;

use crate::payload::Status;

/// Where the schema of an event was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SchemaSource {
    /// The table of kernel events.
    Kernel,
    /// The catalog that comes with the program.
    Catalog,
    /// The recording itself.
    Embedded,
    /// A manifest or provider binary the user gave.
    User,
    /// The event itself.
    TraceLogging,
    /// Software tracing: its format is in the program's symbols, which a recording does not have.
    Wpp,
    /// Nowhere.
    Unknown,
}

/// A small number that stands for a provider for the life of a [`Schemas`](crate::Schemas).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderIndex(pub u32);

/// What an event is called and where that was found.
#[derive(Clone, Copy, Debug)]
pub struct Description<'r> {
    /// Identity of the provider, of the class for kernel and classic events, of the message file for WPP.
    pub provider_guid: Option<Guid>,
    /// Name of the provider or class; empty when unknown.
    pub provider: &'r str,
    /// Name of the task; empty when there is none or it is unknown.
    pub task: &'r str,
    /// Name of the opcode; empty when it is unknown.
    pub opcode: &'r str,
    /// Name of the event itself: of kernel and TraceLogging events, and the symbol of manifest events where
    /// it is known. May be empty.
    pub event: &'r str,
    /// Text for people with `%1`, `%2`, … for the fields; empty when there is none.
    pub message: &'r str,
    /// Severity, 1 critical to 5 verbose, 0 always.
    pub level: u8,
    /// Categories.
    pub keyword: u64,
    /// Where the schema was found.
    pub source: SchemaSource,
    /// Whether it is of exactly the event's version.
    pub exact_version: bool,
}

/// How decoding a record went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// How it ended.
    pub status: Status,
    /// Bytes of the payload that were read.
    pub consumed: usize,
    /// Bytes of the payload.
    pub size: usize,
    /// Where the schema was found.
    pub source: SchemaSource,
    /// Whether it is of exactly the event's version.
    pub exact_version: bool,
}

impl Decoded {
    /// Whether every byte of the payload is accounted for, and nothing is missing.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.status == Status::Exact
    }
}

/// What could not be learned, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaLosses {
    /// Schema records in a recording that are malformed.
    pub malformed_records: u64,
    /// Chunks of in-band manifests that are malformed or too many.
    pub refused_chunks: u64,
    /// In-band manifests that could not be read.
    pub refused_manifests: u64,
    /// Schemas beyond the number that is kept.
    pub too_many: u64,
}
