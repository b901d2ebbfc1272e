//! Reads prefetch files from files, folders and volumes.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use onoff_sources::Error;

use crate::read_error;
use crate::standard_input::{self, is_standard_input};
use crate::volume::{Volume, modified_unix_ns};
use crate::walk::{WalkEntry, walk};

/// Maximum size of a file, in bytes. The largest known files, boot traces, have a few MiB.
const MAX_BYTES: u64 = 64 << 20;

/// A file with its content.
#[derive(Clone, Debug, Default)]
pub struct FileBytes {
    /// Path of the file, or a name for standard input.
    pub name: String,
    pub bytes: Vec<u8>,
    /// Last modification, in ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// Prefetch files and their volume.
#[derive(Debug, Default)]
pub struct PrefetchFiles {
    /// Files, in path order.
    pub files: Vec<FileBytes>,
    /// The volume that contains the files, if known.
    pub volume: Option<Volume>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Reads the prefetch files at `paths`: files, folders (only files whose names `is_wanted` accepts), and Windows
/// volumes (the folder `Windows\Prefetch`).
///
/// # Errors
/// A path in `paths` cannot be read.
pub fn open_prefetch(paths: &[PathBuf], is_wanted: impl Fn(&str) -> bool) -> Result<PrefetchFiles, Error> {
    let mut prefetch = PrefetchFiles::default();
    for path in paths {
        if is_standard_input(path) {
            let bytes = standard_input::read(MAX_BYTES).map_err(read_error(path))?;
            prefetch.files.push(FileBytes { name: standard_input::NAME.to_owned(), bytes, modified_unix_ns: None });
            continue;
        }
        if !fs::metadata(path).map_err(read_error(path))?.is_dir() {
            prefetch.files.push(read(path).map_err(read_error(path))?);
            continue;
        }
        let volume = Volume::open(path);
        let folder = volume.as_ref().and_then(|volume| volume.find(r"Windows\Prefetch"));
        let folder = folder.as_deref().unwrap_or(path);
        walk(folder, |entry| match entry {
            WalkEntry::File(path, size) if path.file_name().is_some_and(|name| is_wanted(&name.to_string_lossy())) => {
                let name = path.display().to_string();
                if size > MAX_BYTES {
                    prefetch.unreadable.push((name, format!("larger than {} MiB", MAX_BYTES >> 20)));
                    return;
                }
                match read(path) {
                    Ok(file) => prefetch.files.push(file),
                    Err(error) => prefetch.unreadable.push((name, error.to_string())),
                }
            }
            WalkEntry::File(..) => {}
            WalkEntry::Unreadable(path, error) => {
                prefetch.unreadable.push((path.display().to_string(), error.to_string()));
            }
        })?;
        prefetch.volume = prefetch.volume.or(volume).or_else(|| Volume::containing(folder));
    }
    Ok(prefetch)
}

fn read(path: &Path) -> io::Result<FileBytes> {
    let file = crate::open_file(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(FileBytes { name: path.display().to_string(), bytes, modified_unix_ns: modified_unix_ns(&metadata) })
}
