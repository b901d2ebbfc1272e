//! Files, folders and archives of folders: what of them holds firmware's times.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_firmware::Signature;
use onoff_trace::Severity;
use onoff_trace::firmware::{FirmwareFaultKind, FirmwareForm};

use super::gathering::Gathering;
use super::{acpidump, edk2_xml, serial_log, sysfs, tables, text};
use crate::error::Error;
use crate::sniff::{Content, sniff};
use crate::unpack::{Limits, unpack};

/// Most bytes of one file. A table of ten thousand measurements takes half a megabyte.
const MOST_BYTES: u64 = 256 << 20;
/// Most bytes of a file that is only found in a folder.
const MOST_FOUND_BYTES: u64 = 32 << 20;
/// Most files that are looked at in a folder, and how deep.
const MOST_FILES: usize = 20_000;
const MOST_DEPTH: usize = 8;

/// Adds a file that was named, or everything useful in a folder.
pub(super) fn add_path(path: &Path, limits: &Limits, gathering: &mut Gathering) -> Result<(), Error> {
    let failed = |source| Error::Read { path: path.into(), source };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return add_folder(path, gathering);
    }
    let name = path.display().to_string();
    let bytes = read_at_most(path, MOST_BYTES).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::TooLarge { name, stored: metadata.len(), limit: MOST_BYTES });
    }
    add_bytes(&name, &bytes, limits, gathering)
}

/// Adds a file that was named, by its bytes.
pub(super) fn add_bytes(name: &str, bytes: &[u8], limits: &Limits, gathering: &mut Gathering) -> Result<(), Error> {
    if let Content::Packed(packing) = sniff(bytes) {
        let limits = Limits { unpacked_bytes: limits.unpacked_bytes.min(MOST_BYTES), ..*limits };
        for (name, bytes) in unpack(name, packing, bytes, &limits)?.files {
            add_plain(&name, &bytes, gathering)?;
        }
        return Ok(());
    }
    add_plain(name, bytes, gathering)
}

fn add_plain(name: &str, bytes: &[u8], gathering: &mut Gathering) -> Result<(), Error> {
    if is_tar(bytes) {
        return add_archive(name, bytes, gathering);
    }
    if consider(name, bytes, gathering) {
        return Ok(());
    }
    Err(Error::NotFirmware { name: name.to_owned(), beginning: crate::opened::beginning(bytes) })
}

/// Adds the file if it is of a known form.
fn consider(name: &str, bytes: &[u8], gathering: &mut Gathering) -> bool {
    if Signature::at(bytes).is_some() && !text_follows(bytes) {
        gathering.input(name, FirmwareForm::Table);
        tables::add(name, bytes, gathering);
        return true;
    }
    if !text::may_be_text(bytes) {
        return false;
    }
    let text = text::decoded(bytes);
    if edk2_xml::is_it(&text) {
        edk2_xml::add(name, &text, gathering);
    } else if serial_log::is_it(&text) {
        serial_log::add(name, &text, gathering);
    } else if acpidump::is_it(&text) {
        acpidump::add(name, &text, gathering);
    } else {
        return false;
    }
    true
}

/// Whether the four letters begin a text such as `FPDT @ 0x..` and no table: a length is never that long.
fn text_follows(bytes: &[u8]) -> bool {
    bytes.get(4..8).is_some_and(|length| length.iter().all(|byte| (b' '..0x7f).contains(byte)))
}

fn add_folder(root: &Path, gathering: &mut Gathering) -> Result<(), Error> {
    let mut left = MOST_FILES;
    let mut files = sysfs::Files::default();
    let mut folders = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let failed = |source| Error::Read { path: folder.clone(), source };
        let mut paths: Vec<(PathBuf, fs::FileType)> = Vec::new();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // Only the folder that was named must be readable.
            Err(source) if depth == 0 => return Err(failed(source)),
            Err(source) => {
                unreadable(&folder, &source, gathering);
                continue;
            }
        };
        for entry in entries.flatten().take(left) {
            if let Ok(kind) = entry.file_type() {
                paths.push((entry.path(), kind));
            }
        }
        paths.sort_by(|one, other| one.0.cmp(&other.0));
        left = left.saturating_sub(paths.len());
        // Links may lead anywhere, also back.
        for (path, _) in paths.iter().filter(|(_, kind)| kind.is_file()) {
            add_found(path, root, &mut files, gathering);
        }
        if depth < MOST_DEPTH {
            let deeper = paths.into_iter().rev().filter(|(_, kind)| kind.is_dir());
            folders.extend(deeper.map(|(path, _)| (path, depth + 1)));
        }
        if left == 0 {
            gathering.fault(
                FirmwareFaultKind::TooManyRecords,
                Severity::Warning,
                root.display().to_string(),
                format!("more than {MOST_FILES} files; the rest is not looked at"),
                0,
            );
            break;
        }
    }
    files.finish(gathering);
    Ok(())
}

fn add_found(path: &Path, root: &Path, files: &mut sysfs::Files, gathering: &mut Gathering) {
    let name = path.display().to_string();
    let slashed = name.replace('\\', "/");
    match read_at_most(path, MOST_FOUND_BYTES) {
        Ok(bytes) if bytes.len() as u64 > MOST_FOUND_BYTES => {
            if Signature::at(&bytes).is_some() {
                gathering.fault(
                    FirmwareFaultKind::TableCut,
                    Severity::Error,
                    name,
                    format!("more than {MOST_FOUND_BYTES} bytes; name the file itself to have it read"),
                    0,
                );
            }
        }
        Ok(bytes) => {
            if let Some(which) = sysfs::Files::which(&slashed) {
                files.take(which, &slashed, &bytes, gathering);
            } else {
                consider(&name, &bytes, gathering);
            }
        }
        // Beside the tables lie files that only the administrator may read; a table among them is worth a word.
        Err(source) => {
            let is_table = path
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| Signature::at(name.as_bytes()).is_some());
            if is_table || path.parent() == Some(root) {
                unreadable(path, &source, gathering);
            }
        }
    }
}

fn unreadable(path: &Path, source: &std::io::Error, gathering: &mut Gathering) {
    gathering.fault(
        FirmwareFaultKind::UnreadableFile,
        Severity::Warning,
        path.display().to_string(),
        source.to_string(),
        0,
    );
}

fn read_at_most(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

fn add_archive(name: &str, bytes: &[u8], gathering: &mut Gathering) -> Result<(), Error> {
    let failed = |source| Error::Unpack { name: name.to_owned(), packing: "tar", offset: 0, source };
    let mut files = sysfs::Files::default();
    let mut archive = tar::Archive::new(bytes);
    for entry in archive.entries().map_err(failed)?.take(MOST_FILES) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(source) => return Err(failed(source)),
        };
        if !entry.header().entry_type().is_file() || entry.size() > MOST_FOUND_BYTES {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let from = usize::try_from(entry.raw_file_position()).unwrap_or(usize::MAX);
        let to = from.saturating_add(usize::try_from(entry.size()).unwrap_or(usize::MAX));
        // A cut archive's last member is taken as far as it goes.
        let Some(member) = bytes.get(from..to.min(bytes.len())) else {
            continue;
        };
        let member_name = format!("{name}/{path}");
        if let Some(which) = sysfs::Files::which(&path) {
            files.take(which, &member_name, member, gathering);
        } else {
            consider(&member_name, member, gathering);
        }
    }
    files.finish(gathering);
    Ok(())
}
