//! `onoff io` from the command line.

use std::io::Read;
use std::path::Path;

use onoff_simulator::file_operations::FileOperationSequence;
use onoff_testkit::real_recordings::samples_folder;
use serde_json::Value;

use crate::harness::Folder;

/// Copies the reads in the paper, from the repository's sample.
fn paper() -> Folder {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/four-byte-reads.csv.gz");
    let folder = Folder::new();
    folder.file("paper.csv.gz", &std::fs::read(path).unwrap());
    folder
}

#[test]
fn matches_paper_table_exactly() {
    let text = paper().answer("io paper.csv.gz --device latency=100us,bandwidth=20MB/s");
    let normalized = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "49,396 reads by programs, average 8 B, total 402 KiB.",
        "each file in one operation, with 1 key block 103",
        "each page once and 1 key block 202",
        "as requested, one page and 1 key block each 98,792",
    ] {
        assert!(normalized.contains(line), "{line}\n{text}");
    }
    assert!(text.contains("25,000 of 4 B"), "{text}");
    // The effect of the fix: 409,600 bytes are seven 64 KiB blocks and a hundred pages. All other page accesses are
    // hits.
    assert!(
        normalized.contains(
            "A 64 KiB buffer would reduce 49,395 reads to 7; a cache of 1 page would serve 99.8 % of the page accesses."
        ),
        "{text}"
    );
    let with_page_buffer = paper().answer("io paper.csv.gz --buffer 4KiB");
    assert!(with_page_buffer.contains("A 4 KiB buffer would reduce 49,395 reads to 100;"), "{with_page_buffer}");
    // Without a device model there are no times.
    let text = paper().answer("io paper.csv.gz");
    assert!(text.contains("no times; to estimate them, specify --device"), "{text}");
}

/// A cache smaller than one read-ahead group has no read-ahead column. The cache of the last row holds all pages,
/// including key blocks.
#[test]
fn missing_curve_sizes_are_empty() {
    let folder = Folder::new();
    let reads: Vec<String> = (0..200).map(|index| format!("7,app,/a,read,{},4096", index % 5 * 4096)).collect();
    folder.file("turns.csv", format!("pid,process,file,operation,offset,length\n{}\n", reads.join("\n")).as_bytes());
    let text = folder.answer("io turns.csv");
    let rows = text.lines().skip_while(|line| !line.starts_with("Page cache")).skip(2).take(4);
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    // The reads cycle through five pages, so a smaller cache has no hits. From two pages on, each request has one more
    // hit, for its key block.
    assert_eq!(rows[0], ["1", "4 KiB", "100 %", "100 %"], "{text}");
    assert_eq!(rows[1], ["2", "8 KiB", "100 %", "50 %"], "{text}");
    assert_eq!(rows[2], ["4", "16 KiB", "100 %", "50 %"], "{text}");
    assert_eq!(rows[3], ["5", "20 KiB", "2.5 %", "0.5 %", "1.5 %"], "{text}");
}

/// The page has the same lanes, summary and findings as the other formats.
#[test]
fn viewers_show_process_and_file() {
    let folder = Folder::new();
    let mut rows = "time,pid,process,operation,file,offset,length\n".to_owned();
    for index in 0..2000 {
        rows += &format!("{:.6},7,reader,read,/data/a.bin,{},4\n", 1.0 + f64::from(index) * 1e-5, index * 4);
    }
    rows += "3.0,8,writer,write,/data/b.bin,0,4096\n";
    folder.file("requests.csv", rows.as_bytes());
    folder.answer("view requests.csv -o page.html");
    folder.answer("export requests.csv --format perfetto -o requests.perfetto-trace");
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(folder.path(name)).unwrap()).into_owned();
    let page = read("page.html");
    for expected in [
        "2000 reads of a.bin: 8000 bytes",
        "1 write of b.bin: 4096 bytes",
        "2000 reads of reader (7): 8000 bytes",
        "2,000 reads by programs, average 4 B, total 7.81 KiB.",
        "small_requests",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    // A single one-page write needs no fix.
    assert!(page.contains("\"title\":\"reader (7)") && !page.contains("\"title\":\"writer (8)"), "{page}");
    let trace = read("requests.perfetto-trace");
    assert!(trace.contains("2000 reads of a.bin: 8000 bytes") && trace.contains("File requests"));
}

#[test]
fn formats_agree() {
    let folder = paper();
    let report: Value = serde_json::from_str(&folder.answer("io paper.csv.gz --format json")).unwrap();
    let table = &report["views"][0]["table"];
    assert_eq!((&table["requests"], &table["bytes"]), (&Value::from(49_396), &Value::from(411_945)));
    assert_eq!((&table["largest_bytes"], &table["unique_pages"]), (&Value::from(6428), &Value::from(101)));
    let csv = folder.answer("io paper.csv.gz --format csv");
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let row: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(header.len(), row.len());
    let cell = |name: &str| row[header.iter().position(|&column| column == name).unwrap()];
    assert_eq!((cell("process"), cell("file"), cell("requests")), ("loader", "/card/a.dat", "49395"));
    assert_eq!(csv.lines().count(), 3);
}

#[test]
fn groups_by_phase_only_with_phases() {
    let folder = Folder::boot("slow-boot.toml");
    let csv = folder.answer("io boot.etl --by phase --format csv");
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let column = header.iter().position(|&column| column == "phase").unwrap();
    let phases: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').nth(column).unwrap()).collect();
    assert!(phases.contains(&"PreSMSS") && phases.contains(&"SMSSInit"), "{csv}");
    let (code, reason) = paper().failure("io paper.csv.gz --by phase");
    assert_eq!(code, 2);
    assert!(reason.contains("no boot, shutdown or sleep"), "{reason}");
}

#[test]
fn kernel_trace_covers_programs_and_disks() {
    let folder = Folder::new();
    let mut text = "# tracer: nop\n".to_owned();
    let mut line = |time_us: usize, event: &str| text += &format!("  app-77 [000] ..... 3.{time_us:06}: {event}\n");
    line(0, "sys_openat(dfd: 0xffffff9c, filename: 0x7ffd0 \"/etc/settings\", flags: 0x80000, mode: 0x0)");
    line(1, "sys_openat -> 0x3");
    for index in 0..1500 {
        line(2 + index * 2, "sys_read(fd: 0x3, buf: 0x7ffd0, count: 0x4)");
        line(3 + index * 2, "sys_read -> 0x4");
    }
    line(4000, "block_rq_issue: 8,0 R 4096 () 2048 + 8 [app]");
    line(4100, "block_rq_complete: 8,0 R () 2048 + 8 [0]");
    folder.file("trace.txt", text.as_bytes());
    let report: Value = serde_json::from_str(&folder.answer("io trace.txt --format json")).unwrap();
    let views = report["views"].as_array().unwrap();
    let totals =
        |view: &Value| (view["level"].clone(), view["table"]["requests"].clone(), view["table"]["bytes"].clone());
    let expected = [("application", 1500, 6000), ("device", 1, 4096)];
    let expected =
        expected.map(|(level, requests, bytes)| (Value::from(level), Value::from(requests), Value::from(bytes)));
    assert_eq!(views.iter().map(totals).collect::<Vec<_>>(), expected);
    assert_eq!(views[0]["groups"][0]["file"], "/etc/settings");
    assert_eq!(report["findings"][0]["code"], "small_requests");
}

#[test]
fn recorders_agree_on_one_run() {
    let run = FileOperationSequence::new(15, 20_000);
    let folder = Folder::new();
    folder.file("run.etl", &run.event_trace());
    folder.file("run.csv", run.process_monitor_csv().as_bytes());
    for options in ["", " --by file", " --by extension,process", " --page 512 --filter key-blocks=2 --read-ahead 16"] {
        let answer = |file: &str| -> Value {
            serde_json::from_str(&folder.answer(&format!("io {file}{options} --format json"))).unwrap()
        };
        let (trace, csv) = (answer("run.etl"), answer("run.csv"));
        for part in ["views", "findings", "reads_at_end", "failed"] {
            assert_eq!(trace[part], csv[part], "{part}, {options}");
        }
        let views = trace["views"].as_array().unwrap();
        let kinds: Vec<_> = views.iter().map(|view| (view["level"].as_str(), view["direction"].as_str())).collect();
        let kind = |level, direction| (Some(level), Some(direction));
        assert_eq!(kinds, [kind("application", "read"), kind("application", "write"), kind("paging", "read")]);
        assert!(!trace["findings"].as_array().unwrap().is_empty());
        assert!(trace["reads_at_end"].as_u64().unwrap() > 100);
    }
}

/// Counts of a view: requests, bytes, unique pages, files, and the pages read if each page is read once, one page per
/// request, or every requested page.
type Counts = [u64; 7];

/// Counts of a cache: accesses, misses with 1, 8, 64 and all pages, and the smallest sizes for 50, 90 and 99 % of the
/// achievable hits.
type Misses = [u64; 8];

struct ExpectedView {
    level: &'static str,
    counts: Counts,
    pages: Misses,
    /// Counts with read-ahead of eight pages. Caches of 8 and 64 pages hold 1 and 8 groups, and the smallest sizes are
    /// in groups.
    read_ahead: Option<[u64; 7]>,
    key_blocks: Option<Misses>,
}

/// Checks the reads of real recordings against the counts of a simple Python script with an LRU stack for the caches.
/// The strace counts match the published counts exactly. The published counts for Process Monitor read "4,096" as 4.
#[test]
fn real_recordings_match_plain_count() {
    let strace = [ExpectedView {
        level: "application",
        counts: [2311, 495_968, 102, 2, 204, 4622, 4622],
        pages: [2311, 311, 309, 277, 102, 1, 1, 98],
        read_ahead: Some([2311, 72, 70, 14, 1, 1, 13]),
        key_blocks: Some([4622, 4622, 311, 280, 104, 2, 2, 99]),
    }];
    let procmon_64_bit = [
        ExpectedView {
            level: "application",
            counts: [1205, 644_071, 115, 21, 230, 2410, 2521],
            pages: [1316, 259, 171, 128, 115, 1, 2, 92],
            read_ahead: Some([1217, 109, 34, 31, 1, 1, 5]),
            key_blocks: Some([2521, 2521, 208, 149, 136, 2, 2, 21]),
        },
        ExpectedView {
            level: "paging",
            counts: [171, 3_624_008, 931, 37, 1862, 342, 1178],
            pages: [1007, 997, 949, 936, 931, 3, 21, 928],
            read_ahead: None,
            key_blocks: None,
        },
    ];
    let procmon_32_bit = [
        ExpectedView {
            level: "application",
            counts: [650, 2_146_380, 408, 45, 816, 1300, 1581],
            pages: [931, 586, 566, 560, 408, 1, 198, 264],
            read_ahead: Some([656, 305, 269, 166, 1, 64, 97]),
            key_blocks: Some([1581, 1581, 627, 607, 453, 2, 148, 257]),
        },
        ExpectedView {
            level: "paging",
            counts: [69, 1_286_224, 357, 3, 714, 138, 451],
            pages: [382, 376, 372, 357, 357, 11, 18, 22],
            read_ahead: None,
            key_blocks: None,
        },
    ];
    let Some(samples) = samples_folder("fileio") else { return };
    let folder = Folder::new();
    for (name, expected_views) in [
        ("strace/fourbyte.strace-f-tt-T.txt", &strace[..]),
        ("strace/fourbyte.strace-f-ttt-T-y.txt", &strace),
        ("procmon/CompressedLogfileTests64bitUTCCSV.zz", &procmon_64_bit),
        ("procmon/CompressedLogfileTests64bitUTCPML.zz", &procmon_64_bit),
        ("procmon/CompressedLogfileTests32bitUTCCSV.zz", &procmon_32_bit),
        ("procmon/CompressedLogfileTests32bitUTCPML.zz", &procmon_32_bit),
    ] {
        let Ok(packed) = std::fs::read(samples.join(name)) else {
            println!("skipped: {name} does not exist");
            continue;
        };
        let mut bytes = Vec::new();
        if name.ends_with(".zz") {
            flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        } else {
            bytes = packed;
        }
        folder.file("recording", &bytes);
        let report: Value = serde_json::from_str(&folder.answer("io recording --format json")).unwrap();
        for expected in expected_views {
            let is_expected = |view: &&Value| view["level"] == expected.level && view["direction"] == "read";
            let view = report["views"].as_array().unwrap().iter().find(is_expected).unwrap();
            let table = &view["table"];
            let counts =
                ["requests", "bytes", "unique_pages", "files", "minimum_pages", "optimistic_pages", "exact_pages"];
            assert_eq!(counts.map(|name| table[name].as_u64().unwrap()), expected.counts, "{name}, {}", expected.level);
            let curve = |name: &str, group: u64| {
                let curve = &view[name];
                let accesses = curve["accesses"].as_u64().unwrap();
                let points: Vec<(u64, u64)> = curve["points"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|point| (point["pages"].as_u64().unwrap(), point["hits"].as_u64().unwrap()))
                    .collect();
                let misses = |pages: u64| {
                    let hits = points
                        .iter()
                        .take_while(|(size, _)| *size <= pages * group)
                        .last()
                        .map_or(0, |(_, hits)| *hits);
                    accesses - hits
                };
                let pages_for = |percent| curve[format!("pages_for_{percent}_percent")].as_u64().unwrap() / group;
                [
                    accesses,
                    misses(1),
                    misses(8),
                    misses(64),
                    misses(u64::MAX / group),
                    pages_for(50),
                    pages_for(90),
                    pages_for(99),
                ]
            };
            assert_eq!(curve("cache", 1), expected.pages, "{name}, {}", expected.level);
            if let Some(read_ahead) = expected.read_ahead {
                let [accesses, misses_1, misses_8, _, misses_all, pages_50, pages_90, pages_99] =
                    curve("cache_with_read_ahead", 8);
                let actual = [accesses, misses_1, misses_8, misses_all, pages_50, pages_90, pages_99];
                assert_eq!(actual, read_ahead, "{name}, read-ahead");
            }
            if let Some(key_blocks) = expected.key_blocks {
                assert_eq!(curve("cache_with_key_blocks", 1), key_blocks, "{name}, key blocks");
            }
        }
    }
}

#[test]
fn compares_two_recordings() {
    let folder = paper();
    folder.file("better.csv", b"pid,process,file,operation,offset,length\n7,loader,/card/a.dat,read,0,411945\n");
    let csv = folder.answer("io better.csv --compare paper.csv.gz --format csv");
    assert!(csv.contains("application,read,requests,49396,1\n"), "{csv}");
    let text = folder.answer("io better.csv --compare paper.csv.gz");
    assert!(text.starts_with("49,396 reads became 1.\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.iter().any(|row| row.starts_with(&["/card/a.dat", "read", "49,395", "1"])), "{text}");
    // Small ratios keep three significant digits.
    assert!(rows.iter().any(|row| row.contains(&"requests") && row.ends_with(&["49,396", "1", "0.0000202"])), "{text}");
}

#[test]
fn joins_files_of_one_strace_run() {
    let folder = Folder::new();
    // The child inherits the open file and its position.
    folder.file(
        "run.100",
        br#"1700000000.000001 execve("/usr/bin/app", ["app"], 0x7ffe /* 3 vars */) = 0 <0.000100>
1700000000.001000 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.000010>
1700000000.002000 read(3, "abcd", 4) = 4 <0.000010>
1700000000.003000 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = 101 <0.000050>
1700000000.005000 read(3, "ijkl", 4) = 4 <0.000010>
"#,
    );
    folder.file(
        "run.101",
        br#"1700000000.004000 read(3, "efgh", 4) = 4 <0.000010>
1700000000.006000 +++ exited with 0 +++
"#,
    );
    let report: Value = serde_json::from_str(&folder.answer("io run.100 run.101 --format json")).unwrap();
    assert_eq!(report["range"]["end_ns"].as_i64().unwrap() / 1_000_000, 4, "{}", report["range"]);
    let groups: Vec<_> = report["views"][0]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| {
            (group["pid"].as_u64().unwrap(), group["process"].as_str().unwrap(), group["table"]["requests"].as_u64())
        })
        .collect();
    assert_eq!(groups, [(100, "app", Some(2)), (101, "app", Some(1))]);
    // The parent continues behind the child's read, so its own reads have a gap.
    let patterns = &report["views"][0]["patterns"];
    assert_eq!((&patterns["first"], &patterns["forward"]), (&Value::from(2), &Value::from(1)));
    assert_eq!((&report["tracer"], &report["losses"]), (&Value::from("strace"), &serde_json::json!([])));
}

#[test]
fn rejects_unanswerable_queries_with_reason() {
    let folder = Folder::new();
    folder.file("open.csv", b"operation,offset,length,file\nopen,,,x\n");
    let (code, reason) = folder.failure("io open.csv");
    assert_eq!(code, 2);
    assert!(reason.contains("no reads or writes in the recording"), "{reason}");
    folder.file("programs.csv", b"process,operation,offset,length\nmake,read,0,4\n");
    let (code, reason) = folder.failure("io programs.csv --process cc");
    assert_eq!((code, reason.contains("--process: no reads or writes of these processes")), (2, true), "{reason}");
    folder.file("fio.log", b"0, 20039, 0, 8192\n");
    let (code, reason) = folder.failure("io fio.log");
    assert_eq!(code, 1);
    assert!(reason.contains("--log_offset=1"), "{reason}");
    folder.file("read.csv", b"operation,offset,length\nread,0,4\n");
    for (arguments, word) in [
        ("--device latency=1ms", "bandwidth"),
        ("--device speed=3", "speed"),
        ("--page 0", "--page"),
        ("--filter key-blocks=many", "key-blocks"),
    ] {
        let (code, reason) = folder.failure(&format!("io read.csv {arguments}"));
        assert_eq!(code, 64);
        assert!(reason.contains(word), "{reason}");
    }
}

#[cfg(unix)]
#[test]
fn recording_replaces_no_file_and_follows_no_link() {
    let folder = Folder::new();
    folder.file("precious.etl", b"a recording");
    std::os::unix::fs::symlink(folder.path("precious.etl"), folder.path("link")).unwrap();
    std::os::unix::fs::symlink(folder.path("nowhere"), folder.path("dangling")).unwrap();
    for (name, tracer) in [("precious.etl", "strace"), ("link", "ftrace"), ("dangling", "strace")] {
        let (code, message) = folder.failure(&format!("io record --tracer {tracer} --keep {name} -- true"));
        assert_eq!(code, 64, "{message}");
        assert!(message.contains(name) && message.contains("already exists"), "{message}");
    }
    assert_eq!(std::fs::read(folder.path("precious.etl")).unwrap(), b"a recording");
    assert!(!folder.path("nowhere").exists());
}

#[test]
fn failed_tracer_leaves_no_file() {
    let folder = Folder::new();
    let mut command = folder.command("io record --keep new.trace -- true");
    // With an empty PATH there is no tracer.
    let output = command.env("PATH", "").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.path("new.trace").exists());
}
