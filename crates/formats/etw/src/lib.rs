//! What Event Tracing for Windows events mean: kernel classes, manifests, TraceLogging.
//!
//! # Layers
//!
//! - [`kernel`]: typed structs for the kernel events an analysis needs, read in a few nanoseconds each.
//! - [`Schemas`]: every other event, into named values. [`Schemas::describe`] says what an event is called,
//!   [`Schemas::decode`] reads its fields into [`Fields`]; [`Schemas::observe`] learns from the recording.
//! - [`schema`]: the shape of payloads, whatever it was read from.
//!
//! # Design constraints
//!
//! - Pure: no files, no clock, no printing; builds for `wasm32-unknown-unknown`.
//! - No panic and no unbounded work on any payload or schema: both come from files nobody has vetted. What
//!   could not be learned is counted ([`SchemaLosses`]), how far decoding came is told ([`Decoded`]).
//! - Nothing is allocated per event once [`Fields`] has its room: texts are borrowed from the record.

#![forbid(unsafe_code)]

mod catalog;
mod description;
mod event_source;
mod fields;
mod fixed;
pub mod kernel;
mod manifest;
mod payload;
mod provider_binary;
mod reader;
pub mod schema;
mod schemas;
mod security_identifier;
pub mod standard;
mod text;
mod time;
mod trace_event_info;
mod trace_logging;
mod value;

pub use catalog::{KnownKernelEvent, KnownProvider, known_kernel_events, known_provider_events, known_providers};
pub use description::{Decoded, Description, ProviderIndex, SchemaLosses, SchemaSource};
pub use fields::{Field, Fields, Siblings};
pub use fixed::FixedLayout;
pub use manifest::ManifestError;
pub use payload::Status;
pub use provider_binary::ProviderBinaryError;
pub use reader::Reader;
pub use schemas::Schemas;
pub use security_identifier::Sid;
pub use text::{Ansi, Utf16};
pub use time::{FileTime, SystemTime};
pub use value::Value;
