//! Reads firmware performance tables and boot times in all supported formats.

#![forbid(unsafe_code)]

mod acpidump;
pub mod collector;
mod coreboot;
mod dp_command;
mod edk2_xml;
mod guid_names;
mod measurements;
mod progress;
mod recognition;
mod serial_log;
mod slim_bootloader;
pub mod sysfs;
mod tables;
mod text;

use onoff_trace::firmware::{FirmwareFormat, FirmwareRecording};

use collector::FirmwareTableCollector;

pub use measurements::measurements;
pub use recognition::{add_file, is_supported_format};

pub use guid_names::{GuidNames, parse_guid_names};

/// Reads firmware measurements from files that are known to be tables or sysfs values, given as names and bytes.
pub fn read_parts<'p>(parts: impl Iterator<Item = (&'p str, &'p [u8])>) -> FirmwareRecording {
    let mut gathering = FirmwareTableCollector::default();
    let mut sysfs_values = sysfs::SysfsValues::default();
    for (name, bytes) in parts {
        match sysfs::SysfsValues::index_of(name) {
            Some(which) => sysfs_values.add(which, name, bytes, &mut gathering),
            None => {
                gathering.add_input(name, FirmwareFormat::Table);
                gathering.set_content(bytes);
                tables::add(name, bytes, &mut gathering);
            }
        }
    }
    sysfs_values.finish(&mut gathering);
    gathering.finish()
}

/// True for the path of a file in which Linux exposes a value of the firmware's tables.
pub fn is_sysfs_value(path: &str) -> bool {
    sysfs::SysfsValues::index_of(path).is_some()
}
