//! The verbs and xperf actions for disks, files and hard faults, on recordings with known contents.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::harness::Folder;
use onoff_testkit::assemble::{EtlBuilder, Payload, Record, Session};
use onoff_testkit::events::configuration;
use onoff_testkit::events::kernel::{LifetimeEvent, Process, Thread};
use onoff_testkit::events::storage::{DiskRequest, IoPriority, Operation, file_name};
use serde_json::Value;

/// Builds a recording with a 1 ns clock.
struct TraceBuilder {
    builder: EtlBuilder,
    start: u64,
}

impl TraceBuilder {
    fn new() -> Self {
        let session = Session { perf_freq: 1_000_000_000, ..Session::windows_10(1) };
        Self { start: session.start_ticks, builder: EtlBuilder::new(session) }
    }

    fn ticks(&self, ns: u64) -> u64 {
        self.start + ns
    }

    fn push(&mut self, record: &Record<'static>) {
        self.builder.push(0, record);
    }

    fn perfinfo(&mut self, ns: u64, hook: u16, version: u8, payload: Payload) {
        let record = Record::perfinfo(hook, version, self.ticks(ns), payload);
        self.push(&record);
    }

    /// Adds a process with one thread, whose id is the process id plus 1.
    fn process(&mut self, id: u32, image: &str) {
        let ticks = self.ticks(0);
        let process = Process { id, parent: 4, session: 1, exit_status: 0, image, command_line: image, user: &[18] };
        self.push(&process.record(LifetimeEvent::RundownStart, ticks, 4, 4));
        let thread = Thread { id: id + 1, process: id, base_priority: 8, io_priority: 2, service_tag: 0 };
        self.push(&thread.record(LifetimeEvent::RundownStart, ticks, 4, 4));
    }

    fn name(&mut self, ns: u64, key: u64, path: &str) {
        let path = format!("\\Device\\HarddiskVolume2{path}");
        let record = file_name(true, self.ticks(ns), 4, 4, key, &path);
        self.push(&record);
    }

    fn save(mut self, ns: u64, folder: &Folder) {
        let ticks = self.ticks(ns);
        self.push(&configuration::volume_mapping(ticks, "\\Device\\HarddiskVolume2\\", "C:\\"));
        folder.file("trace.etl", &self.builder.finish());
    }
}

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("{arguments} --format json"))).unwrap()
}

/// A line of figure 3 in Microsoft's paper on Windows Embedded Standard 7: process, process id, path if there is one,
/// service time in ns, bytes, reads, service time of reads in ns. The paper truncates the id of the second process
/// after two digits, and the end of a path.
type Line = (&'static str, u32, &'static str, u64, u64, u64, u64);

const FIGURE_3: [Line; 7] = [
    ("MsMpEng.exe", 860, "", 3_035_396_797, 22_577_664, 442, 3_035_396_797),
    ("communicator.exe", 4024, "", 1_366_247_363, 2_292_224, 200, 1_251_673_727),
    ("svchost.exe", 1468, "", 1_214_593_450, 507_904, 124, 1_214_593_450),
    ("System", 4, "", 386_279_854, 6_794_752, 65, 248_314_488),
    ("wmplayer.exe", 5860, "", 319_965_249, 970_752, 31, 319_965_249),
    ("svchost.exe", 1056, "\\Windows\\system32\\sysmain.dll", 135_680_516, 122_880, 8, 135_680_516),
    ("xperf.exe", 5112, "\\perftools\\dbghelp.dll", 85_393_671, 131_072, 4, 85_393_671),
];

/// Records consecutive requests that add up to the lines of the figure. A process without a path uses two files.
fn record_figure_3(folder: &Folder) {
    let mut trace = TraceBuilder::new();
    for (image, pid, ..) in FIGURE_3 {
        trace.process(pid, image);
    }
    let mut time_ns = 1_000_000;
    let mut packet = 0;
    let mut names = Vec::new();
    for (line, &(_, pid, path, service, size, reads, read_service)) in (1_u64..).zip(&FIGURE_3) {
        let keys = if path.is_empty() {
            names.push((line * 16, format!("\\Data\\{pid}-a.db")));
            names.push((line * 16 + 1, format!("\\Data\\{pid}-b.log")));
            [line * 16, line * 16 + 1]
        } else {
            names.push((line * 16, path.to_owned()));
            [line * 16; 2]
        };
        // The remaining time is one write of a quarter of the bytes.
        let write_service = service - read_service;
        let write_size = if write_service > 0 { size / 4 } else { 0 };
        let read_size = size - write_size;
        let mut requests = Vec::new();
        for number in 0..reads {
            let share = |total: u64| total * (number + 1) / reads - total * number / reads;
            requests.push((Operation::Read, share(read_service), share(read_size)));
        }
        if write_service > 0 {
            requests.push((Operation::Write, write_service, write_size));
        }
        for (number, (operation, service_ns, bytes)) in requests.into_iter().enumerate() {
            time_ns += service_ns;
            packet += 1;
            let request = DiskRequest {
                disk: 0,
                operation,
                size: u32::try_from(bytes).unwrap(),
                offset: 0x10_0000,
                file: keys[number % 2],
                irp: packet,
                priority: IoPriority::Normal,
                thread: pid + 1,
            };
            let record = request.complete(trace.ticks(time_ns), service_ns);
            trace.push(&record);
            time_ns += 1_000;
        }
    }
    for (key, path) in names {
        trace.name(time_ns, key, &path);
    }
    trace.save(time_ns + 1_000, folder);
}

#[test]
fn matches_disk_table_of_embedded_paper() {
    let folder = Folder::new();
    record_figure_3(&folder);
    // The example in the book shows four processes, file by file.
    let detail = json(
        &folder,
        "disk trace.etl --by process,path,priority --process MsMpEng.exe --process communicator.exe \
         --process 1468 --process System",
    );
    let rows = detail["groups"].as_array().unwrap();
    assert_eq!(rows.len(), 8, "two files each");
    for (image, pid, _, service, size, reads, read_service) in &FIGURE_3[..4] {
        let sum = |name: &str| -> u64 {
            rows.iter().filter(|row| row["pid"] == *pid).map(|row| row[name].as_u64().unwrap()).sum()
        };
        assert_eq!(sum("service_ns"), *service, "{image}");
        assert_eq!(sum("bytes"), *size, "{image}");
        assert_eq!(sum("reads"), *reads, "{image}");
        assert_eq!(sum("read_service_ns"), *read_service, "{image}");
    }
    assert!(rows.iter().all(|row| row["priority"] == "normal"));
    assert!(rows.iter().any(|row| row["path"] == "C:\\Data\\860-a.db"));

    // By process alone, the list matches the table in the paper: the same lines in the same order, with the path if
    // there is only one.
    let table = json(&folder, "disk trace.etl");
    let rows: Vec<_> = table["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let number = |name: &str| row[name].as_u64().unwrap();
            (
                row["image"].as_str().unwrap().to_owned(),
                number("pid"),
                row["path"].as_str().map(str::to_owned),
                number("service_ns"),
                number("bytes"),
                number("reads"),
                number("read_service_ns"),
            )
        })
        .collect();
    let expected: Vec<_> = FIGURE_3
        .iter()
        .map(|&(image, pid, path, service, size, reads, read_service)| {
            let path = (!path.is_empty()).then(|| format!("C:{path}"));
            (image.to_owned(), u64::from(pid), path, service, size, reads, read_service)
        })
        .collect();
    assert_eq!(rows, expected);
    insta::assert_snapshot!(
        "disk_four_processes",
        folder.answer(
            "disk trace.etl --by process,path,priority --process MsMpEng.exe --process communicator.exe \
             --process 1468 --process System"
        )
    );
}

#[test]
fn sums_agree_for_all_groupings() {
    let folder = Folder::boot("slow-boot.toml");
    for grouping in ["process", "path,operation", "extension,disk,priority", "file"] {
        let report = json(&folder, &format!("disk boot.etl --by {grouping}"));
        for name in ["requests", "bytes", "service_ns", "response_ns", "reads"] {
            let rows = report["groups"].as_array().unwrap().iter();
            let sum: u64 = rows.map(|row| row[name].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), report["total"][name].as_u64(), "{grouping}: {name}");
        }
        let disk = &report["disks"][0];
        let range = &report["range"];
        let number = |value: &Value| value.as_i64().unwrap();
        assert_eq!(
            number(&disk["busy_ns"]) + number(&disk["idle_ns"]),
            number(&range["end_ns"]) - number(&range["start_ns"])
        );
        assert_eq!(disk["busy_ns"], report["total"]["service_ns"]);
    }
    // Consecutive ranges contain each request once.
    let count = |range: &str| {
        let report = json(&folder, &format!("disk boot.etl {range}"));
        report["total"]["requests"].as_u64().unwrap()
    };
    assert_eq!(count("--range 0 20s") + count("--range 20s 100s"), count(""));
}

#[test]
fn lists_simulated_boot() {
    let folder = Folder::boot("slow-boot.toml");
    insta::assert_snapshot!("disk_text", folder.answer("disk boot.etl --top 8"));
    insta::assert_snapshot!("disk_csv", folder.answer("disk boot.etl --by path --range 10s 20s --format csv --top 5"));
    insta::assert_snapshot!("hardfaults_text", folder.answer("hardfaults boot.etl --by process,file"));
    let (code, message) = folder.failure("files boot.etl");
    assert_eq!(code, 2);
    assert!(message.contains("use 'onoff disk'"), "{message}");
    let (code, message) = folder.failure("hardfaults boot.etl --process nobody.exe");
    assert_eq!(code, 2);
    assert!(message.contains("no hard fault matches (the recording has "), "{message}");
}

#[test]
fn real_recordings_list_all_requests_and_faults() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("etl") else {
        return;
    };
    let folder = Folder::new();
    for name in ["net.4.5.2.x64.etl", "net.4.5.x86-2016.etl.xz"] {
        let path = samples.join(name);
        if !path.exists() {
            println!("skipped: no {}", path.display());
            continue;
        }
        let path = path.display();
        // The implementations are independent: `info` counts records, the other verbs follow requests.
        let info = json(&folder, &format!("info {path}"));
        let event_count = |kind: &str| -> u64 {
            let kinds = info["kinds"].as_array().unwrap().iter();
            kinds.filter(|row| row["name"] == kind).map(|row| row["events"].as_u64().unwrap()).sum()
        };
        let disk = json(&folder, &format!("disk {path}"));
        for (kind, column) in [("DiskRead", "reads"), ("DiskWrite", "writes"), ("DiskFlush", "flushes")] {
            assert!(event_count(kind) > 0, "{name}: {kind}");
            assert_eq!(disk["total"][column], event_count(kind), "{name}: {kind}");
        }
        let hard_faults = json(&folder, &format!("hardfaults {path}"));
        assert_eq!(hard_faults["total"]["faults"], event_count("HardFault"), "{name}");
        // No disk is busy for longer than the elapsed time.
        for disk in disk["disks"].as_array().unwrap() {
            assert!(disk["idle_ns"].as_i64().unwrap() > 0, "{name}");
        }
    }
}

/// Records a program that fails to open a file, then opens, reads, writes and flushes another file, and never completes
/// its last read.
fn record_file_operations(folder: &Folder) {
    let mut trace = TraceBuilder::new();
    trace.process(600, "editor.exe");
    let open = |irp: u64, object: u64, path: &str| {
        Payload::wide()
            .pointer(irp)
            .pointer(object)
            .u32(601)
            .u32(0)
            .u32(0)
            .u32(0)
            .text(&format!("\\Device\\HarddiskVolume2{path}"))
    };
    let transfer =
        |irp: u64, size: u32| Payload::wide().u64(0).pointer(irp).pointer(0xF2).pointer(0xE2).u32(601).u32(size).u32(0);
    let end = |irp: u64, status: u32| Payload::wide().pointer(irp).pointer(0).u32(status);
    let flush = Payload::wide().pointer(0x15).pointer(0xF2).pointer(0xE2).u32(601);
    const US: u64 = 1_000;
    trace.perfinfo(10 * US, 0x0440, 3, open(0x11, 0xF1, "\\absent.ini"));
    trace.perfinfo(30 * US, 0x044c, 3, end(0x11, 0xC000_0034));
    trace.perfinfo(40 * US, 0x0440, 3, open(0x12, 0xF2, "\\Users\\letter.doc"));
    trace.perfinfo(90 * US, 0x044c, 3, end(0x12, 0));
    trace.perfinfo(100 * US, 0x0443, 3, transfer(0x13, 8192));
    trace.perfinfo(900 * US, 0x044c, 3, end(0x13, 0));
    trace.perfinfo(1_000 * US, 0x0444, 3, transfer(0x14, 512));
    trace.perfinfo(1_010 * US, 0x044c, 3, end(0x14, 0));
    trace.perfinfo(2_000 * US, 0x0449, 3, flush);
    let device = DiskRequest {
        disk: 0,
        operation: Operation::Flush,
        size: 0,
        offset: 0,
        file: 0,
        irp: 0x99,
        priority: IoPriority::Normal,
        thread: 601,
    };
    let record = device.complete(trace.ticks(9_000 * US), 6_500 * US);
    trace.push(&record);
    trace.perfinfo(9_500 * US, 0x044c, 3, end(0x15, 0));
    trace.perfinfo(9_900 * US, 0x0443, 3, transfer(0x16, 4096));
    trace.save(10_000 * US, folder);
}

#[test]
fn counts_file_operations_and_flushes() {
    let folder = Folder::new();
    record_file_operations(&folder);
    let report = json(&folder, "files trace.etl --by path");
    let rows = report["groups"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    let letter = &rows[0];
    assert_eq!(letter["path"], "C:\\Users\\letter.doc");
    for (name, value) in [
        ("operations", 5),
        ("opens", 1),
        ("failed_opens", 0),
        ("reads", 2),
        ("read_bytes", 12_288),
        ("writes", 1),
        ("write_bytes", 512),
        ("flushes", 1),
        ("unfinished", 1),
        ("time_ns", 50_000 + 800_000 + 10_000 + 7_500_000),
        ("longest_ns", 7_500_000),
    ] {
        assert_eq!(letter[name], value, "{name}");
    }
    assert_eq!(rows[1]["path"], "C:\\absent.ini");
    assert_eq!(rows[1]["failed_opens"], 1);
    let flush = &report["flushes"][0];
    assert_eq!(flush["duration_ns"], 7_500_000);
    assert_eq!(flush["disk_flushes"], 1);
    assert_eq!(flush["disk_service_ns"], 6_500_000);
    assert_eq!(flush["image"], "editor.exe");
    insta::assert_snapshot!("files_text", folder.answer("files trace.etl"));
    insta::assert_snapshot!(
        "files_csv",
        folder.answer("files trace.etl --by process,operation --format csv --sort operations")
    );
}

/// Reads a published excerpt. Prints a message and returns `None` if the samples are missing.
fn excerpt(name: &str) -> Option<String> {
    let path = onoff_testkit::real_recordings::samples_folder("xperf-output")?.join(name);
    let text = std::fs::read(&path).ok();
    if text.is_none() {
        println!("skipped: no {}", path.display());
    }
    text.map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// Returns the positions of the commas in a row, except in the last column, which has variable width.
fn comma_positions(row: &str, columns: usize) -> Vec<usize> {
    let positions = row.match_indices(',').map(|(position, _)| position);
    positions.take(columns - 1).collect()
}

#[test]
fn matches_published_diskio_reports() {
    let folder = Folder::boot("slow-boot.toml");
    let text = folder.answer("xperf -i boot.etl -a diskio -summary -detail -range 10s 20s");
    let (summary, detail) = text.split_once("\n\n").unwrap();
    let mut rows = summary.lines();
    assert_eq!(rows.next().unwrap().split(',').count(), 11);
    assert!(rows.clone().count() > 3);
    assert!(rows.any(|row| row.ends_with(", \"Unknown (0x0)\"")));
    let (legend, detail) = detail.split_once("\n\n").unwrap();
    let columns = detail.lines().next().unwrap().split(',').count();
    assert_eq!(columns, 16);
    let Some(published) = excerpt("diskio-summary-detail.txt") else {
        return;
    };
    let published: Vec<&str> = published.lines().collect();
    let line_index = |start: &str| published.iter().position(|line| line.starts_with(start)).unwrap();
    let index = line_index("Count,");
    assert_eq!(summary.lines().next(), Some(published[index]));
    for row in summary.lines().skip(1) {
        assert_eq!(comma_positions(row, 11), comma_positions(published[index + 1], 11), "{row}");
    }
    let index = line_index("QD/I");
    assert_eq!(legend.lines().collect::<Vec<_>>(), &published[index..index + 5]);
    let index = line_index("   IO Type");
    assert_eq!(detail.lines().next(), Some(published[index]));
    for row in detail.lines().skip(1) {
        // Process names longer than 16 characters shift the rest of the row, as in xperf.
        if !row.contains("SearchIndexer.exe") {
            assert_eq!(comma_positions(row, 16), comma_positions(published[index + 1], 16), "{row}");
        }
    }
}

#[test]
fn diskio_detail_and_summary_agree() {
    let folder = Folder::boot("slow-boot.toml");
    let detail = folder.answer("xperf -i boot.etl -a diskio -detail");
    let summary = folder.answer("xperf -i boot.etl -a diskio -summary");
    let column = |text: &str, index: usize| -> Vec<i64> {
        text.lines().filter_map(|row| row.split(',').nth(index)?.trim().parse().ok()).collect()
    };
    let requests = column(&detail, 3);
    assert_eq!(column(&summary, 0).iter().sum::<i64>(), requests.len() as i64);
    // The I/O time is the end minus the start, within rounding.
    let (starts, ends) = (column(&detail, 1), column(&detail, 2));
    for ((start, end), time) in starts.iter().zip(&ends).zip(&requests) {
        assert!((end - start - time).abs() <= 1);
    }
    // Some requests were queued.
    assert!(column(&detail, 8).iter().any(|&queue| queue > 0));
}

#[test]
fn other_disk_and_file_actions() {
    let folder = Folder::boot("slow-boot.toml");
    insta::assert_snapshot!(
        "xperf_diskio_util_counts_overlap",
        folder.answer("xperf -i boot.etl -a diskio -util 5 -counts -overlap")
    );
    insta::assert_snapshot!(
        "xperf_diskidlehistogram",
        folder.answer("xperf -i boot.etl -a diskidlehistogram -spindown 5s")
    );
    insta::assert_snapshot!("xperf_hardfault", folder.answer("xperf -i boot.etl -a hardfault"));
    insta::assert_snapshot!("xperf_filename", folder.answer("xperf -i boot.etl -a filename"));
    for (action, message) in [
        ("-a pagefault", "-a pagefault: no page faults recorded"),
        ("-a filename -range 0 1", "-a filename: no file names recorded"),
    ] {
        let (columns, stderr) = folder.empty_table(&format!("xperf -i boot.etl {action}"));
        assert_eq!(columns.lines().count(), 1, "{action}: {columns}");
        assert!(stderr.contains(message), "{action}: {stderr}");
    }
    for (action, message) in [
        ("-a diskio -util 0", "-util: the interval must be at least 1 s"),
        ("-a diskidlehistogram -buckets 5s 1s", "-buckets: the bounds must be ascending"),
        ("-a hardfault -range 1h 2h", "invalid time '1h'"),
    ] {
        let (code, stderr) = folder.failure(&format!("xperf -i boot.etl {action}"));
        assert_eq!(code, 2, "{action}");
        assert!(stderr.contains(message), "{action}: {stderr}");
    }
}

#[test]
fn lists_page_faults_by_process_and_individually() {
    let folder = Folder::new();
    let mut trace = TraceBuilder::new();
    trace.process(600, "editor.exe");
    let switch = Payload::wide().u32(601).u32(0).bytes(&[8, 0, 0, 0, 0, 0, 2, 0]).u32(0).u32(0);
    trace.perfinfo(1_000, 0x0524, 4, switch);
    for (number, hook) in [0x020b, 0x020a, 0x020b, 0x020e].into_iter().enumerate() {
        let payload = Payload::wide().pointer(0x7FF8_0000_1000).pointer(0x7FF8_1234_5678);
        trace.perfinfo(2_000 + number as u64 * 1_000, hook, 2, payload);
    }
    trace.save(9_000, &folder);
    let summary = folder.answer("xperf -i trace.etl -a pagefault");
    let row = summary.lines().nth(1).unwrap();
    let cells: Vec<&str> = row.split(',').map(str::trim).collect();
    assert_eq!(cells, ["editor.exe ( 600)", "4", "1", "2", "0", "0", "1", "0"]);
    let detail = folder.answer("xperf -i trace.etl -a pagefault -detail -range 3 5");
    let rows: Vec<&str> = detail.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "         3,       editor.exe ( 600),        601,   0,      Transition, 0x00007ff800001000, 0x00007ff812345678",
            "         4,       editor.exe ( 600),        601,   0,      DemandZero, 0x00007ff800001000, 0x00007ff812345678",
        ]
    );
}
