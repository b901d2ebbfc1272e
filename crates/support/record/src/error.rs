//! Why a recording was not made.

use std::io;
use std::path::{Path, PathBuf};

/// A recording was not made, or not put back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for cannot be done here; the text says what to do.
    #[error("{0}")]
    Refused(String),
    /// A file or folder could not be read or changed.
    #[error("{}: cannot {verb}: {source}", path.display())]
    File {
        /// What was tried: `read`, `write`.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A command could not be run, or failed.
    #[error("'{line}' failed: {reason}")]
    Command {
        /// The command as typed.
        line: String,
        /// Its exit code and what it said, or why it could not be run.
        reason: String,
    },
    /// Not everything could be put back; each text says what and why.
    #[error("not put back: {}", .0.join("; "))]
    NotRestored(Vec<String>),
}

impl Error {
    /// Names the file that an error is about.
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { verb, path, source }
    }
}
