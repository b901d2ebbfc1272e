//! Firmware performance tables in every form they are handed over in.

mod acpidump;
mod edk2_xml;
mod folder;
mod gathering;
mod guid_names;
mod measurements;
mod progress;
mod serial_log;
mod sysfs;
mod tables;
mod text;

use std::path::PathBuf;

use onoff_trace::firmware::{FirmwareForm, FirmwareRecording};

use crate::error::Error;
use crate::unpack::Limits;
use gathering::Gathering;

pub(crate) use measurements::measurements;

pub use guid_names::{GuidNames, read_guid_names};

/// Reads what the firmware of one machine measured from `paths`: files, folders that are searched, archives of folders.
///
/// A file is told by its content: the bytes of tables, `acpidump` text, EDK II's XML, a serial log; in a folder also the files
/// that Linux shows below `/sys/firmware/acpi/fpdt`. A folder without any of it leaves the result without inputs.
///
/// # Errors
/// A path that cannot be read, a packed file that is damaged, or a file that is none of these.
pub fn open_firmware(paths: &[PathBuf], limits: &Limits) -> Result<FirmwareRecording, Error> {
    if paths.is_empty() {
        return Err(Error::NoFile);
    }
    let mut gathering = Gathering::default();
    for path in paths {
        folder::add_path(path, limits, &mut gathering)?;
    }
    Ok(gathering.finish())
}

/// Reads what firmware measured from bytes at hand.
///
/// # Errors
/// Bytes that are packed and damaged, or of no known form.
pub fn open_firmware_bytes(name: &str, bytes: &[u8], limits: &Limits) -> Result<FirmwareRecording, Error> {
    let mut gathering = Gathering::default();
    folder::add_bytes(name, bytes, limits, &mut gathering)?;
    Ok(gathering.finish())
}

/// What the firmware measured, from files that are known to be its tables: their names and bytes.
pub(crate) fn of_parts<'p>(parts: impl Iterator<Item = (&'p str, &'p [u8])>) -> FirmwareRecording {
    let mut gathering = Gathering::default();
    let mut shown = sysfs::Files::default();
    for (name, bytes) in parts {
        match sysfs::Files::which(name) {
            Some(which) => shown.take(which, name, bytes, &mut gathering),
            None => {
                gathering.input(name, FirmwareForm::Table);
                tables::add(name, bytes, &mut gathering);
            }
        }
    }
    shown.finish(&mut gathering);
    gathering.finish()
}

/// Whether a file of this name is one in which Linux shows a value of the firmware's tables.
pub(crate) fn is_shown_value(path: &str) -> bool {
    sysfs::Files::which(path).is_some()
}
