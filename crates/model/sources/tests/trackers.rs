//! Tests trackers with event sequences that the simulated boots do not contain.

#![allow(clippy::unwrap_used)]

use onoff_sources::{Limits, Options, files_from_bytes, open_files};
use onoff_testkit::assemble::{EtlBuilder, Payload, Record, Session};
use onoff_testkit::events::{EventTemplate, device, service};
use onoff_trace::{
    DeviceOperationKind, DiskOperation, FileOperation, IoPriority, ServiceChange, ServiceOutcome, TableSet, Trace,
};

/// Builds a recording. Times are ticks of 100 ns since its start.
struct Script {
    builder: EtlBuilder,
    start: u64,
}

impl Script {
    fn new() -> Self {
        let session = Session::windows_10(1);
        Self { start: session.start_ticks, builder: EtlBuilder::new(session) }
    }

    fn event(&mut self, ticks: u64, thread: u32, template: &EventTemplate) {
        let record = template.record(self.start + ticks, thread, 4);
        self.builder.push(0, &record);
    }

    fn perfinfo(&mut self, ticks: u64, hook: u16, version: u8, payload: Payload) {
        let record = Record::perfinfo(hook, version, self.start + ticks, payload);
        self.builder.push(0, &record);
    }

    fn read(self) -> Trace {
        let bytes = self.builder.finish();
        let files = files_from_bytes([("script.etl".to_owned(), bytes)], &Limits::default()).unwrap();
        open_files(&files, TableSet::all(), &Options::default()).unwrap()
    }
}

fn status(state: u32, pid: u32) -> EventTemplate {
    service::status_change(0, state, pid, "Spooler", "spoolsv.exe")
}

#[test]
fn tracks_service_start_stop_and_failure() {
    let mut script = Script::new();
    for (ticks, state, pid) in [
        (10, 2, 0),
        (20, 2, 700),
        (25, 2, 700),
        (30, 4, 700),
        (100, 4, 700),
        (110, 3, 700),
        (120, 3, 700),
        (130, 1, 0),
        (200, 2, 0),
        (210, 1, 0),
        (300, 2, 0),
    ] {
        script.event(ticks, 8, &status(state, pid));
    }
    let trace = script.read();
    let rows: Vec<_> = trace
        .service_transitions
        .iter()
        .map(|row| (row.kind, row.start_ns, row.checkpoint_ns, row.end_ns, row.outcome))
        .collect();
    use ServiceChange::{Start, Stop};
    use ServiceOutcome::{Completed, Failed, Unfinished};
    assert_eq!(
        rows,
        [
            (Start, 1_000, Some(2_000), Some(3_000), Completed),
            (Stop, 10_000, Some(11_000), Some(13_000), Completed),
            (Start, 20_000, None, Some(21_000), Failed),
            (Start, 30_000, None, None, Unfinished),
        ]
    );
    assert_eq!(trace.losses.count("service_transition_unfinished"), 1);
}

#[test]
fn control_without_stop_is_not_a_stop() {
    let mut script = Script::new();
    for (ticks, state, pid) in [(10, 2, 0), (30, 4, 700), (100, 4, 700)] {
        script.event(ticks, 8, &status(state, pid));
    }
    let trace = script.read();
    assert_eq!(trace.service_transitions.len(), 1);
    assert_eq!(trace.losses.count("service_transition_unfinished"), 0);
}

#[test]
fn pended_request_ends_on_another_thread() {
    let mut script = Script::new();
    script.event(10, 8, &device::device_start("ROOT\\A"));
    script.event(12, 8, &device::device_start_pended("ROOT\\A"));
    script.event(14, 9, &device::device_start("ROOT\\A"));
    script.event(20, 9, &device::device_start_stop("ROOT\\A", 0));
    script.event(90, 77, &device::device_start_stop("ROOT\\A", 5));
    script.event(95, 8, &device::device_start_stop("ROOT\\B", 0));
    script.event(96, 8, &device::driver_load_start("\\Driver\\c"));
    let trace = script.read();
    let rows: Vec<_> =
        trace.device_operations.iter().map(|row| (row.start_ns, row.pend_ns, row.end_ns, row.status)).collect();
    assert_eq!(
        rows,
        [(1_000, Some(1_200), Some(9_000), Some(5)), (1_400, None, Some(2_000), Some(0)), (9_600, None, None, None),]
    );
    let driver_load = trace.device_operations.get(2).unwrap();
    assert_eq!(driver_load.kind, DeviceOperationKind::DriverLoad);
    assert_eq!(trace.text(driver_load.driver), "\\Driver\\c");
    assert_eq!(trace.losses.count("device_end_without_begin"), 1);
    assert_eq!(trace.losses.count("device_operation_unfinished"), 1);
}

#[test]
fn driver_with_another_name_at_its_end_is_matched_by_thread() {
    let mut script = Script::new();
    script.event(10, 8, &device::driver_load_start("mouclass"));
    script.event(12, 9, &device::driver_load_start("kbdclass"));
    script.event(20, 8, &device::driver_load_stop("mouclass", 0, "\\Driver\\mouclass"));
    script.event(30, 9, &device::driver_load_stop("kbdclass", 0, "kbdclass"));
    let trace = script.read();
    let rows: Vec<_> =
        trace.device_operations.iter().map(|row| (trace.text(row.driver), row.start_ns, row.end_ns)).collect();
    assert_eq!(rows, [("mouclass", 1_000, Some(2_000)), ("kbdclass", 1_200, Some(3_000)),]);
    assert_eq!(trace.losses.count("device_end_without_begin"), 0);
}

fn transfer(disk: u32, flags: u32, key: u64, irp: u64, response: u64, tid: u32) -> Payload {
    Payload::wide().u32(disk).u32(flags).u32(4096).u32(0).u64(8192).pointer(key).pointer(irp).u64(response).u32(tid)
}

#[test]
fn service_time_starts_at_previous_completion() {
    let mut script = Script::new();
    let read = |script: &mut Script, ticks, disk, irp, response| {
        let payload = transfer(disk, 3 << 17, 0xA0, irp, response, 8);
        script.perfinfo(ticks, 0x010a, 3, payload);
    };
    script.perfinfo(10, 0x010c, 3, Payload::wide().pointer(1).u32(9));
    script.perfinfo(20, 0x010c, 3, Payload::wide().pointer(2).u32(9));
    read(&mut script, 50, 0, 1, 40);
    read(&mut script, 60, 0, 2, 40);
    // On another disk, without a recorded start: the start is the end minus the response time of 15 ticks.
    read(&mut script, 65, 1, 3, 15);
    read(&mut script, 90, 0, 4, 5);
    script.perfinfo(95, 0x010c, 3, Payload::wide().pointer(5).u32(9));
    let name = Payload::wide().pointer(0xA0).text("\\Device\\HarddiskVolume1\\file");
    script.perfinfo(99, 0x0424, 2, name);
    let trace = script.read();
    let rows: Vec<_> =
        trace.disk_ios.iter().map(|row| (row.disk, row.issue_ns, row.complete_ns, row.service_ns)).collect();
    assert_eq!(
        rows,
        [
            (0, Some(1_000), 5_000, 4_000),
            (0, Some(2_000), 6_000, 1_000),
            (1, Some(5_000), 6_500, 1_500),
            (0, Some(8_500), 9_000, 500),
        ]
    );
    let first_io = trace.disk_ios.get(0).unwrap();
    assert_eq!(first_io.operation, DiskOperation::Read);
    assert_eq!(first_io.priority, IoPriority::Normal);
    assert_eq!(trace.text(first_io.file), "\\Device\\HarddiskVolume1\\file");
    assert_eq!(trace.losses.count("disk_start_missing"), 2);
    assert_eq!(trace.losses.count("disk_request_unfinished"), 1);
}

#[test]
fn pairs_file_operations_with_their_ends() {
    let mut script = Script::new();
    let open = Payload::wide()
        .pointer(0x11)
        .pointer(0xF0)
        .u32(8)
        .u32(0)
        .u32(0)
        .u32(0)
        .text("\\Device\\HarddiskVolume1\\log.txt");
    let end = |irp: u64| Payload::wide().pointer(irp).pointer(0).u32(0xC000_0034);
    script.perfinfo(10, 0x0440, 3, open);
    script.perfinfo(20, 0x044c, 3, end(0x11));
    let write = Payload::wide().u64(512).pointer(0x11).pointer(0xF0).pointer(0xE0).u32(8).u32(100).u32(0);
    script.perfinfo(30, 0x0444, 3, write);
    script.perfinfo(45, 0x044c, 3, end(0x11));
    script.perfinfo(50, 0x044c, 3, end(0x99));
    let trace = script.read();
    let rows: Vec<_> = trace
        .file_ios
        .iter()
        .map(|row| {
            let file = trace.text(row.file);
            (row.operation, row.start_ns, row.end_ns, row.size, file)
        })
        .collect();
    let file = "\\Device\\HarddiskVolume1\\log.txt";
    assert_eq!(
        rows,
        [(FileOperation::Create, 1_000, Some(2_000), 0, file), (FileOperation::Write, 3_000, Some(4_500), 100, file),]
    );
    assert_eq!(trace.file_ios.get(0).unwrap().status, Some(0xC000_0034));
    assert_eq!(trace.losses.count("file_operation_end_without_begin"), 1);
}

#[test]
fn attributes_ready_threads_across_windows() {
    let mut script = Script::new();
    let switch = |old: u32, new: u32| Payload::wide().u32(new).u32(old).bytes(&[8, 8, 0, 0, 0, 0, 5, 0]).u32(0).u32(0);
    let ready = |tid: u32| Payload::wide().u32(tid).bytes(&[1, 0, 0, 0]);
    script.perfinfo(5, 0x0532, 2, ready(30));
    script.perfinfo(10, 0x0524, 4, switch(0, 20));
    script.perfinfo(11, 0x0532, 2, ready(31));
    // More records than fit in a window.
    for number in 0..40_000u64 {
        let payload = Payload::wide().u64(number).bytes(&[0; 480]);
        script.perfinfo(20 + number, 0x0f7f, 2, payload);
    }
    script.perfinfo(50_000, 0x0532, 2, ready(32));
    let trace = script.read();
    let rows: Vec<_> = trace.ready_threads.iter().map(|row| (row.ready_tid, row.readying_tid)).collect();
    assert_eq!(rows, [(30, None), (31, Some(20)), (32, Some(20))]);
    assert!(trace.ready_threads.chunks().len() > 1, "several windows");
}

/// Builds a batch of compact switches: thread 700 is switched out at 10 µs to wait for a user request, the idle thread
/// at 20 µs, thread 701 at 30 µs when its quantum ends (ready), and the idle thread at 40 µs and again at 50 µs.
fn compact_batch(start: u64) -> Payload {
    let mut payload = Payload::wide().u64(start);
    for thread in 0..16 {
        payload = payload.u32(700 + thread);
    }
    for _ in 0..16 {
        payload = payload.u8(8);
    }
    let busy_switch =
        |thread: u32, boost: u32, state: u32, delta: u32| 2 | thread << 2 | boost << 6 | state << 9 | delta << 15;
    payload
        .u32(busy_switch(0, 2, 6, 100))
        .u16(100 << 2)
        .u32(busy_switch(1, 0, 39 + 1, 100))
        .u32(100 << 2 | 1)
        .u16(100 << 2)
}

#[test]
fn converts_compact_switches_to_rows() {
    let mut script = Script::new();
    let start = script.start;
    script.perfinfo(600, 0x0525, 2, compact_batch(start));
    script.perfinfo(1_200, 0x0525, 2, compact_batch(start + 600));
    let trace = script.read();
    let rows: Vec<_> =
        trace.context_switches.iter().map(|row| (row.time_ns, row.old_tid, row.new_tid, row.new_priority)).collect();
    assert_eq!(
        rows,
        [
            (10_000, 700, 0, 0),
            (20_000, 0, 701, 8),
            (30_000, 701, 0, 0),
            // The second batch continues where the first one ended. Idle to idle is not a switch.
            (50_000, 0, 700, 10),
            (70_000, 700, 0, 0),
            (80_000, 0, 701, 8),
            (90_000, 701, 0, 0),
        ]
    );
    let states: Vec<_> = trace.context_switches.iter().map(|row| (row.old_state, row.old_wait_reason)).collect();
    assert_eq!(states[0], (5, 6), "waits for a user request");
    assert_eq!(states[2], (1, 0), "ready");
    assert_eq!(trace.losses.count("compact_context_switches"), 2);
}

#[test]
fn prefers_full_switches_to_compact_ones() {
    let mut script = Script::new();
    let start = script.start;
    script.perfinfo(600, 0x0525, 2, compact_batch(start));
    let full = Payload::wide().u32(900).u32(0).bytes(&[8, 0, 0, 0, 0, 0, 2, 0]).u32(0).u32(0);
    script.perfinfo(700, 0x0524, 4, full);
    let trace = script.read();
    let rows: Vec<_> = trace.context_switches.iter().map(|row| row.new_tid).collect();
    assert_eq!(rows, [900]);
}
