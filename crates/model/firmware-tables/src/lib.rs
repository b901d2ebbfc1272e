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
    let mut collector = FirmwareTableCollector::default();
    let mut sysfs_values = sysfs::SysfsValues::default();
    for (name, bytes) in parts {
        match sysfs::SysfsValues::index_of(name) {
            Some(index) => sysfs_values.add(index, name, bytes, &mut collector),
            None => {
                collector.add_input(name, FirmwareFormat::Table);
                collector.set_content(bytes);
                tables::add(name, bytes, &mut collector);
            }
        }
    }
    sysfs_values.finish(&mut collector);
    collector.finish()
}

/// True if `path` is a file in which Linux exposes a value of the firmware's tables.
pub fn is_sysfs_value(path: &str) -> bool {
    sysfs::SysfsValues::index_of(path).is_some()
}
