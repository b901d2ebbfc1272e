//! The list of temporary files and folders, so that a signal can remove them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use tempfile::{Builder, NamedTempFile};

static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files and folders of all outputs that are being written. Call it only before the process ends.
///
/// Does nothing if the list stays locked: the caller may be the thread that locked it, when it ran out of memory.
pub fn remove_unfinished() {
    const ATTEMPTS: u32 = 100;
    let locked = (0..ATTEMPTS).find_map(|_| match UNFINISHED.try_lock() {
        Ok(list) => Some(list),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(Duration::from_millis(1));
            None
        }
    });
    let Some(mut list) = locked else { return };
    for path in list.drain(..) {
        // A file that was committed meanwhile has another name by now.
        let _ = match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
    }
}

/// A file that only its owner can read. It is removed when dropped, or when a signal ends the program.
#[derive(Debug)]
pub struct PrivateFile {
    file: NamedTempFile,
    _listed: Listed,
}

impl PrivateFile {
    /// Writes a file with a random name in `folder`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(folder: &Path, suffix: &str, contents: &[u8]) -> io::Result<Self> {
        // `tempfile` creates files that only their owner can read.
        let mut file = Builder::new().prefix("onoff-").suffix(suffix).tempfile_in(folder)?;
        let listed = Listed::new(file.path());
        file.write_all(contents)?;
        Ok(Self { file, _listed: listed })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
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
