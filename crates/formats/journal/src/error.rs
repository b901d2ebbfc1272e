//! Errors that make a journal file unreadable.

use thiserror::Error;

/// Why a journal file cannot be opened. The caller adds the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not a journal file.
    #[error("byte offset {offset:#x}: not a journal file: {reason}")]
    NotAJournal {
        /// Offset of the contradiction, in bytes.
        offset: u64,
        /// Expected and actual contents.
        reason: String,
    },
    #[error("byte offset {length:#x}: the journal file ends inside its header")]
    Truncated {
        /// Length of the file in bytes.
        length: u64,
    },
    /// The file has features of a newer format.
    #[error(
        "byte offset 0xc: the journal file has unsupported features (flags {flags:#x}). Export it with \
         'journalctl --file FILE -o export'"
    )]
    Unsupported {
        /// The unknown incompatible flags.
        flags: u32,
    },
}
