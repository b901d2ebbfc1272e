//! Why a set of files cannot be read at all. What could be read with something missing is a loss, not an error.

/// Reading cannot go on. Every message names the file, the byte offset and what was being read there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No input was given.
    #[error("no recording was given")]
    NoInput,
    /// More inputs than a record can tell apart.
    #[error("{count} files were given; one recording can have at most {limit}")]
    TooManyInputs {
        /// Number of inputs given.
        count: usize,
        /// Largest number accepted.
        limit: usize,
    },
    /// The file has no bytes, or only zero bytes.
    #[error("{file}: byte offset 0: the file is empty{}", if *.length == 0 { "" } else { " (it holds only zero bytes)" })]
    Empty {
        /// Name of the input.
        file: String,
        /// Its length in bytes.
        length: usize,
    },
    /// The file is not an Event Trace Log.
    #[error("{file}: byte offset {offset:#x}: not an Event Trace Log: {reason}")]
    NotAnEventTraceLog {
        /// Name of the input.
        file: String,
        /// Where the contradiction is, in bytes from the start of the file.
        offset: u64,
        /// What was expected and what was found.
        reason: String,
    },
    /// The file ends before the structure that everything else depends on is complete.
    #[error(
        "{file}: byte offset {offset:#x}: the file is cut inside {structure}: {needed} bytes needed, {available} there"
    )]
    Truncated {
        /// Name of the input.
        file: String,
        /// Where the structure begins, in bytes from the start of the file.
        offset: u64,
        /// What was being read.
        structure: &'static str,
        /// Bytes the structure takes.
        needed: usize,
        /// Bytes the file has left.
        available: usize,
    },
}
