//! Why a journal file cannot be read at all.

use thiserror::Error;

/// Reading cannot go on. The caller adds the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no journal file.
    #[error("byte offset {offset:#x}: not a journal file: {reason}")]
    NotAJournal {
        /// Where the contradiction is.
        offset: u64,
        /// What was expected and what was found.
        reason: String,
    },
    /// The file ends inside its header.
    #[error("byte offset {length:#x}: the journal file is cut inside its header")]
    Truncated {
        /// Bytes that there are.
        length: u64,
    },
    /// A form of the file that is newer than this reader.
    #[error(
        "byte offset 0xc: the journal file has features that this version does not read (flags {flags:#x}); export it with \
         'journalctl --file FILE -o export'"
    )]
    Unsupported {
        /// The unknown ones of the incompatible flags.
        flags: u32,
    },
}
