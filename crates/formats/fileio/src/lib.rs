//! Reads recordings of file operations by several programs: bytes in, [`Operation`]s out.
//!
//! | format | written by |
//! |---|---|
//! | [`Format::ProcessMonitorLog`] | Process Monitor, binary log (`.pml`, version 9, 32 and 64 bit) |
//! | [`Format::ProcessMonitorCsv`] | Process Monitor, CSV with any columns and locale |
//! | [`Format::ProcessMonitorXml`] | Process Monitor, XML |
//! | [`Format::Strace`] | `strace`, with or without `-f`, `-ff` ([`join_thread_files`]), `-t`, `-tt`, `-ttt`, `-r`, `-T`, `-y` |
//! | [`Format::Blkparse`] | `blkparse`, default text format |
//! | [`Format::FioIolog`] | `fio --write_iolog`, versions 2 and 3 |
//! | [`Format::FioLog`] | `fio --write_lat_log` and similar, with `--log_offset=1` |
//! | [`Format::DarshanTrace`] | `darshan-dxt-parser` |
//! | [`Format::OperationsCsv`] | any program: the CSV described in [`operations_csv`] |
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
//! * Pure: the input is a slice; nothing here reads a file, prints or reads the clock.
//! * Streaming: memory grows with the number of open files, not with the number of operations.
//! * Unreadable data is counted in [`Losses`] with the offset of the first occurrence; nothing is skipped silently.
//! * Times are ns since the first operation; several formats have no absolute time.

#![forbid(unsafe_code)]

mod blkparse;
mod csv;
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
mod process_monitor_xml;
mod recognition;
mod strace;

pub use error::Error;
pub use format::Format;
pub use losses::{Loss, LossKind, Losses};
pub use operation::{Level, Operation, OperationKind, Outcome, Summary};
pub use recognition::{SNIFF_LEN, recognize};
pub use strace::{JoinedFiles, SystemCall, SystemCallReader, ThreadFile, join_thread_files, thread_id_of_file};

/// Reads a recording and passes each operation to `sink`.
///
/// Operations are passed in the order of completion, which may differ from the order of start.
///
/// # Errors
/// An unknown format, or a recording that cannot be read at all. Unreadable records are counted in the summary's losses
/// instead.
pub fn read(bytes: &[u8], sink: &mut dyn FnMut(&Operation<'_>)) -> Result<Summary, Error> {
    read_with_progress(bytes, sink, &mut |_| {})
}

/// Like [`read`], but calls `release` every few megabytes with the number of bytes at the start that are not accessed
/// again. A caller that maps a file can then release that memory. Formats with random access never call `release`.
///
/// # Errors
/// Same as [`read`].
pub fn read_with_progress(
    bytes: &[u8],
    sink: &mut dyn FnMut(&Operation<'_>),
    release: &mut dyn FnMut(usize),
) -> Result<Summary, Error> {
    read_named("", bytes, sink, release)
}

/// Like [`read_with_progress`], for a file whose name is known. Only the name of a log of `fio` says whether its values
/// are latencies.
///
/// # Errors
/// Same as [`read`].
pub fn read_named(
    name: &str,
    bytes: &[u8],
    sink: &mut dyn FnMut(&Operation<'_>),
    release: &mut dyn FnMut(usize),
) -> Result<Summary, Error> {
    let Some(format) = recognize(bytes) else { return Err(Error::UnknownFormat) };
    let mut writer = operation::OperationWriter::new(format, sink, release);
    match format {
        Format::ProcessMonitorLog => process_monitor_log::read(bytes, &mut writer)?,
        Format::ProcessMonitorCsv => process_monitor_csv::read(bytes, &mut writer)?,
        Format::ProcessMonitorXml => process_monitor_xml::read(bytes, &mut writer)?,
        Format::Strace => strace::read(bytes, &mut writer),
        Format::Blkparse => blkparse::read(bytes, &mut writer),
        Format::FioIolog => fio::read_iolog(bytes, &mut writer),
        Format::FioLog => fio::read_log(bytes, fio::has_latencies(name), &mut writer)?,
        Format::DarshanTrace => darshan::read(bytes, &mut writer)?,
        Format::OperationsCsv => operations_csv::read(bytes, &mut writer)?,
    }
    Ok(writer.finish())
}
