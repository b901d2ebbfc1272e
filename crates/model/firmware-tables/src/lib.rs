//! Firmware performance tables in every form they are handed over in.

#![forbid(unsafe_code)]

mod acpidump;
mod coreboot;
mod dp_command;
mod edk2_xml;
mod forms;
pub mod gathering;
mod guid_names;
mod measurements;
mod progress;
mod serial_log;
mod slim_bootloader;
pub mod sysfs;
mod tables;
mod text;

use onoff_trace::firmware::{FirmwareForm, FirmwareRecording};

use gathering::Gathering;

pub use forms::{consider, is_known_form};
pub use measurements::measurements;

pub use guid_names::{GuidNames, parse_guid_names};

/// What the firmware measured, from files that are known to be its tables: their names and bytes.
pub fn of_parts<'p>(parts: impl Iterator<Item = (&'p str, &'p [u8])>) -> FirmwareRecording {
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
pub fn is_shown_value(path: &str) -> bool {
    sysfs::Files::which(path).is_some()
}
