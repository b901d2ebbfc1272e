//! Readers for each kind of recording, which fill the tables of the model.
//!
//! Input is bytes; the crate `onoff-files` reads them from files, folders and streams.
//!
//! ```
//! use onoff_sources::{Files, files_from_bytes, Limits, Options, read_tables};
//! use onoff_trace::{TableName, TableSet};
//!
//! # let log = b"<6>[    0.000000] Linux version 6.1.0\n<6>[    1.500000] Run /sbin/init as init process\n".to_vec();
//! let files = files_from_bytes([("dmesg.txt".to_owned(), log)], &Limits::default())?;
//! let trace = read_tables(&files, TableSet::from_names(&[TableName::Milestones]), &Options::default())?;
//! assert!(!trace.milestones.is_empty());
//! # Ok::<(), onoff_sources::Error>(())
//! ```
//!
//! # Design constraints
//!
//! * Does not access files and builds for WebAssembly: the caller passes bytes.
//! * File formats are detected by content, never by name; the kinds of recording are in a registry (`registry.rs`).
//! * Packed files are unpacked into memory, or into a [`Store`] passed by the caller, within [`Limits`].
//! * Only data that the requested tables need is decoded.
//! * An [`Error`] means that there is no result; all other problems are named losses of the trace.

#![forbid(unsafe_code)]

mod capture;
mod driver_files;
mod file_collector;
mod firmware_collector;
mod known_kinds;
mod recordings;
mod registry;
mod sections;

use onoff_trace::{RecordedBoot, TableName, TableSet, Trace, counters};

pub use capture::read_capture;
pub use driver_files::driver_file;
pub use file_collector::{FileCollector, files_from_bytes, reject_non_recording, unpacked_file};
pub use firmware_collector::{FirmwareCollector, open_firmware_bytes};
pub use known_kinds::known_kind;
pub use onoff_etw::{KnownKernelEvent, KnownProvider, known_kernel_events, known_provider_events, known_providers};
pub use onoff_firmware_tables::{GuidNames, parse_guid_names};
pub use onoff_input::bytes::{Bytes, Truncation};
pub use onoff_input::error::Error;
pub use onoff_input::event_filter::{EventFilter, StreamResult};
pub use onoff_input::opened::{Files, SourceFile};
pub use onoff_input::options::{NamedBytes, Options, Progress, Purpose};
pub use onoff_input::sniff::{Content, KnownKind, Packing, RecordingKind, SNIFF_LEN, sniff};
pub use onoff_input::store::{Sink, Store};
pub use onoff_input::unpack::Limits;
pub use onoff_linux::PartIdentity;
pub use onoff_linux::event_stream::LinuxEventStream;
pub use onoff_trace::Pattern;
pub use onoff_windows::describes_events;
pub use onoff_windows::event_stream::{BATCH_EVENTS, EventStream, EventWriter, parallel_writers};
pub use onoff_windows::kernel_events::xperf_event_names;
pub use recordings::{FileRole, FolderContents, Groups, file_role, group_files, is_single_machine};
pub use registry::recording_tables;

/// True for kinds of recordings that can have several boots, of which one is read.
const fn has_several_boots(kind: RecordingKind) -> bool {
    matches!(kind, RecordingKind::Linux | RecordingKind::WindowsEventLogs)
}

counters! {
    DRIVER_FILES_UNREADABLE = "driver_files_unreadable", Warning, [Images],
        "Driver files whose signatures are unknown: they are not Windows programs, or are cut off. Copy them again.";
}

/// Reads the boots of a recording with several one after another. `choose` gets all boots in chronological order and
/// returns the indexes of those to read; each is passed to `each`. Files are scanned only once.
///
/// # Errors
/// A kind of recording that cannot have several boots, or one that is damaged beyond use.
pub fn read_each_boot(
    files: &Files,
    wanted: TableSet,
    choose: &dyn Fn(&[RecordedBoot]) -> Vec<usize>,
    each: &mut dyn FnMut(&RecordedBoot, &Trace),
) -> Result<Vec<RecordedBoot>, Error> {
    match files.kind() {
        RecordingKind::WindowsEventLogs => onoff_windows::read_each_logged_boot(files, wanted, choose, each),
        _ => onoff_linux::read_each_boot(files, wanted, choose, each),
    }
}

/// Reads files of any kind, including captures, into the `wanted` tables. Event logs that accompany a trace are read
/// with the table of reported delays.
///
/// # Errors
/// Files that are too damaged; see [`Error`].
pub fn read_tables(files: &Files, wanted: TableSet, options: &Options) -> Result<Trace, Error> {
    let Some(source) = registry::source(files.kind()) else { return Err(Error::NoFile) };
    if let Some(requested) = options.boot.as_ref().filter(|_| !has_several_boots(files.kind())) {
        return Err(Error::NoSuchBoot { requested: requested.clone(), boots: 0 });
    }
    let result = (source.read)(files, wanted, options);
    // Check this first, because any other error would be a consequence.
    files.check_complete()?;
    let mut trace = result?;
    if let Some(event_logs) = files.event_logs().filter(|_| wanted.contains(TableName::ReportedDelays)) {
        onoff_windows::add_logged_accounts(event_logs, &mut trace)?;
    }
    trace.driver_files.clone_from(&options.driver_files);
    for (path, reason) in &options.unreadable_driver_files {
        trace.losses.add_at(&DRIVER_FILES_UNREADABLE, || format!("{path}: {reason}"));
    }
    Ok(trace)
}

/// Reads an operating-system recording into the `wanted` tables.
///
/// # Errors
/// The errors of [`read_tables`], and captures, which are not operating-system recordings.
pub fn open_files(files: &Files, wanted: TableSet, options: &Options) -> Result<Trace, Error> {
    if files.kind() == RecordingKind::NetworkCapture {
        files.require_kind(RecordingKind::EventTraceLog)?;
    }
    read_tables(files, wanted, options)
}
