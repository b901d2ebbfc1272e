//! What Event Tracing for Windows events mean: kernel classes, manifests, TraceLogging.

pub mod kernel;
mod reader;
mod security_identifier;
mod text;

pub use reader::Reader;
pub use security_identifier::Sid;
pub use text::{Ansi, Utf16};
