//! The files of a recording as bytes, wherever those come from: unpacked, all of one kind.

use std::ops::Range;
use std::sync::Arc;

use crate::bytes::{Bytes, Shortened};
use crate::content_hash::sha256;
use crate::error::Error;
use crate::sniff::{KnownKind, RecordingKind};
use crate::store::{Memory, Store};

/// One file of a recording, as bytes.
#[derive(Debug)]
pub struct SourceFile {
    name: String,
    stored_bytes: u64,
    /// Members of an archive share its bytes.
    bytes: Arc<dyn Bytes>,
    range: Range<usize>,
    /// Where it is unpacked to.
    store: Arc<dyn Store>,
}

impl SourceFile {
    /// A file with its name, the bytes it takes where it is stored, and what it holds.
    pub fn new(name: String, stored_bytes: u64, bytes: impl Bytes + 'static) -> Self {
        Self::of(name, stored_bytes, Arc::new(bytes))
    }

    /// The same, of bytes that others may share.
    pub fn of(name: String, stored_bytes: u64, bytes: Arc<dyn Bytes>) -> Self {
        let range = 0..bytes.bytes().len();
        Self { name, stored_bytes, bytes, range, store: Arc::new(Memory) }
    }

    /// The same file; what it unpacks to, if it is packed, goes to `store` instead of memory.
    #[must_use]
    pub fn unpacked_into(self, store: impl Store + 'static) -> Self {
        Self { store: Arc::new(store), ..self }
    }

    /// The part of it at `range`, as a file.
    pub fn part(&self, name: String, range: Range<usize>) -> Self {
        let from = self.range.start.saturating_add(range.start).min(self.range.end);
        let to = self.range.start.saturating_add(range.end).min(self.range.end);
        let bytes = Arc::clone(&self.bytes);
        Self { name, stored_bytes: (to - from) as u64, bytes, range: from..to, store: Arc::new(Memory) }
    }

    /// Where it is unpacked to.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The name it was opened by; for a member of an archive, the archive's name, `/`, and the member's.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the file where it is stored, packed if it was.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// The bytes, unpacked.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.bytes().get(self.range.clone()).unwrap_or_default()
    }

    /// SHA-256 of the bytes, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> String {
        let mut before = self.range.start;
        sha256(self.bytes(), |read| {
            let now = self.range.start.saturating_add(read);
            self.bytes.release(before..now);
            before = now;
        })
    }

    /// Refuses what was read of a file that became shorter.
    pub fn check_complete(&self) -> Result<(), Error> {
        match self.bytes.shortened() {
            None => Ok(()),
            Some(Shortened { before, now }) => Err(Error::Shortened { name: self.name.clone(), before, now }),
        }
    }
}

/// The files of one recording: all of one kind, unpacked.
#[derive(Debug)]
pub struct Files {
    files: Vec<SourceFile>,
    kind: RecordingKind,
    passed_over: Vec<String>,
    first_is: KnownKind,
    are_firmware_tables: bool,
}

impl Files {
    /// Files of one recording. `first_is` names the first file in errors, `passed_over` the files that were skipped.
    #[must_use]
    pub fn new(
        files: Vec<SourceFile>,
        kind: RecordingKind,
        first_is: KnownKind,
        passed_over: Vec<String>,
        are_firmware_tables: bool,
    ) -> Self {
        Self { files, kind, passed_over, first_is, are_firmware_tables }
    }

    /// Names of the files in folders and archives that say nothing that is read.
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Refuses what was read of files that became shorter since they were opened: to be asked when all is read, before
    /// anything is made of it.
    ///
    /// # Errors
    /// The first file that did.
    pub fn check_complete(&self) -> Result<(), Error> {
        self.files.iter().try_for_each(SourceFile::check_complete)
    }

    /// Refuses files of another kind.
    pub fn must_be(&self, kind: RecordingKind) -> Result<(), Error> {
        match self.files.first() {
            Some(file) if self.kind != kind => Err(Error::of_kind(file.name(), self.first_is)),
            _ => Ok(()),
        }
    }

    /// Whether they are tables of firmware and nothing else: parts of Linux recordings too, and no recording by
    /// themselves.
    #[must_use]
    pub fn are_firmware_tables(&self) -> bool {
        self.are_firmware_tables
    }

    /// What they are.
    #[must_use]
    pub fn kind(&self) -> RecordingKind {
        self.kind
    }

    /// Each file, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SourceFile> {
        self.files.iter()
    }

    /// The files as the reader of Event Trace Logs takes them.
    #[must_use]
    pub fn inputs(&self) -> Vec<onoff_etl::Input<'_>> {
        self.files.iter().map(|file| onoff_etl::Input { name: &file.name, bytes: file.bytes() }).collect()
    }

    /// Says that `range` of file number `file` will hardly be read again, so that its memory can serve others.
    pub fn release(&self, file: usize, range: Range<u64>) {
        if let Some(file) = self.files.get(file) {
            let place = |offset: u64| {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                file.range.start.saturating_add(offset).min(file.range.end)
            };
            file.bytes.release(place(range.start)..place(range.end));
        }
    }
}
