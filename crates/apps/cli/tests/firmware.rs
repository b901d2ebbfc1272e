//! `onoff firmware` on real and synthetic firmware tables.
#![allow(clippy::unwrap_used)]

use crate::harness::Folder;
use onoff_testkit::real_recordings::samples_folder;
use serde_json::Value;

fn report(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("firmware {arguments} --format json"))).unwrap()
}

/// Copies a sample to a folder.
fn sample(name: &str) -> Option<Folder> {
    let path = samples_folder(name.rsplit_once('/').unwrap().0)?;
    let file = name.rsplit_once('/').unwrap().1;
    let folder = Folder::new();
    folder.file(file, &std::fs::read(path.join(file)).unwrap());
    Some(folder)
}

/// Rounds to 0.1 ms, the precision of the published values.
fn ms(ns: &Value) -> f64 {
    (ns.as_i64().unwrap() as f64 / 1e5).round() / 10.0
}

fn row_named<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn measures_boot_by_module() {
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
    for (phase, duration_ms) in [("PEI", 99_747.4), ("DXE", 699.2), ("BDS", 2_299.9), ("PreMem", 98_400.5)] {
        assert_eq!(ms(&row_named(&report["phases"], phase)["duration_ns"]), duration_ms, "{phase}");
        assert_eq!(row_named(&report["phases"], phase)["certainty"], "measured");
    }
    assert_eq!(row_named(&report["phases"], "SEC")["certainty"], "inferred");
    assert_eq!(report["unfinished"].as_array().unwrap().len(), 4);
    assert_eq!(report["unmatched_ends"], 0);
    let work = report["work"].as_array().unwrap();
    let attempt = work.iter().find(|row| row["text"] == "BdsAttempt").unwrap();
    assert_eq!(ms(&attempt["duration_ns"]), 1_827.2);
    let usb =
        report["devices"].as_array().unwrap().iter().find(|row| row["path"] == "PciRoot(0x0)/Pci(0x14,0x0)").unwrap();
    // The longest start counts; the other rows are later starts of the same driver and of the host controller.
    let longest_ms = work
        .iter()
        .filter(|row| row["work"] == "driver_start" && row["text"] == "PciRoot(0x0)/Pci(0x14,0x0)")
        .map(|row| ms(&row["duration_ns"]))
        .fold(0.0, f64::max);
    assert_eq!(longest_ms, 1_181.3);
    assert_eq!(usb["drivers"].as_array().unwrap().len(), 2);
    // There are 837 measurements. Every begin and end is used once.
    let used_measurements =
        2 * work.len() + report["unfinished"].as_array().unwrap().len() + report["marks"].as_array().unwrap().len();
    assert_eq!(used_measurements, 837);
    assert_eq!(report["measurements"], 837);
}

#[test]
fn own_times_sum_to_busy_time() {
    let Some(folder) = sample("fpdt/FBPT_reconstructed.bin") else {
        return;
    };
    let report = report(&folder, "FBPT_reconstructed.bin");
    let intervals = |list: &str| -> Vec<(i64, i64)> {
        let rows = report[list].as_array().unwrap().iter();
        rows.map(|row| (row["start_ns"].as_i64().unwrap(), row["end_ns"].as_i64().unwrap())).collect()
    };
    // All measured intervals, and the phase with an inferred end.
    let mut busy_intervals = intervals("work");
    busy_intervals.push(intervals("phases")[0]);
    busy_intervals.sort_unstable();
    let (mut busy_ns, mut latest_end) = (0, i64::MIN);
    for (start, end) in busy_intervals {
        busy_ns += (end - start.max(latest_end)).max(0);
        latest_end = latest_end.max(end);
    }
    let self_ns = |list: &str| -> i64 {
        report[list].as_array().unwrap().iter().map(|row| row["self_ns"].as_i64().unwrap()).sum()
    };
    assert_eq!(self_ns("work") + report["phases"][0]["self_ns"].as_i64().unwrap(), busy_ns);
    // The times of modules and phases add up to the same.
    assert_eq!(self_ns("drivers") + self_ns("phases"), busy_ns);
}

#[test]
fn xml_gives_same_report() {
    let Some(folder) = sample("fpdt/FBPT_reconstructed.bin") else {
        return;
    };
    let xml = std::fs::read(samples_folder("fpdt").unwrap().join("fpdt_complex_data.xml")).unwrap();
    folder.file("boot.xml", &xml);
    let (bytes_report, xml_report) = (report(&folder, "FBPT_reconstructed.bin"), report(&folder, "boot.xml"));
    for name in
        ["checkpoints", "intervals", "phases", "coverage", "gaps", "drivers", "devices", "work", "unfinished", "marks"]
    {
        assert_eq!(bytes_report[name], xml_report[name], "{name}");
    }
}

#[test]
fn linux_folder_agrees_with_systemd() {
    let Some(archives) = samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    folder.file("boot.tar.xz", &std::fs::read(archives.join("boot-fpdt.tar.xz")).unwrap());
    let report = report(&folder, "boot.tar.xz");
    let fbpt = report["tables"].as_array().unwrap().iter().find(|table| table["signature"] == "FBPT").unwrap();
    let records: u64 = fbpt["records"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!((records, &report["measurements"]), (8_667, &Value::from(8_666)));
    // systemd-analyze: 1.118s (firmware) + 3.691s (loader), each truncated to ms.
    let times = &report["checkpoints"];
    let start = times["loader_start_ns"].as_i64().unwrap();
    let end = times["exit_end_ns"].as_i64().unwrap();
    assert_eq!((start / 1_000_000, (end - start) / 1_000_000), (1_118, 3_691));
    assert_eq!(report["intervals"]["total_ns"], 4_809_919_164_i64);
    // One Supported() call per driver and device: 4,076 calls.
    let calls: u64 =
        report["drivers"].as_array().unwrap().iter().map(|row| row["support_calls"].as_u64().unwrap()).sum();
    assert_eq!(calls, 4_076);
    // The start of PEI is not recorded, and the loader and the kernel never return.
    assert_eq!(report["unmatched_ends"], 1);
    assert_eq!(row_named(&report["phases"], "PEI")["certainty"], "inferred");
    assert_eq!(report["unfinished"].as_array().unwrap().len(), 2);
    assert_eq!(report["resume"]["count"], 0);
}

#[test]
fn reads_damaged_tables_partially() {
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
fn rejects_pointer_table_alone() {
    let Some(machines) = samples_folder("fpdt/linuxhw") else {
        return;
    };
    for entry in std::fs::read_dir(machines).unwrap() {
        let folder = Folder::new();
        folder.file("fpdt.bin", &std::fs::read(entry.unwrap().path()).unwrap());
        let (code, message) = folder.failure("firmware fpdt.bin");
        assert_eq!(code, 2);
        assert!(message.contains("FBPT at 0x"), "{message}");
    }
}

/// Builds an FBPT with only the five times, in ns.
pub fn fbpt(times: [u64; 5]) -> Vec<u8> {
    let mut bytes = b"FBPT\x38\0\0\0\x02\0\x30\x02\0\0\0\0".to_vec();
    bytes.extend(times.iter().flat_map(|ns| ns.to_le_bytes()));
    bytes
}

/// Checks table 2 of the paper on PXE performance: the same machine booted over the network and from its disk.
#[test]
fn paper_table_of_network_boot() {
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
            "Reset to operating system took 31.5 s (355 %) longer: 40.4 s, was 8.86 s; the firmware accounts for +1.72 s.\n"
        ),
        "{text}"
    );
    insta::assert_snapshot!("firmware_paper_table_2", folder.answer("firmware pxe.bin"));
    insta::assert_snapshot!("firmware_compared", text);
}

/// Checks the method of the paper: the serial port output of a debug build, here after the output of an earlier boot.
#[test]
fn paper_method_of_reading_times() {
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

/// Checks a log with several restarts, in the formats of two firmware implementations.
#[test]
fn lists_and_selects_serial_log_boots() {
    let edk2_log = |load: u64| {
        format!(
            "FPDT: Boot Performance - ResetEnd                = 21000000\r\nPXE-E18\r\n\
             FPDT: Boot Performance - OsLoaderLoadImageStart  = {load}\r\n\
             FPDT: Boot Performance - OsLoaderStartImageStart = {}\r\n",
            load + 5_000_000
        )
    };
    let other_log = "[10:00:01] FPDT: ResetEnd                = 21000000\n[10:00:01] FPDT: OsLoaderLoadImageStart  = 9000000000\n\
                 [10:00:01] FPDT: OsLoaderStartImageStart = 9100000000\n[10:00:02] FPDT: ExitBootServicesEntry   = 9900000000\n\
                 [10:00:02] FPDT: ExitBootServicesExit    = 9901000000\n";
    let folder = Folder::new();
    folder.file("serial.log", (edk2_log(1_000_000_000) + &edk2_log(2_000_000_000) + other_log).as_bytes());
    let load = |arguments: &str| report(&folder, arguments)["checkpoints"]["loader_load_ns"].as_i64().unwrap();
    assert_eq!(load("serial.log"), 9_000_000_000);
    assert_eq!(load("serial.log --boot -1"), 2_000_000_000);
    assert_eq!(load("serial.log --boot -2"), 1_000_000_000);
    let boots = report(&folder, "serial.log --boot -1")["boots"].take();
    let boots: Vec<(i64, u64, bool)> = boots
        .as_array()
        .unwrap()
        .iter()
        .map(|boot| (boot["number"].as_i64().unwrap(), boot["line"].as_u64().unwrap(), boot["read"].as_bool().unwrap()))
        .collect();
    assert_eq!(boots, [(-2, 1, false), (-1, 5, true), (0, 9, false)]);
    let text = folder.answer("firmware serial.log");
    assert!(text.contains("Boots in the log  use --boot to select one\n"), "{text}");
    let (code, message) = folder.failure("firmware serial.log --boot -3");
    assert_eq!((code, message.contains("the log has 3")), (2, true), "{message}");
    assert!(!message.contains("It is a firmware table"), "the verb already reads the file: {message}");
    // A log with a single boot has no list and no previous boot.
    folder.file("one.log", other_log.as_bytes());
    assert_eq!(report(&folder, "one.log")["boots"].as_array().unwrap().len(), 0);
    assert_eq!(folder.failure("firmware one.log --boot -1").0, 2);
}

/// The headline keeps the loader time if any line is missing from the log.
#[test]
fn headline_keeps_known_loader_time() {
    const LINES: [(&str, u64); 5] = [
        ("ResetEnd", 21),
        ("OsLoaderLoadImageStart", 7_037),
        ("OsLoaderStartImageStart", 20_246),
        ("ExitBootServicesEntry", 40_363),
        ("ExitBootServicesExit", 40_365),
    ];
    let folder = Folder::new();
    for (missing, expected) in [
        ("ResetEnd", "Reset to operating system took 40.4 s, including 33.3 s in the loader"),
        ("OsLoaderLoadImageStart", "the loader ran for 20.1 s until it called ExitBootServices"),
        ("OsLoaderStartImageStart", "The firmware took 7.02 s, the loader 33.3 s: 40.4 s from reset"),
        ("ExitBootServicesEntry", "The firmware took 7.02 s, the loader 33.3 s: 40.4 s from reset"),
        ("ExitBootServicesExit", "loading the loader took 13.2 s, the loader ran for 20.1 s"),
    ] {
        let lines = LINES.iter().filter(|(name, _)| *name != missing);
        let log: String =
            lines.map(|(name, ms)| format!("FPDT: Boot Performance - {name} = {}\n", ms * 1_000_000)).collect();
        folder.file("serial.log", log.as_bytes());
        let text = folder.answer("firmware serial.log");
        assert!(text.lines().next().unwrap().contains(expected), "without {missing}: {text}");
    }
}

/// Timestamps published by PC Engines for an apu2. Memory training takes more than 2 s of the 2.6 s.
const APU2: &str = "\
   0:1st timestamp                                     18,886
   1:start of romstage                                 18,958 (71)
   2:before ram initialization                         46,334 (27,376)
   3:after ram initialization                          2,225,788 (2,179,453)
   4:end of romstage                                   2,298,974 (73,185)
   8:starting to load ramstage                         2,299,924 (949)
   9:finished loading ramstage                         2,343,593 (2,094)
  10:start of ramstage                                 2,343,929 (335)
  30:device enumeration                                2,343,937 (8)
  40:device configuration                              2,347,291 (3,354)
  99:selfboot jump                                     2,601,000 (1,000)

Total Time: 2,582,114
";

#[test]
fn reads_all_coreboot_formats() {
    let folder = Folder::new();
    folder.file("cbmem.txt", APU2.as_bytes());
    let text_form = report(&folder, "cbmem.txt");
    assert_eq!(text_form["inputs"][0]["form"], "cbmem");
    let phase = |report: &Value, name: &str| {
        let phases = report["phases"].as_array().unwrap();
        phases.iter().find(|phase| phase["name"] == name).map(|phase| phase["duration_ns"].as_i64().unwrap() / 1_000)
    };
    assert_eq!(phase(&text_form, "romstage"), Some(2_298_974 - 18_958));
    assert_eq!(phase(&text_form, "ramstage"), Some(2_601_000 - 2_343_929));
    let work = |report: &Value, text: &str| {
        let work = report["work"].as_array().unwrap();
        work.iter().find(|work| work["text"] == text).map(|work| work["duration_ns"].as_i64().unwrap() / 1_000)
    };
    assert_eq!(work(&text_form, "RAM initialization"), Some(2_179_454));
    let text = folder.answer("firmware cbmem.txt");
    assert!(text.starts_with("The firmware measurements cover 2.58 s, up to 2.60 s after reset"), "{text}");
    assert!(text.contains("Longest phase: romstage, 2.28 s"), "{text}");
    // Steps have names instead of a common GUID.
    assert!(text.contains("Slowest module: RAM initialization, self time 2.18 s"), "{text}");
    assert!(!text.contains("00000000-0000"), "{text}");

    // The same timestamps in machine-readable form (`cbmem -T`) and as the raw table, at 1,000 ticks per µs.
    let lines: Vec<(u32, i64, &str)> = APU2
        .lines()
        .filter_map(|line| {
            let (number, columns) = line.split_once(':')?;
            let (name, time) = columns.split('(').next()?.trim().rsplit_once("  ")?;
            Some((number.trim().parse().ok()?, time.replace(',', "").trim().parse().ok()?, name.trim()))
        })
        .collect();
    assert_eq!(lines.len(), 11);
    let tabs: String = lines.iter().map(|(number, time, name)| format!("{number}\t{time}\t0\t{name}\n")).collect();
    let mut table = 18_886_000_u64.to_le_bytes().to_vec();
    table.extend(80_u16.to_le_bytes());
    table.extend(1_000_u16.to_le_bytes());
    table.extend(11_u32.to_le_bytes());
    for (number, time, _) in &lines {
        table.extend(number.to_le_bytes());
        table.extend(((time - 18_886) * 1_000).to_le_bytes());
    }
    folder.file("tabs.txt", tabs.as_bytes()).file("table.bin", &table);
    for (name, form) in [("tabs.txt", "cbmem"), ("table.bin", "cbmem_table")] {
        let other_form = report(&folder, name);
        assert_eq!(other_form["inputs"][0]["form"], form);
        assert_eq!(other_form["phases"], text_form["phases"], "{name}");
        assert_eq!(work(&other_form, "RAM initialization"), Some(2_179_454), "{name}");
    }
    // Quoted once and twice in an email.
    for mark in ["> ", ">", "> > ", ">> "] {
        let quoted: String = APU2.lines().map(|line| format!("{mark}{line}\n")).collect();
        folder.file("mail.txt", format!("On Monday somebody wrote:\n{quoted}\nThat is slow.\n").as_bytes());
        assert_eq!(report(&folder, "mail.txt")["phases"], text_form["phases"], "{mark:?}");
    }
    // A table with an impossible clock rate is rejected.
    table[10..12].copy_from_slice(&[0, 0]);
    folder.file("table.bin", &table);
    assert_eq!(folder.failure("firmware table.bin").0, 1);
    // Lists with numbers and colons are not timestamps.
    folder.file("list.txt", b"1:apples  12\n2:pears  14\n3:plums  9\n");
    assert_eq!(folder.failure("firmware list.txt").0, 1);
}

#[test]
fn reads_slim_bootloader_table() {
    let folder = Folder::new();
    let log = "Loader Performance Info\n=======================\n\n Id   | Time (ms)  | Delta (ms) | Description\n\
               ------+------------+------------+---------------------------\n \
               1000 |       2 ms |       2 ms | Reset vector\n 1010 |       9 ms |       7 ms | Stage1A entry point\n \
               10B0 |      84 ms |      75 ms | Decompress Stage1B\n 2000 |      84 ms |       0 ms | Stage1B entry point\n \
               2030 |     229 ms |     145 ms | FSP MemoryInit\n[12.3] 3000 |     300 ms |      71 ms | Stage2 entry point\n";
    folder.file("serial.log", log.as_bytes());
    let report = report(&folder, "serial.log");
    assert_eq!(report["inputs"][0]["form"], "slim_bootloader");
    let phases: Vec<(&str, i64)> = report["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| (phase["name"].as_str().unwrap(), phase["duration_ns"].as_i64().unwrap() / 1_000_000))
        .collect();
    assert_eq!(phases, [("Stage1A", 84), ("Stage1B", 145), ("Stage2", 71)]);
    // Older versions print the table without a title, in the middle of the log.
    let untitled = log.replace("Loader Performance Info\n=======================\n\n", "MP Init (Done)\n");
    folder.file("untitled.log", untitled.as_bytes());
    assert_eq!(self::report(&folder, "untitled.log")["phases"], report["phases"]);
    let text = folder.answer("firmware untitled.log");
    assert!(text.contains("  FSP MemoryInit") && !text.contains("00000000-0000"), "{text}");
    // Column titles without rows are not a table.
    folder.file("empty.log", b" Id   | Time (ms)  | Delta (ms) | Description\nnothing\n");
    assert_eq!(folder.failure("firmware empty.log").0, 1);
}

#[test]
fn pointer_table_json_lists_missing_evidence() {
    let Some(samples) = samples_folder("fpdt/linuxhw") else {
        return;
    };
    let table = std::fs::read_dir(samples).unwrap().next().unwrap().unwrap().path();
    let folder = Folder::new();
    folder.file("fpdt.bin", &std::fs::read(table).unwrap());
    let report = report(&folder, "fpdt.bin");
    assert_eq!(report["checkpoints"], Value::Null);
    let missing = report["missing_tables"].as_array().unwrap();
    let boot = missing.iter().find(|missing| missing["part"] == "FBPT").unwrap();
    assert!(boot["address"].as_str().unwrap().starts_with("0x"), "{boot}");
    // A complete table has no missing evidence.
    folder.file("FBPT.bin", &fbpt([21, 7_037, 20_246, 40_363, 40_365].map(|ms| ms * 1_000_000)));
    let complete = self::report(&folder, "FBPT.bin");
    assert_eq!(complete["missing_tables"].as_array().unwrap().len(), 0);
}

/// In a legacy boot, EDK II stores and logs a time only for the loader start (INT 19h).
#[test]
fn legacy_boot_needs_no_correction() {
    const S: u64 = 1_000_000_000;
    let folder = Folder::new();
    let log = "FPDT: Boot Performance - ResetEnd                = 1000000000\r\n\
               FPDT: Boot Performance - OsLoaderLoadImageStart  = 0\r\n\
               FPDT: Boot Performance - OsLoaderStartImageStart = 10000000000\r\n\
               FPDT: Boot Performance - ExitBootServicesEntry   = 0\r\n\
               FPDT: Boot Performance - ExitBootServicesExit    = 0\r\n";
    folder.file("FBPT.bin", &fbpt([S, 0, 10 * S, 0, 0])).file("serial.log", log.as_bytes());
    for name in ["FBPT.bin", "serial.log"] {
        let legacy = report(&folder, name);
        let intervals = &legacy["intervals"];
        assert_eq!((&intervals["legacy_boot"], intervals["time1_ns"].as_u64()), (&Value::Bool(true), Some(9 * S)));
        assert_eq!(legacy["faults"].as_array().unwrap().len(), 0, "{name}");
        let names: Vec<&str> =
            legacy["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["reset", "firmware"]);
        let text = folder.answer(&format!("firmware {name}"));
        assert!(text.starts_with("The firmware took 9.00 s until it started the boot sector (INT 19h). "), "{text}");
    }
    // Compare with a slower legacy boot.
    folder.file("slow.bin", &fbpt([S, 0, 14 * S, 0, 0]));
    let compared = folder.answer("firmware slow.bin --compare FBPT.bin");
    assert!(compared.contains("4.00 s"), "{compared}");
    // A loader that has not called ExitBootServices does not prove a legacy boot.
    folder.file("unended.bin", &fbpt([S, 9 * S, 10 * S, 0, 0]));
    let without_exit = report(&folder, "unended.bin");
    assert_eq!(without_exit["intervals"]["legacy_boot"], false);
    assert_eq!(without_exit["intervals"]["time1_ns"], 8 * S);
}

/// All drivers of stock OVMF have names.
#[test]
fn names_ovmf_drivers() {
    let Some(archives) = samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    folder.file("boot.tar.xz", &std::fs::read(archives.join("boot-fpdt.tar.xz")).unwrap());
    let report = report(&folder, "boot.tar.xz");
    let names: Vec<&str> =
        report["drivers"].as_array().unwrap().iter().map(|driver| driver["name"].as_str().unwrap()).collect();
    let is_guid = |name: &&&str| name.len() == 36 && name.bytes().filter(|&byte| byte == b'-').count() == 4;
    assert_eq!((names.len(), names.iter().filter(is_guid).count()), (101, 0));
    // Two images have no module name: one from the disk, and one without a GUID.
    let unnamed = names.iter().filter(|name| name.starts_with("image ") || **name == "unnamed image").count();
    assert_eq!(unnamed, 2);
}

#[test]
fn flags_impossible_times() {
    const S: u64 = 1_000_000_000;
    let folder = Folder::new();
    for (name, times, kinds) in [
        ("ticks", [68_719_476_758, 9 * S, 10 * S, 11 * S, 12 * S], &["reset_end_in_ticks"][..]),
        ("backwards", [S, 9 * S, 8 * S, 11 * S, 12 * S], &["not_monotonic"]),
        ("kept", [S, 9_000 * S, 9_001 * S, 9_002 * S, 9_003 * S], &["clock_not_reset"]),
        ("unended", [S, 9 * S, 10 * S, 0, 0], &["not_uefi"]),
        ("legacy", [S, 0, 10 * S, 0, 0], &[]),
        ("nothing", [S, 0, 0, 0, 0], &["not_uefi"]),
        ("huge", [S, u64::MAX, 10 * S, 11 * S, 12 * S], &["impossible_time"]),
        ("good", [S, 9 * S, 10 * S, 11 * S, 12 * S], &[]),
    ] {
        folder.file(name, &fbpt(times));
        let report = report(&folder, name);
        let actual_kinds: Vec<&str> =
            report["faults"].as_array().unwrap().iter().map(|fault| fault["kind"].as_str().unwrap()).collect();
        assert_eq!(actual_kinds, kinds, "{name}");
        for (name, ns) in report["intervals"].as_object().unwrap() {
            assert!(ns.as_i64().is_none_or(|ns| ns >= 0), "{name}: {ns}");
        }
        folder.answer(&format!("firmware {name}"));
    }
    assert_eq!(report(&folder, "ticks")["intervals"]["time1_ns"], Value::Null);
    assert_eq!(report(&folder, "good")["intervals"]["time1_ns"], 8 * S);
}

#[test]
fn rejects_files_without_firmware_tables() {
    let folder = Folder::new();
    folder.file("other.bin", b"something else").file("empty", b"");
    let (code, message) = folder.failure("firmware other.bin");
    assert_eq!(code, 1);
    assert!(message.contains("no firmware tables"), "{message}");
    assert_eq!(folder.failure("firmware empty").0, 1);
    assert_eq!(folder.failure("firmware absent").0, 1);
    assert_eq!(folder.failure("firmware .").0, 2, "a folder without tables");
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
    // The header, 5 stages, 6 phases, and every pair, point and unpaired begin.
    let report = report(&folder, "FBPT_reconstructed.bin");
    let rows: usize = ["stages", "phases", "work", "marks", "unfinished"]
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

/// The boot report covers the time from processor reset to idle.
#[test]
fn boot_includes_firmware() {
    const SCENARIO: &str = "table-7-slow-service-in-group.toml";
    const MS: i64 = 1_000_000;
    let folder = Folder::boot(SCENARIO);
    folder.file("FBPT.bin", &fbpt([21, 7_037, 20_246, 40_363, 40_365].map(|ms| ms * MS as u64)));
    let boot = |arguments: &str| -> Value {
        serde_json::from_str(&folder.answer(&format!("boot boot.etl {arguments} --format json"))).unwrap()
    };
    let with_firmware = boot("--firmware FBPT.bin");
    let table = &with_firmware["before_kernel"]["firmware_table"];
    assert_eq!(table["from"], "FBPT.bin");
    let kernel = with_firmware["main_path_boot"]["start_ns"].as_i64().unwrap();
    assert_eq!(table["reset_ns"].as_i64().unwrap(), kernel - 40_365 * MS);
    let ends: Vec<i64> = table["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| (stage["end_ns"].as_i64().unwrap() - kernel) / MS)
        .collect();
    assert_eq!(ends, [-40_344, -33_328, -20_119, -2, 0]);
    let total = with_firmware["total_ns"].as_i64().unwrap();
    assert_eq!(with_firmware["total_from_reset_ns"].as_i64().unwrap(), total + 40_365 * MS);
    // Everything after kernel start is unchanged, including xperf's XML.
    let without_firmware = boot("");
    assert_eq!(without_firmware["phases"], with_firmware["phases"]);
    let xml = folder.answer("boot boot.etl --format xml");
    assert_eq!(xml, folder.answer("boot boot.etl --firmware FBPT.bin --format xml"));
    let text = folder.answer("boot boot.etl --firmware FBPT.bin");
    assert!(text.contains(" Total from CPU reset: "), "{text}");
    // Tables without times are an error.
    folder.file("S3PT.bin", b"S3PT\x08\0\0\0");
    assert_eq!(folder.failure("boot boot.etl --firmware S3PT.bin").0, 2);
}

/// Formats the output of `dp -R` in EDK II: columns index, handle, begin, end, token and module.
pub fn raw_trace(rows: &[(u64, u64, u64, &str, &str)]) -> String {
    let mut text = "\r\nDP Build Version:       2.5\r\nSystem Performance Timer Frequency:      24,000 (KHz)\r\n\r\n\
                    ==[ RAW Trace ]========\r\n\r\n\
                    Index       Handle        Start Count       End Count                  Token                          Module\r\n"
        .to_owned();
    text += &format!("{}\r\n", "-".repeat(123));
    for (index, (handle, start, end, token, module)) in rows.iter().enumerate() {
        text += &format!("{:5}: {handle:16X} {start:16X} {end:16X}  {token:>31}  {module:>31}\r\n", index + 1);
    }
    text
}

#[test]
fn reads_dp_raw_trace() {
    const MS: u64 = 1_000_000;
    let folder = Folder::new();
    let text = raw_trace(&[
        (0, 0, 20 * MS, "SEC", ""),
        (0, 20 * MS, 320 * MS, "PEI", ""),
        (0, 40 * MS, 240 * MS, "PEIM", "PcdPeim"),
        (0, 320 * MS, 900 * MS, "DXE", ""),
        (0x7E00_0018, 330 * MS, 335 * MS, "LoadImage:", "XhciDxe"),
        (0x7E00_0018, 335 * MS, 350 * MS, "StartImage:", "XhciDxe"),
        (0x7E00_0018, 400 * MS, 700 * MS, "DB:Start:", "Usb Xhci Driver"),
        (0x7E00_0020, 450 * MS, 500 * MS, "DB:Start:", "Usb Mass Storage Driver"),
        (0, 900 * MS, 1_400 * MS, "BDS", ""),
        (0x7E00_0030, 1_390 * MS, 0, "StartImage:", "Shell"),
    ]);
    folder.file("dp.txt", text.as_bytes());
    let report = report(&folder, "dp.txt");
    assert_eq!(report["inputs"][0]["form"], "dp_command");
    let phases: Vec<(&str, f64)> = report["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| (phase["name"].as_str().unwrap(), ms(&phase["duration_ns"])))
        .collect();
    assert_eq!(phases, [("SEC", 20.0), ("PEI", 300.0), ("DXE", 580.0), ("BDS", 500.0)]);
    // The start of the controller includes the start of its disk.
    let driver = row_named(&report["drivers"], "Usb Xhci Driver");
    assert_eq!((ms(&driver["driver_start_ns"]), ms(&driver["self_ns"])), (300.0, 250.0));
    assert_eq!(driver["guid"], "");
    assert_eq!(ms(&row_named(&report["drivers"], "PcdPeim")["entry_point_ns"]), 200.0);
    let xhci = row_named(&report["drivers"], "XhciDxe");
    assert_eq!((ms(&xhci["load_ns"]), ms(&xhci["entry_point_ns"])), (5.0, 15.0));
    assert_eq!(report["unfinished"][0]["module"], "Shell");
    assert_eq!(report["durations"].as_array().unwrap().len(), 0);
    // Slower drivers are listed, although only names are available.
    let slower = text.replace(
        &format!("{:16X}  {:>31}  {:>31}", 700 * MS, "DB:Start:", "Usb Xhci Driver"),
        &format!("{:16X}  {:>31}  {:>31}", 800 * MS, "DB:Start:", "Usb Xhci Driver"),
    );
    assert_ne!(slower, text);
    folder.file("new.txt", slower.as_bytes());
    let answer = folder.answer("firmware new.txt --compare dp.txt");
    assert!(answer.contains("Usb Xhci Driver"), "{answer}");
}

/// If DXE has five seconds without a measured driver, the headline and the list name the drivers before and after the
/// gap. If a driver fills the gap, they name that driver.
#[test]
fn unexplained_phase_names_adjacent_drivers() {
    const MS: u64 = 1_000_000;
    let folder = Folder::new();
    let answer = |has_slow_driver: bool| {
        let mut rows = vec![
            (0, 0, 20 * MS, "SEC", ""),
            (0, 20 * MS, 320 * MS, "PEI", ""),
            (0, 40 * MS, 300 * MS, "PEIM", "PcdPeim"),
            (0, 320 * MS, 5_400 * MS, "DXE", ""),
            (0, 5_400 * MS, 5_900 * MS, "BDS", ""),
            (0x18, 5_420 * MS, 5_880 * MS, "DB:Start:", "Usb Xhci Driver"),
        ];
        if has_slow_driver {
            rows.push((0x20, 330 * MS, 5_390 * MS, "DB:Start:", "Slow Raid Driver"));
        }
        folder.file("dp.txt", raw_trace(&rows).as_bytes());
        (report(&folder, "dp.txt"), folder.answer("firmware dp.txt"))
    };
    let (with_gap, text) = answer(false);
    let gap = &with_gap["gaps"][0];
    assert_eq!((gap["phase"].as_str(), gap["duration_ns"].as_u64()), (Some("DXE"), Some(5_080 * MS)));
    let modules = [&gap["module_before"], &gap["module_after"]].map(|module| module.as_str().unwrap().to_owned());
    assert!(modules[0].contains("PcdPeim") && modules[1].contains("Usb Xhci Driver"), "{modules:?}");
    let second_line = text.lines().nth(1).unwrap();
    assert!(second_line.starts_with("Longest phase: DXE, 5.08 s"), "{text}");
    assert!(second_line.contains("5.08 s of it is one unmeasured gap, between "), "{text}");
    assert!(second_line.contains("PcdPeim") && second_line.contains("Usb Xhci Driver"), "{text}");
    let (without_gap, text) = answer(true);
    let longest_gap =
        without_gap["gaps"].as_array().unwrap().iter().map(|gap| gap["duration_ns"].as_u64().unwrap()).max();
    assert!(longest_gap.is_none_or(|ns| ns <= 20 * MS), "{longest_gap:?}");
    let second_line = text.lines().nth(1).unwrap();
    assert!(second_line.ends_with("Slowest module: Slow Raid Driver, self time 5.06 s."), "{text}");
}

#[test]
fn dp_lists_have_durations_only() {
    let folder = Folder::new();
    let text = "DP Build Version:       2.5\n\n==[ Major Phases ]========\n  SEC Phase Duration:         1127 (us)\n  \
                PEI Phase Duration:        99747 (ms)\n  DXE Phase Duration:          699 (ms)\n  BDS Phase Duration:         2299 (ms)\n\
                Total       Duration:     102746 (ms)\n\n==[ Drivers by Handle ]========\n\
                Index:  Handle                Driver Name               Description    Time(us)\n\
                -------------------------------------------------------------------------------\n\
                \x20  12:  [ 5C]                         FAT File System      DB:Start:        1520\n\
                \n==[ PEIMs ]========\nIndex:                Instance GUID              Token    Time(us)\n\
                \x20   3:    9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50   PEIM      412000\n\
                \n==[ Statistics ]========\nThere were 12 measurements taken, of which:\n";
    folder.file("dp.txt", text.as_bytes());
    let report = report(&folder, "dp.txt");
    let starts: Vec<i64> =
        report["phases"].as_array().unwrap().iter().map(|phase| phase["start_ns"].as_i64().unwrap() / 1_000).collect();
    assert_eq!(starts, [0, 1_127, 99_748_127, 100_447_127]);
    let durations = report["durations"].as_array().unwrap();
    assert_eq!(durations.len(), 2);
    assert_eq!((durations[0]["module"].as_str(), ms(&durations[0]["duration_ns"])), (Some("PcdPeim"), 412.0));
    assert_eq!(
        (durations[1]["module"].as_str(), durations[1]["work"].as_str()),
        (Some("FAT File System"), Some("driver_start"))
    );
    let text = folder.answer("firmware dp.txt");
    assert!(text.contains("Longest phase: PEI, 99.7 s") && text.contains("use 'dp -R' to print times"), "{text}");
    // A heading without rows is not a table.
    folder.file("none.txt", b"==[ Major Phases ]========\nnothing\n");
    assert_eq!(folder.failure("firmware none.txt").0, 1);
}

#[test]
fn view_rejects_pointer_table() {
    let folder = Folder::new();
    // An FPDT with one record, the pointer to the table with the times. Source: ACPI 6.5, 5.2.24.
    let mut table = b"FPDT".to_vec();
    table.extend(52_u32.to_le_bytes());
    table.extend([1, 0]);
    table.extend(b"MAKER1MODEL-01");
    table.extend([0; 12]);
    table.extend([0, 0, 16, 1, 0, 0, 0, 0]);
    table.extend(0x2522_6000_u64.to_le_bytes());
    table[9] = table.iter().fold(0_u8, |sum, byte| sum.wrapping_sub(*byte));
    folder.file("FPDT", &table);
    let (_, message) = folder.failure("view FPDT -o page.html");
    assert!(message.contains("only has the addresses of the tables with times: FBPT at 0x25226000"), "{message}");
    assert!(!folder.path("page.html").exists());
    // The page of a table with times opens.
    let Some(with_times) = sample("fpdt/FBPT_reconstructed.bin") else { return };
    with_times.answer("view FBPT_reconstructed.bin -o page.html");
}
