//! How to read a recording, and how far reading has come.

use std::sync::Arc;

use onoff_trace::{DriverFile, Shelf};

use crate::unpack::Limits;

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of event data that have been read.
    pub done_bytes: u64,
    /// Bytes of event data that will be read. A recording that is read twice (to count everything, then in order) comes
    /// to its end twice.
    pub total_bytes: u64,
}

/// A file that is no recording but helps to read one, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedBytes {
    /// Its name, for messages.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// How to read a recording.
#[derive(Clone, Default)]
pub struct Options {
    /// Event schemas of the user's own providers: instrumentation manifests (`.man`), or a provider's
    /// program or DLL.
    pub manifests: Vec<NamedBytes>,
    /// How drivers' files of the recorded computer are signed ([`driver_file`]); `None` when none were given.
    pub driver_files: Option<Vec<DriverFile>>,
    /// How far packed files may expand.
    pub limits: Limits,
    /// Which boot to read of a recording that holds several (a journal): a boot's id, or a number as `journalctl
    /// --list-boots` counts, 0 the last and -1 the one before. `None` for the one that the other parts belong to, else
    /// the last.
    pub boot: Option<String>,
    /// Takes batches of tables that are too much for memory; `None` where all stay there.
    pub shelf: Option<Arc<dyn Shelf>>,
    /// Called from time to time while reading, from any thread.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Options {
    /// Passes on how far reading has come.
    pub fn report(&self, progress: Progress) {
        if let Some(report) = &self.progress {
            report(progress);
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("manifests", &self.manifests)
            .field("driver_files", &self.driver_files)
            .field("limits", &self.limits)
            .field("boot", &self.boot)
            .field("shelf", &self.shelf)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
