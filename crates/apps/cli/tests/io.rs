//! `onoff io` from the command line.

use std::io::Read;
use std::path::Path;

use onoff_simulator::file_operations::FileOperationSequence;
use onoff_testkit::real_recordings::samples_folder;
use serde_json::Value;

use crate::harness::Folder;

/// The reads in the paper, from the repository's sample.
fn paper() -> Folder {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/four-byte-reads.csv.gz");
    let folder = Folder::new();
    folder.file("paper.csv.gz", &std::fs::read(path).unwrap());
    folder
}

#[test]
fn matches_paper_table_exactly() {
    let text = paper().answer("io paper.csv.gz --device latency=100us,bandwidth=20MB/s");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "49,396 reads by programs, average 8 B, total 402 KiB.",
        "each file in one operation, with 1 key block 103",
        "each page once and 1 key block 202",
        "as requested, one page and 1 key block each 98,792",
    ] {
        assert!(plain.contains(line), "{line}\n{text}");
    }
    assert!(text.contains("25,000 of 4 B"), "{text}");
    // The fix with its effect: 409,600 bytes are seven 64 KiB blocks and a hundred pages; all other page accesses are
    // hits.
    assert!(
        plain.contains(
            "A 64 KiB buffer would reduce 49,395 reads to 7; a cache of 1 page would serve 99.8 % of the page accesses."
        ),
        "{text}"
    );
    let paged = paper().answer("io paper.csv.gz --buffer 4KiB");
    assert!(paged.contains("A 4 KiB buffer would reduce 49,395 reads to 100;"), "{paged}");
    // Without a device model there are no times.
    let text = paper().answer("io paper.csv.gz");
    assert!(text.contains("no times; specify --device"), "{text}");
}

/// A cache smaller than one read-ahead group has no misses with read-ahead; the last row holds everything, including
/// key blocks.
#[test]
fn missing_curve_sizes_are_empty() {
    let folder = Folder::new();
    let reads: Vec<String> = (0..200).map(|at| format!("7,app,/a,read,{},4096", at % 5 * 4096)).collect();
    folder.file("turns.csv", format!("pid,process,file,operation,offset,length\n{}\n", reads.join("\n")).as_bytes());
    let text = folder.answer("io turns.csv");
    let rows = text.lines().skip_while(|line| !line.starts_with("Page cache")).skip(2).take(4);
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    // Five pages in a cycle: all or nothing. From two pages on, each request has one more hit, for its key block.
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
    for at in 0..2000 {
        rows += &format!("{:.6},7,reader,read,/data/a.bin,{},4\n", 1.0 + f64::from(at) * 1e-5, at * 4);
    }
    rows += "3.0,8,writer,write,/data/b.bin,0,4096\n";
    folder.file("ours.csv", rows.as_bytes());
    folder.answer("view ours.csv -o page.html");
    folder.answer("export ours.csv --format perfetto -o ours.perfetto-trace");
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(folder.path(name)).unwrap()).into_owned();
    let page = read("page.html");
    for shown in [
        "2000 reads of a.bin: 8000 bytes",
        "1 write of b.bin: 4096 bytes",
        "2000 reads of reader (7): 8000 bytes",
        "2,000 reads by programs, average 4 B, total 7.81 KiB.",
        "small_requests",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    // A single one-page write needs no fix.
    assert!(page.contains("\"title\":\"reader (7)") && !page.contains("\"title\":\"writer (8)"), "{page}");
    let trace = read("ours.perfetto-trace");
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
    let (code, why) = paper().refusal("io paper.csv.gz --by phase");
    assert_eq!(code, 2);
    assert!(why.contains("no boot, shutdown or sleep"), "{why}");
}

#[test]
fn kernel_trace_covers_programs_and_disks() {
    let folder = Folder::new();
    let mut text = "# tracer: nop\n".to_owned();
    let mut line = |at: usize, what: &str| text += &format!("  app-77 [000] ..... 3.{at:06}: {what}\n");
    line(0, "sys_openat(dfd: 0xffffff9c, filename: 0x7ffd0 \"/etc/settings\", flags: 0x80000, mode: 0x0)");
    line(1, "sys_openat -> 0x3");
    for at in 0..1500 {
        line(2 + at * 2, "sys_read(fd: 0x3, buf: 0x7ffd0, count: 0x4)");
        line(3 + at * 2, "sys_read -> 0x4");
    }
    line(4000, "block_rq_issue: 8,0 R 4096 () 2048 + 8 [app]");
    line(4100, "block_rq_complete: 8,0 R () 2048 + 8 [0]");
    folder.file("trace.txt", text.as_bytes());
    let report: Value = serde_json::from_str(&folder.answer("io trace.txt --format json")).unwrap();
    let views = report["views"].as_array().unwrap();
    let of = |view: &Value| (view["level"].clone(), view["table"]["requests"].clone(), view["table"]["bytes"].clone());
    let wanted = [("application", 1500, 6000), ("device", 1, 4096)];
    let wanted = wanted.map(|(level, requests, bytes)| (Value::from(level), Value::from(requests), Value::from(bytes)));
    assert_eq!(views.iter().map(of).collect::<Vec<_>>(), wanted);
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

/// A view: requests, bytes, pages touched, files, each page once, one page per request, every page requested.
type Counts = [u64; 7];

/// A cache: accesses, misses with 1, 8 and 64 pages and with all, and the smallest sizes for 50, 90 and 99 % of
/// achievable hits.
type Misses = [u64; 8];

struct KnownView {
    level: &'static str,
    counts: Counts,
    pages: Misses,
    /// For groups of eight pages, caches of 8 and 64 pages hold 1 and 8 groups; the smallest sizes are in groups.
    ahead: Option<[u64; 7]>,
    keys: Option<Misses>,
}

/// Reads of real recordings, counted by a simple Python script with an LRU stack for the caches. The strace counts
/// match the published ones exactly; for Process Monitor, those read "4,096" as 4.
#[test]
fn real_recordings_match_plain_count() {
    let strace = [KnownView {
        level: "application",
        counts: [2311, 495_968, 102, 2, 204, 4622, 4622],
        pages: [2311, 311, 309, 277, 102, 1, 1, 98],
        ahead: Some([2311, 72, 70, 14, 1, 1, 13]),
        keys: Some([4622, 4622, 311, 280, 104, 2, 2, 99]),
    }];
    let wide = [
        KnownView {
            level: "application",
            counts: [1205, 644_071, 115, 21, 230, 2410, 2521],
            pages: [1316, 259, 171, 128, 115, 1, 2, 92],
            ahead: Some([1217, 109, 34, 31, 1, 1, 5]),
            keys: Some([2521, 2521, 208, 149, 136, 2, 2, 21]),
        },
        KnownView {
            level: "paging",
            counts: [171, 3_624_008, 931, 37, 1862, 342, 1178],
            pages: [1007, 997, 949, 936, 931, 3, 21, 928],
            ahead: None,
            keys: None,
        },
    ];
    let narrow = [
        KnownView {
            level: "application",
            counts: [650, 2_146_380, 408, 45, 816, 1300, 1581],
            pages: [931, 586, 566, 560, 408, 1, 198, 264],
            ahead: Some([656, 305, 269, 166, 1, 64, 97]),
            keys: Some([1581, 1581, 627, 607, 453, 2, 148, 257]),
        },
        KnownView {
            level: "paging",
            counts: [69, 1_286_224, 357, 3, 714, 138, 451],
            pages: [382, 376, 372, 357, 357, 11, 18, 22],
            ahead: None,
            keys: None,
        },
    ];
    let Some(samples) = samples_folder("fileio") else { return };
    let folder = Folder::new();
    for (name, known) in [
        ("strace/fourbyte.strace-f-tt-T.txt", &strace[..]),
        ("strace/fourbyte.strace-f-ttt-T-y.txt", &strace),
        ("procmon/CompressedLogfileTests64bitUTCCSV.zz", &wide),
        ("procmon/CompressedLogfileTests64bitUTCPML.zz", &wide),
        ("procmon/CompressedLogfileTests32bitUTCCSV.zz", &narrow),
        ("procmon/CompressedLogfileTests32bitUTCPML.zz", &narrow),
    ] {
        let Ok(packed) = std::fs::read(samples.join(name)) else {
            println!("skipped: {name} is not there");
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
        for known in known {
            let is_it = |view: &&Value| view["level"] == known.level && view["direction"] == "read";
            let view = report["views"].as_array().unwrap().iter().find(is_it).unwrap();
            let table = &view["table"];
            let counts =
                ["requests", "bytes", "unique_pages", "files", "minimum_pages", "optimistic_pages", "exact_pages"];
            assert_eq!(counts.map(|name| table[name].as_u64().unwrap()), known.counts, "{name}, {}", known.level);
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
                    let hits =
                        points.iter().take_while(|point| point.0 <= pages * group).last().map_or(0, |point| point.1);
                    accesses - hits
                };
                let smallest = |percent| curve[format!("pages_for_{percent}_percent")].as_u64().unwrap() / group;
                [
                    accesses,
                    misses(1),
                    misses(8),
                    misses(64),
                    misses(u64::MAX / group),
                    smallest(50),
                    smallest(90),
                    smallest(99),
                ]
            };
            assert_eq!(curve("cache", 1), known.pages, "{name}, {}", known.level);
            if let Some(ahead) = known.ahead {
                let [accesses, one, eight, _, all, half, most, nearly_all] = curve("cache_with_read_ahead", 8);
                assert_eq!([accesses, one, eight, all, half, most, nearly_all], ahead, "{name}, read-ahead");
            }
            if let Some(keys) = known.keys {
                assert_eq!(curve("cache_with_key_blocks", 1), keys, "{name}, key blocks");
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
}

#[test]
fn rejects_unanswerable_queries_with_reason() {
    let folder = Folder::new();
    folder.file("open.csv", b"operation,offset,length,file\nopen,,,x\n");
    let (code, why) = folder.refusal("io open.csv");
    assert_eq!(code, 2);
    assert!(why.contains("no reads or writes in the recording"), "{why}");
    folder.file("fio.log", b"0, 20039, 0, 8192\n");
    let (code, why) = folder.refusal("io fio.log");
    assert_eq!(code, 1);
    assert!(why.contains("--log_offset=1"), "{why}");
    folder.file("read.csv", b"operation,offset,length\nread,0,4\n");
    for (arguments, word) in [
        ("--device latency=1ms", "bandwidth"),
        ("--device speed=3", "speed"),
        ("--page 0", "--page"),
        ("--filter key-blocks=many", "key-blocks"),
    ] {
        let (code, why) = folder.refusal(&format!("io read.csv {arguments}"));
        assert_eq!(code, 64);
        assert!(why.contains(word), "{why}");
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
        let (code, message) = folder.refusal(&format!("io record --tracer {tracer} --keep {name} -- true"));
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
