//! Actions on a recording without matching data: three seconds, eight processors, only process events.

use onoff_testkit::assemble::{EtlBuilder, Session};
use onoff_testkit::assemble::{Payload, Record};
use onoff_testkit::events::kernel::{LifetimeEvent, Process, mark, sampled_profile};

use crate::dumper::run_actions;

/// Actions that show activity, with all their reports.
const ACTIONS: &[&str] = &[
    "cswitch",
    "cswitch -avail",
    "cswitch -util",
    "cswitch -process",
    "cswitch -thread",
    "profile",
    "profile -util",
    "profile -detail",
    "profile -freq",
    "diskio",
    "diskio -util",
    "diskio -summary",
    "diskio -counts",
    "diskio -detail",
    "diskio -overlap",
    "diskidlehistogram",
    "cpudisk",
    "dpcisr",
    "dpcisr -summary",
    "dpcisr -bucket",
    "dpcisr -interval",
    "hardfault",
    "pagefault",
    "readythread",
    "spinlock",
    "pmc",
    "perfctrs",
    "heap",
    "pool",
    "pooltag",
    "registry",
    "filename",
    "image",
    "marks",
    "pnp",
    "drvdelay",
    "focuschange",
    "prefetch",
    "services",
    "winlogon",
    "winsat",
];

/// Returns the clock ticks of a time in ms since the session start.
fn ticks(ms: u64) -> u64 {
    Session::windows_10(8).start_ticks + ms * 10_000
}

/// Builds a recording of one process from start to end, with `records` in between.
fn recording(records: &[Record<'_>]) -> Vec<u8> {
    let mut builder = EtlBuilder::new(Session::windows_10(8));
    let process = Process {
        id: 100,
        parent: 4,
        session: 1,
        exit_status: 0,
        image: "spin.exe",
        command_line: "spin.exe",
        user: &[18],
    };
    builder.push(0, &process.record(LifetimeEvent::RundownStart, ticks(0), 101, 100));
    for record in records {
        builder.push(0, record);
    }
    builder.push(0, &process.record(LifetimeEvent::RundownEnd, ticks(3_000), 101, 100));
    builder.finish()
}

/// Returns the lines with at least two comma-separated numbers, which titles do not have.
fn rows(text: &str) -> Vec<&str> {
    let is_number = |cell: &str| {
        let cell = cell.trim().trim_end_matches(':');
        cell.parse::<f64>().is_ok()
            || cell.split_whitespace().all(|part| part.parse::<f64>().is_ok()) && !cell.is_empty()
    };
    text.lines().filter(|line| line.split(',').filter(|cell| is_number(cell)).count() >= 2).collect()
}

#[test]
fn actions_without_data_write_no_rows() {
    let recording = recording(&[]);
    for action in ACTIONS {
        let text = run_actions(&recording, &format!("-a {action}"));
        assert_eq!(rows(&text), Vec::<&str>::new(), "-a {action}: {text}");
    }
}

#[test]
fn unused_processor_is_idle_if_others_were_recorded() {
    let switch = |ms: u64, old_tid: u32, new_tid: u32| {
        let payload = Payload::wide().u32(new_tid).u32(old_tid).bytes(&[8, 8, 0, 0, 0, 0, 5, 0]).u32(0).u32(0);
        Record::perfinfo(0x0524, 4, ticks(ms), payload)
    };
    let text = run_actions(&recording(&[switch(10, 0, 101), switch(510, 101, 0)]), "-a cswitch");
    let rows = rows(&text);
    assert_eq!(rows.len(), 3, "{text}");
    let cells: Vec<&str> = rows[0].split(',').map(str::trim).collect();
    assert_eq!(cells[2..], ["50.00", "100.00", "100.00", "100.00", "100.00", "100.00", "100.00", "100.00"]);
}

#[test]
fn cswitch_ignores_samples() {
    let sample = |ms: u64| {
        Record::perfinfo(0x0f2e, 2, ticks(ms), Payload::wide().bytes(&sampled_profile(0x7ff8_1234_0010, 101)))
    };
    let recording = recording(&[sample(10), sample(11), sample(12), mark(ticks(13), "three samples")]);
    for action in ["cswitch", "cswitch -process", "cswitch -thread"] {
        let text = run_actions(&recording, &format!("-a {action}"));
        assert_eq!(text.lines().count(), 1, "-a {action}: {text}");
    }
    let text = run_actions(&recording, "-a profile");
    assert_eq!(rows(&text).len(), 3, "{text}");
}
