//! Options for reading a recording, and progress reports.

use std::sync::Arc;

use onoff_trace::{DriverFile, SpillStore};

use crate::unpack::Limits;

/// Progress of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of event data read so far.
    pub done_bytes: u64,
    /// Total bytes of event data. A recording that is read in two passes (survey, then in order) reaches the total
    /// twice.
    pub total_bytes: u64,
}

/// An additional file used to read a recording, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedBytes {
    /// Name, for messages.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// What a recording with several boots is read for. Without an explicit choice, this selects the boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Anything about the boot itself.
    #[default]
    Boot,
    /// The shutdown at the end of a boot.
    Shutdown,
    /// The sleeps within a boot.
    Sleep,
}

/// Options for reading a recording.
#[derive(Clone, Default)]
pub struct Options {
    /// User-supplied event schemas: instrumentation manifests (`.man`), trace message format files
    /// (`.tmf`), or a provider's program or DLL.
    pub manifests: Vec<NamedBytes>,
    /// Signatures of the driver files of the recorded computer (`onoff_sources::driver_file`); `None` if none were
    /// given.
    pub driver_files: Option<Vec<DriverFile>>,
    /// Paths of driver files whose signatures could not be read, with the reason.
    pub unreadable_driver_files: Vec<(String, String)>,
    /// Limits for unpacking.
    pub limits: Limits,
    /// Boot to read from a recording with several boots (a journal): a boot ID, or a number as in
    /// `journalctl --list-boots`, 0 for the last boot and -1 for the boot before it. `None` for the boot that the other
    /// files belong to, or the last boot if there are no other files.
    pub boot: Option<String>,
    /// The question, which selects a boot of event logs if `boot` is `None`.
    pub purpose: Purpose,
    /// Destination for tables that exceed the memory budget; `None` to keep everything in memory.
    pub spill_store: Option<Arc<dyn SpillStore>>,
    /// Called periodically while reading, from any thread.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Options {
    /// Reports progress.
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
            .field("unreadable_driver_files", &self.unreadable_driver_files)
            .field("limits", &self.limits)
            .field("boot", &self.boot)
            .field("purpose", &self.purpose)
            .field("spill_store", &self.spill_store)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
