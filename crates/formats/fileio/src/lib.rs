//! Recordings of file operations: bytes in, [`Operation`]s out, whichever program recorded them.
//!
//! | format | written by |
//! |---|---|
//! | [`Format::ProcessMonitorLog`] | Process Monitor, its own file (`.pml`, version 9, 32 and 64 bit) |
//! | [`Format::ProcessMonitorCsv`] | Process Monitor, saved as CSV with any columns and any locale's numbers |
//! | [`Format::Strace`] | `strace`, with or without `-f`, `-t`, `-tt`, `-ttt`, `-r`, `-T`, `-y` |
//! | [`Format::Blkparse`] | `blkparse`, its default text |
//! | [`Format::FioIolog`] | `fio --write_iolog`, versions 2 and 3 |
//! | [`Format::FioLog`] | `fio --write_lat_log` and others, with `--log_offset=1` |
//! | [`Format::DarshanTrace`] | `darshan-dxt-parser` |
//! | [`Format::OperationsCsv`] | anyone: the CSV described in [`operations_csv`] |
//!
//! ```
//! let csv = b"time,pid,process,file,operation,offset,length\n0.5,7,app,a.dat,read,0,4\n0.6,7,app,a.dat,read,4,4\n";
//! let mut bytes = 0;
//! let summary = onoff_fileio::read(csv, &mut |operation| bytes += operation.length)?;
//! assert_eq!((bytes, summary.operations), (8, 2));
//! # Ok::<(), onoff_fileio::Error>(())
//! ```
//!
//! # Design constraints
//!
//! * Pure: the caller gives a slice; nothing here reads a file, prints or looks at the clock.
//! * A recording is streamed: memory grows with the open files it names, not with its operations.
//! * What cannot be read is counted in [`Losses`] with the place of the first; nothing is passed over silently.
//! * Times are nanoseconds since the first operation that was read; several formats know no more than that.

#![forbid(unsafe_code)]

mod blkparse;
mod comma_separated;
mod darshan;
mod error;
mod fio;
mod format;
mod losses;
mod number;
mod operation;
pub mod operations_csv;
mod process_monitor_csv;
mod process_monitor_log;
mod recognition;
mod strace;

pub use error::Error;
pub use format::Format;
pub use losses::{Loss, LossKind, Losses};
pub use operation::{Level, Operation, OperationKind, Outcome, Summary};
pub use recognition::{SNIFFED, recognize};
pub use strace::{SystemCall, SystemCalls};

/// Reads a recording and hands each operation to `sink`, in the recording's order.
///
/// Operations come in the order in which the recording completes them; that need not be the order of their begin.
///
/// # Errors
/// Bytes of no known format, or a recording that cannot be read at all. Single records that cannot be read are counted
/// in the summary's losses instead.
pub fn read(bytes: &[u8], sink: &mut dyn FnMut(&Operation<'_>)) -> Result<Summary, Error> {
    read_and_pass(bytes, sink, &mut |_| {})
}

/// The same. Every few megabytes `passed` is called with a number of bytes: so many at the start are not looked at
/// again, and a caller that maps a file can give back their memory. Formats that point back and forth never call it.
///
/// # Errors
/// Those of [`read`].
pub fn read_and_pass(
    bytes: &[u8],
    sink: &mut dyn FnMut(&Operation<'_>),
    passed: &mut dyn FnMut(usize),
) -> Result<Summary, Error> {
    let Some(format) = recognize(bytes) else { return Err(Error::UnknownFormat) };
    let mut counted = operation::Counted::new(format, sink, passed);
    match format {
        Format::ProcessMonitorLog => process_monitor_log::read(bytes, &mut counted)?,
        Format::ProcessMonitorCsv => process_monitor_csv::read(bytes, &mut counted)?,
        Format::Strace => strace::read(bytes, &mut counted),
        Format::Blkparse => blkparse::read(bytes, &mut counted),
        Format::FioIolog => fio::read_iolog(bytes, &mut counted),
        Format::FioLog => fio::read_log(bytes, &mut counted)?,
        Format::DarshanTrace => darshan::read(bytes, &mut counted)?,
        Format::OperationsCsv => operations_csv::read(bytes, &mut counted)?,
    }
    Ok(counted.finish())
}
