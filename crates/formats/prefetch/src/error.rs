//! Why a file of prefetch cannot be read.

use std::fmt;

/// Why a plan cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes are no plan.
    NotAPlan,
    /// The bytes are no file of ReadyBoot, or of a kind that is not known.
    NotReadyBoot,
    /// The bytes are no database of SuperFetch.
    NotSuperfetch,
    /// A version that is not read.
    Version {
        /// The version.
        version: u32,
    },
    /// The file ends before what it must have.
    Cut {
        /// Where, bytes from the start.
        offset: u64,
    },
    /// A compression that is not read.
    Compression {
        /// Its number.
        number: u8,
    },
    /// A size after decompression that the bytes cannot have.
    Size {
        /// The size.
        size: u64,
    },
    /// The compressed bytes contradict themselves.
    Damaged {
        /// Bytes that came out before.
        offset: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPlan => formatter.write_str("no prefetch plan"),
            Self::NotReadyBoot => formatter.write_str("no trace or layout of ReadyBoot that is known"),
            Self::NotSuperfetch => formatter.write_str("no SuperFetch database"),
            Self::Version { version } => write!(formatter, "plan version {version}; 17, 23, 26, 30 and 31 are read"),
            Self::Cut { offset } => write!(formatter, "the file ends at byte {offset}, before what it must have"),
            Self::Compression { number } => write!(formatter, "compression {number} is not read"),
            Self::Size { size } => {
                write!(formatter, "the file says it has {size} bytes, more than its content can have")
            }
            Self::Damaged { offset } => {
                write!(formatter, "the compressed bytes are damaged at byte {offset} of the file")
            }
        }
    }
}

impl std::error::Error for Error {}
