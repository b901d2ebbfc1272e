//! What a reader met that the specification does not allow, and what it gave up for it.

use std::fmt;

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where, in bytes from the start of the input.
    pub offset: u64,
    /// What.
    pub kind: IssueKind,
    /// Bytes that were not read because of it.
    pub skipped_bytes: u64,
}

/// Kinds of issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IssueKind {
    /// The bytes of an ACPI table do not add up to zero.
    BadChecksum {
        /// The checksum byte as stored.
        stored: u8,
        /// What it would have to be.
        right: u8,
    },
    /// A table says that it is shorter than its own header.
    ImpossibleTableLength {
        /// The length as stored, bytes.
        declared: u32,
    },
    /// The input ends before the table does.
    TableCut {
        /// The table's length as stored, bytes.
        declared: u32,
        /// Bytes that are there.
        present: u64,
    },
    /// A record of length zero.
    ZeroLengthRecord,
    /// A record that is shorter than its own header of 4 bytes.
    ImpossibleRecordLength {
        /// The length as stored, bytes.
        length: u8,
    },
    /// A record that reaches past the end of its table.
    RecordPastEnd {
        /// The length as stored, bytes.
        length: u8,
        /// Bytes that the table has left.
        left: u64,
    },
    /// The table's signature stands again where a record should begin.
    RepeatedSignature,
    /// A record of a known number has a length that this number cannot have; it is kept as bytes.
    WrongRecordLength {
        /// The record's number.
        number: u16,
        /// The length as stored, bytes.
        length: u8,
    },
    /// Bytes between tables, or after them, that belong to none.
    BytesOutsideTables,
    /// More records than are read.
    TooManyRecords {
        /// The most that are read.
        limit: usize,
    },
}

impl fmt::Display for IssueKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadChecksum { stored, right } => {
                write!(out, "the checksum is {stored:#04x}, not {right:#04x}")
            }
            Self::ImpossibleTableLength { declared } => {
                write!(out, "the table says it is {declared} bytes long, less than its own header")
            }
            Self::TableCut { declared, present } => {
                write!(out, "the table is {declared} bytes long, but only {present} are there")
            }
            Self::ZeroLengthRecord => out.write_str("a record of length zero"),
            Self::ImpossibleRecordLength { length } => {
                write!(out, "a record of {length} bytes, less than its own header")
            }
            Self::RecordPastEnd { length, left } => {
                write!(out, "a record of {length} bytes where the table has {left} left")
            }
            Self::RepeatedSignature => out.write_str("the table's signature again, where a record should start"),
            Self::WrongRecordLength { number, length } => {
                write!(out, "a record {number:#06x} of {length} bytes, a length that it cannot have")
            }
            Self::BytesOutsideTables => out.write_str("bytes that belong to no table"),
            Self::TooManyRecords { limit } => {
                write!(out, "more than {limit} records")
            }
        }
    }
}
