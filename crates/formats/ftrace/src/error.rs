//! Errors that prevent reading a trace.

use thiserror::Error;

/// The trace cannot be read. The caller adds the file name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not a trace.dat file.
    #[error("byte offset {offset:#x}: not a trace.dat file: {reason}")]
    NotATrace {
        /// Offset of the unexpected bytes.
        offset: u64,
        /// What was expected or found.
        reason: String,
    },
    /// The file ends within a structure that is required.
    #[error("byte offset {offset:#x}: the file ends within {structure}")]
    Truncated {
        /// Offset of the missing bytes.
        offset: u64,
        /// The structure being read.
        structure: &'static str,
    },
    /// The file uses an unsupported feature.
    #[error("byte offset {offset:#x}: {feature} is not supported")]
    Unsupported {
        /// Offset of the feature.
        offset: u64,
        /// Name of the feature.
        feature: String,
    },
}
