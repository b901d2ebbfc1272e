//! How to read a recording, with what it takes from other files by their paths.

use std::path::PathBuf;
use std::sync::Arc;

use onoff_sources::{Error, Limits, Progress};

use crate::{drivers, manifests};

/// How to read a recording.
#[derive(Clone, Default)]
pub struct Options {
    /// Event schemas of the user's own providers: instrumentation manifests (`.man`), a provider's DLL, or folders with such files.
    pub manifests: Vec<PathBuf>,
    /// Folders with drivers' files (`.sys`) of the recorded computer: how they are signed.
    pub drivers: Vec<PathBuf>,
    /// How far packed files may expand.
    pub limits: Limits,
    /// Which boot to read of a recording that holds several: see [`onoff_sources::Options::boot`].
    pub boot: Option<String>,
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
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
