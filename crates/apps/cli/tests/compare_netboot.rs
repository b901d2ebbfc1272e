//! Compares network boots and firmware tables, and checks that only injected differences are found.

use onoff_testkit::capture::{CaptureBuilder, DhcpFields};
use serde_json::Value;

use crate::firmware::{fbpt, raw_trace};
use crate::harness::Folder;

const MS: u64 = 1_000_000;

fn comparison(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("compare {arguments} --format json"))).unwrap()
}

fn verdict<'a>(comparison: &'a Value, key: &str) -> &'a str {
    let measures = comparison["measures"].as_array().unwrap();
    let measure =
        measures.iter().find(|measure| measure["key"] == key).unwrap_or_else(|| panic!("{key}: {measures:?}"));
    measure["changes"][0]["verdict"].as_str().unwrap()
}

/// Captures a network boot whose client waits `pause_ms` between two files; `jitter_ms` varies between runs.
fn capture(pause_ms: u64, jitter_ms: u64) -> Vec<u8> {
    CaptureBuilder::default()
        .lease(&DhcpFields::default())
        .wait_ms(20 + jitter_ms)
        .file("boot.efi", 200, b"")
        .wait_ms(pause_ms)
        .file("boot.wim", 900, b"")
        .wait_ms(900)
        .os_lease()
        .bytes()
}

#[test]
fn network_boots() {
    let folder = Folder::new();
    for run in 0..4 {
        folder.file(&format!("old{run}.pcapng"), &capture(100, run));
        folder.file(&format!("new{run}.pcapng"), &capture(900, run));
        folder.file(&format!("same{run}.pcapng"), &capture(100, run + 1));
    }
    let runs = |name: &str| (0..4).map(|run| format!("{name}{run}.pcapng ")).collect::<String>();
    let sides = |name: &str| format!("--baseline {} --candidate {}", runs("old"), runs(name));
    let slower = comparison(&folder, &sides("new"));
    assert_eq!(slower["transition"], "netboot");
    assert_eq!(verdict(&slower, "netboot.total"), "slower");
    assert_eq!(verdict(&slower, "netboot.phase.client busy"), "slower");
    assert_eq!(verdict(&slower, "netboot.phase.DHCP"), "same");
    assert_eq!(verdict(&slower, "netboot.step.boot.wim"), "same");
    assert_eq!(verdict(&comparison(&folder, &sides("same")), "netboot.total"), "same");
    let text = folder.answer(&format!("compare {}", sides("new")));
    assert!(text.starts_with("The network boot is 800 ms ("), "{text}");

    // Use a folder with a failed boot, and the gate.
    std::fs::create_dir(folder.path("runs")).unwrap();
    for run in 0..3 {
        folder.file(&format!("runs/{run}.pcapng"), &capture(100, run));
    }
    folder.file("runs/note.txt", b"nothing");
    let failed = CaptureBuilder::default().lease(&DhcpFields::default()).request("boot.efi", &[]).error(false, 1, "no");
    folder.file("runs/failed.pcapng", &failed.bytes());
    for (candidate, code) in [("new", 1), ("same", 0)] {
        let arguments = format!("gate --baseline runs --candidate {} --limit", runs(candidate));
        let gate = folder.command(&arguments).arg("netboot.total 10%").output().unwrap();
        assert_eq!(gate.status.code(), Some(code), "{}", String::from_utf8_lossy(&gate.stderr));
    }
    let with_failed_boot = comparison(&folder, &format!("--baseline runs --candidate {}", runs("same")));
    let exclusions: Vec<&Value> = with_failed_boot["configurations"][0]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| run["compared"] == false)
        .collect();
    assert_eq!(exclusions.len(), 1);
    assert_eq!(exclusions[0]["exclusions"][0]["reason"], "other_kind");
    // A recording of a system has no network boot.
    assert_eq!(folder.failure("compare --baseline old0.pcapng --candidate new0.pcapng --transition boot").0, 2);
}

#[test]
fn firmware_tables() {
    let folder = Folder::new();
    for run in 0..3 {
        let table = |load: u64| fbpt([21, load, load + 191 + run, load + 3_540, load + 3_541].map(|ms| ms * MS));
        folder.file(&format!("old{run}.bin"), &table(5_321 + run));
        folder.file(&format!("new{run}.bin"), &table(7_037 + run));
    }
    let comparison =
        comparison(&folder, "--baseline old0.bin old1.bin old2.bin --candidate new0.bin new1.bin new2.bin");
    assert_eq!(comparison["transition"], "firmware");
    assert_eq!(verdict(&comparison, "firmware.total"), "slower");
    assert_eq!(verdict(&comparison, "firmware.phase.firmware"), "slower");
    assert_eq!(verdict(&comparison, "firmware.phase.loader_load"), "same");
    let measures = comparison["measures"].as_array().unwrap();
    let time1 = measures.iter().find(|measure| measure["key"] == "firmware.time1").unwrap();
    // 5,300, 5,301 and 5,302 ms.
    assert_eq!(time1["values"][0]["mean"].as_u64().unwrap(), 5_301 * MS);
}

/// Network boots and firmware have no attribution of phases, so their headlines name the stages that changed.
#[test]
fn headlines_name_changed_stage() {
    let folder = Folder::new();
    folder.file("pxe.bin", &fbpt([21, 7_037, 20_246, 40_363, 40_365].map(|ms| ms * MS)));
    folder.file("disk.bin", &fbpt([21, 5_321, 5_512, 8_861, 8_862].map(|ms| ms * MS)));
    folder.file("old.pcapng", &capture(100, 0)).file("new.pcapng", &capture(900, 0));
    let firmware = folder.answer("compare --baseline disk.bin --candidate pxe.bin --least-runs 1");
    let lines: Vec<&str> = firmware.lines().skip(1).take(3).collect();
    assert_eq!(lines, ["+16.8 s in loader.", "+13.0 s in loader load.", "+1.72 s in firmware."]);
    let packets = folder.answer("compare --baseline old.pcapng --candidate new.pcapng --least-runs 1");
    assert_eq!(packets.lines().nth(1), Some("+800 ms in client busy."));
}

/// Compares real boots of one firmware over IPv4 and IPv6, and with windows of 1 and 4 blocks. The differing stages
/// match manual measurements of the captures.
#[test]
fn compares_ip_versions_and_windows() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let path = |name: &str| samples.join(format!("lab-{name}/{name}.pcap.xz")).display().to_string();
    let median = |comparison: &Value, key: &str, side: usize| -> i64 {
        let measures = comparison["measures"].as_array().unwrap();
        let measure = measures.iter().find(|measure| measure["key"] == key).unwrap();
        measure["values"][side]["median"].as_i64().unwrap() / MS as i64
    };
    let folder = Folder::new();
    let (v4, v6) = (path("v4-full-baseline"), path("v6-full-baseline"));
    let families = comparison(&folder, &format!("--baseline {v4} --candidate {v6} --least-runs 1"));
    let text = folder.answer(&format!("compare --baseline {v4} --candidate {v6} --least-runs 1"));
    let line = "baseline: 1 run (IPv4, no window, block size 1468 bytes) · candidate: 1 run (IPv6, no window, block size 1228 bytes)";
    assert!(text.contains(line), "{text}");
    let key = "netboot.phase.boot program";
    let (v4_ms, v6_ms) = (median(&families, key, 0), median(&families, key, 1));
    assert!((790..820).contains(&v4_ms) && (2_500..2_640).contains(&v6_ms), "{v4_ms} {v6_ms}");
    let (window_1, window_4) = (path("v4-dnsmasq-uki"), path("v4-atftpd-win"));
    let text = folder.answer(&format!("compare --baseline {window_1} --candidate {window_4} {v4} --least-runs 1"));
    let line =
        "candidate: 2 runs (mixed: IPv4, window 4, block size 1468 bytes; IPv4, no window, block size 1468 bytes)";
    assert!(text.contains(line), "{text}");
    let windows = comparison(&folder, &format!("--baseline {window_1} --candidate {window_4} --least-runs 1"));
    let (window_1_ms, window_4_ms) = (median(&windows, key, 0), median(&windows, key, 1));
    assert!(window_1_ms > 9_000 && window_4_ms < 5_600, "{window_1_ms} {window_4_ms}");
}

/// Compares three boots each of two firmware versions in which one driver differs by 100 ms.
#[test]
fn reports_only_slower_driver() {
    let folder = Folder::new();
    let trace = |start_ms: u64| {
        raw_trace(&[
            (0, 0, 20 * MS, "SEC", ""),
            (0, 20 * MS, 320 * MS, "PEI", ""),
            (0, 320 * MS, 900 * MS, "DXE", ""),
            (0x18, 400 * MS, start_ms * MS, "DB:Start:", "Usb Xhci Driver"),
            (0x20, 450 * MS, 500 * MS, "DB:Start:", "Usb Mass Storage Driver"),
            (0, 900 * MS, 1_400 * MS, "BDS", ""),
        ])
    };
    for run in 0..3 {
        folder.file(&format!("old{run}.txt"), trace(700 + run).as_bytes());
        folder.file(&format!("new{run}.txt"), trace(800 + run).as_bytes());
    }
    let comparison =
        comparison(&folder, "--baseline old0.txt old1.txt old2.txt --candidate new0.txt new1.txt new2.txt");
    assert_eq!(verdict(&comparison, "firmware.driver.Usb Xhci Driver"), "slower");
    assert_eq!(verdict(&comparison, "firmware.driver.Usb Mass Storage Driver"), "same");
    assert_eq!(verdict(&comparison, "firmware.phase.DXE"), "same");
    let measures = comparison["measures"].as_array().unwrap();
    let driver = measures.iter().find(|measure| measure["key"] == "firmware.driver.Usb Xhci Driver").unwrap();
    assert_eq!(driver["changes"][0]["difference"], 100 * MS);
}

/// Real firmware has no differences from itself.
#[test]
fn real_firmware_does_not_differ_from_itself() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("fpdt") else {
        return;
    };
    let folder = Folder::new();
    let table = samples.join("FBPT_reconstructed.bin");
    let table = table.display();
    let comparison = comparison(&folder, &format!("--baseline {table} --candidate {table} --least-runs 1"));
    let drivers = comparison["measures"].as_array().unwrap().iter().filter(|measure| measure["category"] == "driver");
    let differences: Vec<&Value> = drivers.map(|driver| &driver["changes"][0]["difference"]).collect();
    assert!(differences.len() > 20 && differences.iter().all(|difference| **difference == 0), "{differences:?}");
}
