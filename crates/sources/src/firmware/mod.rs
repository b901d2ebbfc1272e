//! Firmware performance tables in every form they are handed over in.

mod acpidump;
mod coreboot;
mod dp_command;
mod edk2_xml;
mod folder;
mod gathering;
mod guid_names;
mod measurements;
mod progress;
mod serial_log;
mod slim_bootloader;
mod sysfs;
mod tables;
mod text;

use onoff_trace::firmware::{FirmwareForm, FirmwareRecording};

use crate::error::Error;
use crate::unpack::Limits;
use gathering::Gathering;

pub(crate) use folder::is_known_form;
pub(crate) use measurements::measurements;

pub use folder::FirmwareGathering;
pub use guid_names::{GuidNames, parse_guid_names};

/// Reads what firmware measured from bytes at hand: a file of any known form, packed or not, or an archive of a folder.
///
/// # Errors
/// Bytes that are packed and damaged, or of no known form.
pub fn open_firmware_bytes(name: &str, bytes: &[u8], limits: &Limits) -> Result<FirmwareRecording, Error> {
    let mut gathering = FirmwareGathering::new(limits);
    gathering.add(name, bytes)?;
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
                gathering.holds(bytes);
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
