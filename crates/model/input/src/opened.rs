//! The unpacked files of a recording, independent of the source of their bytes.

use std::ops::Range;
use std::sync::Arc;

use crate::bytes::{Bytes, Truncation};
use crate::content_hash::sha256;
use crate::error::Error;
use crate::sniff::{KnownKind, RecordingKind};
use crate::store::{Memory, Store};

/// A file of a recording, as bytes.
#[derive(Debug)]
pub struct SourceFile {
    name: String,
    stored_bytes: u64,
    /// Shared by the members of an archive.
    bytes: Arc<dyn Bytes>,
    range: Range<usize>,
    /// Destination for the unpacked content.
    store: Arc<dyn Store>,
}

impl SourceFile {
    /// Creates a file from its name, its size on disk, and its content.
    pub fn new(name: String, stored_bytes: u64, bytes: impl Bytes + 'static) -> Self {
        Self::from_shared(name, stored_bytes, Arc::new(bytes))
    }

    /// Like [`SourceFile::new`], with shared bytes.
    pub fn from_shared(name: String, stored_bytes: u64, bytes: Arc<dyn Bytes>) -> Self {
        let range = 0..bytes.bytes().len();
        Self { name, stored_bytes, bytes, range, store: Arc::new(Memory) }
    }

    /// Sets `store` as the destination of the unpacked content, instead of memory.
    #[must_use]
    pub fn with_store(self, store: impl Store + 'static) -> Self {
        Self { store: Arc::new(store), ..self }
    }

    /// Returns the bytes in `range` as a file.
    pub fn part(&self, name: String, range: Range<usize>) -> Self {
        let start = self.range.start.saturating_add(range.start).min(self.range.end);
        let end = self.range.start.saturating_add(range.end).min(self.range.end);
        let bytes = Arc::clone(&self.bytes);
        Self { name, stored_bytes: (end - start) as u64, bytes, range: start..end, store: Arc::new(Memory) }
    }

    /// Returns the destination for the unpacked content.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the name that the file was opened with; for a member of an archive, the archive's name, `/`, and the
    /// member's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the size on disk, in bytes; the packed size if the file was packed.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// Returns the unpacked bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.bytes().get(self.range.clone()).unwrap_or_default()
    }

    /// Returns the SHA-256 of the bytes, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> String {
        let mut released_end = self.range.start;
        sha256(self.bytes(), |hashed_bytes| {
            let hashed_end = self.range.start.saturating_add(hashed_bytes);
            self.bytes.release(released_end..hashed_end);
            released_end = hashed_end;
        })
    }

    /// Fails if the file was truncated while it was read.
    pub fn check_complete(&self) -> Result<(), Error> {
        match self.bytes.truncation() {
            None => Ok(()),
            Some(Truncation { original_bytes: before, current_bytes: now }) => {
                Err(Error::Truncated { name: self.name.clone(), before, now })
            }
        }
    }
}

/// The unpacked files of one recording, all of one kind.
#[derive(Debug)]
pub struct Files {
    files: Vec<SourceFile>,
    kind: RecordingKind,
    skipped: Vec<String>,
    first_kind: KnownKind,
    are_firmware_tables: bool,
    event_logs: Option<Box<Files>>,
}

impl Files {
    /// Creates the files of one recording. `first_kind` describes the first file in errors, `skipped` lists the skipped
    /// files.
    #[must_use]
    pub fn new(
        files: Vec<SourceFile>,
        kind: RecordingKind,
        first_kind: KnownKind,
        skipped: Vec<String>,
        are_firmware_tables: bool,
    ) -> Self {
        Self { files, kind, skipped, first_kind, are_firmware_tables, event_logs: None }
    }

    /// Adds event logs of the recorded computer, which accompany a trace.
    #[must_use]
    pub fn with_event_logs(self, event_logs: Files) -> Self {
        Self { event_logs: Some(Box::new(event_logs)), ..self }
    }

    /// Returns the event logs that were given with the trace.
    #[must_use]
    pub fn event_logs(&self) -> Option<&Files> {
        self.event_logs.as_deref()
    }

    /// Returns the names of the skipped files in folders and archives.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Fails if a file was truncated since it was opened. Call this after reading all files and before using the
    /// results.
    ///
    /// # Errors
    /// The first truncated file.
    pub fn check_complete(&self) -> Result<(), Error> {
        self.with_accompanying().try_for_each(SourceFile::check_complete)
    }

    /// Fails if the files are of another kind.
    pub fn require_kind(&self, kind: RecordingKind) -> Result<(), Error> {
        match self.files.first() {
            Some(file) if self.kind != kind => Err(Error::unexpected_kind(file.name(), self.first_kind)),
            _ => Ok(()),
        }
    }

    /// True if all files are firmware tables, which can be part of a Linux recording, but are not a recording on their
    /// own.
    #[must_use]
    pub fn are_firmware_tables(&self) -> bool {
        self.are_firmware_tables
    }

    /// Returns the kind of the recording.
    #[must_use]
    pub fn kind(&self) -> RecordingKind {
        self.kind
    }

    /// Returns the files in the given order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SourceFile> {
        self.files.iter()
    }

    /// Returns the files, followed by the event logs that accompany them.
    pub fn with_accompanying(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().chain(self.event_logs().into_iter().flat_map(|logs| &logs.files))
    }

    /// Returns the files as inputs for the reader of Event Trace Logs.
    #[must_use]
    pub fn inputs(&self) -> Vec<onoff_etl::Input<'_>> {
        self.files.iter().map(|file| onoff_etl::Input { name: &file.name, bytes: file.bytes() }).collect()
    }

    /// Hints that `range` of file number `file` will probably not be read again, so its memory can be reused.
    pub fn release(&self, file: usize, range: Range<u64>) {
        if let Some(file) = self.files.get(file) {
            let position = |offset: u64| {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                file.range.start.saturating_add(offset).min(file.range.end)
            };
            file.bytes.release(position(range.start)..position(range.end));
        }
    }
}
