//! Firmware times reported by Windows (Kernel-Boot event 30), in ms as on real machines.

use onoff_simulator::Scenario;
use serde_json::Value;

use crate::harness::Folder;

const MS: i64 = 1_000_000;

/// Writes a boot with these firmware times, or without firmware times if `None`.
fn write_boot(folder: &Folder, name: &str, times: Option<[u64; 5]>) {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/healthy-boot.toml");
    let mut scenario = Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    // The loader fits between the firmware times.
    scenario.kernel.loader = Some("300ms".parse().unwrap());
    match (times, &mut scenario.firmware) {
        (Some(times), Some(firmware)) => firmware.table = Some(times),
        _ => scenario.firmware = None,
    }
    folder.file(name, &scenario.simulate().unwrap().files[0]);
}

/// Firmware times of a boot whose firmware took 12.6 s, and of one whose firmware took 4.2 s.
const LONG: [u64; 5] = [0, 12_609, 12_621, 12_986, 12_990];
const SHORT: [u64; 5] = [0, 4_166, 4_247, 5_817, 5_818];

#[test]
fn all_verbs_show_firmware_time() {
    let folder = Folder::new();
    write_boot(&folder, "long.etl", Some(LONG));
    let text = folder.answer("boot long.etl");
    assert!(text.contains(" Before the kernel: 12.6 s in firmware"), "{text}");
    assert!(text.contains(" Total from CPU reset: 17.8 s."), "{text}");
    let json: Value = serde_json::from_str(&folder.answer("boot long.etl --format json")).unwrap();
    let before_kernel = &json["before_kernel"];
    assert_eq!(before_kernel["firmware"]["duration_ns"], 12_621 * MS);
    assert_eq!(before_kernel["firmware"]["event"], "Microsoft-Windows-Kernel-Boot/30");
    let checkpoints = &before_kernel["firmware_table"]["checkpoints"];
    let times = ["reset_end_ns", "loader_load_ns", "loader_start_ns", "exit_begin_ns", "exit_end_ns"];
    assert_eq!(times.map(|name| checkpoints[name].as_i64().unwrap()), LONG.map(|ms| ms as i64 * MS));
    assert_eq!(before_kernel["firmware_table"]["reset_ns"], -12_990 * MS);
    assert_eq!(before_kernel["firmware_table"]["faults"], Value::Array(Vec::new()));
    let diagnosed = folder.answer("diagnose long.etl");
    assert!(diagnosed.contains("the firmware took 12.6 s before the boot manager"), "{diagnosed}");
    folder.answer("view long.etl -o long.html");
    let page = std::fs::read_to_string(folder.path("long.html")).unwrap();
    assert!(
        page.contains(&format!("\"start_ns\":{},\"end_ns\":{}", -12_990 * MS, -381 * MS)),
        "no stage of the firmware"
    );
    assert!(page.contains("the firmware took 12.6 s before the boot manager"));

    write_boot(&folder, "short.etl", Some(SHORT));
    let compared: Value = serde_json::from_str(&folder.answer("compare short.etl long.etl --format json")).unwrap();
    let measures = compared["measures"].as_array().unwrap();
    let firmware = measures.iter().find(|row| row["key"] == "boot.firmware").unwrap();
    let medians = [0, 1].map(|side| firmware["values"][side]["median"].as_f64().unwrap());
    assert_eq!(medians, [4_247e6, 12_621e6]);
}

#[test]
fn fast_firmware_has_no_finding() {
    let folder = Folder::new();
    write_boot(&folder, "short.etl", Some(SHORT));
    let diagnosed = folder.answer("diagnose short.etl");
    assert!(!diagnosed.contains("the firmware took"), "{diagnosed}");
    assert!(folder.answer("boot short.etl").contains("Before the kernel: 4.25 s in firmware"));
}

/// The firmware time is unknown if the event is missing or contains zeros.
#[test]
fn firmware_time_unknown_without_times() {
    for (name, times) in [("none.etl", None), ("zeros.etl", Some([0; 5]))] {
        let folder = Folder::new();
        write_boot(&folder, name, times);
        let text = folder.answer(&format!("boot {name}"));
        assert!(!text.contains("in the firmware") && !text.contains("firmware (before 0)"), "{text}");
        let json: Value = serde_json::from_str(&folder.answer(&format!("boot {name} --format json"))).unwrap();
        assert_eq!(json["before_kernel"]["firmware"]["duration_ns"], Value::Null, "{name}");
        assert_eq!(json["before_kernel"]["firmware_table"], Value::Null, "{name}");
        assert_eq!(json["total_from_reset_ns"], Value::Null, "{name}");
    }
}

/// Some firmware stores a raw counter as the end of reset. The other times are valid.
#[test]
fn rejects_raw_counter_values() {
    let folder = Folder::new();
    let [_, load, start, begin, end] = LONG;
    write_boot(&folder, "raw.etl", Some([6_570_000_000_000, load, start, begin, end]));
    let json: Value = serde_json::from_str(&folder.answer("boot raw.etl --format json")).unwrap();
    let before_kernel = &json["before_kernel"];
    assert_eq!(before_kernel["firmware"]["duration_ns"], 12_621 * MS);
    assert_eq!(before_kernel["firmware_table"]["checkpoints"]["reset_end_ns"], Value::Null);
    assert_eq!(before_kernel["firmware_table"]["reset_ns"], -12_990 * MS);
    let stages: Vec<&str> = before_kernel["firmware_table"]["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| stage["name"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["firmware", "loader_load", "loader", "exit_boot_services"]);
    assert!(folder.answer("boot raw.etl").contains("Nothing was lost."));
}
