//! Errors from recording and from restoring the computer.

use std::io;
use std::path::{Path, PathBuf};

/// A recording failed, or the computer was not restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The job cannot be done on this computer; the text says what to do.
    #[error("{0}")]
    Refused(String),
    /// A file or folder could not be read or changed.
    #[error("{}: cannot {verb}: {source}", path.display())]
    File {
        /// The operation, such as `read` or `write`.
        verb: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A command could not be run, or failed.
    #[error("'{line}' failed: {reason}")]
    Command {
        /// The command line.
        line: String,
        /// The exit code and the last line of its error output, or why it could not be started.
        reason: String,
    },
    /// Some changes could not be undone; each text names a change and the reason.
    #[error("not restored: {}", .0.join("; "))]
    NotRestored(Vec<String>),
}

impl Error {
    /// Adds the path and the operation to an I/O error.
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { verb, path, source }
    }
}
