//! Errors of all readers in this crate.

use std::fmt;

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The file is not a prefetch plan.
    NotAPlan,
    /// The file is not a ReadyBoot file, or of an unknown kind.
    NotReadyBoot,
    /// The file is not a SuperFetch database.
    NotSuperfetch,
    /// Unsupported version.
    UnsupportedVersion { version: u32 },
    /// The file ends inside a required part.
    Truncated {
        /// Length of the file in bytes.
        offset: u64,
    },
    /// Unsupported compression format.
    UnsupportedCompression {
        /// Flags byte of the file.
        number: u8,
    },
    /// The declared decompressed size is not possible for the size of the file.
    InvalidSize {
        /// Declared size in bytes.
        size: u64,
    },
    /// The compressed data is damaged.
    Damaged {
        /// Offset of the damage in bytes: in the decompressed data for plans, in the file for other formats.
        offset: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPlan => formatter.write_str("not a prefetch plan"),
            Self::NotReadyBoot => formatter.write_str("not a known ReadyBoot trace or layout"),
            Self::NotSuperfetch => formatter.write_str("not a SuperFetch database"),
            Self::UnsupportedVersion { version } => {
                write!(formatter, "unsupported plan version {version} (supported: 17, 23, 26, 30 and 31)")
            }
            Self::Truncated { offset } => write!(formatter, "the file is truncated at byte {offset}"),
            Self::UnsupportedCompression { number } => write!(formatter, "unsupported compression {number:#04x}"),
            Self::InvalidSize { size } => {
                write!(formatter, "the declared size of {size} bytes is not possible for a file of this size")
            }
            Self::Damaged { offset } => {
                write!(formatter, "the compressed data are damaged at byte {offset}")
            }
        }
    }
}

impl std::error::Error for Error {}
