//! How to read a recording, with what it takes from other files by their paths.

use std::path::PathBuf;
use std::sync::Arc;

use onoff_sources::{Error, Limits, Progress};

use crate::shelf::{FileShelf, HELD_BYTES};
use crate::{drivers, manifests};

/// How to read a recording.
#[derive(Clone, Default)]
pub struct Options {
    /// Event schemas of the user's own providers: instrumentation manifests (`.man`), a provider's DLL, or folders with
    /// such files.
    pub manifests: Vec<PathBuf>,
    /// Folders with drivers' files (`.sys`) of the recorded computer: how they are signed.
    pub drivers: Vec<PathBuf>,
    /// How far packed files may expand.
    pub limits: Limits,
    /// Which boot to read of a recording that holds several: see [`onoff_sources::Options::boot`].
    pub boot: Option<String>,
    /// Bytes of large tables that stay in memory, 1 GiB where `None`. What is more goes to a file, of which half as
    /// much is in memory at a time.
    pub tables_in_memory_bytes: Option<usize>,
    /// Called from time to time while reading, from any thread.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Options {
    /// The options with the bytes of the files that they name.
    ///
    /// # Errors
    /// A file or folder that cannot be read.
    pub fn read(&self) -> Result<onoff_sources::Options, Error> {
        Ok(onoff_sources::Options {
            manifests: manifests::read(&self.manifests)?,
            driver_files: if self.drivers.is_empty() { None } else { Some(drivers::read(&self.drivers)?) },
            limits: self.limits,
            boot: self.boot.clone(),
            shelf: Some(Arc::new(FileShelf::new(self.tables_in_memory_bytes.unwrap_or(HELD_BYTES)))),
            progress: self.progress.clone(),
        })
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("manifests", &self.manifests)
            .field("drivers", &self.drivers)
            .field("limits", &self.limits)
            .field("boot", &self.boot)
            .field("tables_in_memory_bytes", &self.tables_in_memory_bytes)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
