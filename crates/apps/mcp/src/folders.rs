//! The folders that may be read, and paths in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files that a listing shows.
const MAX_FILES: usize = 500;
/// Folders that a listing looks into.
const MAX_FOLDERS: usize = 2_000;
/// How deep below a folder a listing looks.
const MAX_DEPTH: usize = 8;

/// Why a path is not read.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It cannot be found.
    #[error("{path}: {source}")]
    Unreadable {
        /// As it was given.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is elsewhere.
    #[error("{0}: is in none of the folders that this server was started with; the tool 'recordings' lists what is")]
    Outside(String),
}

/// The folders that may be read.
#[derive(Clone, Debug)]
pub struct Folders {
    roots: Vec<PathBuf>,
}

/// A file that a listing found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Its size, bytes.
    pub bytes: u64,
}

/// What a listing found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The files, by path.
    pub files: Vec<Found>,
    /// Whether there are more than were looked at.
    pub cut: bool,
}

impl Folders {
    /// # Errors
    /// A folder cannot be found, or is a file.
    pub fn new(folders: &[PathBuf]) -> Result<Self, Refused> {
        let roots = folders.iter().map(|folder| {
            let unreadable = |source| Refused::Unreadable { path: folder.display().to_string(), source };
            let resolved = fs::canonicalize(folder).map_err(unreadable)?;
            match resolved.is_dir() {
                true => Ok(resolved),
                false => Err(unreadable(io::ErrorKind::NotADirectory.into())),
            }
        });
        Ok(Self { roots: roots.collect::<Result<_, _>>()? })
    }

    /// The folders, links followed.
    #[must_use]
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Where a path leads, all links followed; a relative one is looked for in each folder.
    ///
    /// # Errors
    /// It is not there, or leads out of the folders.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, Refused> {
        let mut first = None;
        for root in &self.roots {
            // Joining gives an absolute path as it is.
            match fs::canonicalize(root.join(path)) {
                Ok(found) if self.roots.iter().any(|root| found.starts_with(root)) => return Ok(found),
                Ok(_) => return Err(Refused::Outside(path.to_owned())),
                Err(source) => _ = first.get_or_insert(source),
            }
        }
        match first {
            // Of what is elsewhere, not even whether it is there is said.
            Some(source) if !Path::new(path).is_absolute() => {
                Err(Refused::Unreadable { path: path.to_owned(), source })
            }
            _ => Err(Refused::Outside(path.to_owned())),
        }
    }

    /// The files in `folder`, or in all folders. Links are not followed.
    ///
    /// # Errors
    /// Those of [`Self::resolve`].
    pub fn list(&self, folder: Option<&str>) -> Result<Listing, Refused> {
        let mut waiting: Vec<(PathBuf, usize)> = match folder {
            Some(folder) => vec![(self.resolve(folder)?, 0)],
            None => self.roots.iter().map(|root| (root.clone(), 0)).collect(),
        };
        let mut listing = Listing { files: Vec::new(), cut: false };
        let mut looked = 0;
        while let Some((folder, deep)) = waiting.pop() {
            looked += 1;
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            if looked > MAX_FOLDERS {
                listing.cut = true;
                break;
            }
            for entry in entries.flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && deep < MAX_DEPTH {
                    waiting.push((entry.path(), deep + 1));
                } else if kind.is_dir() {
                    listing.cut = true;
                } else if kind.is_file() && listing.files.len() < MAX_FILES {
                    let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                    listing.files.push(Found { path: entry.path(), bytes });
                } else if kind.is_file() {
                    listing.cut = true;
                }
            }
        }
        listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }
}
