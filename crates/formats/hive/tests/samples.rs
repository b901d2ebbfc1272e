//! Real hives (not in the repository), compared with the results of regipy.

use std::path::Path;

use onoff_hive::Hive;
use onoff_testkit::real_recordings::samples_folder;

fn hive(folder: &Path, name: &str) -> Option<Hive> {
    let packed = std::fs::read(folder.join(name)).ok()?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut lzma_rust2::XzReader::new(packed.as_slice(), true), &mut bytes).unwrap();
    Some(Hive::read(bytes, &[]).unwrap())
}

/// Counts the services accepted by `is_wanted`.
fn count(hive: &Hive, is_wanted: impl Fn(&onoff_hive::Key<'_>) -> bool) -> usize {
    let set = hive.key("Select").unwrap().value("Current").unwrap().number().unwrap();
    let services = hive.key(&format!(r"ControlSet{set:03}\Services")).unwrap();
    services.subkeys().iter().filter(|key| is_wanted(key)).count()
}

fn number(key: &onoff_hive::Key<'_>, name: &str) -> Option<u64> {
    key.value(name).and_then(|value| value.number())
}

#[test]
fn real_hives_have_known_services() {
    let Some(folder) = samples_folder("hives") else { return };
    // Expected counts: auto-start services, delayed, and with a trigger; boot-start drivers, and critical. Two of the
    // hives are optional and may be missing.
    for (name, expected) in [
        ("regipy-SYSTEM.xz", [53, 6, 3, 36, 21]),
        ("regipy-SYSTEM_2.xz", [44, 4, 6, 78, 28]),
        ("regipy-SYSTEM_B.xz", [65, 10, 9, 86, 30]),
        ("regipy-SYSTEM_WIN_10_1709.xz", [68, 12, 10, 93, 30]),
    ] {
        let Some(hive) = hive(&folder, name) else {
            eprintln!("skipped: {name} not found");
            continue;
        };
        let is_auto = |key: &onoff_hive::Key<'_>| {
            number(key, "Start") == Some(2) && number(key, "Type").is_some_and(|kind| kind & 0x30 != 0)
        };
        let is_boot = |key: &onoff_hive::Key<'_>| number(key, "Start") == Some(0);
        let counts = [
            count(&hive, is_auto),
            count(&hive, |key| is_auto(key) && number(key, "DelayedAutostart") == Some(1)),
            count(&hive, |key| is_auto(key) && key.subkey("TriggerInfo").is_some()),
            count(&hive, is_boot),
            count(&hive, |key| is_boot(key) && number(key, "ErrorControl") == Some(3)),
        ];
        assert_eq!(counts, expected, "{name}");
        let survey = hive.survey();
        assert_eq!((survey.unreadable_keys, survey.unreadable_values), (0, 0), "{name}");
    }
}

#[test]
fn reads_intact_parts_of_damaged_hive() {
    let Some(folder) = samples_folder("hives") else { return };
    let hive = hive(&folder, "regipy-corrupted_system_hive.xz").unwrap();
    let survey = hive.survey();
    eprintln!("{survey:?}");
    assert!(survey.keys > 1000 && survey.unreadable_keys > 0, "{survey:?}");
}
