//! Reads firmware tables from files and folders, and lists of GUID names.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use onoff_sources::{Error, FirmwareCollector, GuidNames, Limits, parse_guid_names};
use onoff_trace::firmware::FirmwareRecording;

use crate::read_error;
use crate::standard_input::{self, is_standard_input};
use crate::walk::{WalkEntry, walk};

/// Maximum size of a file in a folder, in bytes.
const MAX_FOLDER_FILE_BYTES: u64 = 32 << 20;
/// Maximum size of a list of names, in bytes.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// Reads the firmware measurements of one machine from `paths`: files, folders (including subfolders) and archives of
/// folders.
///
/// The format of a file is detected from its content: table bytes, `acpidump` text, EDK II XML, or a serial log. In
/// folders, the files of `/sys/firmware/acpi/fpdt` on Linux are recognized too. A folder without any of these adds no
/// inputs.
///
/// # Errors
/// A path cannot be read, a packed file is damaged, or a file has none of these formats.
pub fn open_firmware(paths: &[PathBuf], limits: &Limits) -> Result<FirmwareRecording, Error> {
    open_firmware_boot(paths, limits, 0)
}

/// Reads measurements like [`open_firmware`], for boot `number` of a serial log with several boots: 0 is the last, -1
/// the one before.
///
/// # Errors
/// Same as [`open_firmware`]; in addition, no boot has this number.
pub fn open_firmware_boot(paths: &[PathBuf], limits: &Limits, number: i64) -> Result<FirmwareRecording, Error> {
    if paths.is_empty() {
        return Err(Error::NoFile);
    }
    let mut collector = FirmwareCollector::new(limits).with_boot(number);
    for path in paths {
        let name = standard_input::display_name(path);
        let limit = FirmwareCollector::MAX_BYTES;
        let bytes = if is_standard_input(path) {
            standard_input::read(limit).map_err(read_error(path))?
        } else if fs::metadata(path).map_err(read_error(path))?.is_dir() {
            add_folder(path, &mut collector)?;
            continue;
        } else {
            read_at_most(path, limit).map_err(read_error(path))?
        };
        if bytes.len() as u64 > limit {
            return Err(Error::TooLarge { name, stored: bytes.len() as u64, limit });
        }
        collector.add(&name, &bytes)?;
    }
    let recording = collector.finish();
    if number != 0 && !recording.boots.iter().any(|boot| boot.read) {
        return Err(Error::NoLoggedBoot { requested: number, boots: recording.boots.len().max(1) });
    }
    Ok(recording)
}

fn add_folder(root: &Path, collector: &mut FirmwareCollector) -> Result<(), Error> {
    walk(root, |entry| match entry {
        WalkEntry::File(path, _) => {
            let name = path.display().to_string();
            match read_at_most(path, MAX_FOLDER_FILE_BYTES) {
                Ok(bytes) if bytes.len() as u64 > MAX_FOLDER_FILE_BYTES => {
                    collector.report_too_large(&name, &bytes, MAX_FOLDER_FILE_BYTES);
                }
                Ok(bytes) => collector.add_from_folder(&name, &bytes),
                // Report only unreadable tables: the same folders contain other files that only the administrator can
                // read.
                Err(source) => {
                    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                    if FirmwareCollector::is_table_name(file) || path.parent() == Some(root) {
                        collector.report_unreadable(&name, &source.to_string());
                    }
                }
            }
        }
        WalkEntry::Unreadable(path, source) => {
            collector.report_unreadable(&path.display().to_string(), &source.to_string())
        }
    })?;
    collector.finish_folder();
    Ok(())
}

fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    crate::open_file(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads lists of GUID names: see [`parse_guid_names`]. A later list overrides an earlier one.
///
/// # Errors
/// A file cannot be read or contains no GUIDs.
pub fn read_guid_names(paths: &[PathBuf]) -> Result<GuidNames, Error> {
    let mut names = GuidNames::new();
    for path in paths {
        let length = fs::metadata(path).map_err(read_error(path))?.len();
        let name = path.display().to_string();
        if length > MAX_LIST_BYTES {
            return Err(Error::TooLarge { name, stored: length, limit: MAX_LIST_BYTES });
        }
        names.extend(parse_guid_names(&name, &read_at_most(path, MAX_LIST_BYTES).map_err(read_error(path))?)?);
    }
    Ok(names)
}
