//! Reads Event Trace Log files: takes bytes, returns records in time order.
//!
//! An `.etl` file is a sequence of *buffers*; a buffer contains the *records* of one processor. This crate reads
//! buffers of every version, decompresses them, recognizes every record header, and merges the per-processor streams of
//! one or more files into one sequence ordered by time, in nanoseconds since the start of the recording. It does not
//! interpret records: `onoff-etw` does.
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
//! | module | purpose |
//! | --- | --- |
//! | [`Recording`] | a set of files as one sequence of records |
//! | [`Window`] | an interval of a recording, so that intervals can be decoded in parallel |
//! | [`Record`] | one event: header fields and payload |
//! | [`Clock`], [`LogfileHeader`], [`BufferInfo`] | time base, recorder and machine, location in the file |
//! | [`write_merged`] | writes the files of one boot as one file |
//!
//! # Design constraints
//!
//! - No I/O: the caller passes slices (usually memory maps). The crate reads no file, no clock, and prints nothing.
//! - Records borrow the caller's bytes. Only compressed buffers are copied, one per processor at a time.
//! - Input is untrusted: malformed bytes cause no panic and no allocation above the limits of the format. Everything
//!   that is skipped is counted by kind in [`Losses`].
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
mod isolated;
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
pub use losses::{Location, Loss, Losses, Severity};
pub use merged_file::{MergeError, MergedFile, write_merged};
pub use onoff_compression::CompressionFormat;
pub use record::{CpuTimes, EventDescriptor, InstanceIds, Record};
pub use recording::{BufferScratch, Recording, Walk};
/// A GUID as Windows stores it. Its text form is lower case and hyphenated.
pub use uuid::Uuid as Guid;
pub use window::{FileRange, Window};
