//! Times of starting drivers on devices.

use hashbrown::HashMap;
use onoff_trace::firmware::FirmwareWork;

use super::names::Names;
use super::pairing::WorkInterval;
use super::report::{FirmwareDevice, FirmwareDeviceDriver};
use super::sweep::Share;

/// Text nodes that a device path starts with (UEFI specification).
const ROOTS: [&str; 16] = [
    "PciRoot(",
    "PcieRoot(",
    "Acpi(",
    "AcpiEx(",
    "AcpiExp(",
    "AcpiAdr(",
    "VenHw(",
    "VenMsg(",
    "VenMedia(",
    "MemoryMapped(",
    "Fv(",
    "MAC(",
    "Uri(",
    "BBS(",
    "Ctrl(",
    "HardwarePath(",
];

/// Returns all devices on which a driver was started, by exclusive time, longest first.
pub(super) fn devices(intervals: &[WorkInterval<'_>], shares: &[Share], names: &Names) -> Vec<FirmwareDevice> {
    let mut device_indexes: HashMap<&str, usize> = HashMap::new();
    let mut devices: Vec<FirmwareDevice> = Vec::new();
    // If firmware has no memory left for a path, it only records the device handle.
    let mut paths: HashMap<u64, &str> = HashMap::new();
    for interval in intervals {
        if let Some(handle) = interval.event.handle
            && interval.event.work == FirmwareWork::DriverStart
            && !interval.event.text.is_empty()
        {
            paths.entry(handle).or_insert(&interval.event.text);
        }
    }
    for (interval, share) in intervals.iter().zip(shares) {
        if interval.event.work != FirmwareWork::DriverStart {
            continue;
        }
        let text = match (interval.event.text.as_str(), interval.event.handle) {
            ("", Some(handle)) => paths.get(&handle).copied().unwrap_or("unnamed"),
            (text, _) => text,
        };
        let (name, path) = name_and_path(text);
        let device_index = *device_indexes.entry(path).or_insert_with(|| {
            devices.push(FirmwareDevice { path: path.to_owned(), ..FirmwareDevice::default() });
            devices.len() - 1
        });
        let device = &mut devices[device_index];
        if device.name.is_empty() {
            device.name = name.to_owned();
        }
        let duration_ns = interval.end_ns - interval.start_ns;
        device.self_ns += share.self_ns;
        device.driver_start_ns = device.driver_start_ns.saturating_add(duration_ns);
        let has_guid = interval.event.module_name.is_empty();
        let guid = if has_guid { interval.event.module.to_string() } else { String::new() };
        let name = names.event_name(interval.event);
        let driver_index = match device.drivers.iter().position(|driver| driver.guid == guid && driver.name == name) {
            Some(driver_index) => driver_index,
            None => {
                device.drivers.push(FirmwareDeviceDriver { name, guid, ..FirmwareDeviceDriver::default() });
                device.drivers.len() - 1
            }
        };
        let driver = &mut device.drivers[driver_index];
        driver.calls += 1;
        driver.driver_start_ns = driver.driver_start_ns.saturating_add(duration_ns);
    }
    for device in &mut devices {
        device.drivers.sort_by_key(|driver| std::cmp::Reverse(driver.driver_start_ns));
    }
    devices.sort_by(|left, right| (right.self_ns, &left.path).cmp(&(left.self_ns, &right.path)));
    devices
}

/// Splits a text such as `FAT File System PciRoot(0x0)/Pci(0x1,0x0)`. A name may contain any characters, including
/// blanks and slashes.
fn name_and_path(text: &str) -> (&str, &str) {
    let path_starts = ROOTS.iter().filter_map(|root| {
        text.match_indices(root)
            .map(|(index, _)| index)
            .find(|&index| index == 0 || text.get(..index).is_some_and(|prefix| prefix.ends_with(' ')))
    });
    let path_start = path_starts.min().or_else(|| {
        let first_node = text.split('/').next().unwrap_or(text);
        first_node.contains('(').then(|| first_node.rfind(' ').map_or(0, |blank| blank + 1))
    });
    match path_start.and_then(|index| text.split_at_checked(index)) {
        Some((name, path)) => (name.trim_end(), path),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_precede_the_path() {
        for (text, name, path) in [
            ("PciRoot(0x0)", "", "PciRoot(0x0)"),
            ("PciRoot(0x0)/Pci(0x2,0x0)/AcpiAdr(0x80011400)", "", "PciRoot(0x0)/Pci(0x2,0x0)/AcpiAdr(0x80011400)"),
            ("PS/2 Keyboard Devic PciRoot(0x0)/Pci(0x1F,0x0)", "PS/2 Keyboard Devic", "PciRoot(0x0)/Pci(0x1F,0x0)"),
            (
                "Host Controller (USB 3.0 PciRoot(0x0)/Pci(0xD,0x0)",
                "Host Controller (USB 3.0",
                "PciRoot(0x0)/Pci(0xD,0x0)",
            ),
            ("Some Bus NewRoot(0x1)/Pci(0x1,0x0)", "Some Bus", "NewRoot(0x1)/Pci(0x1,0x0)"),
            ("nothing of a path", "", "nothing of a path"),
            ("", "", ""),
        ] {
            assert_eq!(name_and_path(text), (name, path), "{text}");
        }
    }
}
