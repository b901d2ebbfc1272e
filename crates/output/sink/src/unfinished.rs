//! The list of temporary files and folders, so that a signal can remove them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files and folders of all outputs that are being written. Call it only before the process ends.
pub fn remove_unfinished() {
    for path in list().drain(..) {
        // A file that was committed meanwhile has another name by now.
        let _ = match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
    }
}

/// An entry of the list. Dropping it removes the entry.
#[derive(Debug)]
pub(crate) struct Listed(PathBuf);

impl Listed {
    pub(crate) fn new(path: &Path) -> Self {
        list().push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        list().retain(|path| *path != self.0);
    }
}
