//! The xperf actions for processes, CPU, interrupts and stacks match published layouts and simulated truth.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;

use crate::harness::Folder;
use onoff_simulator::Truth;

const SCENARIO: &str = "table-7-slow-service-in-group.toml";

/// The published excerpts; `None`, with a message, if the samples are missing.
fn excerpts() -> Option<String> {
    let path = onoff_testkit::real_recordings::samples_folder("xperf-output")?.join("text-actions.txt");
    Some(std::fs::read_to_string(path).unwrap())
}

/// A recording with CPU samples and stacks.
fn sampled() -> Folder {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl");
    let folder = Folder::new();
    std::fs::copy(sample, folder.path("boot.etl")).unwrap();
    folder
}

/// Column titles without blanks.
fn titles(line: &str) -> Vec<String> {
    let titles = line.split(',').map(|title| title.replace(' ', ""));
    titles.collect()
}

/// Splits `name (pid)`.
fn process(cell: &str) -> (String, i64) {
    let (name, pid) = cell.trim().rsplit_once(" (").unwrap();
    let pid = pid.trim_end_matches(')').trim().parse().unwrap();
    (name.trim().to_owned(), pid)
}

fn microseconds(cell: &str) -> i64 {
    cell.trim().parse().unwrap()
}

/// CPU time per process over the whole boot, in ns.
fn times(truth: &Truth) -> BTreeMap<i64, i64> {
    let mut times = BTreeMap::new();
    for phase in &truth.phases {
        for (&pid, &ns) in &phase.usage.cpu_by_process_ns {
            *times.entry(i64::from(pid)).or_default() += ns;
        }
        *times.entry(0).or_default() += phase.usage.idle_ns;
    }
    times
}

#[test]
fn cpu_time_matches_truth_in_microseconds() {
    let (folder, truth) = Folder::boot_and_truth(SCENARIO);
    for action in ["cswitch -process", "cpudisk"] {
        let text = folder.answer(&format!("xperf -i boot.etl -a {action}"));
        let mut found: BTreeMap<i64, i64> = BTreeMap::new();
        for row in text.lines().filter(|row| row.contains(".exe (")) {
            let cells: Vec<&str> = row.split(',').collect();
            let (at_process, at_time) = if action == "cpudisk" { (0, 1) } else { (1, 0) };
            found.insert(process(cells[at_process]).1, microseconds(cells[at_time]));
        }
        let expected = times(&truth);
        assert!(found.len() > 10, "{text}");
        for (pid, us) in found {
            let expected = expected.get(&pid).copied().unwrap_or(0);
            assert_eq!(us, (expected + 500) / 1_000, "{action}: process {pid}");
        }
    }
    let text = folder.answer("xperf -i boot.etl -a cswitch -process");
    let idle = text.lines().find(|row| row.contains("Idle (   0)")).unwrap();
    assert_eq!(microseconds(idle.split(',').next().unwrap()), (times(&truth)[&0] + 500) / 1_000);
}

#[test]
fn threads_sum_to_process() {
    let folder = sampled();
    let sum = |options: &str| -> i64 {
        let text = folder.answer(&format!("xperf -i boot.etl -a cswitch {options}"));
        let rows = text.lines().filter(|row| row.contains("CloudBox.exe ("));
        rows.map(|row| microseconds(row.split(',').next().unwrap())).sum()
    };
    let whole = sum("-process");
    assert!((sum("-thread") - whole).abs() <= 5);
    let without = sum("-process -exc_dpcisr");
    assert!(without < whole && without > whole - 5_000, "{without} of {whole}");
}

#[test]
fn availability_has_published_layout() {
    let folder = Folder::boot(SCENARIO);
    let text = folder.answer("xperf -i boot.etl -a cswitch");
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    if let Some(posted) = excerpts() {
        let posted = posted.lines().find(|line| line.starts_with(" StartTime,"));
        // Identical for two processors.
        assert!(posted.unwrap().starts_with(header), "{header}");
    }
    let utilized = folder.answer("xperf -i boot.etl -a cswitch -util 1");
    for (free, busy) in lines.zip(utilized.lines().skip(1)) {
        let free: Vec<&str> = free.split(',').collect();
        let busy: Vec<&str> = busy.split(',').collect();
        assert_eq!(free[..2], busy[..2]);
        for (free, busy) in free[2..].iter().zip(&busy[2..]) {
            let sum: f64 = free.trim().parse::<f64>().unwrap() + busy.trim().parse::<f64>().unwrap();
            assert!((sum - 100.0).abs() < 0.011, "{free} {busy}");
        }
    }
    let five = folder.answer("xperf -i boot.etl -a cswitch -avail 5 -range 0 20s");
    assert_eq!(five.lines().count(), 1 + 4);
}

#[test]
fn interrupts_match_recording_and_published_layout() {
    let (folder, truth) = Folder::boot_and_truth(SCENARIO);
    let text = folder.answer("xperf -i boot.etl -a dpcisr");
    let (dpcs, interrupts) = text.split_once("Interrupt Info").unwrap();
    let total = |text: &str| -> u64 {
        let line = text.lines().find(|line| line.starts_with("Total = ")).unwrap();
        line.trim_start_matches("Total = ").parse().unwrap()
    };
    let recorded = |hook: &str| truth.kinds.get(hook).copied().unwrap_or(0);
    assert_eq!(total(dpcs), recorded("0F44").max(recorded("0f44")));
    let isrs: u64 = ["0F43", "0f43", "0F32", "0f32"].iter().map(|hook| recorded(hook)).sum();
    assert_eq!(total(interrupts), isrs);
    // A single report or section on request.
    let summary = folder.answer("xperf -i boot.etl -a dpcisr -dpc -summary");
    assert!(!summary.contains("Interrupt Info") && !summary.contains("Total"));
    assert_eq!(summary.matches("CPU Usage from").count(), 1);
    let every_ten = folder.answer("xperf -i boot.etl -a dpcisr -isr -interval 10 -range 0 30s");
    assert!(every_ten.contains("Usage From 0 ms to 30000 ms, Summing In 10 second intervals. Intervals=3\n"));
    assert_eq!(every_ten.lines().filter(|line| line.contains(" :,") && line.contains('-')).count(), 3);
    // The totals of intervals and modules agree, except for truncated µs.
    let total = |table: &str, is_row: &dyn Fn(&str) -> bool| -> u64 {
        let rows = table.lines().filter(|line| is_row(line)).flat_map(|line| line.split(','));
        let cells = rows.filter_map(|cell| cell.split_once('.')?.0.split_whitespace().next()?.parse::<u64>().ok());
        cells.sum()
    };
    let whole = total(&text, &|line| line.ends_with(", \"Unknown\"") || line.ends_with(".sys"));
    let intervals = total(&text, &|line| line.contains(" :,"));
    let processors = text.lines().find(|line| line.ends_with("Usage,")).unwrap().matches("Usage").count();
    let cells = (text.matches(" :,").count() * processors) as u64;
    assert!(whole > 0 && whole.abs_diff(intervals) <= cells, "{whole} and {intervals} µs");
    // Each column of the distribution counts every 2 s interval once.
    let total = text.lines().find(|line| line.starts_with("Total:   ")).unwrap();
    let counts: Vec<&str> = total.split(',').skip(1).map(str::trim).collect();
    assert!(counts.len() == 3 * processors && counts.iter().all(|&count| count == counts[0]), "{total}");

    let Some(posted) = excerpts() else { return };
    let shape = |line: &str| -> String {
        // Numbers may differ, but not their positions.
        let place = |c: char| if c.is_ascii_digit() { ' ' } else { c };
        line.chars().map(place).collect()
    };
    let shapes: Vec<String> = posted
        .lines()
        .filter(|line| line.starts_with("Elapsed Time") || line.starts_with("Total,"))
        .map(shape)
        .collect();
    for line in text.lines().filter(|line| line.starts_with("Elapsed Time") || line.starts_with("Total,")) {
        assert!(shapes.contains(&shape(line)), "{line:?} is not as posted");
    }
    for line in ["DPC Info", "Interrupt Info", &"-".repeat(26)] {
        assert!(posted.lines().any(|posted| posted == line));
        assert!(text.lines().any(|ours| ours == line), "{line}");
    }
}

#[test]
fn samples_have_published_titles_and_sum() {
    let folder = sampled();
    let text = folder.answer("xperf -i boot.etl -a profile -detail");
    let header = text.lines().next().unwrap();
    if let Some(posted) = excerpts() {
        assert!(posted.lines().any(|line| line.trim_start() == header.trim_start()));
    }
    let weight = |row: &str| microseconds(row.split(',').nth(1).unwrap());
    let (idle, others): (Vec<&str>, Vec<&str>) =
        text.lines().skip(1).partition(|row| process(row.split(',').next().unwrap()) == ("Idle".to_owned(), 0));
    let weights: i64 = others.iter().map(|row| weight(row)).sum();
    let cpu: serde_json::Value =
        serde_json::from_str(&folder.answer("cpu boot.etl --by module --format json")).unwrap();
    let busy_us = cpu["cpu"]["busy_ns"].as_i64().unwrap() / 1_000;
    assert!((weights - busy_us).abs() < 1_000, "{weights} of {busy_us}");
    let idle_us = cpu["cpu"]["idle_ns"].as_i64().unwrap() / 1_000;
    assert!(idle_us > 0 && (idle.iter().map(|row| weight(row)).sum::<i64>() - idle_us).abs() < 1_000, "{idle:?}");
    // Every sample counts once, and each processor has one row.
    let frequency = folder.answer("xperf -i boot.etl -a profile -freq");
    let rows: Vec<Vec<i64>> = frequency.lines().skip(1).map(|row| row.split(',').map(microseconds).collect()).collect();
    let processors: std::collections::BTreeSet<i64> = rows.iter().map(|row| row[0]).collect();
    assert!(processors.len() == rows.len() && rows.len() > 1, "{frequency}");
    let samples: i64 = rows.iter().map(|row| row[1]).sum();
    let dump = folder.answer("xperf -i boot.etl -a dumper -provider {ce1dbfb4-137e-4da6-87b0-3f59aa102cbc}");
    let rows = |name: &str| dump.lines().filter(|row| row.trim_start().starts_with(name)).count();
    let idle =
        dump.lines().filter(|row| row.trim_start().starts_with("SampledProfile,") && row.contains("Idle (   0)"));
    let counted = rows("SampledProfile,") - 1 - idle.count();
    assert!(usize::try_from(samples) == Ok(counted), "{samples} of {counted}");
    // With missing symbols, functions are shown as unknown, by module.
    let detail = folder.answer("xperf -quiet -symbols -i boot.etl -a profile -detail");
    let weights: i64 = detail.lines().skip(1).map(weight).sum();
    assert!((weights - busy_us - idle_us).abs() < 1_000, "{weights}");
    assert!(detail.lines().skip(1).all(|row| row.ends_with("\"Unknown\"")), "{detail}");
}

#[test]
fn dump_has_ready_thread_rows() {
    let folder = Folder::boot(SCENARIO);
    let text = folder.answer("xperf -i boot.etl -a readythread -range 10s 12s");
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    if let Some(posted) = excerpts() {
        let posted = posted.lines().find(|line| line.starts_with("ReadyThread,")).unwrap();
        assert_eq!(titles(header), titles(posted));
    }
    let events = folder.answer("events boot.etl --event ReadyThread --range 10s 12s --format json");
    assert_eq!(lines.count(), events.lines().count());
    let (columns, message) = folder.columns_alone("xperf -i boot.etl -a readythread -range 1ns 2ns");
    assert_eq!(columns.lines().count(), 1, "{columns}");
    assert!(message.contains("DISPATCHER"), "{message}");
}

#[test]
fn processes_have_published_fields() {
    let (folder, truth) = Folder::boot_and_truth(SCENARIO);
    let text = folder.answer("xperf -i boot.etl -a process -withcmdline");
    // The published row: start, end, kind, key, process, parent, session, page table, command line.
    let posted =
        "        MIN,   24656403, Process, 0XA1141C60,       chrome.exe ( 748),      10760,          1, 0x11e8c260,";
    if let Some(excerpts) = excerpts() {
        assert!(excerpts.contains(posted));
    }
    let mut found = Vec::new();
    for row in text.lines().skip(1) {
        let cells: Vec<&str> = row.splitn(9, ',').collect();
        assert_eq!(cells.len(), posted.split(',').count(), "{row}");
        assert!(!cells[8].trim().is_empty(), "also a process without a command line has one: {row}");
        let widths = |row: &str| -> Vec<usize> { row.split(',').map(str::len).take(3).collect() };
        assert_eq!(widths(row), widths(posted), "{row}");
        assert_eq!(cells[2], " Process");
        let time = |cell: &str| cell.trim().parse::<i64>().ok();
        found.push((process(cells[4]).1, time(cells[0]), time(cells[1])));
    }
    let mut expected: Vec<_> = truth
        .processes
        .iter()
        .map(|process| {
            let us = |ns: Option<i64>| ns.map(|ns| (ns + 500) / 1_000);
            (i64::from(process.pid), us(process.start_ns), us(process.end_ns))
        })
        .collect();
    found.retain(|&(pid, ..)| pid != 0);
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    // The tree lists each process once, below its parent.
    let tree = folder.answer("xperf -i boot.etl -a process -tree");
    assert_eq!(tree.lines().count(), text.lines().count());
    let (code, _) = folder.refusal("xperf -i boot.etl -a process -tree -thread");
    assert_eq!(code, 2);
}

#[test]
fn stacks_have_published_tables() {
    let folder = sampled();
    let page = folder.answer("xperf -i boot.etl -a stack -butterfly");
    if let Some(posted) = excerpts() {
        for text in [
            "Functions by Multi-Inclusive Hits with Callers and Callees",
            "TblSN",
            "TblSE",
            "<tr class='ff'><td><a href='",
            "***itself***",
        ] {
            assert!(posted.contains(text), "{text} was not posted");
            assert!(page.contains(text), "{text} is not in ours");
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&folder.answer("xperf -i boot.etl -a stack -export json")).unwrap();
    let modules = json["modules"].as_array().unwrap();
    let exclusive: u64 = modules.iter().map(|row| row["exclusive"].as_u64().unwrap()).sum();
    assert_eq!(exclusive, json["stacks"].as_u64().unwrap());
    let csv = folder.answer("xperf -i boot.etl -a stack -export csv");
    assert_eq!(csv.lines().count(), modules.len() + 1);
    let xml = folder.answer("xperf -i boot.etl -a stack -export xml");
    let document = roxmltree::Document::parse(&xml).unwrap();
    assert_eq!(document.root_element().children().filter(roxmltree::Node::is_element).count(), modules.len());
    let (code, message) = folder.refusal("xperf -i boot.etl -a stack -process (");
    assert_eq!(code, 2);
    assert!(message.contains("-process: '('"), "{message}");
}

#[test]
fn reports_missing_evidence() {
    use onoff_testkit::assemble::{EtlBuilder, Session};
    let folder = Folder::new();
    folder.file("idle.etl", &EtlBuilder::new(Session::windows_10(2)).finish());
    for (action, needs) in [
        ("process", "process events"),
        ("cswitch", "CSWITCH"),
        ("cpudisk", "DISK_IO"),
        ("dpcisr", "INTERRUPT and DPC"),
        ("profile", "PROFILE"),
        ("readythread", "DISPATCHER"),
        ("stack", "stack walking"),
    ] {
        let (_, message) = folder.columns_alone(&format!("xperf -i idle.etl -a {action}"));
        assert!(message.contains(needs), "{action}: {message}");
    }
}

#[test]
fn machine_readable_stack_is_one_row() {
    let folder = Folder::boot("slow-boot.toml");
    let stacks = |arguments: &str| -> Vec<Vec<String>> {
        let text = folder.answer(&format!("xperf -i boot.etl -a dumper -range 0 2s {arguments}"));
        let rows = text.lines().filter(|line| line.trim_start().starts_with("Stack,") && !line.contains("TimeStamp"));
        rows.map(|row| row.split(',').map(|cell| cell.trim().to_owned()).collect()).collect()
    };
    // By frames: time, thread, number, address, function. As one row: time, thread, functions, with a trailing comma.
    let mut joined: Vec<Vec<String>> = Vec::new();
    for row in stacks("") {
        if row[3] == "1" {
            joined.push(vec![row[0].clone(), row[1].clone(), row[2].clone(), String::new()]);
        }
        let stack = joined.last_mut().unwrap();
        stack.insert(stack.len() - 1, row[5].clone());
    }
    assert!(joined.len() > 10, "{}", joined.len());
    let whole = folder.answer("xperf -target machine -i boot.etl -a dumper -range 0 2s");
    assert!(whole.contains("Stack,  TimeStamp,   ThreadID,            Image!Function\r\n"), "the columns say so");
    assert_eq!(stacks("-target machine"), joined);
    assert_eq!(stacks("-target human"), stacks(""));
}

#[test]
fn providers_and_help_need_no_recording() {
    let folder = Folder::new();
    let listed = folder.answer("xperf -providers");
    // From Microsoft's manifest.
    assert!(listed.contains("331c3b3a-2005-44c2-ac5e-77220c37d6b4:Microsoft-Windows-Kernel-Power\n"), "{listed}");
    let printed = folder.answer("xperf -help start");
    assert!(printed.contains("onoff record boot"), "{printed}");
}
