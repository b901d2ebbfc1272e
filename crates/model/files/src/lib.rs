//! Files, folders and streams as the bytes that [`onoff_sources`] reads. Besides the recorder, this is the only room of
//! the house that touches the file system.
//!
//! ```no_run
//! use onoff_files::{Options, open};
//! use onoff_trace::{TableName, Tables};
//!
//! let wanted = Tables::of(&[TableName::Processes, TableName::DiskIos]);
//! let trace = open(&["boot.etl".into()], wanted, &Options::default())?;
//! println!("{} processes", trace.processes.len());
//! # Ok::<(), onoff_files::Error>(())
//! ```
//!
//! # Design constraints
//!
//! * What a file is, its content decides, and [`onoff_sources`] looks at it; nothing here does.
//! * A path `-` is standard input, everywhere alike.
//! * Folders are walked in one place, all of them and without following links. Which files make one recording is
//!   decided in one place too.
//! * Files are mapped into memory; streams are read up to the limit of packed files. What is unpacked is held while it
//!   is small, else put into a file that is mapped too and kept for the next question.
//! * So are the largest tables of a recording beyond 1 GiB of them: into a file without a name, of which 512 MiB are in
//!   memory at a time.

#![deny(unsafe_code)]

mod drivers;
mod firmware;
mod image;
mod kept;
mod manifests;
mod mapped;
mod options;
mod prefetch;
mod recordings;
mod shelf;
mod spill;
mod standard_input;
pub mod volume;
mod walk;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_netboot::Capture;
use onoff_sources::{Files, Gathering, LOOKED_AT, Limits, SourceFile, refuse_at_first_look};
use onoff_trace::{Tables, Trace};

pub use firmware::{open_firmware, open_firmware_boot, read_guid_names};
pub use image::{FoundImage, HiveBytes, open_image};
pub use onoff_sources::Error;
pub use options::Options;
pub use prefetch::{FileBytes, FoundFiles, open_prefetch};
pub use recordings::{FoundRecordings, recordings};
pub use standard_input::is_standard_input;

use kept::Place;
use mapped::Mapped;
use spill::{Listener, SpillingStore};
use standard_input::StandardInput;
use walk::{Found, walk};

/// Opens the files of one recording: `paths` are files, packed or not, archives and folders of them, or streams. Of a
/// folder or an archive the files that are recordings or parts of one are taken.
///
/// # Errors
/// A file that cannot be read, is damaged, expands beyond `limits`, or is no recording; files of several recordings, by
/// the rule of [`recordings`](recordings()).
pub fn open_all(paths: &[PathBuf], limits: &Limits) -> Result<Files, Error> {
    recordings::refuse_several(paths)?;
    open_each(paths, limits, &None)
}

/// Opens files as one recording, whatever they say of themselves: for who writes them into one.
///
/// # Errors
/// As [`open_all`].
pub fn open_as_one(paths: &[PathBuf], limits: &Limits) -> Result<Files, Error> {
    open_each(paths, limits, &None)
}

/// The same, and says how far unpacking has come, by packed bytes.
///
/// # Errors
/// As [`open_all`].
pub fn open_all_with_progress(paths: &[PathBuf], options: &Options) -> Result<Files, Error> {
    recordings::refuse_several(paths)?;
    open_each(paths, &options.limits, &options.progress)
}

/// Opens what was found rather than named: files at `paths`, and others whose names and bytes are at hand. As of the
/// files of a folder, those are taken that are recordings or parts of one; what cannot be read is passed over.
///
/// # Errors
/// None of them is one, or they are of several kinds.
pub fn open_found(paths: &[PathBuf], held: Vec<(String, Vec<u8>)>, options: &Options) -> Result<Files, Error> {
    let mut gathering = Gathering::new(&options.limits);
    for path in paths {
        consider(path, &options.progress, &mut gathering);
    }
    for (name, bytes) in held {
        gathering.consider(SourceFile::new(name, bytes.len() as u64, bytes));
    }
    gathering.finish()
}

/// Takes a file that was found, if it is of use.
fn consider(path: &Path, listener: &Listener, gathering: &mut Gathering) {
    let name = path.display().to_string();
    match std::fs::metadata(path).and_then(|metadata| Ok((Mapped::open(path)?, metadata))) {
        Ok((mapped, metadata)) => {
            let store = SpillingStore { place: Place::of(path, &metadata), listener: listener.clone() };
            gathering.consider(SourceFile::new(name, metadata.len(), mapped).unpacked_into(store));
        }
        Err(_) => gathering.pass_over(name),
    }
}

fn open_each(paths: &[PathBuf], limits: &Limits, listener: &Listener) -> Result<Files, Error> {
    let mut gathering = Gathering::new(limits);
    for path in paths {
        add(path, limits, listener, &mut gathering)?;
    }
    gathering.finish()
}

/// Reads a recording, which may be spread over several files, into the wanted tables.
///
/// The machine's configuration and the losses are always read.
///
/// # Errors
/// A file that cannot be read, is damaged beyond use, or is no recording: see [`Error`].
pub fn open(paths: &[PathBuf], wanted: Tables, options: &Options) -> Result<Trace, Error> {
    let files = open_all_with_progress(paths, options)?;
    open_files(&files, wanted, options)
}

/// Reads a recording whose files are open already into the wanted tables.
///
/// # Errors
/// As [`open`].
pub fn open_files(files: &Files, wanted: Tables, options: &Options) -> Result<Trace, Error> {
    onoff_sources::open_files(files, wanted, &options.read()?)
}

/// Reads a capture, which may be spread over several files, as a recorder that begins a new file from time to time
/// writes them.
///
/// # Errors
/// A file that cannot be read, or is no capture: see [`Error`].
pub fn open_capture(paths: &[PathBuf], options: &Options) -> Result<Capture, Error> {
    let files = open_all_with_progress(paths, options)?;
    onoff_sources::read_capture(&files, &options.read()?)
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error + use<'_> {
    |source| Error::Read { path: path.into(), source }
}

fn add(path: &Path, limits: &Limits, listener: &Listener, gathering: &mut Gathering) -> Result<(), Error> {
    let failed = failed(path);
    let name = standard_input::name_of(path);
    let mut file = if is_standard_input(path) {
        match standard_input::open(limits, true)? {
            StandardInput::File(file) => file,
            StandardInput::Bytes(bytes) => {
                let store = SpillingStore { place: None, listener: listener.clone() };
                return gathering.add(SourceFile::new(name, bytes.len() as u64, bytes).unpacked_into(store));
            }
        }
    } else {
        File::open(path).map_err(&failed)?
    };
    let metadata = file.metadata().map_err(&failed)?;
    if metadata.is_dir() {
        return add_folder(path, name, listener, gathering);
    }
    if metadata.is_file() && metadata.len() > 0 {
        let mapped = Mapped::of(&file, path).map_err(&failed)?;
        let store = SpillingStore { place: Place::of(path, &metadata), listener: listener.clone() };
        return gathering.add(SourceFile::new(name, metadata.len(), mapped).unpacked_into(store));
    }
    // A pipe, or a file of a system that has no length to map.
    let mut bytes = Vec::new();
    (&mut file).take(LOOKED_AT as u64).read_to_end(&mut bytes).map_err(&failed)?;
    if !metadata.is_file() {
        refuse_at_first_look(&name, &bytes)?;
    }
    (&mut file).take(limits.unpacked_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(&failed)?;
    if bytes.len() as u64 > limits.unpacked_bytes {
        return Err(Error::TooLarge { name, stored: bytes.len() as u64, limit: limits.unpacked_bytes });
    }
    let store = SpillingStore { place: None, listener: listener.clone() };
    gathering.add(SourceFile::new(name, metadata.len(), bytes).unpacked_into(store))
}

/// Takes the files in a folder. What cannot be read there is passed over; the folder itself must be readable.
fn add_folder(root: &Path, name: String, listener: &Listener, gathering: &mut Gathering) -> Result<(), Error> {
    let before = gathering.taken();
    let mut members = 0;
    walk(root, |found| match found {
        Found::File(path, length) => {
            members += 1;
            match length {
                0 => gathering.pass_over_empty(path.display().to_string()),
                _ => consider(path, listener, gathering),
            }
        }
        Found::Unreadable(path, _) => gathering.pass_over(path.display().to_string()),
    })?;
    if gathering.taken() == before {
        return Err(Error::NoRecordingInside { name, members });
    }
    Ok(())
}
