//! Reads files, folders and streams as the bytes that [`onoff_sources`] takes. Apart from the recorder, this is the
//! only crate that accesses the file system.
//!
//! ```no_run
//! use onoff_files::{Options, open};
//! use onoff_trace::{TableName, TableSet};
//!
//! let wanted = TableSet::of(&[TableName::Processes, TableName::DiskIos]);
//! let trace = open(&["boot.etl".into()], wanted, &Options::default())?;
//! println!("{} processes", trace.processes.len());
//! # Ok::<(), onoff_files::Error>(())
//! ```
//!
//! # Design constraints
//!
//! * File formats are detected from content, by [`onoff_sources`] only.
//! * The path `-` is standard input everywhere.
//! * Folders are walked by one module, completely and without following links. Another single module decides which
//!   files form one recording.
//! * Files are memory-mapped; streams are read up to the limit for packed files. Small unpacked files stay in memory,
//!   large ones go to a mapped file in a cache.
//! * Tables of a large recording beyond 1 GiB are spilled to an anonymous mapped file, of which 512 MiB are in memory
//!   at a time.

#![deny(unsafe_code)]

mod drivers;
mod firmware;
mod image;
mod manifests;
mod mapped;
mod options;
mod prefetch;
mod recordings;
mod spill_file;
mod standard_input;
mod unpack_cache;
mod unpack_store;
pub mod volume;
mod walk;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_netboot::Capture;
use onoff_sources::{FileCollector, Files, Limits, SNIFF_LEN, SourceFile, reject_non_recording};
use onoff_trace::{TableSet, Trace};

pub use firmware::{open_firmware, open_firmware_boot, read_guid_names};
pub use image::{FoundImage, HiveBytes, open_image};
pub use onoff_sources::Error;
pub use options::Options;
pub use prefetch::{FileBytes, FoundFiles, open_prefetch};
pub use recordings::{FoundRecordings, recordings};
pub use standard_input::is_standard_input;

use mapped::Mapped;
use standard_input::StandardInput;
use unpack_cache::CacheEntry;
use unpack_store::{Listener, SpillingStore};
use walk::{Found, walk};

/// Opens the files of one recording. `paths` are files (packed or not), archives, folders, or streams. From folders and
/// archives, the files that are recordings or parts of one are used.
///
/// # Errors
/// A file that cannot be read, is damaged, exceeds `limits`, or is not a recording; files of several recordings, as
/// determined by [`recordings`](recordings()).
pub fn open_all(paths: &[PathBuf], limits: &Limits) -> Result<Files, Error> {
    recordings::require_single(paths)?;
    open_each(paths, limits, &None)
}

/// Opens files as one recording without checking that they belong together, for merging recordings.
///
/// # Errors
/// As [`open_all`].
pub fn open_unchecked(paths: &[PathBuf], limits: &Limits) -> Result<Files, Error> {
    open_each(paths, limits, &None)
}

/// As [`open_all`], with progress reports by packed bytes.
///
/// # Errors
/// As [`open_all`].
pub fn open_all_with_progress(paths: &[PathBuf], options: &Options) -> Result<Files, Error> {
    recordings::require_single(paths)?;
    open_each(paths, &options.limits, &options.progress)
}

/// Opens files that were found rather than named: files at `paths`, and others given as names and bytes. As in a
/// folder, files that are not part of a recording or cannot be read are skipped.
///
/// # Errors
/// No file is a recording, or they are of several kinds.
pub fn open_files_and_bytes(
    paths: &[PathBuf],
    in_memory: Vec<(String, Vec<u8>)>,
    options: &Options,
) -> Result<Files, Error> {
    let mut collector = FileCollector::new(&options.limits);
    for path in paths {
        add_if_relevant(path, &options.progress, &mut collector);
    }
    for (name, bytes) in in_memory {
        collector.add_found(SourceFile::new(name, bytes.len() as u64, bytes));
    }
    collector.finish()
}

/// Adds a file that was found, if it is relevant.
fn add_if_relevant(path: &Path, listener: &Listener, collector: &mut FileCollector) {
    let name = path.display().to_string();
    match std::fs::metadata(path).and_then(|metadata| Ok((Mapped::open(path)?, metadata))) {
        Ok((mapped, metadata)) => {
            let store = SpillingStore { entry: CacheEntry::of(path, &metadata), listener: listener.clone() };
            collector.add_found(SourceFile::new(name, metadata.len(), mapped).with_store(store));
        }
        Err(_) => collector.skip(name),
    }
}

fn open_each(paths: &[PathBuf], limits: &Limits, listener: &Listener) -> Result<Files, Error> {
    let mut collector = FileCollector::new(limits);
    for path in paths {
        add(path, limits, listener, &mut collector)?;
    }
    collector.finish()
}

/// Reads a recording of one or several files into the `wanted` tables.
///
/// The system configuration and the losses are always read.
///
/// # Errors
/// A file that cannot be read, is too damaged, or is not a recording: see [`Error`].
pub fn open(paths: &[PathBuf], wanted: TableSet, options: &Options) -> Result<Trace, Error> {
    let files = open_all_with_progress(paths, options)?;
    open_files(&files, wanted, options)
}

/// Reads a recording with open files into the `wanted` tables.
///
/// # Errors
/// As [`open`].
pub fn open_files(files: &Files, wanted: TableSet, options: &Options) -> Result<Trace, Error> {
    onoff_sources::open_files(files, wanted, &options.read()?)
}

/// Reads a capture of one or several files, as written by a recorder that rotates files.
///
/// # Errors
/// A file that cannot be read, or is not a capture: see [`Error`].
pub fn open_capture(paths: &[PathBuf], options: &Options) -> Result<Capture, Error> {
    let files = open_all_with_progress(paths, options)?;
    onoff_sources::read_capture(&files, &options.read()?)
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error + use<'_> {
    |source| Error::Read { path: path.into(), source }
}

fn add(path: &Path, limits: &Limits, listener: &Listener, collector: &mut FileCollector) -> Result<(), Error> {
    let failed = failed(path);
    let name = standard_input::name_of(path);
    let mut file = if is_standard_input(path) {
        match standard_input::open(limits, true)? {
            StandardInput::File(file) => file,
            StandardInput::Bytes(bytes) => {
                let store = SpillingStore { entry: None, listener: listener.clone() };
                return collector.add(SourceFile::new(name, bytes.len() as u64, bytes).with_store(store));
            }
        }
    } else {
        File::open(path).map_err(&failed)?
    };
    let metadata = file.metadata().map_err(&failed)?;
    if metadata.is_dir() {
        return add_folder(path, name, listener, collector);
    }
    if metadata.is_file() && metadata.len() > 0 {
        let mapped = Mapped::of(&file, path).map_err(&failed)?;
        let store = SpillingStore { entry: CacheEntry::of(path, &metadata), listener: listener.clone() };
        return collector.add(SourceFile::new(name, metadata.len(), mapped).with_store(store));
    }
    // A pipe, or a system file without a length, which cannot be mapped.
    let mut bytes = Vec::new();
    (&mut file).take(SNIFF_LEN as u64).read_to_end(&mut bytes).map_err(&failed)?;
    if !metadata.is_file() {
        reject_non_recording(&name, &bytes)?;
    }
    (&mut file).take(limits.unpacked_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(&failed)?;
    if bytes.len() as u64 > limits.unpacked_bytes {
        return Err(Error::TooLarge { name, stored: bytes.len() as u64, limit: limits.unpacked_bytes });
    }
    let store = SpillingStore { entry: None, listener: listener.clone() };
    collector.add(SourceFile::new(name, metadata.len(), bytes).with_store(store))
}

/// Adds the files in a folder. The folder itself must be readable; files in it that cannot be read are skipped.
fn add_folder(root: &Path, name: String, listener: &Listener, collector: &mut FileCollector) -> Result<(), Error> {
    let before = collector.file_count();
    let mut members = 0;
    walk(root, |found| match found {
        Found::File(path, length) => {
            members += 1;
            match length {
                0 => collector.skip_empty(path.display().to_string()),
                _ => add_if_relevant(path, listener, collector),
            }
        }
        Found::Unreadable(path, _) => collector.skip(path.display().to_string()),
    })?;
    if collector.file_count() == before {
        return Err(Error::NoRecordingInside { name, members });
    }
    Ok(())
}
