//! Why a recording cannot be read at all.

use thiserror::Error;

/// Reading cannot go on. The caller adds the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no recording of this kind.
    #[error("byte offset {offset:#x}: not a trace.dat file: {reason}")]
    NotATrace {
        /// Where the contradiction is.
        offset: u64,
        /// What was expected and what was found.
        reason: String,
    },
    /// The file ends inside a structure that everything else depends on.
    #[error("byte offset {offset:#x}: the file is cut inside {structure}")]
    Truncated {
        /// Where the structure begins.
        offset: u64,
        /// What was being read.
        structure: &'static str,
    },
    /// A form of the file that is not read.
    #[error("byte offset {offset:#x}: {what} is not supported")]
    Unsupported {
        /// Where it says so.
        offset: u64,
        /// What it asks for.
        what: String,
    },
}
