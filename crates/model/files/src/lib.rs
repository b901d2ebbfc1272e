//! Reads files, folders and streams and passes their bytes to [`onoff_sources`]. Only this crate and the recorder
//! access the file system.
//!
//! ```no_run
//! use onoff_files::{Options, open};
//! use onoff_trace::{TableName, TableSet};
//!
//! let tables = TableSet::from_names(&[TableName::Processes, TableName::DiskIos]);
//! let trace = open(&["boot.etl".into()], tables, &Options::default())?;
//! println!("{} processes", trace.processes.len());
//! # Ok::<(), onoff_files::Error>(())
//! ```
//!
//! # Design constraints
//!
//! * Only [`onoff_sources`] detects file formats, from their content.
//! * The path `-` is standard input everywhere.
//! * One module walks folders, completely and without following links. Another module decides which files form one
//!   recording.
//! * Files are memory-mapped; streams are read up to the limit for packed files. Unpacked files are kept in memory if
//!   they are small, otherwise in a mapped cache file.
//! * When the tables of a recording exceed 1 GiB, the excess is spilled to an anonymous mapped file. At most 512 MiB of
//!   that file are in memory at a time.

#![deny(unsafe_code)]

mod drivers;
mod firmware;
mod image;
mod manifests;
mod mapped;
mod named_pipe;
mod options;
mod prefetch;
mod recordings;
mod spill_file;
mod standard_input;
mod unpack_cache;
mod unpack_store;
pub mod volume;
mod walk;

use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_netboot::Capture;
use onoff_sources::{FileCollector, Files, Limits, SNIFF_LEN, SourceFile, reject_non_recording};
use onoff_trace::{TableSet, Trace};

pub use drivers::{DriverFiles, read_drivers};
pub use firmware::{open_firmware, open_firmware_boot, read_guid_names};
pub use image::{HiveBytes, ImageFiles, open_image};
pub use onoff_sources::Error;
pub use options::Options;
pub use prefetch::{FileBytes, PrefetchFiles, open_prefetch};
pub use recordings::{RecordingGroups, find_recordings, is_recording};
pub use standard_input::is_standard_input;
pub use unpack_cache::remove_unfinished;

use mapped::MappedFile;
use named_pipe::open_file;
use standard_input::StandardInput;
use unpack_cache::CacheEntry;
use unpack_store::StoreContext;
use walk::{WalkEntry, walk};

/// Opens the files of one recording. `paths` are files (packed or not), archives, folders or streams. In folders and
/// archives, only files that are a recording or part of one are used.
///
/// # Errors
/// A file cannot be read, is damaged, exceeds `limits`, or is not a recording; or the files belong to several
/// recordings, as determined by [`find_recordings`].
pub fn open_all(paths: &[PathBuf], limits: &Limits) -> Result<Files, Error> {
    recordings::require_single(paths)?;
    open_paths(paths, limits, StoreContext::default())
}

/// Opens files as one recording without checking that they belong together, for merging recordings.
///
/// # Errors
/// Same as [`open_all`].
pub fn open_unchecked(paths: &[PathBuf], limits: &Limits) -> Result<Files, Error> {
    open_paths(paths, limits, StoreContext::default())
}

/// Opens files like [`open_all`] and reports the progress in packed bytes.
///
/// # Errors
/// Same as [`open_all`].
pub fn open_all_with_progress(paths: &[PathBuf], options: &Options) -> Result<Files, Error> {
    recordings::require_single(paths)?;
    open_paths(paths, &options.limits, StoreContext::new(options.progress.clone()))
}

/// Opens files that the caller discovered: files at `paths`, and files in memory as names and bytes. As in a folder,
/// files that are not part of a recording or cannot be read are skipped.
///
/// # Errors
/// No file is a recording, or the files are of several kinds.
pub fn open_files_and_bytes(
    paths: &[PathBuf],
    in_memory: Vec<(String, Vec<u8>)>,
    options: &Options,
) -> Result<Files, Error> {
    let mut collector = FileCollector::new(&options.limits);
    let context = StoreContext::new(options.progress.clone());
    for path in paths {
        add_if_relevant(path, &context, &mut collector);
    }
    for (name, bytes) in in_memory {
        collector.add_from_folder(SourceFile::new(name, bytes.len() as u64, bytes));
    }
    collector.finish()
}

/// Adds a discovered file if it is relevant.
fn add_if_relevant(path: &Path, context: &StoreContext, collector: &mut FileCollector) {
    let name = path.display().to_string();
    match std::fs::metadata(path).and_then(|metadata| Ok((MappedFile::open(path)?, metadata))) {
        Ok((mapped, metadata)) => {
            let store = context.store(CacheEntry::for_file(path, &metadata));
            collector.add_from_folder(SourceFile::new(name, metadata.len(), mapped).with_store(store));
        }
        Err(_) => collector.skip(name),
    }
}

fn open_paths(paths: &[PathBuf], limits: &Limits, context: StoreContext) -> Result<Files, Error> {
    let mut collector = FileCollector::new(limits);
    for path in paths {
        add(path, limits, &context, &mut collector)?;
    }
    collector.finish()
}

/// Reads `tables` from a recording of one or several files.
///
/// The system configuration and the losses are always read.
///
/// # Errors
/// A file cannot be read, is too damaged, or is not a recording: see [`Error`].
pub fn open(paths: &[PathBuf], tables: TableSet, options: &Options) -> Result<Trace, Error> {
    let files = open_all_with_progress(paths, options)?;
    open_files(&files, tables, options)
}

/// Reads `tables` from a recording with open files.
///
/// # Errors
/// Same as [`open`].
pub fn open_files(files: &Files, tables: TableSet, options: &Options) -> Result<Trace, Error> {
    onoff_sources::open_files(files, tables, &options.read()?)
}

/// Reads a network capture of one or several files, as written by a recorder that rotates files.
///
/// # Errors
/// A file cannot be read or is not a capture: see [`Error`].
pub fn open_capture(paths: &[PathBuf], options: &Options) -> Result<Capture, Error> {
    let files = open_all_with_progress(paths, options)?;
    onoff_sources::read_capture(&files, &options.read()?)
}

fn read_error(path: &Path) -> impl Fn(std::io::Error) -> Error + use<'_> {
    |source| Error::Read { path: path.into(), source }
}

fn add(path: &Path, limits: &Limits, context: &StoreContext, collector: &mut FileCollector) -> Result<(), Error> {
    let read_error = read_error(path);
    let name = standard_input::display_name(path);
    let mut file = if is_standard_input(path) {
        match standard_input::open(limits, true)? {
            StandardInput::File(file) => file,
            StandardInput::Bytes(bytes) => {
                let store = context.store(None);
                return collector.add(SourceFile::new(name, bytes.len() as u64, bytes).with_store(store));
            }
        }
    } else {
        open_file(path).map_err(&read_error)?
    };
    let metadata = file.metadata().map_err(&read_error)?;
    if metadata.is_dir() {
        return add_folder(path, name, context, collector);
    }
    if metadata.is_file() && metadata.len() > 0 {
        let mapped = MappedFile::from_file(&file, path).map_err(&read_error)?;
        let store = context.store(CacheEntry::for_file(path, &metadata));
        return collector.add(SourceFile::new(name, metadata.len(), mapped).with_store(store));
    }
    // The file is a pipe, or a system file without a length, and cannot be mapped.
    let mut bytes = Vec::new();
    (&mut file).take(SNIFF_LEN as u64).read_to_end(&mut bytes).map_err(&read_error)?;
    if !metadata.is_file() {
        reject_non_recording(&name, &bytes)?;
    }
    (&mut file).take(limits.unpacked_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(&read_error)?;
    if bytes.len() as u64 > limits.unpacked_bytes {
        return Err(Error::TooLarge { name, stored: bytes.len() as u64, limit: limits.unpacked_bytes });
    }
    let store = context.store(None);
    collector.add(SourceFile::new(name, metadata.len(), bytes).with_store(store))
}

/// Adds the files in a folder. The folder itself must be readable; files in it that cannot be read are skipped.
fn add_folder(root: &Path, name: String, context: &StoreContext, collector: &mut FileCollector) -> Result<(), Error> {
    let initial_count = collector.file_count();
    let mut members = 0;
    walk(root, |entry| match entry {
        WalkEntry::File(path, length) => {
            members += 1;
            match length {
                0 => collector.skip_empty(path.display().to_string()),
                _ => add_if_relevant(path, context, collector),
            }
        }
        WalkEntry::Unreadable(path, _) => collector.skip(path.display().to_string()),
    })?;
    if collector.file_count() == initial_count {
        return Err(Error::NoRecordingInside { name, members });
    }
    Ok(())
}
