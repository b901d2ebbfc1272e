//! The xperf actions for processes, CPU, interrupts and stacks match published layouts and simulated truth.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;

use crate::harness::Folder;
use onoff_simulator::Truth;

const SCENARIO: &str = "table-7-slow-service-in-group.toml";

/// Reads the published excerpts. Prints a message and returns `None` if the samples are missing.
fn excerpts() -> Option<String> {
    let path = onoff_testkit::real_recordings::samples_folder("xperf-output")?.join("text-actions.txt");
    Some(std::fs::read_to_string(path).unwrap())
}

/// Creates a folder with a recording that has CPU samples and stacks.
fn folder_with_samples() -> Folder {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl");
    let folder = Folder::new();
    std::fs::copy(sample, folder.path("boot.etl")).unwrap();
    folder
}

/// Returns the column titles without blanks.
fn titles(line: &str) -> Vec<String> {
    let titles = line.split(',').map(|title| title.replace(' ', ""));
    titles.collect()
}

/// Splits `name (pid)`.
fn name_and_pid(cell: &str) -> (String, i64) {
    let (name, pid) = cell.trim().rsplit_once(" (").unwrap();
    let pid = pid.trim_end_matches(')').trim().parse().unwrap();
    (name.trim().to_owned(), pid)
}

fn microseconds(cell: &str) -> i64 {
    cell.trim().parse().unwrap()
}

/// Sums the CPU time of each process over the boot, in ns.
fn cpu_times_ns(truth: &Truth) -> BTreeMap<i64, i64> {
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
        let mut actual: BTreeMap<i64, i64> = BTreeMap::new();
        for row in text.lines().filter(|row| row.contains(".exe (")) {
            let cells: Vec<&str> = row.split(',').collect();
            let (process_column, time_column) = if action == "cpudisk" { (0, 1) } else { (1, 0) };
            let (_, pid) = name_and_pid(cells[process_column]);
            actual.insert(pid, microseconds(cells[time_column]));
        }
        let expected = cpu_times_ns(&truth);
        assert!(actual.len() > 10, "{text}");
        for (pid, us) in actual {
            let expected = expected.get(&pid).copied().unwrap_or(0);
            assert_eq!(us, expected / 1_000, "{action}: process {pid}");
        }
    }
    let text = folder.answer("xperf -i boot.etl -a cswitch -process");
    let idle = text.lines().find(|row| row.contains("Idle (   0)")).unwrap();
    assert_eq!(microseconds(idle.split(',').next().unwrap()), cpu_times_ns(&truth)[&0] / 1_000);
}

#[test]
fn threads_sum_to_process() {
    let folder = folder_with_samples();
    let sum = |options: &str| -> i64 {
        let text = folder.answer(&format!("xperf -i boot.etl -a cswitch {options}"));
        let rows = text.lines().filter(|row| row.contains("CloudBox.exe ("));
        rows.map(|row| microseconds(row.split(',').next().unwrap())).sum()
    };
    let total = sum("-process");
    assert!((sum("-thread") - total).abs() <= 5);
    let without_dpcs = sum("-process -exc_dpcisr");
    assert!(without_dpcs < total && without_dpcs > total - 5_000, "{without_dpcs} of {total}");
}

#[test]
fn availability_has_published_layout() {
    let folder = Folder::boot(SCENARIO);
    let text = folder.answer("xperf -i boot.etl -a cswitch");
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    if let Some(published) = excerpts() {
        let published = published.lines().find(|line| line.starts_with(" StartTime,"));
        // The header is identical for two processors.
        assert!(published.unwrap().starts_with(header), "{header}");
    }
    let utilized = folder.answer("xperf -i boot.etl -a cswitch -util 1");
    for (idle_row, busy_row) in lines.zip(utilized.lines().skip(1)) {
        let idle_cells: Vec<&str> = idle_row.split(',').collect();
        let busy_cells: Vec<&str> = busy_row.split(',').collect();
        assert_eq!(idle_cells[..2], busy_cells[..2]);
        for (idle, busy) in idle_cells[2..].iter().zip(&busy_cells[2..]) {
            let sum: f64 = idle.trim().parse::<f64>().unwrap() + busy.trim().parse::<f64>().unwrap();
            assert!((sum - 100.0).abs() < 0.011, "{idle} {busy}");
        }
    }
    let every_5_s = folder.answer("xperf -i boot.etl -a cswitch -avail 5 -range 0 20s");
    assert_eq!(every_5_s.lines().count(), 1 + 4);
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
    let event_count = |hook: &str| truth.kinds.get(hook).copied().unwrap_or(0);
    assert_eq!(total(dpcs), event_count("0F44").max(event_count("0f44")));
    let isrs: u64 = ["0F43", "0f43", "0F32", "0f32"].iter().map(|hook| event_count(hook)).sum();
    assert_eq!(total(interrupts), isrs);
    // A single report or section on request.
    let summary = folder.answer("xperf -i boot.etl -a dpcisr -dpc -summary");
    assert!(!summary.contains("Interrupt Info") && !summary.contains("Total"));
    assert_eq!(summary.matches("CPU Usage from").count(), 1);
    let every_10_s = folder.answer("xperf -i boot.etl -a dpcisr -isr -interval 10 -range 0 30s");
    assert!(every_10_s.contains("Usage From 0 ms to 30000 ms, Summing In 10 second intervals. Intervals=3\n"));
    assert_eq!(every_10_s.lines().filter(|line| line.contains(" :,") && line.contains('-')).count(), 3);
    // The totals of intervals and modules agree, except for truncated µs.
    let total = |table: &str, is_row: &dyn Fn(&str) -> bool| -> u64 {
        let rows = table.lines().filter(|line| is_row(line)).flat_map(|line| line.split(','));
        let cells = rows.filter_map(|cell| cell.split_once('.')?.0.split_whitespace().next()?.parse::<u64>().ok());
        cells.sum()
    };
    let module_us = total(&text, &|line| line.ends_with(", \"Unknown\"") || line.ends_with(".sys"));
    let interval_us = total(&text, &|line| line.contains(" :,"));
    let processors = text.lines().find(|line| line.ends_with("Usage,")).unwrap().matches("Usage").count();
    let cells = (text.matches(" :,").count() * processors) as u64;
    assert!(module_us > 0 && module_us.abs_diff(interval_us) <= cells, "{module_us} and {interval_us} µs");
    // Each column of the distribution counts every 2 s interval once.
    let total = text.lines().find(|line| line.starts_with("Total:   ")).unwrap();
    let counts: Vec<&str> = total.split(',').skip(1).map(str::trim).collect();
    assert!(counts.len() == 3 * processors && counts.iter().all(|&count| count == counts[0]), "{total}");

    let Some(published) = excerpts() else { return };
    let without_digits = |line: &str| -> String {
        // Numbers may differ, but not their positions.
        let blank_digit = |character: char| if character.is_ascii_digit() { ' ' } else { character };
        line.chars().map(blank_digit).collect()
    };
    let expected_rows: Vec<String> = published
        .lines()
        .filter(|line| line.starts_with("Elapsed Time") || line.starts_with("Total,"))
        .map(without_digits)
        .collect();
    for line in text.lines().filter(|line| line.starts_with("Elapsed Time") || line.starts_with("Total,")) {
        assert!(expected_rows.contains(&without_digits(line)), "{line:?} differs from the published row");
    }
    for line in ["DPC Info", "Interrupt Info", &"-".repeat(26)] {
        assert!(published.lines().any(|published_line| published_line == line));
        assert!(text.lines().any(|output_line| output_line == line), "{line}");
    }
}

#[test]
fn samples_have_published_titles_and_sum() {
    let folder = folder_with_samples();
    let text = folder.answer("xperf -i boot.etl -a profile -detail");
    let header = text.lines().next().unwrap();
    if let Some(published) = excerpts() {
        assert!(published.lines().any(|line| line.trim_start() == header.trim_start()));
    }
    let weight = |row: &str| microseconds(row.split(',').nth(1).unwrap());
    let (idle, others): (Vec<&str>, Vec<&str>) =
        text.lines().skip(1).partition(|row| name_and_pid(row.split(',').next().unwrap()) == ("Idle".to_owned(), 0));
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
    let sample_rows = rows("SampledProfile,") - 1 - idle.count();
    assert!(usize::try_from(samples) == Ok(sample_rows), "{samples} of {sample_rows}");
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
    if let Some(published) = excerpts() {
        let published = published.lines().find(|line| line.starts_with("ReadyThread,")).unwrap();
        assert_eq!(titles(header), titles(published));
    }
    let events = folder.answer("events boot.etl --event ReadyThread --range 10s 12s --format json");
    assert_eq!(lines.count(), events.lines().count());
    let (columns, message) = folder.empty_table("xperf -i boot.etl -a readythread -range 1ns 2ns");
    assert_eq!(columns.lines().count(), 1, "{columns}");
    assert!(message.contains("DISPATCHER"), "{message}");
}

#[test]
fn processes_have_published_fields() {
    let (folder, truth) = Folder::boot_and_truth(SCENARIO);
    let text = folder.answer("xperf -i boot.etl -a process -withcmdline");
    // The published row: start, end, kind, key, process, parent, session, page table, command line.
    let published_row =
        "        MIN,   24656403, Process, 0XA1141C60,       chrome.exe ( 748),      10760,          1, 0x11e8c260,";
    if let Some(excerpts) = excerpts() {
        assert!(excerpts.contains(published_row));
    }
    let mut actual = Vec::new();
    for row in text.lines().skip(1) {
        let cells: Vec<&str> = row.splitn(9, ',').collect();
        assert_eq!(cells.len(), published_row.split(',').count(), "{row}");
        assert!(!cells[8].trim().is_empty(), "a process without a command line has a value too: {row}");
        let widths = |row: &str| -> Vec<usize> { row.split(',').map(str::len).take(3).collect() };
        assert_eq!(widths(row), widths(published_row), "{row}");
        assert_eq!(cells[2], " Process");
        let time = |cell: &str| cell.trim().parse::<i64>().ok();
        let (_, pid) = name_and_pid(cells[4]);
        actual.push((pid, time(cells[0]), time(cells[1])));
    }
    let mut expected: Vec<_> = truth
        .processes
        .iter()
        .map(|process| {
            let us = |ns: Option<i64>| ns.map(|ns| ns / 1_000);
            (i64::from(process.pid), us(process.start_ns), us(process.end_ns))
        })
        .collect();
    actual.retain(|&(pid, ..)| pid != 0);
    actual.sort_unstable();
    expected.sort_unstable();
    assert_eq!(actual, expected);
    // The tree lists each process once, below its parent.
    let tree = folder.answer("xperf -i boot.etl -a process -tree");
    assert_eq!(tree.lines().count(), text.lines().count());
    let (code, _) = folder.failure("xperf -i boot.etl -a process -tree -thread");
    assert_eq!(code, 2);
}

#[test]
fn stacks_have_published_tables() {
    let folder = folder_with_samples();
    let page = folder.answer("xperf -i boot.etl -a stack -butterfly");
    if let Some(published) = excerpts() {
        for text in [
            "Functions by Multi-Inclusive Hits with Callers and Callees",
            "TblSN",
            "TblSE",
            "<tr class='ff'><td><a href='",
            "***itself***",
        ] {
            assert!(published.contains(text), "{text} is not in the published excerpt");
            assert!(page.contains(text), "{text} is not in the output");
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
    let (code, message) = folder.failure("xperf -i boot.etl -a stack -process (");
    assert_eq!(code, 2);
    assert!(message.contains("-process: '('"), "{message}");
}

#[test]
fn reports_missing_evidence() {
    use onoff_testkit::assemble::{EtlBuilder, Session};
    let folder = Folder::new();
    folder.file("idle.etl", &EtlBuilder::new(Session::windows_10(2)).finish());
    for (action, requirement) in [
        ("process", "process events"),
        ("cswitch", "CSWITCH"),
        ("cpudisk", "DISK_IO"),
        ("dpcisr", "INTERRUPT and DPC"),
        ("profile", "PROFILE"),
        ("readythread", "DISPATCHER"),
        ("stack", "stack walking"),
    ] {
        let (_, message) = folder.empty_table(&format!("xperf -i idle.etl -a {action}"));
        assert!(message.contains(requirement), "{action}: {message}");
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
    // Rows of frames: time, thread, number, address, function. As one row: time, thread, functions, with a trailing
    // comma.
    let mut joined_rows: Vec<Vec<String>> = Vec::new();
    for row in stacks("") {
        if row[3] == "1" {
            joined_rows.push(vec![row[0].clone(), row[1].clone(), row[2].clone(), String::new()]);
        }
        let stack = joined_rows.last_mut().unwrap();
        stack.insert(stack.len() - 1, row[5].clone());
    }
    assert!(joined_rows.len() > 10, "{}", joined_rows.len());
    let dump = folder.answer("xperf -target machine -i boot.etl -a dumper -range 0 2s");
    assert!(
        dump.contains("Stack,  TimeStamp,   ThreadID,            Image!Function\r\n"),
        "the header has one column for the stack"
    );
    assert_eq!(stacks("-target machine"), joined_rows);
    assert_eq!(stacks("-target human"), stacks(""));
}

#[test]
fn providers_and_help_need_no_recording() {
    let folder = Folder::new();
    let providers = folder.answer("xperf -providers");
    // The GUID is from Microsoft's manifest.
    assert!(providers.contains("331c3b3a-2005-44c2-ac5e-77220c37d6b4:Microsoft-Windows-Kernel-Power\n"), "{providers}");
    let output = folder.answer("xperf -help start");
    assert!(output.contains("onoff record boot"), "{output}");
}
