//! Descriptions of events: names, decoding status and the origin of the schema.

use onoff_etl::Guid;

use crate::payload::Status;

/// Origin of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SchemaSource {
    /// The table of kernel events.
    Kernel,
    /// The catalog shipped with the program.
    Catalog,
    /// The recording itself.
    Embedded,
    /// A manifest, provider binary or trace message format file supplied by the user.
    User,
    /// The event itself.
    TraceLogging,
    /// Software tracing (WPP) without a format: it is in the program's symbols and not in the recording.
    Wpp,
    /// No schema was found.
    Unknown,
}

/// Index of a provider, stable for the lifetime of a [`Schemas`](crate::Schemas).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderIndex(pub u32);

/// Names of an event, and the origin of its schema.
#[derive(Clone, Copy, Debug)]
pub struct Description<'r> {
    /// GUID of the provider, of the class (kernel and classic events) or of the message file (WPP).
    pub provider_guid: Option<Guid>,
    /// Name of the provider or class; empty if unknown.
    pub provider: &'r str,
    /// Name of the task; empty if there is none or it is unknown.
    pub task: &'r str,
    /// Name of the opcode; empty if unknown.
    pub opcode: &'r str,
    /// Name of the event, for kernel and TraceLogging events, or symbol of a manifest event if known. May be empty.
    pub event: &'r str,
    /// Message template with `%1`, `%2`, … for the fields; empty if there is none.
    pub message: &'r str,
    /// Level: 1 critical to 5 verbose; 0 means always logged.
    pub level: u8,
    /// Keyword bits.
    pub keyword: u64,
    pub source: SchemaSource,
    /// True if the schema has the event's version.
    pub exact_version: bool,
}

/// Result of decoding a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub status: Status,
    /// Payload bytes read.
    pub consumed: usize,
    /// Payload size in bytes.
    pub size: usize,
    pub source: SchemaSource,
    /// True if the schema has the event's version.
    pub exact_version: bool,
}

impl Decoded {
    /// True if the schema accounts for every byte of the payload.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.status == Status::Exact
    }
}

/// Counts of schemas that could not be used, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaLosses {
    /// Malformed schema records in a recording.
    pub malformed_records: u64,
    /// Chunks of in-band manifests that are malformed or exceed the limit.
    pub rejected_chunks: u64,
    /// In-band manifests that could not be parsed.
    pub rejected_manifests: u64,
    /// Schemas above the limit of learned schemas.
    pub too_many: u64,
}
