//! Issues: violations of the specification, and the bytes skipped because of them.

use std::fmt;

/// A violation of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Offset from the start of the input, in bytes.
    pub offset: u64,
    pub kind: IssueKind,
    /// Number of bytes skipped because of the issue.
    pub skipped_bytes: u64,
}

/// Kinds of issues. Lengths are in bytes, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IssueKind {
    /// The bytes of an ACPI table do not add up to 0.
    BadChecksum {
        /// Stored checksum.
        stored: u8,
        /// Expected checksum.
        expected: u8,
    },
    /// The declared length of a table is less than the size of its header.
    InvalidTableLength {
        declared: u32,
    },
    /// The input ends inside a table.
    TruncatedTable {
        declared: u32,
        /// Bytes present in the input.
        present: u64,
    },
    ZeroLengthRecord,
    /// The declared length of a record is less than the size of its header, 4 bytes.
    InvalidRecordLength {
        length: u8,
    },
    /// A record extends past the end of its table.
    RecordPastEnd {
        length: u8,
        /// Bytes left in the table.
        remaining: u64,
    },
    /// The table's signature is repeated in place of a record.
    RepeatedSignature,
    /// A record of a known number has an impossible length. It is kept as raw bytes.
    WrongRecordLength {
        /// Record number.
        number: u16,
        length: u8,
    },
    /// Bytes between or after the tables.
    BytesOutsideTables,
    /// The limit on the number of records was reached.
    TooManyRecords {
        /// Maximum number of records.
        limit: usize,
    },
}

impl fmt::Display for IssueKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadChecksum { stored, expected } => {
                write!(out, "invalid checksum {stored:#04x}, expected {expected:#04x}")
            }
            Self::InvalidTableLength { declared } => {
                write!(out, "declared table length of {declared} bytes is less than the header size")
            }
            Self::TruncatedTable { declared, present } => {
                write!(out, "truncated table: {present} of {declared} bytes")
            }
            Self::ZeroLengthRecord => out.write_str("record with length 0"),
            Self::InvalidRecordLength { length } => {
                write!(out, "record length of {length} bytes is less than the header size")
            }
            Self::RecordPastEnd { length, remaining } => {
                write!(out, "record length of {length} bytes exceeds the remaining {remaining} bytes of the table")
            }
            Self::RepeatedSignature => out.write_str("repeated table signature in place of a record"),
            Self::WrongRecordLength { number, length } => {
                write!(out, "invalid length of {length} bytes for record {number:#06x}")
            }
            Self::BytesOutsideTables => out.write_str("bytes outside of tables"),
            Self::TooManyRecords { limit } => {
                write!(out, "more than {limit} records")
            }
        }
    }
}
