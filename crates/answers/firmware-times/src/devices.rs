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

/// All devices on which a driver was started, by exclusive time, longest first.
pub(super) fn devices(intervals: &[WorkInterval<'_>], shares: &[Share], names: &Names) -> Vec<FirmwareDevice> {
    let mut places: HashMap<&str, usize> = HashMap::new();
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
        let at = *places.entry(path).or_insert_with(|| {
            devices.push(FirmwareDevice { path: path.to_owned(), ..FirmwareDevice::default() });
            devices.len() - 1
        });
        let device = &mut devices[at];
        if device.name.is_empty() {
            device.name = name.to_owned();
        }
        let length = interval.end_ns - interval.start_ns;
        device.self_ns += share.self_ns;
        device.driver_start_ns = device.driver_start_ns.saturating_add(length);
        let has_guid = interval.event.module_name.is_empty();
        let guid = if has_guid { interval.event.module.to_string() } else { String::new() };
        let name = names.of_event(interval.event);
        let place = match device.drivers.iter().position(|driver| driver.guid == guid && driver.name == name) {
            Some(place) => place,
            None => {
                device.drivers.push(FirmwareDeviceDriver { name, guid, ..FirmwareDeviceDriver::default() });
                device.drivers.len() - 1
            }
        };
        let driver = &mut device.drivers[place];
        driver.calls += 1;
        driver.driver_start_ns = driver.driver_start_ns.saturating_add(length);
    }
    for device in &mut devices {
        device.drivers.sort_by_key(|driver| std::cmp::Reverse(driver.driver_start_ns));
    }
    devices.sort_by(|one, other| (other.self_ns, &one.path).cmp(&(one.self_ns, &other.path)));
    devices
}

/// Splits a text such as `FAT File System PciRoot(0x0)/Pci(0x1,0x0)`. A name may contain any characters, including
/// blanks and slashes.
fn name_and_path(text: &str) -> (&str, &str) {
    let starts = ROOTS.iter().filter_map(|root| {
        text.match_indices(root)
            .map(|(at, _)| at)
            .find(|&at| at == 0 || text.get(..at).is_some_and(|before| before.ends_with(' ')))
    });
    let at = starts.min().or_else(|| {
        let first_node = text.split('/').next().unwrap_or(text);
        first_node.contains('(').then(|| first_node.rfind(' ').map_or(0, |blank| blank + 1))
    });
    match at.and_then(|at| text.split_at_checked(at)) {
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
