//! Options for reading a recording, with paths of additional files.

use std::path::PathBuf;
use std::sync::Arc;

use onoff_sources::{Error, Limits, Progress};

use crate::spill_file::{DEFAULT_IN_MEMORY_BYTES, SpillFile};
use crate::{drivers, manifests};

/// Options for reading a recording.
#[derive(Clone, Default)]
pub struct Options {
    /// User-supplied event schemas: instrumentation manifests (`.man`), trace message format files
    /// (`.tmf`), a provider's DLL, or folders with such files.
    pub manifests: Vec<PathBuf>,
    /// Folders with driver files (`.sys`) of the recorded computer, to check their signatures.
    pub drivers: Vec<PathBuf>,
    /// Limits for unpacking.
    pub limits: Limits,
    /// Boot to read from a recording of several boots: see [`onoff_sources::Options::boot`].
    pub boot: Option<String>,
    /// What is asked of a recording of several boots: see [`onoff_sources::Options::purpose`].
    pub purpose: onoff_sources::Purpose,
    /// Size of large tables kept in memory, in bytes; 1 GiB if `None`. Larger tables are spilled to a file; at most
    /// half this size of that file is in memory at a time.
    pub tables_in_memory_bytes: Option<usize>,
    /// Called periodically while reading, from any thread.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Options {
    /// Reads the manifests and driver files, and returns the options with their content.
    ///
    /// # Errors
    /// A file or folder cannot be read.
    pub fn read(&self) -> Result<onoff_sources::Options, Error> {
        let driver_files = if self.drivers.is_empty() { None } else { Some(drivers::read(&self.drivers)?) };
        let (driver_files, unreadable_driver_files) =
            driver_files.map(|files| (files.drivers, files.unreadable)).unzip();
        Ok(onoff_sources::Options {
            manifests: manifests::read(&self.manifests)?,
            driver_files,
            unreadable_driver_files: unreadable_driver_files.unwrap_or_default(),
            limits: self.limits,
            boot: self.boot.clone(),
            purpose: self.purpose,
            spill_store: Some(Arc::new(SpillFile::new(self.tables_in_memory_bytes.unwrap_or(DEFAULT_IN_MEMORY_BYTES)))),
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
            .field("purpose", &self.purpose)
            .field("tables_in_memory_bytes", &self.tables_in_memory_bytes)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
