//! Decodes Event Tracing for Windows events: kernel classes, manifests, TraceLogging.
//!
//! # Layers
//!
//! - [`kernel`]: typed structs for the kernel events that analyses need, each read in a few nanoseconds.
//! - [`Schemas`]: all other events, as named values. [`Schemas::describe`] names an event, [`Schemas::decode`] reads
//!   its fields into [`Fields`], and [`Schemas::observe`] learns schemas from the recording.
//! - [`schema`]: payload layouts, independent of their origin.
//!
//! # Design constraints
//!
//! - No I/O: no files, no clock, no printing; builds for `wasm32-unknown-unknown`.
//! - Payloads and schemas are untrusted: none causes a panic or unbounded work. Schemas that cannot be used are counted
//!   ([`SchemaLosses`]), and every decode reports how far it got ([`Decoded`]).
//! - No allocation per event once [`Fields`] has enough capacity: texts are borrowed from the record.

#![forbid(unsafe_code)]

mod catalog;
mod description;
mod event_source;
mod fields;
mod fixed;
pub mod kernel;
mod manifest;
mod message_format;
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
pub use fields::{Field, FieldIter, Fields};
pub use fixed::FixedLayout;
pub use manifest::ManifestError;
pub use message_format::MessageFormatError;
pub use payload::Status;
pub use provider_binary::ProviderBinaryError;
pub use reader::Reader;
pub use schemas::Schemas;
pub use security_identifier::Sid;
pub use text::{Ansi, Utf16};
pub use time::{FileTime, SystemTime};
pub use value::{Message, Value};
