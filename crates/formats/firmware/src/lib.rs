//! Reads firmware performance tables: takes bytes, returns typed records.
//!
//! Firmware that supports ACPI 5.0 or later stores its own times in memory, in three tables. The *Firmware Performance
//! Data Table* (FPDT) is an ACPI table with the addresses of the other two. The *Firmware Basic Boot Performance Table*
//! (FBPT) contains the five checkpoints of the last boot and, in firmware based on EDK II, records for every module
//! that ran. The *S3 Performance Table* (S3PT) contains the last suspend and resume. This crate reads them from a
//! memory image. It does not pair starts with ends or interpret the times.
//!
//! ```
//! use onoff_firmware::{RecordContent, read};
//!
//! // An S3PT with one suspend record.
//! let mut bytes = b"S3PT\x1c\0\0\0\x01\0\x14\x01".to_vec();
//! bytes.extend_from_slice(&7_000_000_u64.to_le_bytes());
//! bytes.extend_from_slice(&9_500_000_u64.to_le_bytes());
//! let tables = read(&bytes).tables;
//! let RecordContent::S3Suspend(suspend) = &tables[0].records[0].content else { unreachable!() };
//! assert_eq!(suspend.end_ns - suspend.start_ns, 2_500_000);
//! ```
//!
//! # Design constraints
//!
//! * No I/O: the caller passes slices. The crate reads no file, no clock, and prints nothing.
//! * Records may have any order and any number; unknown ones are kept as raw bytes.
//! * Input is untrusted: every step advances, so reading always terminates. Skipped bytes are reported as an [`Issue`]
//!   with offset and size.
//!
//! Sources of the layouts: the ACPI specification, section "Firmware Performance Data Table", and the header
//! `ExtendedFirmwarePerformance.h` of EDK II. All numbers are little-endian and unaligned.

#![forbid(unsafe_code)]

mod field;
mod issue;
mod record;
mod signature;
mod table;

pub use issue::{Issue, IssueKind};
pub use record::{BasicBoot, Event, EventFormat, Record, RecordContent, S3Resume, S3Suspend};
pub use signature::Signature;
pub use table::{AcpiHeader, MAX_RECORDS, Table, TableSet, read};

pub use uuid::Uuid;
