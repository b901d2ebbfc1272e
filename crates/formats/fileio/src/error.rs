//! Why a recording cannot be read.

use std::fmt;

/// Why a recording cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes are of no format that is read.
    UnknownFormat,
    /// A column that the format cannot do without is not there.
    MissingColumn {
        /// What it is called, or how to record it.
        column: &'static str,
    },
    /// A Process Monitor file that was never closed: its tables are not written yet.
    NotClosed,
    /// A version that is not read.
    Version {
        /// The version the file names.
        version: u32,
    },
    /// A table that the file names lies outside it.
    Outside {
        /// What was to be read.
        what: &'static str,
        /// Where it should be, bytes from the start.
        offset: u64,
    },
    /// Counters of Darshan, which hold no single operation.
    CountersOnly,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFormat => formatter.write_str("not a recording of file operations"),
            Self::MissingColumn { column } => write!(formatter, "no column with the {column}"),
            Self::NotClosed => formatter
                .write_str("the Process Monitor file was not closed; open it in Process Monitor and save it again"),
            Self::Version { version } => write!(formatter, "Process Monitor file version {version}; version 9 is read"),
            Self::Outside { what, offset } => write!(formatter, "{what} at byte {offset} is outside the file"),
            Self::CountersOnly => {
                formatter.write_str("Darshan counters without single operations; convert with darshan-dxt-parser")
            }
        }
    }
}

impl std::error::Error for Error {}
