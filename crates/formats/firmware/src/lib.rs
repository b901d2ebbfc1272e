//! Firmware performance tables: bytes in, typed records out.
//!
//! Firmware that follows ACPI 5.0 or later leaves its own times in memory. Three tables hold them: the *Firmware Performance Data
//! Table* (FPDT) is an ACPI table that only points at the other two; the *Firmware Basic Boot Performance Table* (FBPT) holds
//! the five checkpoints of the last boot, and in firmware built on EDK II a record for every module that ran; the *S3 Performance
//! Table* (S3PT) holds the last suspend and resume. This crate reads them as they lie in memory. It does not pair begins with
//! ends or say what a time means: that is `onoff-analysis`.
//!
//! ```
//! use onoff_firmware::{Content, read};
//!
//! // An S3PT with one suspend record.
//! let mut bytes = b"S3PT\x1c\0\0\0\x01\0\x14\x01".to_vec();
//! bytes.extend_from_slice(&7_000_000_u64.to_le_bytes());
//! bytes.extend_from_slice(&9_500_000_u64.to_le_bytes());
//! let tables = read(&bytes).tables;
//! let Content::S3Suspend(suspend) = &tables[0].records[0].content else { unreachable!() };
//! assert_eq!(suspend.end_ns - suspend.start_ns, 2_500_000);
//! ```
//!
//! # Design constraints
//!
//! * Pure: the caller gives a slice; nothing here reads a file, prints or looks at the clock.
//! * Any order of records and any record number is taken; what is not known is kept as bytes.
//! * Input is hostile until proven otherwise: every step moves forward, so reading always ends; what is given up is an
//!   [`Issue`] with its place and its number of bytes.
//!
//! Layouts follow the ACPI specification, section "Firmware Performance Data Table", and the header
//! `ExtendedFirmwarePerformance.h` of EDK II. All numbers are little-endian, nothing is aligned.

#![forbid(unsafe_code)]

mod field;
mod issue;
mod record;
mod signature;
mod table;

pub use issue::{Issue, IssueKind};
pub use record::{BasicBoot, Content, Event, EventForm, Record, S3Resume, S3Suspend};
pub use signature::Signature;
pub use table::{AcpiHeader, Contents, MAX_RECORDS, Table, read};

pub use uuid::Uuid;
