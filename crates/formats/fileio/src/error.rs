//! Errors that prevent reading a recording.

use std::fmt;

/// The recording cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not a supported format.
    UnknownFormat,
    /// A required column is missing.
    MissingColumn {
        /// Name of the column, or how to record it.
        column: &'static str,
    },
    /// A Process Monitor file that was not closed: its tables have not been written.
    NotClosed,
    /// An unsupported version.
    Version {
        /// Version of the file.
        version: u32,
    },
    /// A table is outside the file.
    Outside {
        /// Name of the table.
        what: &'static str,
        /// Expected offset, bytes.
        offset: u64,
    },
    /// Darshan counters, which have no individual operations.
    CountersOnly,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFormat => formatter.write_str("not a recording of file operations"),
            Self::MissingColumn { column } => write!(formatter, "missing column: {column}"),
            Self::NotClosed => formatter
                .write_str("the Process Monitor file was not closed; open it in Process Monitor and save it again"),
            Self::Version { version } => {
                write!(formatter, "unsupported Process Monitor file version {version} (supported: 9)")
            }
            Self::Outside { what, offset } => write!(formatter, "{what} at byte {offset} is outside the file"),
            Self::CountersOnly => formatter
                .write_str("Darshan counters have no individual operations; convert the log with darshan-dxt-parser"),
        }
    }
}

impl std::error::Error for Error {}
