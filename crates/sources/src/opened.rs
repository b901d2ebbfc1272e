//! The files of a recording as bytes, wherever those come from: gathered by what they hold, unpacked.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::content_hash::sha256;
use crate::error::Error;
use crate::known_kinds::{FIRMWARE, known_kind};
use crate::linux::parts::{self, PartKind};
use crate::registry::{Recognised, SOURCES};
use crate::sections::sections;
use crate::sniff::{Content, Packing, RecordingKind, SNIFFED, sniff};
use crate::store::{Memory, Store};
use crate::unpack::{Limits, is_tar, tar_members, unpack};

/// The bytes of a file, wherever they are kept.
pub trait Bytes: Debug + Send + Sync {
    /// All of them.
    fn bytes(&self) -> &[u8];
    /// Says that the bytes of `range` will hardly be read again, so that their memory can serve others.
    fn release(&self, range: Range<usize>) {
        let _ = range;
    }
    /// Whether where they come from got shorter while they were read: what was read means nothing then.
    fn shortened(&self) -> Option<Shortened> {
        None
    }
}

/// How a file became shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// Bytes when it was opened.
    pub before: u64,
    /// Bytes now.
    pub now: u64,
}

impl Bytes for Arc<Vec<u8>> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Bytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

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

    fn of(name: String, stored_bytes: u64, bytes: Arc<dyn Bytes>) -> Self {
        let range = 0..bytes.bytes().len();
        Self { name, stored_bytes, bytes, range, store: Arc::new(Memory) }
    }

    /// The same file; what it unpacks to, if it is packed, goes to `store` instead of memory.
    #[must_use]
    pub fn unpacked_into(self, store: impl Store + 'static) -> Self {
        Self { store: Arc::new(store), ..self }
    }

    /// The part of it at `range`, as a file.
    fn part(&self, name: String, range: Range<usize>) -> Self {
        let from = self.range.start.saturating_add(range.start).min(self.range.end);
        let to = self.range.start.saturating_add(range.end).min(self.range.end);
        let bytes = Arc::clone(&self.bytes);
        Self { name, stored_bytes: (to - from) as u64, bytes, range: from..to, store: Arc::new(Memory) }
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
    fn check_complete(&self) -> Result<(), Error> {
        match self.bytes.shortened() {
            None => Ok(()),
            Some(Shortened { before, now }) => Err(Error::Shortened { name: self.name.clone(), before, now }),
        }
    }

    /// The refusal of a file that is none of the recordings that are gathered here.
    fn is_unknown(&self) -> Error {
        match known_kind(&self.name, self.bytes()) {
            Some(kind) => Error::of_kind(&self.name, kind),
            None => self.is_no_recording(),
        }
    }

    fn is_no_recording(&self) -> Error {
        Error::NotARecording {
            name: self.name.clone(),
            beginning: beginning(self.bytes()),
            advice: parts::advice(self.bytes()),
        }
    }

    fn is_other_kind(&self, kind: RecordingKind) -> Error {
        // Parts of Linux recordings, but what people call them is something else.
        if let Some(firmware) = known_kind(&self.name, self.bytes()).filter(|kind| *kind == FIRMWARE) {
            return Error::of_kind(&self.name, firmware);
        }
        Error::OtherKind { name: self.name.clone(), is: kind.as_str(), read_by: kind.read_by() }
    }
}

/// The files of one recording: all of one kind, unpacked.
#[derive(Debug)]
pub struct Files {
    files: Vec<SourceFile>,
    kind: RecordingKind,
    passed_over: Vec<String>,
}

impl Files {
    /// Files whose names and bytes are at hand already, packed or not.
    ///
    /// # Errors
    /// Bytes that are damaged, expand beyond `limits`, or are no recording.
    pub fn held(contents: impl IntoIterator<Item = (String, Vec<u8>)>, limits: &Limits) -> Result<Files, Error> {
        let mut gathering = Gathering::new(limits);
        for (name, bytes) in contents {
            gathering.add(SourceFile::new(name, bytes.len() as u64, bytes))?;
        }
        gathering.finish()
    }

    /// Names of the files in folders and archives that say nothing that is read.
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Refuses what was read of files that became shorter since they were opened: to be asked when all is read, before anything
    /// is made of it.
    ///
    /// # Errors
    /// The first file that did.
    pub fn check_complete(&self) -> Result<(), Error> {
        self.files.iter().try_for_each(SourceFile::check_complete)
    }

    /// Refuses files of another kind.
    pub(crate) fn must_be(&self, kind: RecordingKind) -> Result<(), Error> {
        match self.files.first() {
            Some(file) if self.kind != kind => Err(file.is_other_kind(self.kind)),
            _ => Ok(()),
        }
    }

    /// Whether they are tables of firmware and nothing else: parts of Linux recordings too, and no recording by themselves.
    #[must_use]
    pub fn are_firmware_tables(&self) -> bool {
        let is_table = |file: &SourceFile| parts::kind_of(&file.name, file.bytes()) == Some(PartKind::FirmwareTable);
        self.kind == RecordingKind::Linux && self.files.iter().all(is_table)
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

/// The files of a recording while they are gathered. `.xz`, `.gz`, `.zst`, `.zip` and `.tar` are undone by content, whatever the
/// names are.
#[derive(Debug)]
pub struct Gathering {
    limits: Limits,
    files: Vec<SourceFile>,
    passed_over: Vec<String>,
}

impl Gathering {
    /// Nothing yet; packed files will expand no further than `limits`.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { limits: *limits, files: Vec::new(), passed_over: Vec::new() }
    }

    /// Files taken so far.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.files.len()
    }

    /// Adds a file that was named: it must be readable. Of an archive, the files that are recordings or parts of one are taken.
    ///
    /// # Errors
    /// Bytes that are damaged or expand too far; an archive without any recording.
    pub fn add(&mut self, file: SourceFile) -> Result<(), Error> {
        let Content::Packed(packing) = sniff(file.bytes()) else {
            return self.add_plain(file);
        };
        let stored_bytes = file.bytes().len() as u64;
        let unpacked = unpack(&file.name, packing, file.bytes(), &self.limits, &*file.store);
        // What it was unpacked from is not read any more: now is the time to ask whether all of it was there.
        file.check_complete()?;
        let unpacked = unpacked?;
        self.pass_over_all(unpacked.passed_over);
        for (name, bytes) in unpacked.files {
            let unpacked = SourceFile::of(name, stored_bytes, bytes.into());
            if packing == Packing::Zip && !is_tar(unpacked.bytes()) {
                self.take(unpacked);
            } else {
                self.add_plain(unpacked)?;
            }
        }
        Ok(())
    }

    fn add_plain(&mut self, file: SourceFile) -> Result<(), Error> {
        if !is_tar(file.bytes()) {
            // A report that was named is read as what it holds, if that is of use; else the refusal shows how it begins.
            let before = self.files.len();
            if !self.take_sections(&file) || self.files.len() == before {
                self.files.push(file);
            }
            return Ok(());
        }
        let before = self.files.len();
        let members = tar_members(&file.name, file.bytes())?;
        let count = members.len();
        file.check_complete()?;
        for (name, member) in members {
            if !member.is_empty() {
                self.take(file.part(name, member));
            }
        }
        if self.files.len() == before {
            if let Some(kind) = known_kind(&file.name, file.bytes()) {
                return Err(Error::of_kind(&file.name, kind));
            }
            return Err(Error::NoRecordingInside { name: file.name, members: count });
        }
        Ok(())
    }

    /// Adds a file that was only found, in a folder: it is passed over if it is no recording and no part of one, or damaged.
    pub fn consider(&mut self, file: SourceFile) {
        let Content::Packed(packing) = sniff(file.bytes()) else {
            self.take(file);
            return;
        };
        match unpack(&file.name, packing, file.bytes(), &self.limits, &*file.store) {
            Ok(unpacked) => {
                self.pass_over_all(unpacked.passed_over);
                for (name, bytes) in unpacked.files {
                    self.take(SourceFile::of(name, file.stored_bytes, bytes.into()));
                }
            }
            Err(_) => self.passed_over.push(file.name),
        }
    }

    /// Notes a file or folder that could not be looked at.
    pub fn pass_over(&mut self, name: String) {
        self.passed_over.push(name);
    }

    /// Takes a file of a folder or archive, if it is a recording or part of one, and none with the same bytes is there.
    fn take(&mut self, file: SourceFile) {
        if self.take_sections(&file) {
            return;
        }
        let bytes = file.bytes();
        let useful = match sniff(bytes) {
            Content::Recording(_) => true,
            Content::Unknown => parts::kind_of(&file.name, bytes).is_some(),
            Content::Empty | Content::Packed(_) => false,
        };
        let met = || self.files.iter().any(|other| other.bytes().len() == bytes.len() && other.bytes() == bytes);
        if !useful {
            self.pass_over_all([file.name]);
        } else if !met() {
            self.files.push(file);
        }
    }

    /// Takes the outputs in a file that holds many; no such file is left alone.
    fn take_sections(&mut self, file: &SourceFile) -> bool {
        let Some(sections) = sections(file.bytes()) else {
            return false;
        };
        for section in sections.into_iter().filter(|section| !section.range.is_empty()) {
            let part = file.part(format!("{}: {}", file.name, section.name), section.range);
            let bytes = part.bytes();
            let of_use = matches!(sniff(bytes), Content::Unknown) && parts::kind_of(&section.name, bytes).is_some();
            let met = self.files.iter().any(|other| other.bytes() == bytes);
            match (of_use, met) {
                (true, false) => self.files.push(part),
                (true, true) => {}
                (false, _) => self.pass_over_all([part.name]),
            }
        }
        true
    }

    fn pass_over_all(&mut self, names: impl IntoIterator<Item = String>) {
        let unknown = names.into_iter().filter(|name| !parts::is_for_people(name));
        self.passed_over.extend(unknown);
    }

    /// The files, once all are there.
    ///
    /// # Errors
    /// No file; a file that is no recording; files of several kinds.
    pub fn finish(self) -> Result<Files, Error> {
        let Self { files, passed_over, .. } = self;
        if files.is_empty() {
            return Err(Error::NoFile);
        }
        let mut kind = None;
        let mut adds = None;
        for file in &files {
            let found = SOURCES.iter().find_map(|source| match (source.recognise)(&file.name, file.bytes()) {
                Recognised::No => None,
                recognised => Some((source.kind, recognised)),
            });
            match found {
                // It says something of a recording, but is none: that it takes another file.
                Some((_, Recognised::Part)) => adds = adds.or(Some(file)),
                Some((found, _)) if *kind.get_or_insert(found) != found => return Err(file.is_other_kind(found)),
                Some(_) => {}
                None => return Err(file.is_unknown()),
            }
        }
        let kind = match (kind, adds) {
            (Some(RecordingKind::Linux) | None, _) | (_, None) => kind.unwrap_or(RecordingKind::Linux),
            (Some(_), Some(file)) => return Err(file.is_no_recording()),
        };
        Ok(Files { files, kind, passed_over })
    }
}

/// Refuses a stream or device whose first bytes are those of no recording: it may never end. `head` are [`LOOKED_AT`] bytes, or
/// all there are.
///
/// # Errors
/// It is none.
pub fn refuse_at_first_look(name: &str, head: &[u8]) -> Result<(), Error> {
    // A short one has ended already; whatever is wrong with it is said where it is read.
    if head.len() < LOOKED_AT {
        return Ok(());
    }
    let what = match sniff(head) {
        Content::Recording(_) | Content::Packed(_) => return Ok(()),
        Content::Unknown if is_tar(head) || parts::kind_of(name, head).is_some() => return Ok(()),
        Content::Empty => "zeros".to_owned(),
        Content::Unknown if onoff_fileio::recognise(head).is_some() => return Ok(()),
        Content::Unknown => match known_kind(name, head) {
            Some(kind) => return Err(Error::of_kind(name, kind)),
            None => format!("of no known kind; they begin with {}", beginning(head)),
        },
    };
    Err(Error::NoRecordingAtFirstLook { name: name.to_owned(), looked_at: head.len(), what })
}

/// Bytes that say what a file is.
pub const LOOKED_AT: usize = parts::LOOKED_AT;

/// The first bytes, for a message.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    bytes.iter().take(SNIFFED.min(8)).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
