//! Files as they lie on disk or as they were shared: mapped into memory, or unpacked.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::mapped::Mapped;
use crate::sniff::{Content, RecordingKind, SNIFFED, sniff};
use crate::unpack::{Limits, unpack};

/// The files of one recording, opened.
#[derive(Debug)]
pub struct Files {
    files: Vec<OpenedFile>,
    kind: RecordingKind,
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
    fn is_other_kind(&self, kind: RecordingKind) -> Error {
        Error::OtherKind {
            name: self.name.clone(),
            is: kind.as_str(),
            read_by: kind.read_by(),
        }
    }
}

impl Files {
    /// Opens `paths`, undoing `.xz`, `.gz`, `.zst` and `.zip` by content, whatever the names are.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, expands beyond `limits`, or is no recording.
    pub fn open(paths: &[PathBuf], limits: &Limits) -> Result<Files, Error> {
        let mut files = Vec::new();
        for path in paths {
            open_one(path, limits, &mut files)?;
        }
        Files::known(files)
    }

    /// Files whose names and bytes are at hand already, packed or not.
    ///
    /// # Errors
    /// Bytes that are damaged, expand beyond `limits`, or are no recording.
    pub fn held(
        contents: impl IntoIterator<Item = (String, Vec<u8>)>,
        limits: &Limits,
    ) -> Result<Files, Error> {
        let mut files = Vec::new();
        for (name, bytes) in contents {
            let opened = OpenedFile {
                name,
                stored_bytes: bytes.len() as u64,
                contents: Contents::Held(bytes),
            };
            add(opened, limits, &mut files)?;
        }
        Files::known(files)
    }

    fn known(files: Vec<OpenedFile>) -> Result<Files, Error> {
        if files.is_empty() {
            return Err(Error::NoFile);
        }
        let mut kind = None;
        for file in &files {
            let bytes = file.bytes();
            let found = match sniff(bytes) {
                Content::Recording(found) => found,
                Content::Unknown => {
                    return Err(Error::NotARecording {
                        name: file.name.clone(),
                        beginning: beginning(bytes),
                    });
                }
                // The reader of Event Trace Logs says what is wrong with an empty one.
                Content::Empty | Content::Packed(_) => RecordingKind::EventTraceLog,
            };
            if *kind.get_or_insert(found) != found {
                return Err(file.is_other_kind(found));
            }
        }
        let kind = kind.unwrap_or(RecordingKind::EventTraceLog);
        Ok(Files { files, kind })
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
        self.files
            .iter()
            .map(|file| onoff_etl::Input {
                name: &file.name,
                bytes: file.bytes(),
            })
            .collect()
    }

    /// Says that `range` of file number `file` will hardly be read again, so that its memory can serve others.
    pub fn release(&self, file: usize, range: Range<u64>) {
        let Some(OpenedFile {
            contents: Contents::Mapped(mapped),
            ..
        }) = self.files.get(file)
        else {
            return;
        };
        let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        mapped.release(place(range.start)..place(range.end));
    }
}

fn open_one(path: &Path, limits: &Limits, files: &mut Vec<OpenedFile>) -> Result<(), Error> {
    let failed = |source| Error::Read {
        path: path.into(),
        source,
    };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let name = path.display().to_string();
    let contents = if metadata.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    } else if metadata.is_file() && metadata.len() > 0 {
        Contents::Mapped(Mapped::of(&file).map_err(failed)?)
    } else {
        // A pipe, or a file of a system that has no length to map.
        let mut bytes = Vec::new();
        (&mut file)
            .take(limits.unpacked_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        if bytes.len() as u64 > limits.unpacked_bytes {
            return Err(Error::TooLarge {
                name,
                stored: bytes.len() as u64,
                limit: limits.unpacked_bytes,
            });
        }
        Contents::Held(bytes)
    };
    let opened = OpenedFile {
        name,
        stored_bytes: metadata.len(),
        contents,
    };
    add(opened, limits, files)
}

fn add(opened: OpenedFile, limits: &Limits, files: &mut Vec<OpenedFile>) -> Result<(), Error> {
    let Content::Packed(packing) = sniff(opened.bytes()) else {
        files.push(opened);
        return Ok(());
    };
    let stored_bytes = opened.bytes().len() as u64;
    for (name, bytes) in unpack(&opened.name, packing, opened.bytes(), limits)? {
        files.push(OpenedFile {
            name,
            stored_bytes,
            contents: Contents::Held(bytes),
        });
    }
    Ok(())
}

/// The first bytes, for a message.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(SNIFFED.min(8))
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}
