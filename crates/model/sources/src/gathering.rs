//! Files into a recording: gathered by what they hold, unpacked; refused where they are none.

use crate::known_kinds::{FIRMWARE, known_kind};
use crate::recordings::{FileRole, file_role, refuse_several, refuse_several_members};
use crate::registry::{Recognized, SOURCES};
use crate::sections::sections;
use onoff_input::error::Error;
use onoff_input::opened::{Files, SourceFile};
use onoff_input::sniff::{Content, KnownKind, LOOKED_AT, Packing, RecordingKind, beginning, is_tar, sniff};
use onoff_input::store::Memory;
use onoff_input::unpack::{Limits, TarMembers, Unpacking, tar_members, unpack};

/// The recording in files whose names and bytes are in memory, packed or not.
///
/// # Errors
/// Bytes that are damaged, expand beyond `limits`, or are no recording.
pub fn files_from_bytes(
    contents: impl IntoIterator<Item = (String, Vec<u8>)>,
    limits: &Limits,
) -> Result<Files, Error> {
    let contents: Vec<(String, Vec<u8>)> = contents.into_iter().collect();
    if contents.len() > 1 {
        let names: Vec<&str> = contents.iter().map(|(name, _)| name.as_str()).collect();
        let roles: Vec<FileRole> = contents.iter().map(|(name, bytes)| file_role(name, bytes)).collect();
        refuse_several(&names, &roles)?;
    }
    let mut gathering = Gathering::new(limits);
    for (name, bytes) in contents {
        gathering.add(SourceFile::new(name, bytes.len() as u64, bytes))?;
    }
    gathering.finish()
}

/// The files of a recording while they are gathered. `.xz`, `.gz`, `.zst`, `.zip` and `.tar` are undone by content,
/// whatever the names are.
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

    fn unpacking<'a>(&'a self, file: &'a SourceFile) -> Unpacking<'a> {
        Unpacking { limits: &self.limits, store: file.store(), is_of_use: onoff_linux::is_part }
    }

    /// Files taken so far.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.files.len()
    }

    /// Adds a file that was named: it must be readable. Of an archive, the files that are recordings or parts of one
    /// are taken.
    ///
    /// # Errors
    /// Bytes that are damaged or expand too far; an archive without any recording.
    pub fn add(&mut self, file: SourceFile) -> Result<(), Error> {
        let Content::Packed(packing) = sniff(file.bytes()) else { return self.add_plain(file) };
        let stored_bytes = file.bytes().len() as u64;
        let unpacked = unpack(file.name(), packing, file.bytes(), self.unpacking(&file));
        // What it was unpacked from is not read any more: now is the time to ask whether all of it was there.
        file.check_complete()?;
        let unpacked = unpacked?;
        self.pass_over_all(unpacked.passed_over);
        let before = self.files.len();
        for (name, bytes) in unpacked.files {
            let unpacked = SourceFile::of(name, stored_bytes, bytes.into());
            if packing == Packing::Zip && !is_tar(unpacked.bytes()) {
                self.take(unpacked);
            } else {
                self.add_plain(unpacked)?;
            }
        }
        refuse_several_members(self.files.get(before..).unwrap_or_default())
    }

    fn add_plain(&mut self, file: SourceFile) -> Result<(), Error> {
        if !is_tar(file.bytes()) {
            // A report that was named is read as what it holds, if that is of use; else the refusal shows how it
            // begins.
            let before = self.files.len();
            if !self.take_sections(&file) || self.files.len() == before {
                self.files.push(file);
            }
            return Ok(());
        }
        let before = self.files.len();
        let TarMembers { members, is_cut } = tar_members(file.name(), file.bytes())?;
        if is_cut {
            self.passed_over.push(format!("{}: what follows where it is cut or damaged", file.name()));
        }
        let count = members.len();
        file.check_complete()?;
        for (name, member) in members {
            match member.is_empty() {
                true => self.pass_over_empty(name),
                false => self.take(file.part(name, member)),
            }
        }
        if self.files.len() == before {
            if let Some(kind) = known_kind(file.name(), file.bytes()) {
                return Err(Error::of_kind(file.name(), kind));
            }
            return Err(Error::NoRecordingInside { name: file.name().to_owned(), members: count });
        }
        refuse_several_members(self.files.get(before..).unwrap_or_default())
    }

    /// Adds a file that was only found, in a folder: it is passed over if it is no recording and no part of one, or
    /// damaged.
    pub fn consider(&mut self, file: SourceFile) {
        let Content::Packed(packing) = sniff(file.bytes()) else {
            self.take(file);
            return;
        };
        match unpack(file.name(), packing, file.bytes(), self.unpacking(&file)) {
            Ok(unpacked) => {
                self.pass_over_all(unpacked.passed_over);
                for (name, bytes) in unpacked.files {
                    self.take(SourceFile::of(name, file.stored_bytes(), bytes.into()));
                }
            }
            Err(_) => self.passed_over.push(file.name().to_owned()),
        }
    }

    /// Notes a file or folder that could not be looked at.
    pub fn pass_over(&mut self, name: String) {
        self.passed_over.push(name);
    }

    /// Notes a file of a folder that is empty.
    pub fn pass_over_empty(&mut self, name: String) {
        self.pass_over_all([name]);
    }

    /// Takes a file of a folder or archive, if it is a recording or part of one, and none with the same bytes is there.
    fn take(&mut self, file: SourceFile) {
        if self.take_sections(&file) {
            return;
        }
        let bytes = file.bytes();
        let useful = match sniff(bytes) {
            Content::Recording(_) => true,
            Content::Unknown => onoff_linux::is_part(file.name(), bytes),
            Content::Empty | Content::Packed(_) => false,
        };
        let met = || self.files.iter().any(|other| other.bytes().len() == bytes.len() && other.bytes() == bytes);
        if !useful {
            self.pass_over_all([file.name().to_owned()]);
        } else if !met() {
            self.files.push(file);
        }
    }

    /// Takes the outputs in a file that holds many; no such file is left alone.
    fn take_sections(&mut self, file: &SourceFile) -> bool {
        let Some(sections) = sections(file.bytes()) else { return false };
        for section in sections.into_iter().filter(|section| !section.range.is_empty()) {
            let part = file.part(format!("{}: {}", file.name(), section.name), section.range);
            let bytes = part.bytes();
            let of_use = matches!(sniff(bytes), Content::Unknown) && onoff_linux::is_part(&section.name, bytes);
            let met = self.files.iter().any(|other| other.bytes() == bytes);
            match (of_use, met) {
                (true, false) => self.files.push(part),
                (true, true) => {}
                (false, _) => self.pass_over_all([part.name().to_owned()]),
            }
        }
        true
    }

    fn pass_over_all(&mut self, names: impl IntoIterator<Item = String>) {
        let unknown = names.into_iter().filter(|name| !onoff_linux::is_for_people(name));
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
            let found = SOURCES.iter().find_map(|source| match (source.recognize)(file.name(), file.bytes()) {
                Recognized::No => None,
                recognized => Some((source.kind, recognized)),
            });
            match found {
                // It says something of a recording, but is none: that it takes another file.
                Some((_, Recognized::Part)) => adds = adds.or(Some(file)),
                Some((found, _)) if *kind.get_or_insert(found) != found => {
                    return Err(Error::of_kind(file.name(), named_kind(file, found)));
                }
                Some(_) => {}
                None => return Err(unknown(file)),
            }
        }
        let kind = match (kind, adds) {
            (Some(RecordingKind::Linux) | None, _) | (_, None) => kind.unwrap_or(RecordingKind::Linux),
            (Some(_), Some(file)) => return Err(no_recording(file)),
        };
        let is_table = |file: &SourceFile| onoff_linux::is_firmware_table(file.name(), file.bytes());
        let are_firmware_tables = kind == RecordingKind::Linux && files.iter().all(is_table);
        let first_is = files.first().map_or(kind.known(), |file| named_kind(file, kind));
        Ok(Files::new(files, kind, first_is, passed_over, are_firmware_tables))
    }
}

/// What a file of a recording of `kind` is called where another kind is wanted.
fn named_kind(file: &SourceFile, kind: RecordingKind) -> KnownKind {
    // Parts of Linux recordings, but what people call them is something else.
    known_kind(file.name(), file.bytes()).filter(|kind| *kind == FIRMWARE).unwrap_or(kind.known())
}

/// The refusal of a file that is none of the recordings that are gathered here.
fn unknown(file: &SourceFile) -> Error {
    match known_kind(file.name(), file.bytes()) {
        Some(kind) => Error::of_kind(file.name(), kind),
        None => no_recording(file),
    }
}

fn no_recording(file: &SourceFile) -> Error {
    let (name, bytes) = (file.name().to_owned(), file.bytes());
    Error::NotARecording { name, beginning: beginning(bytes), advice: onoff_linux::advice(bytes) }
}

/// Undoes the packing (xz, gzip, zstd) of a file that is no recording, such as a registry hive; what is not packed
/// stays as it is.
///
/// # Errors
/// Packed bytes that are damaged or expand further than `limits`.
pub fn unpacked_file(name: &str, bytes: Vec<u8>, limits: &Limits) -> Result<Vec<u8>, Error> {
    let Content::Packed(packing) = sniff(&bytes) else { return Ok(bytes) };
    if packing == Packing::Zip {
        return Ok(bytes);
    }
    let inside = unpack(name, packing, &bytes, Unpacking { limits, store: &Memory, is_of_use: onoff_linux::is_part })?;
    Ok(inside.files.first().map(|(_, inside)| inside.bytes().to_vec()).unwrap_or_default())
}

/// Refuses a stream or device whose first bytes are those of no recording: it may never end. `head` are [`LOOKED_AT`]
/// bytes, or all there are.
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
        Content::Unknown if is_tar(head) || onoff_linux::is_part(name, head) => return Ok(()),
        Content::Empty => "zeros".to_owned(),
        Content::Unknown if onoff_fileio::recognize(head).is_some() => return Ok(()),
        Content::Unknown => match known_kind(name, head) {
            Some(kind) => return Err(Error::of_kind(name, kind)),
            None => format!("of no known kind; they begin with {}", beginning(head)),
        },
    };
    Err(Error::NoRecordingAtFirstLook { name: name.to_owned(), looked_at: head.len(), what })
}
