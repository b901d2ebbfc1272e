//! One reader per recording kind, each filling the tables of the model.
//!
//! ```no_run
//! use onoff_sources::{Options, open};
//! use onoff_trace::{TableName, Tables};
//!
//! let wanted = Tables::of(&[TableName::Processes, TableName::DiskIos]);
//! let trace = open(&["boot.etl".into()], wanted, &Options::default())?;
//! println!("{} processes", trace.processes.len());
//! # Ok::<(), onoff_sources::Error>(())
//! ```
//!
//! # Design constraints
//!
//! * The kind of a file is told by its content, never by its name.
//! * Files are memory-mapped; packed ones are unpacked into memory, no further than [`Limits`] allows.
//! * What no wanted table needs is not decoded.
//! * An [`Error`] means that nothing can be said; everything else that goes wrong is a named loss of the trace.

#![deny(unsafe_code)]

mod capture;
mod driver_files;
mod error;
mod firmware;
mod linux;
mod mapped;
pub mod opened;
mod sniff;
mod unpack;
mod windows;

use std::path::PathBuf;
use std::sync::Arc;

use onoff_trace::{Tables, Trace};

pub use capture::{open_capture, read_capture};
pub use error::Error;
pub use firmware::{GuidNames, open_firmware, open_firmware_bytes, read_guid_names};
pub use linux::event_stream::LinuxEventStream;
pub use opened::Files;
pub use sniff::{Content, Packing, RecordingKind, sniff};
pub use unpack::Limits;
pub use windows::event_stream::{EventFilter, EventStream, Pattern, StreamEnd};

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of event data that have been read.
    pub done_bytes: u64,
    /// Bytes of event data that will be read. A recording that is read twice (to count everything, then in order) comes
    /// to its end twice.
    pub total_bytes: u64,
}

/// How to read a recording.
#[derive(Clone, Default)]
pub struct Options {
    /// Event schemas of the user's own providers: instrumentation manifests (`.man`) or a provider's DLL.
    pub manifests: Vec<PathBuf>,
    /// Folders with drivers' files (`.sys`) of the recorded computer: how they are signed.
    pub drivers: Vec<PathBuf>,
    /// How far packed files may expand.
    pub limits: Limits,
    /// Which boot to read of a recording that holds several (a journal): a boot's id, or a number as `journalctl --list-boots`
    /// counts, 0 the last and -1 the one before. `None` for the one that the other parts belong to, else the last.
    pub boot: Option<String>,
    /// Called from time to time while reading, from any thread.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Options {
    fn report(&self, progress: Progress) {
        if let Some(report) = &self.progress {
            report(progress);
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("manifests", &self.manifests)
            .field("drivers", &self.drivers)
            .field("limits", &self.limits)
            .field("boot", &self.boot)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

/// Reads a recording, which may be spread over several files, into the wanted tables. A recording made of parts may also be
/// given as its folder or as an archive of it.
///
/// The machine's configuration and the losses are always read.
///
/// # Errors
/// A file that cannot be read, is damaged beyond use, or is no recording: see [`Error`].
pub fn open(paths: &[PathBuf], wanted: Tables, options: &Options) -> Result<Trace, Error> {
    let files = Files::open(paths, &options.limits)?;
    open_files(&files, wanted, options)
}

/// Reads files of any kind, captures too, into the wanted tables.
///
/// # Errors
/// As [`open`].
pub fn read_tables(files: &Files, wanted: Tables, options: &Options) -> Result<Trace, Error> {
    match files.kind() {
        RecordingKind::NetworkCapture => Ok(capture::tables(capture::read_capture(files, options)?, wanted)),
        RecordingKind::EventTraceLog | RecordingKind::Linux => open_files(files, wanted, options),
    }
}

/// Reads a recording of an operating system whose files are open already into the wanted tables.
///
/// # Errors
/// As [`open`].
pub fn open_files(files: &Files, wanted: Tables, options: &Options) -> Result<Trace, Error> {
    if files.kind() == RecordingKind::Linux {
        return linux::open(files, wanted, options);
    }
    files.must_be(RecordingKind::EventTraceLog)?;
    if let Some(asked) = &options.boot {
        return Err(Error::NoSuchBoot { asked: asked.clone(), boots: 0 });
    }
    let mut trace = windows::open(files, wanted, options)?;
    if !options.drivers.is_empty() {
        trace.driver_files = Some(driver_files::read(&options.drivers)?);
    }
    Ok(trace)
}
