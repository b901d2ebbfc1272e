//! Collects the files of a recording by content, unpacks them, and rejects files that are not recordings.

use std::sync::Arc;

use crate::known_kinds::{FIRMWARE, known_kind};
use crate::recordings::{FileRole, file_role, require_single, require_single_in_archive};
use crate::registry::{Recognized, SOURCES};
use crate::sections::sections;
use onoff_input::error::Error;
use onoff_input::opened::{Files, SourceFile};
use onoff_input::sniff::{
    Content, KnownKind, Packing, RecordingKind, SNIFF_LEN, beginning, first_bytes, is_tar, sniff,
};
use onoff_input::store::{Memory, Store};
use onoff_input::unpack::{Limits, TarMembers, UnpackOptions, tar_members, unpack};

/// Opens a recording from names and bytes in memory, packed or not.
///
/// # Errors
/// Bytes that are damaged, exceed `limits`, or are not a recording.
pub fn files_from_bytes(
    contents: impl IntoIterator<Item = (String, Vec<u8>)>,
    limits: &Limits,
) -> Result<Files, Error> {
    let contents: Vec<(String, Vec<u8>)> = contents.into_iter().collect();
    if contents.len() > 1 {
        let names: Vec<&str> = contents.iter().map(|(name, _)| name.as_str()).collect();
        let roles: Vec<FileRole> = contents.iter().map(|(name, bytes)| file_role(name, bytes)).collect();
        require_single(&names, &roles)?;
    }
    let mut collector = FileCollector::new(limits);
    for (name, bytes) in contents {
        collector.add(SourceFile::new(name, bytes.len() as u64, bytes))?;
    }
    collector.finish()
}

/// Collects the files of a recording. `.xz`, `.gz`, `.zst`, `.zip` and `.tar` are detected by content, not by name.
#[derive(Debug)]
pub struct FileCollector {
    limits: Limits,
    files: Vec<SourceFile>,
    skipped: Vec<String>,
    /// Stores with the unpacked content of files, to forget it if the files are not a recording.
    stores: Vec<Arc<dyn Store>>,
}

impl FileCollector {
    /// Creates an empty collection. Packed files are limited by `limits`.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { limits: *limits, files: Vec::new(), skipped: Vec::new(), stores: Vec::new() }
    }

    fn unpack_options<'a>(&'a self, file: &'a SourceFile) -> UnpackOptions<'a> {
        UnpackOptions { limits: &self.limits, store: &**file.store(), is_relevant: onoff_linux::is_part }
    }

    /// Returns the number of files collected so far.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Adds a file named by the user, which must be valid. Of an archive, adds the recordings and parts of recordings.
    ///
    /// # Errors
    /// Bytes that are damaged or exceed the limits; an archive without a recording.
    pub fn add(&mut self, file: SourceFile) -> Result<(), Error> {
        let Content::Packed(packing) = sniff(file.bytes()) else { return self.add_plain(file) };
        let store = Arc::clone(file.store());
        let result = self.add_packed(packing, file);
        match result {
            Ok(()) => self.stores.push(store),
            Err(_) => store.forget(),
        }
        result
    }

    fn add_packed(&mut self, packing: Packing, file: SourceFile) -> Result<(), Error> {
        let stored_bytes = file.bytes().len() as u64;
        let unpacked = unpack(file.name(), packing, file.bytes(), self.unpack_options(&file));
        // The packed file is not read anymore, so check now whether it was complete.
        file.check_complete()?;
        let unpacked = unpacked?;
        self.skip_all(unpacked.skipped);
        let first_new = self.files.len();
        for (name, bytes) in unpacked.files {
            let unpacked = SourceFile::from_shared(name, stored_bytes, bytes.into());
            if packing == Packing::Zip && !is_tar(unpacked.bytes()) {
                self.add_if_relevant(unpacked);
            } else {
                self.add_plain(unpacked)?;
            }
        }
        require_single_in_archive(self.files.get(first_new..).unwrap_or_default())
    }

    fn add_plain(&mut self, file: SourceFile) -> Result<(), Error> {
        if !is_tar(file.bytes()) {
            // Replace a report by its sections if any section is relevant; otherwise, the error shows its beginning.
            let first_new = self.files.len();
            if !self.add_sections(&file) || self.files.len() == first_new {
                self.files.push(file);
            }
            return Ok(());
        }
        let first_new = self.files.len();
        let TarMembers { members, is_truncated } = tar_members(file.name(), file.bytes())?;
        if is_truncated {
            self.skipped.push(format!("{}: the rest of the truncated or damaged archive", file.name()));
        }
        let count = members.len();
        file.check_complete()?;
        for (name, member) in members {
            match member.is_empty() {
                true => self.skip_empty(name),
                false => self.add_if_relevant(file.part(name, member)),
            }
        }
        if self.files.len() == first_new {
            if let Some(kind) = known_kind(file.name(), file.bytes()) {
                return Err(Error::unexpected_kind(file.name(), kind));
            }
            return Err(Error::NoRecordingInside { name: file.name().to_owned(), members: count });
        }
        require_single_in_archive(self.files.get(first_new..).unwrap_or_default())
    }

    /// Adds a file found in a folder, or skips it if it is damaged or not part of a recording.
    pub fn add_from_folder(&mut self, file: SourceFile) {
        let Content::Packed(packing) = sniff(file.bytes()) else {
            self.add_if_relevant(file);
            return;
        };
        match unpack(file.name(), packing, file.bytes(), self.unpack_options(&file)) {
            Ok(unpacked) => {
                self.skip_all(unpacked.skipped);
                let first_new = self.files.len();
                for (name, bytes) in unpacked.files {
                    self.add_if_relevant(SourceFile::from_shared(name, file.stored_bytes(), bytes.into()));
                }
                match self.files.len() == first_new {
                    true => file.store().forget(),
                    false => self.stores.push(Arc::clone(file.store())),
                }
            }
            Err(_) => {
                file.store().forget();
                self.skipped.push(file.name().to_owned());
            }
        }
    }

    /// Records a skipped file or folder.
    pub fn skip(&mut self, name: String) {
        self.skipped.push(name);
    }

    /// Records a skipped empty file in a folder.
    pub fn skip_empty(&mut self, name: String) {
        self.skip_all([name]);
    }

    /// Adds a file of a folder or archive if it is part of a recording and not a duplicate.
    fn add_if_relevant(&mut self, file: SourceFile) {
        if self.add_sections(&file) {
            return;
        }
        let bytes = file.bytes();
        let is_relevant = match sniff(bytes) {
            Content::Recording(_) => true,
            Content::Unknown => onoff_linux::is_part(file.name(), bytes),
            Content::Empty | Content::Packed(_) => false,
        };
        let is_duplicate =
            || self.files.iter().any(|other| other.bytes().len() == bytes.len() && other.bytes() == bytes);
        if !is_relevant {
            self.skip_all([file.name().to_owned()]);
        } else if !is_duplicate() {
            self.files.push(file);
        }
    }

    /// Adds the sections of a report. Returns false if the file is not a report.
    fn add_sections(&mut self, file: &SourceFile) -> bool {
        let Some(sections) = sections(file.bytes()) else { return false };
        for section in sections.into_iter().filter(|section| !section.range.is_empty()) {
            let part = file.part(format!("{}: {}", file.name(), section.name), section.range);
            let bytes = part.bytes();
            let is_relevant = matches!(sniff(bytes), Content::Unknown) && onoff_linux::is_part(&section.name, bytes);
            let is_duplicate = self.files.iter().any(|other| other.bytes() == bytes);
            match (is_relevant, is_duplicate) {
                (true, false) => self.files.push(part),
                (true, true) => {}
                (false, _) => self.skip_all([part.name().to_owned()]),
            }
        }
        true
    }

    fn skip_all(&mut self, names: impl IntoIterator<Item = String>) {
        let unknown_names = names.into_iter().filter(|name| !onoff_linux::is_informational(name));
        self.skipped.extend(unknown_names);
    }

    /// Returns the files of the recording.
    ///
    /// # Errors
    /// No file; a file that is not a recording; files of several kinds.
    pub fn finish(mut self) -> Result<Files, Error> {
        let stores = std::mem::take(&mut self.stores);
        let result = self.into_files();
        if result.is_err() {
            stores.iter().for_each(|store| store.forget());
        }
        result
    }

    fn into_files(self) -> Result<Files, Error> {
        let Self { files, skipped, .. } = self;
        if files.is_empty() {
            return Err(Error::NoFile);
        }
        let (event_logs, files) = split_event_logs(files);
        let mut kind = None;
        let mut complement = None;
        for file in &files {
            let file_source = SOURCES.iter().find_map(|source| match (source.recognize)(file.name(), file.bytes()) {
                Recognized::No => None,
                recognized => Some((source.kind, recognized)),
            });
            match file_source {
                // The file complements a recording but is not a recording, so a further file is required.
                Some((_, Recognized::Part)) => complement = complement.or(Some(file)),
                Some((file_kind, _)) if *kind.get_or_insert(file_kind) != file_kind => {
                    return Err(Error::unexpected_kind(file.name(), kind_for_error(file, file_kind)));
                }
                Some(_) => {}
                None => return Err(unknown_file_error(file)),
            }
        }
        let kind = match (kind, complement) {
            (Some(RecordingKind::Linux) | None, _) | (_, None) => kind.unwrap_or(RecordingKind::Linux),
            (Some(_), Some(file)) => return Err(no_recording_error(file)),
        };
        let is_table = |file: &SourceFile| onoff_linux::is_firmware_table(file.name(), file.bytes());
        let are_firmware_tables = kind == RecordingKind::Linux && files.iter().all(is_table);
        let first_kind = files.first().map_or(kind.known_kind(), |file| kind_for_error(file, kind));
        let files = Files::new(files, kind, first_kind, skipped, are_firmware_tables);
        if event_logs.is_empty() {
            return Ok(files);
        }
        let kind = RecordingKind::WindowsEventLogs;
        Ok(files.with_event_logs(Files::new(event_logs, kind, kind.known_kind(), Vec::new(), false)))
    }
}

/// Separates event logs from the trace that they accompany, and returns them and the other files. Without a trace,
/// event logs are a recording, and all files are returned as the others.
fn split_event_logs(files: Vec<SourceFile>) -> (Vec<SourceFile>, Vec<SourceFile>) {
    let is = |file: &SourceFile, kind: RecordingKind| sniff(file.bytes()) == Content::Recording(kind);
    match files.iter().any(|file| is(file, RecordingKind::EventTraceLog)) {
        true => files.into_iter().partition(|file| is(file, RecordingKind::WindowsEventLogs)),
        false => (Vec::new(), files),
    }
}

/// Describes a file of a recording of `kind`, for an error because a different kind is needed.
fn kind_for_error(file: &SourceFile, kind: RecordingKind) -> KnownKind {
    // Firmware tables are parts of Linux recordings, but "a firmware table" is more specific.
    known_kind(file.name(), file.bytes()).filter(|kind| *kind == FIRMWARE).unwrap_or(kind.known_kind())
}

/// Returns the error for a file that is not a recording.
fn unknown_file_error(file: &SourceFile) -> Error {
    match known_kind(file.name(), file.bytes()) {
        Some(kind) => Error::unexpected_kind(file.name(), kind),
        None => no_recording_error(file),
    }
}

fn no_recording_error(file: &SourceFile) -> Error {
    let (name, bytes) = (file.name().to_owned(), file.bytes());
    let advice = match onoff_linux::advice(bytes) {
        "" => {
            ". onoff reads .etl files, Linux journals and kernel logs, network captures and firmware tables (see 'onoff --help')"
        }
        advice => advice,
    };
    Error::NotARecording { name, beginning: beginning(bytes), advice }
}

/// Unpacks a file (xz, gzip, zstd, bzip2) that is not a recording, such as a registry hive. Returns unpacked files unchanged.
///
/// # Errors
/// Packed bytes that are damaged or exceed `limits`.
pub fn unpacked_file(name: &str, bytes: Vec<u8>, limits: &Limits) -> Result<Vec<u8>, Error> {
    let Content::Packed(packing) = sniff(&bytes) else { return Ok(bytes) };
    if packing == Packing::Zip {
        return Ok(bytes);
    }
    let unpacked =
        unpack(name, packing, &bytes, UnpackOptions { limits, store: &Memory, is_relevant: onoff_linux::is_part })?;
    Ok(unpacked.files.first().map(|(_, content)| content.bytes().to_vec()).unwrap_or_default())
}

/// Rejects a stream or device whose first bytes cannot be a recording, because it may never end. `head` is its first
/// [`SNIFF_LEN`] bytes, or everything if it is shorter.
///
/// # Errors
/// A stream or device that is not a recording.
pub fn reject_non_recording(name: &str, head: &[u8]) -> Result<(), Error> {
    // A shorter stream has already ended; its reader reports problems.
    if head.len() < SNIFF_LEN {
        return Ok(());
    }
    let content = match sniff(head) {
        Content::Recording(_) | Content::Packed(_) => return Ok(()),
        Content::Unknown if is_tar(head) || onoff_linux::is_part(name, head) => return Ok(()),
        Content::Empty => "zeros".to_owned(),
        Content::Unknown if onoff_fileio::recognize(head).is_some() => return Ok(()),
        Content::Unknown => match known_kind(name, head) {
            Some(kind) => return Err(Error::unexpected_kind(name, kind)),
            None => format!("in an unknown format, starting with {}", first_bytes(head)),
        },
    };
    Err(Error::NotARecordingStream { name: name.to_owned(), examined: head.len(), what: content })
}
