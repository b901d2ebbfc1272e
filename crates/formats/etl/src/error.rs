//! Errors that make a set of files unreadable. Anything that can be skipped is counted as a loss instead.

/// Why a recording cannot be opened. Messages name the file, the byte offset and the structure being read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are no input files.
    #[error("no input files")]
    NoInput,
    /// More inputs than a recording supports.
    #[error("{count} files: a recording can have at most {limit}")]
    TooManyInputs { count: usize, limit: usize },
    /// The file has no bytes, or all of them are zero.
    #[error("{file}: byte offset 0: the file is empty{}", if *.length == 0 { "" } else { " (all bytes are zero)" })]
    Empty {
        file: String,
        /// Length of the file in bytes.
        length: usize,
    },
    #[error("{file}: byte offset {offset:#x}: not an Event Trace Log: {reason}")]
    NotAnEventTraceLog {
        file: String,
        /// Offset of the contradiction, in bytes from the start of the file.
        offset: u64,
        /// Expected and actual contents.
        reason: String,
    },
    /// The file ends before the end of a structure that is needed to read the rest.
    #[error(
        "{file}: byte offset {offset:#x}: the file ends inside the {structure}: {needed} bytes needed, {available} available"
    )]
    Truncated {
        file: String,
        /// Offset of the structure, in bytes from the start of the file.
        offset: u64,
        /// Structure being read.
        structure: &'static str,
        /// Size of the structure in bytes.
        needed: usize,
        /// Bytes left in the file.
        available: usize,
    },
}
