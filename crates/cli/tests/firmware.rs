//! What `onoff firmware` says about firmware tables, real and made for the test.
#![allow(clippy::unwrap_used)]

use crate::running::Folder;
use onoff_testkit::real::samples;
use serde_json::Value;

fn report(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("firmware {arguments} --format json"))).unwrap()
}

/// A folder with a copy of a sample.
fn sample(name: &str) -> Option<Folder> {
    let path = samples(name.rsplit_once('/').unwrap().0)?;
    let file = name.rsplit_once('/').unwrap().1;
    let folder = Folder::new();
    folder.file(file, &std::fs::read(path.join(file)).unwrap());
    Some(folder)
}

/// ms to the 0.1 that the published values have.
fn ms(ns: &Value) -> f64 {
    (ns.as_i64().unwrap() as f64 / 1e5).round() / 10.0
}

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn a_boot_measured_module_by_module() {
    let Some(folder) = sample("fpdt/FBPT_reconstructed.bin") else {
        return;
    };
    let report = report(&folder, "FBPT_reconstructed.bin");
    let counts: Vec<(&str, u64)> = report["tables"][0]["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["number"].as_str().unwrap(), row["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        counts,
        [("0x0002", 1), ("0x1010", 277), ("0x1011", 156), ("0x1012", 22), ("0x1013", 330), ("0x1014", 52)]
    );
    let intervals = &report["intervals"];
    for (name, ns) in [
        ("firmware_init_ns", 1_127_243_597),
        ("time1_ns", 102_832_433_592_i64),
        ("loader_load_ns", 6_123_328),
        ("loader_run_ns", 1_139_162_842),
        ("exit_boot_services_ns", 25_676_374),
        ("time2_ns", 1_170_962_544),
        ("total_ns", 105_130_639_733),
        ("ready_to_boot_ns", 102_044_461_780),
    ] {
        assert_eq!(intervals[name], ns, "{name}");
    }
    for (phase, length) in [("PEI", 99_747.4), ("DXE", 699.2), ("BDS", 2_299.9), ("PreMem", 98_400.5)] {
        assert_eq!(ms(&named(&report["phases"], phase)["duration_ns"]), length, "{phase}");
        assert_eq!(named(&report["phases"], phase)["certainty"], "measured");
    }
    assert_eq!(named(&report["phases"], "SEC")["certainty"], "inferred");
    assert_eq!(report["unended"].as_array().unwrap().len(), 4);
    assert_eq!(report["ends_without_begin"], 0);
    let work = report["work"].as_array().unwrap();
    let attempt = work.iter().find(|row| row["text"] == "BdsAttempt").unwrap();
    assert_eq!(ms(&attempt["duration_ns"]), 1_827.2);
    let usb =
        report["devices"].as_array().unwrap().iter().find(|row| row["path"] == "PciRoot(0x0)/Pci(0x14,0x0)").unwrap();
    // The longest of its starts; the others are the same driver's later ones and that of the host controller.
    let longest = work
        .iter()
        .filter(|row| row["work"] == "driver_start" && row["text"] == "PciRoot(0x0)/Pci(0x14,0x0)")
        .map(|row| ms(&row["duration_ns"]))
        .fold(0.0, f64::max);
    assert_eq!(longest, 1_181.3);
    assert_eq!(usb["drivers"].as_array().unwrap().len(), 2);
    // 837 measurements: every begin and end is used once.
    let used = 2 * work.len() + report["unended"].as_array().unwrap().len() + report["marks"].as_array().unwrap().len();
    assert_eq!(used, 837);
    assert_eq!(report["measurements"], 837);
}

#[test]
fn time_of_their_own_adds_up_to_the_time_that_something_ran() {
    let Some(folder) = sample("fpdt/FBPT_reconstructed.bin") else {
        return;
    };
    let report = report(&folder, "FBPT_reconstructed.bin");
    let spans = |list: &str| -> Vec<(i64, i64)> {
        let rows = report[list].as_array().unwrap().iter();
        rows.map(|row| (row["start_ns"].as_i64().unwrap(), row["end_ns"].as_i64().unwrap())).collect()
    };
    // All pieces, and the one phase of which an end was inferred.
    let mut all = spans("work");
    all.push(spans("phases")[0]);
    all.sort_unstable();
    let (mut covered, mut reach) = (0, i64::MIN);
    for (start, end) in all {
        covered += (end - start.max(reach)).max(0);
        reach = reach.max(end);
    }
    let own = |list: &str| -> i64 {
        report[list].as_array().unwrap().iter().map(|row| row["self_ns"].as_i64().unwrap()).sum()
    };
    assert_eq!(own("work") + report["phases"][0]["self_ns"].as_i64().unwrap(), covered);
    // Without the phases it is what the modules cost.
    assert_eq!(own("drivers") + own("phases"), covered);
}

#[test]
fn the_same_boot_as_xml_gives_the_same_answer() {
    let Some(folder) = sample("fpdt/FBPT_reconstructed.bin") else {
        return;
    };
    let xml = std::fs::read(samples("fpdt").unwrap().join("fpdt_complex_data.xml")).unwrap();
    folder.file("boot.xml", &xml);
    let (of_bytes, of_xml) = (report(&folder, "FBPT_reconstructed.bin"), report(&folder, "boot.xml"));
    for name in
        ["checkpoints", "intervals", "phases", "coverage", "gaps", "drivers", "devices", "work", "unended", "marks"]
    {
        assert_eq!(of_bytes[name], of_xml[name], "{name}");
    }
}

#[test]
fn the_folder_of_a_linux_boot_agrees_with_systemd() {
    let Some(archives) = samples("linux") else {
        return;
    };
    let folder = Folder::new();
    folder.file("boot.tar.xz", &std::fs::read(archives.join("boot-fpdt.tar.xz")).unwrap());
    let report = report(&folder, "boot.tar.xz");
    let fbpt = report["tables"].as_array().unwrap().iter().find(|table| table["signature"] == "FBPT").unwrap();
    let records: u64 = fbpt["records"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!((records, &report["measurements"]), (8_667, &Value::from(8_666)));
    // systemd-analyze: 1.118s (firmware) + 3.691s (loader), each cut to the ms.
    let times = &report["checkpoints"];
    let start = times["loader_start_ns"].as_i64().unwrap();
    let end = times["exit_end_ns"].as_i64().unwrap();
    assert_eq!((start / 1_000_000, (end - start) / 1_000_000), (1_118, 3_691));
    assert_eq!(report["intervals"]["total_ns"], 4_809_919_164_i64);
    // Each asked whether it supports each device: 4,076 times.
    let calls: u64 =
        report["drivers"].as_array().unwrap().iter().map(|row| row["support_calls"].as_u64().unwrap()).sum();
    assert_eq!(calls, 4_076);
    // The begin of PEI is not among the records; the loader and the kernel never come back.
    assert_eq!(report["ends_without_begin"], 1);
    assert_eq!(named(&report["phases"], "PEI")["certainty"], "inferred");
    assert_eq!(report["unended"].as_array().unwrap().len(), 2);
    assert_eq!(report["resume"]["count"], 0);
}

#[test]
fn tables_with_defects_are_read_as_far_as_they_go() {
    let Some(folder) = sample("fpdt/malformed/lkml-a83c68a3bf7c_FBPT.bin") else {
        return;
    };
    let boot = report(&folder, "lkml-a83c68a3bf7c_FBPT.bin");
    assert_eq!(boot["checkpoints"]["loader_load_ns"], 49_102_497_322_i64);
    assert_eq!(boot["checkpoints"]["loader_start_ns"], 49_127_965_722_i64);
    assert_eq!(boot["checkpoints"]["exit_begin_ns"], Value::Null);
    let kinds: Vec<&str> =
        boot["faults"].as_array().unwrap().iter().map(|fault| fault["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["repeated_signature", "not_uefi"]);

    let Some(folder) = sample("fpdt/malformed/lkml-a83c68a3bf7c_S3PT.bin") else {
        return;
    };
    let sleep = report(&folder, "lkml-a83c68a3bf7c_S3PT.bin");
    assert_eq!(sleep["faults"][0]["kind"], "zero_length_record");
    assert_eq!(sleep["checkpoints"], Value::Null);
}

#[test]
fn pointers_alone_are_no_answer() {
    let Some(machines) = samples("fpdt/linuxhw") else {
        return;
    };
    for entry in std::fs::read_dir(machines).unwrap() {
        let folder = Folder::new();
        folder.file("fpdt.bin", &std::fs::read(entry.unwrap().path()).unwrap());
        let (code, message) = folder.refusal("firmware fpdt.bin");
        assert_eq!(code, 2);
        assert!(message.contains("FBPT at 0x"), "{message}");
    }
}

/// An FBPT with only the five times, ns.
pub fn fbpt(times: [u64; 5]) -> Vec<u8> {
    let mut bytes = b"FBPT\x38\0\0\0\x02\0\x30\x02\0\0\0\0".to_vec();
    bytes.extend(times.iter().flat_map(|ns| ns.to_le_bytes()));
    bytes
}

/// Table 2 of the paper on PXE performance: the same machine booted over the network and from its disk.
#[test]
fn the_papers_table_of_a_network_boot() {
    const MS: u64 = 1_000_000;
    let network = [21, 7_037, 20_246, 40_363, 40_365].map(|ms| ms * MS);
    let disk = [21, 5_321, 5_512, 8_861, 8_862].map(|ms| ms * MS);
    let folder = Folder::new();
    folder.file("pxe.bin", &fbpt(network)).file("disk.bin", &fbpt(disk));
    let milliseconds = |file: &str| {
        let report = report(&folder, file);
        ["time1_ns", "loader_load_ns", "loader_run_ns", "exit_boot_services_ns", "time2_ns"]
            .map(|name| report["intervals"][name].as_u64().unwrap() / MS)
    };
    assert_eq!(milliseconds("pxe.bin"), [7_016, 13_209, 20_117, 2, 33_328]);
    assert_eq!(milliseconds("disk.bin"), [5_300, 191, 3_349, 1, 3_541]);
    let text = folder.answer("firmware pxe.bin --compare disk.bin");
    assert!(
        text.starts_with(
            "From reset to the operating system it took 31.5 s (355 %) longer: 40.4 s, was 8.86 s; the firmware's part of the change is +1.72 s.\n"
        ),
        "{text}"
    );
    insta::assert_snapshot!("firmware_paper_table_2", folder.answer("firmware pxe.bin"));
    insta::assert_snapshot!("firmware_compared", text);
}

/// The method of the paper: the lines of a debug build on a serial port, here after the lines of an earlier boot.
#[test]
fn the_papers_way_of_getting_the_times() {
    let boot = |load: u64| {
        format!(
            "some other line\r\nFPDT: Boot Performance - ResetEnd                = 21000000\r\n\
             FPDT: Boot Performance - OsLoaderLoadImageStart  = {load}\r\n\
             FPDT: Boot Performance - OsLoaderStartImageStart = 20246000000\r\n\
             FPDT: Boot Performance - ExitBootServicesEntry   = 40363000000\r\n\
             FPDT: Boot Performance - ExitBootServicesExit    = 40365000000\r\n"
        )
    };
    let folder = Folder::new();
    folder.file("serial.log", (boot(1) + &boot(7_037_000_000)).as_bytes());
    let report = report(&folder, "serial.log");
    assert_eq!(report["inputs"][0]["form"], "serial_log");
    assert_eq!(report["intervals"]["time1_ns"], 7_016_000_000_i64);
    assert_eq!(report["faults"][0]["kind"], "several_boots");
}

#[test]
fn times_that_cannot_be_are_flagged_and_not_subtracted() {
    const S: u64 = 1_000_000_000;
    let folder = Folder::new();
    for (name, times, kinds) in [
        ("ticks", [68_719_476_758, 9 * S, 10 * S, 11 * S, 12 * S], &["reset_end_in_ticks"][..]),
        ("backwards", [S, 9 * S, 8 * S, 11 * S, 12 * S], &["not_monotonic"]),
        ("kept", [S, 9_000 * S, 9_001 * S, 9_002 * S, 9_003 * S], &["kept_over_resets"]),
        ("legacy", [S, 9 * S, 10 * S, 0, 0], &["not_uefi"]),
        ("nothing", [S, 0, 0, 0, 0], &["not_uefi"]),
        ("huge", [S, u64::MAX, 10 * S, 11 * S, 12 * S], &["impossible_time"]),
        ("good", [S, 9 * S, 10 * S, 11 * S, 12 * S], &[]),
    ] {
        folder.file(name, &fbpt(times));
        let report = report(&folder, name);
        let found: Vec<&str> =
            report["faults"].as_array().unwrap().iter().map(|fault| fault["kind"].as_str().unwrap()).collect();
        assert_eq!(found, kinds, "{name}");
        for (name, ns) in report["intervals"].as_object().unwrap() {
            assert!(ns.as_i64().is_none_or(|ns| ns >= 0), "{name}: {ns}");
        }
        folder.answer(&format!("firmware {name}"));
    }
    assert_eq!(report(&folder, "ticks")["intervals"]["time1_ns"], Value::Null);
    assert_eq!(report(&folder, "good")["intervals"]["time1_ns"], 8 * S);
}

#[test]
fn what_is_no_firmware_table_is_refused() {
    let folder = Folder::new();
    folder.file("other.bin", b"something else").file("empty", b"");
    let (code, message) = folder.refusal("firmware other.bin");
    assert_eq!(code, 1);
    assert!(message.contains("no firmware tables"), "{message}");
    assert_eq!(folder.refusal("firmware empty").0, 1);
    assert_eq!(folder.refusal("firmware absent").0, 1);
    assert_eq!(folder.refusal("firmware .").0, 2, "a folder without any");
}

#[test]
fn as_text_and_csv() {
    let Some(folder) = sample("fpdt/FBPT_reconstructed.bin") else {
        return;
    };
    folder.file(
        "names.txt",
        b"240612B7-A063-11D4-9A3A-0090273FC14D UsbBusDxe\nFF0C8745-3270-4439-B74F-3E45F8C77064 TheirGraphics\n",
    );
    insta::assert_snapshot!(
        "firmware_as_text",
        folder.answer("firmware FBPT_reconstructed.bin --guids names.txt --top 5")
    );
    let csv = folder.answer("firmware FBPT_reconstructed.bin --format csv");
    let columns = csv.lines().next().unwrap().split(',').count();
    assert_eq!(columns, 13);
    // 5 stages, 6 phases, every pair, point and begin without end, and the header.
    let report = report(&folder, "FBPT_reconstructed.bin");
    let rows: usize = ["stages", "phases", "work", "marks", "unended"]
        .iter()
        .map(|name| report[name].as_array().unwrap().len())
        .sum();
    assert_eq!(csv.lines().count(), rows + 1);
    assert!(
        csv.contains("cross_module,BDS,BdsDxe,6D33944A-EC75-4855-A54D-809C75241F6C,,101665880138,"),
        "{}",
        &csv[..2000]
    );
}

/// One axis from the processor's reset to the settled computer.
#[test]
fn a_boot_with_its_firmware() {
    const SCENARIO: &str = "table-7-slow-service-in-group.toml";
    const MS: i64 = 1_000_000;
    let folder = Folder::boot(SCENARIO);
    folder.file("FBPT.bin", &fbpt([21, 7_037, 20_246, 40_363, 40_365].map(|ms| ms * MS as u64)));
    let boot = |arguments: &str| -> Value {
        serde_json::from_str(&folder.answer(&format!("boot boot.etl {arguments} --format json"))).unwrap()
    };
    let given = boot("--firmware FBPT.bin");
    let table = &given["before_kernel"]["firmware_table"];
    assert_eq!(table["from"], "FBPT.bin");
    let kernel = given["main_path_boot"]["start_ns"].as_i64().unwrap();
    assert_eq!(table["reset_ns"].as_i64().unwrap(), kernel - 40_365 * MS);
    let ends: Vec<i64> = table["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| (stage["end_ns"].as_i64().unwrap() - kernel) / MS)
        .collect();
    assert_eq!(ends, [-40_344, -33_328, -20_119, -2, 0]);
    let total = given["total_ns"].as_i64().unwrap();
    assert_eq!(given["total_from_reset_ns"].as_i64().unwrap(), total + 40_365 * MS);
    // Everything after the kernel's start stays as it was, and so does xperf's document.
    let alone = boot("");
    assert_eq!(alone["phases"], given["phases"]);
    let xml = folder.answer("boot boot.etl --format xml");
    assert_eq!(xml, folder.answer("boot boot.etl --firmware FBPT.bin --format xml"));
    let text = folder.answer("boot boot.etl --firmware FBPT.bin");
    assert!(text.contains(" From the processor's reset: "), "{text}");
    // Tables without times are no answer.
    folder.file("S3PT.bin", b"S3PT\x08\0\0\0");
    assert_eq!(folder.refusal("boot boot.etl --firmware S3PT.bin").0, 2);
}
