//! Files of `\Windows\Prefetch` from files, folders and volumes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use onoff_sources::Error;

use crate::failed;
use crate::standard_input::{self, is_standard_input};
use crate::volume::{Volume, modified};
use crate::walk::{Found, walk};

/// Most bytes of a file; the largest that are known, traces of boots, have a few MiB.
const MAX_BYTES: u64 = 64 << 20;

/// A file and what it holds.
#[derive(Clone, Debug, Default)]
pub struct FileBytes {
    /// Its path, as it was given or found.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When it was last written, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// Files, in the order of the paths.
    pub files: Vec<FileBytes>,
    /// The volume that they lie on, where the paths show one.
    pub volume: Option<Volume>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Reads the files of prefetch in `paths`: files; folders, of which those are taken whose names `is_wanted` accepts;
/// and volumes of Windows, of which the folder `Windows\Prefetch` is taken.
///
/// # Errors
/// A path given that cannot be read.
pub fn open_prefetch(paths: &[PathBuf], is_wanted: impl Fn(&str) -> bool) -> Result<FoundFiles, Error> {
    let mut found = FoundFiles::default();
    for path in paths {
        if is_standard_input(path) {
            let bytes = standard_input::read(MAX_BYTES).map_err(failed(path))?;
            found.files.push(FileBytes { name: standard_input::NAME.to_owned(), bytes, modified_unix_ns: None });
            continue;
        }
        if !fs::metadata(path).map_err(failed(path))?.is_dir() {
            found.files.push(read(path).map_err(failed(path))?);
            continue;
        }
        let volume = Volume::open(path);
        let folder = volume.as_ref().and_then(|volume| volume.find(r"Windows\Prefetch"));
        let folder = folder.as_deref().unwrap_or(path);
        walk(folder, |one| match one {
            Found::File(path, size) if path.file_name().is_some_and(|name| is_wanted(&name.to_string_lossy())) => {
                let name = path.display().to_string();
                if size > MAX_BYTES {
                    found.unreadable.push((name, format!("more than {} MiB", MAX_BYTES >> 20)));
                    return;
                }
                match read(path) {
                    Ok(file) => found.files.push(file),
                    Err(error) => found.unreadable.push((name, error.to_string())),
                }
            }
            Found::File(..) => {}
            Found::Unreadable(path, error) => {
                found.unreadable.push((path.display().to_string(), error.to_string()));
            }
        })?;
        found.volume = found.volume.or(volume).or_else(|| Volume::around(folder));
    }
    Ok(found)
}

fn read(path: &Path) -> io::Result<FileBytes> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("more than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(FileBytes { name: path.display().to_string(), bytes, modified_unix_ns: modified(&metadata) })
}
