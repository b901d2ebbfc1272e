//! Walks folders recursively, without limits on depth or number of files.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use onoff_sources::Error;

use crate::read_error;

/// A file or folder in the tree.
pub(crate) enum WalkEntry<'a> {
    /// A regular file and its length in bytes.
    File(&'a Path, u64),
    /// A file or subfolder that cannot be read.
    Unreadable(&'a Path, io::Error),
}

/// The contents of a folder, sorted by path.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) files: Vec<(PathBuf, u64)>,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) unreadable: Vec<(PathBuf, io::Error)>,
    /// Number of links, pipes and devices. Links are not followed because they may form cycles.
    pub(crate) other_entries: u64,
}

/// Lists one folder.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn list(folder: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for entry in fs::read_dir(folder)? {
        let path = match entry {
            Ok(entry) => entry.path(),
            Err(source) => {
                listing.unreadable.push((folder.to_owned(), source));
                continue;
            }
        };
        match fs::symlink_metadata(&path) {
            Ok(metadata) => listing.add(path, &metadata),
            Err(source) => listing.unreadable.push((path, source)),
        }
    }
    listing.files.sort();
    listing.folders.sort();
    listing.unreadable.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(listing)
}

impl Listing {
    fn add(&mut self, path: PathBuf, metadata: &Metadata) {
        if metadata.is_dir() {
            self.folders.push(path);
        } else if metadata.is_file() {
            self.files.push((path, metadata.len()));
        } else {
            self.other_entries += 1;
        }
    }
}

/// Calls `visit` with every regular file in `root` and its subfolders: first the files of a folder by name, then its
/// subfolders by name. Links are not followed because they may form cycles.
///
/// # Errors
/// `root` itself cannot be read.
pub(crate) fn walk(root: &Path, mut visit: impl FnMut(WalkEntry<'_>)) -> Result<(), Error> {
    let mut pending = vec![root.to_path_buf()];
    while let Some(folder) = pending.pop() {
        let listing = match list(&folder) {
            Ok(listing) => listing,
            Err(source) if folder == root => return Err(read_error(&folder)(source)),
            Err(source) => {
                visit(WalkEntry::Unreadable(&folder, source));
                continue;
            }
        };
        for (path, source) in listing.unreadable {
            visit(WalkEntry::Unreadable(&path, source));
        }
        for (path, length) in &listing.files {
            visit(WalkEntry::File(path, *length));
        }
        pending.extend(listing.folders.into_iter().rev());
    }
    Ok(())
}
