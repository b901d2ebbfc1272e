//! Confines paths to the folders that the server may read.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

// Limits of a listing.
const MAX_FILES: usize = 500;
const MAX_FOLDERS: usize = 2_000;
const MAX_DEPTH: usize = 8;

/// A path that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("{path}: {source}")]
    Unreadable { path: String, source: io::Error },
    /// The path is outside the folders of the server.
    #[error("{0}: outside the folders that this server may read; the tool 'recordings' lists the files")]
    Outside(String),
}

/// The folders that the server may read.
#[derive(Clone, Debug)]
pub struct Folders {
    roots: Vec<PathBuf>,
}

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    pub path: PathBuf,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by path.
    pub files: Vec<FileEntry>,
    /// True if a limit was reached, so that files may be missing.
    pub is_truncated: bool,
}

impl Folders {
    /// Restricts the server to `folders`.
    ///
    /// # Errors
    /// A folder does not exist, or is a file.
    pub fn new(folders: &[PathBuf]) -> Result<Self, PathError> {
        let roots = folders.iter().map(|folder| {
            let unreadable = |source| PathError::Unreadable { path: folder.display().to_string(), source };
            let resolved = fs::canonicalize(folder).map_err(unreadable)?;
            match resolved.is_dir() {
                true => Ok(resolved),
                false => Err(unreadable(io::ErrorKind::NotADirectory.into())),
            }
        });
        Ok(Self { roots: roots.collect::<Result<_, _>>()? })
    }

    /// Returns the folders, with symlinks resolved.
    #[must_use]
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Resolves a path and all symlinks. Relative paths are looked up in each folder.
    ///
    /// # Errors
    /// The path does not exist, or leads outside the folders.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, PathError> {
        let mut error = PathError::Outside(path.to_owned());
        for root in &self.roots {
            // `join` returns an absolute path unchanged.
            let candidate = root.join(path);
            match fs::canonicalize(&candidate) {
                Ok(resolved) if self.contains(&resolved) => return Ok(resolved),
                // Do not reveal whether a path outside the folders exists.
                Err(source) if self.parent_is_inside(&candidate) => {
                    error = PathError::Unreadable { path: path.to_owned(), source };
                }
                _ => {}
            }
        }
        Err(error)
    }

    fn contains(&self, resolved: &Path) -> bool {
        self.roots.iter().any(|root| resolved.starts_with(root))
    }

    /// Returns whether a path that cannot be resolved is missing inside the folders: the part of it that exists leads
    /// nowhere else, and neither do `..` or links in the rest.
    fn parent_is_inside(&self, path: &Path) -> bool {
        let mut parts = path.components();
        let mut has_missing_part = false;
        loop {
            let existing = parts.as_path();
            if let Ok(resolved) = fs::canonicalize(existing) {
                return has_missing_part && self.contains(&resolved);
            }
            // A link whose target is missing or unreadable.
            if fs::symlink_metadata(existing).is_ok() {
                return false;
            }
            has_missing_part = true;
            if !matches!(parts.next_back(), Some(Component::Normal(_))) {
                return false;
            }
        }
    }

    /// Lists the files in `folder`, or in all folders. Does not follow symlinks.
    ///
    /// # Errors
    /// See [`Self::resolve`].
    pub fn list(&self, folder: Option<&str>) -> Result<Listing, PathError> {
        let mut pending: Vec<(PathBuf, usize)> = match folder {
            Some(folder) => vec![(self.resolve(folder)?, 0)],
            None => self.roots.iter().map(|root| (root.clone(), 0)).collect(),
        };
        let mut listing = Listing { files: Vec::new(), is_truncated: false };
        let mut visited_folders = 0;
        while let Some((folder, depth)) = pending.pop() {
            visited_folders += 1;
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            if visited_folders > MAX_FOLDERS {
                listing.is_truncated = true;
                break;
            }
            for entry in entries.flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && depth < MAX_DEPTH {
                    pending.push((entry.path(), depth + 1));
                } else if kind.is_dir() {
                    listing.is_truncated = true;
                } else if kind.is_file() && listing.files.len() < MAX_FILES {
                    let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                    listing.files.push(FileEntry { path: entry.path(), bytes });
                } else if kind.is_file() {
                    listing.is_truncated = true;
                }
            }
        }
        listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }
}
