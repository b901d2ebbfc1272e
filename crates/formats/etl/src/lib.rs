//! Event Trace Log files: bytes in, records in time order out.
//!
//! An `.etl` file is a concatenation of *buffers*; a buffer holds *records* of one processor. This crate reads buffers of every
//! version, undoes their compression, recognizes every record header, and merges the per-processor streams of one or several
//! files into one sequence ordered by time, in nanoseconds since the recording started. It does not know what a record means:
//! that is `onoff-etw`.
//!
//! ```
//! use std::ops::ControlFlow;
//! use onoff_etl::{Input, Recording};
//!
//! # use onoff_testkit::assemble::{EtlBuilder, Payload, Record, Session};
//! # let mut etl = EtlBuilder::new(Session::windows_10(2));
//! # etl.push(1, &Record::perfinfo(0x0532, 2, 6_370_100, Payload::wide().u32(8).u32(0)));
//! # let bytes = etl.finish();
//! let recording = Recording::open(&[Input { name: "boot.etl", bytes: &bytes }])?;
//! let mut last_ns = 0;
//! let walk = recording.for_each(|record| {
//!     last_ns = record.time_ns();
//!     ControlFlow::<()>::Continue(())
//! });
//! assert_eq!((walk.records, last_ns), (2, 10_000));
//! assert!(recording.losses().is_empty() && walk.losses.is_empty());
//! # Ok::<(), onoff_etl::Error>(())
//! ```
//!
//! # Layers, outermost first
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`Recording`] | what does this set of files hold, and in which order did it happen? |
//! | [`Window`] | the same for one span of time, so that spans can be decoded in parallel |
//! | [`Record`] | one event: header fields and payload |
//! | [`Clock`], [`LogfileHeader`], [`BufferInfo`] | when, by what machine, from which bytes? |
//! | [`write_merged`] | how are files of one boot written as one? |
//!
//! # Design constraints
//!
//! - Pure: the caller gives slices (usually a memory map); nothing here reads a file, prints or looks at the clock.
//! - Records borrow the caller's bytes; only compressed buffers are copied, one per processor at a time.
//! - Input is hostile until proven otherwise: no panic, no allocation larger than the format allows, and every byte range that
//!   is given up is counted by name in [`Losses`].
//!
//! Layouts follow the Windows headers `evntrace.h`, `evntcons.h` and the structures of `ntwmi.h`.

#![forbid(unsafe_code)]

mod axis;
mod buffer;
mod clock;
mod contents;
mod error;
mod extended_item;
mod file;
mod header;
mod layout;
mod logfile_header;
mod losses;
mod merge;
mod merged_file;
mod record;
mod recording;
mod same_recording;
mod scan;
mod stream;
mod window;

pub use buffer::{BufferFlags, BufferInfo, BufferKind};
pub use clock::{Clock, ClockKind};
pub use error::Error;
pub use extended_item::{ExtendedItem, ExtendedItems};
pub use file::{FileSummary, Input};
pub use header::{Defect, HeaderKind};
pub use logfile_header::{LogfileHeader, TimeZone, log_file_mode};
pub use losses::{Loss, Losses, Place, Severity};
pub use merged_file::{MergeError, MergedFile, write_merged};
pub use onoff_compression::CompressionFormat;
pub use record::{EventDescriptor, InstanceIds, ProcessorTimes, Record};
pub use recording::{BufferSpace, Recording, Walk};
/// A GUID as Windows stores it. Its text form is lower-case and hyphenated.
pub use uuid::Uuid as Guid;
pub use window::{FileRange, Window};
