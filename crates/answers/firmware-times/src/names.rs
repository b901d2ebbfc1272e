//! Names of GUIDs.

use std::collections::BTreeMap;

use onoff_trace::firmware::{FirmwareEvent, FirmwareGuid};

/// The modules of EDK II, one GUID and name per line: `FILE_GUID` and `BASE_NAME` of its module files, which derived
/// firmware keeps. Public in the EDK II repository; modules of tests and libraries are omitted.
const MODULES: &str = include_str!("edk2_modules.txt");

/// GUIDs that are not in the list of modules: the cores under the names used in measurements, modules of older
/// versions, and events. Public in the module and package files of EDK II.
const MORE_NAMES: [(&str, &str); 15] = [
    ("52C05B14-0B98-496C-BC3B-04B50211D680", "PeiCore"),
    ("D6A2CB7F-6A18-4E2F-B43B-9920A733700A", "DxeCore"),
    ("6D33944A-EC75-4855-A54D-809C75241F6C", "BdsDxe"),
    ("86D70125-BAA3-4296-A62F-602BEBBB9081", "DxeIpl"),
    ("128FB770-5E79-4176-9E51-9BB268A17DD1", "PciHostBridgeDxe"),
    ("93B80004-9FB3-11D4-9A3A-0090273FC14D", "PciBusDxe"),
    ("B7F50E91-A759-412C-ADE4-DCD03E7F7C28", "XhciDxe"),
    ("240612B7-A063-11D4-9A3A-0090273FC14D", "UsbBusDxe"),
    ("6B38F7B4-AD98-40E9-9093-ACA2B5A253C4", "DiskIoDxe"),
    ("1FA1F39E-FEFF-4AAE-BD7B-38A070A3B609", "PartitionDxe"),
    ("961578FE-B6B7-44C3-AF35-6BC705CD2B1F", "Fat"),
    ("9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50", "PcdPeim"),
    ("9FB4B4A7-42C0-4BCD-8540-9BCC6711F83E", "UsbMassStorageDxe"),
    ("7CE88FB3-4BD7-4679-87A8-A8D8DEE50D2B", "ReadyToBoot"),
    ("02CE967A-DD7E-4FFC-9EE7-810CF0470880", "EndOfDxe"),
];

/// Maps GUIDs to names: the user's names take precedence over the built-in names of EDK II.
#[derive(Clone, Debug)]
pub struct Names {
    names: BTreeMap<FirmwareGuid, String>,
}

impl Names {
    /// Creates the map from the built-in names, overridden by the user's names.
    #[must_use]
    pub fn new(user: &BTreeMap<FirmwareGuid, String>) -> Self {
        let modules = MODULES.lines().filter_map(|line| line.split_once(' ')).chain(MORE_NAMES);
        let parsed = modules.filter_map(|(guid, name)| Some((FirmwareGuid::parse(guid)?, name.to_owned())));
        let mut names: BTreeMap<_, _> = parsed.collect();
        names.extend(user.iter().map(|(guid, name)| (*guid, name.clone())));
        Self { names }
    }

    /// Returns the module name of a measurement: from the input if present, otherwise by GUID.
    #[must_use]
    pub fn event_name(&self, event: &FirmwareEvent) -> String {
        if event.module_name.is_empty() { self.name(event.module) } else { event.module_name.clone() }
    }

    /// Returns the name of a module, or the GUID if unknown.
    #[must_use]
    pub fn name(&self, guid: FirmwareGuid) -> String {
        if let Some(name) = self.names.get(&guid) {
            return name.clone();
        }
        // If EDK II cannot determine the file of the code, it writes the handle in place of a GUID. Such code is not
        // stored in the firmware: a loader, or a driver from an option ROM.
        let [.., a, b, c, d, e, f, g, h] = guid.0;
        if guid.0.starts_with(b"ldnh") {
            let handle = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            return format!("image not stored in the firmware, handle {handle:#x}");
        }
        if [a, b, c, d, e, f, g, h] == *b"UNKNHNDL" {
            return "module with unknown handle".to_owned();
        }
        if guid == FirmwareGuid::default() {
            return "unnamed image".to_owned();
        }
        guid.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_valid() {
        let names = Names::new(&BTreeMap::new());
        let lines: Vec<_> = MODULES.lines().collect();
        assert!(lines.len() > 400);
        for line in &lines {
            let (guid, name) = line.split_once(' ').unwrap();
            assert!(FirmwareGuid::parse(guid).is_some() && !name.is_empty(), "{line}");
        }
        // Modules used in a network boot.
        for (guid, name) in [
            ("B95E9FDA-26DE-48D2-8807-1F9107AC5E3A", "UefiPxeBcDxe"),
            ("DC3641B8-2FA8-4ED3-BC1F-F9962A03454B", "Mtftp4Dxe"),
            ("021722D8-522B-4079-852A-FE44C2C13F49", "SataController"),
        ] {
            assert_eq!(names.name(FirmwareGuid::parse(guid).unwrap()), name);
        }
    }

    #[test]
    fn user_names_take_precedence_and_handles_are_recognized() {
        let dxe_core = FirmwareGuid::parse("D6A2CB7F-6A18-4E2F-B43B-9920A733700A").unwrap();
        let mut user = BTreeMap::new();
        assert_eq!(Names::new(&user).name(dxe_core), "DxeCore");
        user.insert(dxe_core, "OurDxeCore".to_owned());
        let names = Names::new(&user);
        assert_eq!(names.name(dxe_core), "OurDxeCore");
        for (guid, name) in [
            ("6C646E68-0000-0000-3063-E97F00000000", "image not stored in the firmware, handle 0x7fe96330"),
            ("00000000-0000-0000-554E-4B4E484E444C", "module with unknown handle"),
            ("00000000-0000-0000-0000-000000000000", "unnamed image"),
            ("11111111-2222-3333-4444-555555555555", "11111111-2222-3333-4444-555555555555"),
        ] {
            assert_eq!(names.name(FirmwareGuid::parse(guid).unwrap()), name);
        }
    }
}
