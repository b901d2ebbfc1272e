//! How to read a recording, with what it takes from other files by their paths.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use onoff_sources::{Error, Limits, NamedBytes, Progress};

use crate::{drivers, failed};

/// How to read a recording.
#[derive(Clone, Default)]
pub struct Options {
    /// Event schemas of the user's own providers: instrumentation manifests (`.man`) or a provider's DLL.
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
        let manifests: Result<Vec<NamedBytes>, Error> = self
            .manifests
            .iter()
            .map(|path| {
                let bytes = fs::read(path).map_err(failed(path))?;
                Ok(NamedBytes { name: path.display().to_string(), bytes })
            })
            .collect();
        Ok(onoff_sources::Options {
            manifests: manifests?,
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
