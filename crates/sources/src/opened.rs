//! Files as they lie on disk or as they were shared: mapped into memory, or unpacked.

use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::linux::parts;
use crate::mapped::Mapped;
use crate::sniff::{Content, Packing, RecordingKind, SNIFFED, sniff};
use crate::unpack::{Limits, unpack};

/// The files of one recording, opened.
#[derive(Debug)]
pub struct Files {
    files: Vec<OpenedFile>,
    kind: RecordingKind,
    passed_over: Vec<String>,
}

/// One file of a recording, as bytes.
#[derive(Debug)]
pub struct OpenedFile {
    name: String,
    stored_bytes: u64,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    Mapped(Mapped),
    Held(Vec<u8>),
}

impl OpenedFile {
    /// The name it was opened by; for a member of an archive, the archive's name, `/`, and the member's.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the file on disk, packed if it was.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// The bytes, unpacked.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.contents {
            Contents::Mapped(mapped) => mapped.bytes(),
            Contents::Held(bytes) => bytes,
        }
    }
}

impl OpenedFile {
    fn is_no_recording(&self) -> Error {
        Error::NotARecording { name: self.name.clone(), beginning: beginning(self.bytes()) }
    }

    fn is_other_kind(&self, kind: RecordingKind) -> Error {
        Error::OtherKind { name: self.name.clone(), is: kind.as_str(), read_by: kind.read_by() }
    }
}

impl Files {
    /// Opens `paths`, undoing `.xz`, `.gz`, `.zst`, `.zip` and `.tar` by content, whatever the names are. Of a folder or an archive,
    /// the files that are recordings or parts of one are taken.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, expands beyond `limits`, or is no recording.
    pub fn open(paths: &[PathBuf], limits: &Limits) -> Result<Files, Error> {
        let mut found = Found::default();
        for path in paths {
            open_one(path, limits, &mut found)?;
        }
        Files::known(found)
    }

    /// Files whose names and bytes are at hand already, packed or not.
    ///
    /// # Errors
    /// Bytes that are damaged, expand beyond `limits`, or are no recording.
    pub fn held(contents: impl IntoIterator<Item = (String, Vec<u8>)>, limits: &Limits) -> Result<Files, Error> {
        let mut found = Found::default();
        for (name, bytes) in contents {
            let opened = OpenedFile { name, stored_bytes: bytes.len() as u64, contents: Contents::Held(bytes) };
            add(opened, limits, &mut found)?;
        }
        Files::known(found)
    }

    fn known(found: Found) -> Result<Files, Error> {
        let Found { files, passed_over } = found;
        if files.is_empty() {
            return Err(Error::NoFile);
        }
        let mut kind = None;
        let mut adds = None;
        for file in &files {
            let bytes = file.bytes();
            let found = match sniff(bytes) {
                Content::Recording(found) => found,
                Content::Unknown => match parts::kind_of(&file.name, bytes) {
                    Some(part) if part.stands_alone() => RecordingKind::Linux,
                    // It says something of a recording, but is none: that it takes another file.
                    Some(_) => {
                        adds = adds.or(Some(file));
                        continue;
                    }
                    None => return Err(file.is_no_recording()),
                },
                // The reader of Event Trace Logs says what is wrong with an empty one.
                Content::Empty | Content::Packed(_) => RecordingKind::EventTraceLog,
            };
            if *kind.get_or_insert(found) != found {
                return Err(file.is_other_kind(found));
            }
        }
        let kind = match (kind, adds) {
            (Some(RecordingKind::Linux) | None, _) | (_, None) => kind.unwrap_or(RecordingKind::Linux),
            (Some(_), Some(file)) => return Err(file.is_no_recording()),
        };
        Ok(Files { files, kind, passed_over })
    }

    /// Names of the files in folders and archives that say nothing that is read.
    pub(crate) fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Refuses files of another kind.
    pub(crate) fn must_be(&self, kind: RecordingKind) -> Result<(), Error> {
        match self.files.first() {
            Some(file) if self.kind != kind => Err(file.is_other_kind(self.kind)),
            _ => Ok(()),
        }
    }

    /// What they are.
    #[must_use]
    pub fn kind(&self) -> RecordingKind {
        self.kind
    }

    /// Each file, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &OpenedFile> {
        self.files.iter()
    }

    /// The files as the reader of Event Trace Logs takes them.
    #[must_use]
    pub fn inputs(&self) -> Vec<onoff_etl::Input<'_>> {
        self.files.iter().map(|file| onoff_etl::Input { name: &file.name, bytes: file.bytes() }).collect()
    }

    /// Says that `range` of file number `file` will hardly be read again, so that its memory can serve others.
    pub fn release(&self, file: usize, range: Range<u64>) {
        let Some(OpenedFile { contents: Contents::Mapped(mapped), .. }) = self.files.get(file) else {
            return;
        };
        let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        mapped.release(place(range.start)..place(range.end));
    }
}

/// The files as they are found.
#[derive(Default)]
struct Found {
    files: Vec<OpenedFile>,
    passed_over: Vec<String>,
}

impl Found {
    /// Takes a file of a folder or archive, if it is a recording or part of one, and none with the same bytes is there.
    fn take(&mut self, file: OpenedFile) {
        let bytes = file.bytes();
        let useful = match sniff(bytes) {
            Content::Recording(_) => true,
            Content::Unknown => parts::kind_of(&file.name, bytes).is_some(),
            Content::Empty | Content::Packed(_) => false,
        };
        let met = || self.files.iter().any(|other| other.bytes().len() == bytes.len() && other.bytes() == bytes);
        if !useful {
            self.pass_over([file.name]);
        } else if !met() {
            self.files.push(file);
        }
    }

    fn pass_over(&mut self, names: impl IntoIterator<Item = String>) {
        let unknown = names.into_iter().filter(|name| !parts::is_for_people(name));
        self.passed_over.extend(unknown);
    }
}

/// Most files that are looked at in a folder or archive, and how deep.
const MOST_FILES: usize = 20_000;
const MOST_DEPTH: usize = 8;

fn open_one(path: &Path, limits: &Limits, found: &mut Found) -> Result<(), Error> {
    let failed = |source| Error::Read { path: path.into(), source };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let name = path.display().to_string();
    let contents = if metadata.is_dir() {
        return open_folder(path, limits, found);
    } else if metadata.is_file() && metadata.len() > 0 {
        Contents::Mapped(Mapped::of(&file).map_err(failed)?)
    } else {
        // A pipe, or a file of a system that has no length to map.
        let mut bytes = Vec::new();
        (&mut file).take(limits.unpacked_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limits.unpacked_bytes {
            return Err(Error::TooLarge { name, stored: bytes.len() as u64, limit: limits.unpacked_bytes });
        }
        Contents::Held(bytes)
    };
    let opened = OpenedFile { name, stored_bytes: metadata.len(), contents };
    add(opened, limits, found)
}

/// Takes the files in a folder. What cannot be read there is passed over; the folder itself must be readable.
fn open_folder(root: &Path, limits: &Limits, found: &mut Found) -> Result<(), Error> {
    let before = found.files.len();
    let mut looked_at = 0;
    let mut folders = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(source) if depth == 0 => {
                return Err(Error::Read { path: folder, source });
            }
            Err(_) => {
                found.passed_over.push(folder.display().to_string());
                continue;
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let mut deeper = Vec::new();
        for path in paths {
            // Links may lead anywhere, also back.
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            if metadata.is_dir() && depth < MOST_DEPTH {
                deeper.push((path, depth + 1));
            } else if metadata.is_file() && looked_at < MOST_FILES {
                looked_at += 1;
                take_found(&path, metadata.len(), limits, found);
            }
        }
        folders.extend(deeper.into_iter().rev());
    }
    if found.files.len() == before {
        return Err(Error::NoRecordingInside { name: root.display().to_string(), members: looked_at });
    }
    Ok(())
}

fn take_found(path: &Path, length: u64, limits: &Limits, found: &mut Found) {
    let name = path.display().to_string();
    if length == 0 {
        return;
    }
    let Ok(mapped) = File::open(path).and_then(|file| Mapped::of(&file)) else {
        found.passed_over.push(name);
        return;
    };
    let file = OpenedFile { name: name.clone(), stored_bytes: length, contents: Contents::Mapped(mapped) };
    let Content::Packed(packing) = sniff(file.bytes()) else {
        found.take(file);
        return;
    };
    match unpack(&name, packing, file.bytes(), limits) {
        Ok(unpacked) => {
            found.pass_over(unpacked.passed_over);
            for (name, bytes) in unpacked.files {
                found.take(OpenedFile { name, stored_bytes: length, contents: Contents::Held(bytes) });
            }
        }
        Err(_) => found.passed_over.push(name),
    }
}

fn add(opened: OpenedFile, limits: &Limits, found: &mut Found) -> Result<(), Error> {
    let Content::Packed(packing) = sniff(opened.bytes()) else {
        return add_plain(opened, found);
    };
    let stored_bytes = opened.bytes().len() as u64;
    let unpacked = unpack(&opened.name, packing, opened.bytes(), limits)?;
    found.pass_over(unpacked.passed_over);
    for (name, bytes) in unpacked.files {
        let unpacked = OpenedFile { name, stored_bytes, contents: Contents::Held(bytes) };
        if packing == Packing::Zip && !is_tar(unpacked.bytes()) {
            found.take(unpacked);
        } else {
            add_plain(unpacked, found)?;
        }
    }
    Ok(())
}

fn add_plain(opened: OpenedFile, found: &mut Found) -> Result<(), Error> {
    if !is_tar(opened.bytes()) {
        found.files.push(opened);
        return Ok(());
    }
    let before = found.files.len();
    let failed = |source| Error::Unpack { name: opened.name.clone(), packing: "tar", offset: 0, source };
    let bytes = opened.bytes();
    let mut archive = tar::Archive::new(bytes);
    let mut members = 0;
    for entry in archive.entries().map_err(failed)?.take(MOST_FILES) {
        let entry = match entry {
            Ok(entry) => entry,
            // A cut archive still holds what came before.
            Err(_) if members > 0 => break,
            Err(source) => return Err(failed(source)),
        };
        members += 1;
        if !entry.header().entry_type().is_file() || entry.size() == 0 {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let from = usize::try_from(entry.raw_file_position()).unwrap_or(usize::MAX);
        let to = from.saturating_add(usize::try_from(entry.size()).unwrap_or(usize::MAX));
        let Some(member) = bytes.get(from..to.min(bytes.len())) else {
            continue;
        };
        found.take(OpenedFile {
            name: format!("{}/{path}", opened.name),
            stored_bytes: member.len() as u64,
            contents: Contents::Held(member.to_vec()),
        });
    }
    if found.files.len() == before {
        return Err(Error::NoRecordingInside { name: opened.name.clone(), members });
    }
    Ok(())
}

pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// The first bytes, for a message.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    bytes.iter().take(SNIFFED.min(8)).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
