//! Processor times of hand-made recordings.

use super::*;
use onoff_testkit::synthetic::{MS, milestone_value, process, switches, thread};
use onoff_trace::{Sample, Samples, milestone};

fn machine() -> Trace {
    let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
    trace.system.processors = 2;
    process(&mut trace, 100, r"\Device\Volume1\busy.exe", Some(0), None);
    process(&mut trace, 200, "lazy.exe", Some(0), None);
    thread(&mut trace, 8, 100, Some(0), None);
    thread(&mut trace, 12, 200, Some(0), None);
    trace
}

#[test]
fn time_is_charged_to_the_running_thread_and_split_at_the_cuts() {
    let mut trace = machine();
    switches(
        &mut trace,
        &[(10 * MS, 0, 0, 8, 9), (30 * MS, 0, 8, 12, 4), (40 * MS, 0, 12, 0, 0), (50 * MS, 1, 8, 0, 0)],
    );
    let usage = usage(&trace, &[0, 20 * MS, 100 * MS]);
    let first = &usage[0];
    // Processor 0: idle 10, busy.exe 10. Processor 1: thread 8 before its first switch, 20.
    assert_eq!(first.source, CpuSource::ContextSwitches);
    assert_eq!(first.capacity_ns, 40 * MS);
    assert_eq!((first.busy_ns, first.idle_ns, first.unknown_ns), (30 * MS, 10 * MS, 0));
    assert_eq!(first.by_process.len(), 1);
    assert_eq!(first.by_process[0].image, "busy.exe");
    assert!((first.by_process[0].percent - 75.0).abs() < 1e-9);
    let priorities: Vec<_> = first.by_priority.iter().map(|row| (row.priority, row.cpu_ns)).collect();
    assert_eq!(priorities, [(9, 10 * MS), (8, 20 * MS)]);

    // Processor 0: busy.exe 10, lazy.exe 10, idle 60 to the end. Processor 1: thread 8 30, idle 50.
    let second = &usage[1];
    let processes: Vec<_> = second.by_process.iter().map(|row| (row.image.as_str(), row.pid, row.cpu_ns)).collect();
    assert_eq!(processes, [("busy.exe", Some(100), 40 * MS), ("lazy.exe", Some(200), 10 * MS)]);
    assert_eq!(second.idle_ns, 110 * MS);
    assert_eq!(second.unknown_ns, 0);
}

#[test]
fn a_processor_that_never_switches_is_unknown_and_an_unlisted_thread_has_no_process() {
    let mut trace = machine();
    switches(&mut trace, &[(10 * MS, 0, 0, 400, 8)]);
    let usage = usage(&trace, &[0, 30 * MS]);
    assert_eq!(usage[0].unknown_ns, 30 * MS);
    assert_eq!(usage[0].idle_ns, 10 * MS);
    assert_eq!(usage[0].by_process[0].pid, None);
    assert_eq!(usage[0].by_process[0].cpu_ns, 20 * MS);
}

#[test]
fn time_that_goes_backwards_charges_nothing_twice() {
    let mut trace = machine();
    switches(&mut trace, &[(30 * MS, 0, 0, 8, 8), (20 * MS, 0, 8, 0, 0), (40 * MS, 0, 0, 8, 8)]);
    let usage = usage(&trace, &[0, 50 * MS]);
    assert_eq!(usage[0].busy_ns + usage[0].idle_ns, 50 * MS);
}

#[test]
fn pieces_and_events_outside_the_cuts_leave_no_gap() {
    let mut trace = machine();
    switches(&mut trace, &[(10 * MS, 0, 0, 8, 8)]);
    switches(&mut trace, &[(90 * MS, 0, 8, 0, 0)]);
    let usage = usage(&trace, &[20 * MS, 30 * MS, 30 * MS, 50 * MS]);
    let busy: Vec<_> = usage.iter().map(|interval| interval.busy_ns).collect();
    assert_eq!(busy, [10 * MS, 0, 20 * MS]);
}

#[test]
fn nothing_is_said_where_switches_were_not_recorded() {
    let mut trace = machine();
    trace.duration_ns = 20_000 * MS;
    switches(&mut trace, &[(3000 * MS, 0, 8, 0, 0), (3000 * MS, 1, 0, 8, 8), (9000 * MS, 0, 0, 8, 8)]);
    assert_eq!(recorded(&trace), Some((3000 * MS, 9000 * MS)));
    let usage = usage(&trace, &[0, 5000 * MS, 20_000 * MS]);
    let times = |usage: &CpuUsage| (usage.busy_ns / MS, usage.idle_ns / MS, usage.unknown_ns / MS);
    assert_eq!(times(&usage[0]), (2000, 2000, 6000));
    assert_eq!(times(&usage[1]), (4000, 4000, 22_000));
}

#[test]
fn samples_stand_for_a_period_each() {
    let mut trace = machine();
    let samples: Samples = (0..100)
        .map(|at| Sample {
            time_ns: at * MS,
            cpu: 0,
            tid: if at < 25 { 8 } else { 0 },
            address: 0,
            count: 1,
            source: 0,
        })
        .collect();
    trace.samples.push(samples);
    let usage = usage(&trace, &[0, 50 * MS, 100 * MS]);
    assert_eq!(usage[0].source, CpuSource::Samples);
    assert_eq!(usage[0].certainty, Certainty::Inferred);
    assert_eq!((usage[0].busy_ns, usage[0].idle_ns), (25 * MS, 75 * MS));
    assert_eq!((usage[1].busy_ns, usage[1].idle_ns), (0, 100 * MS));
}

#[test]
fn nothing_recorded_is_missing() {
    let usage = usage(&machine(), &[0, 10 * MS]);
    assert_eq!(usage[0].source, CpuSource::None);
    assert_eq!(usage[0].certainty, Certainty::Missing);
    assert_eq!(usage[0].unknown_ns, 20 * MS);
}

/// System leads a sleep of 20 s on processor 0, which nothing takes it off; processor 1 idles. The records of the sleep are 1 s apart from
/// the last switch before it and the first after it.
fn slept() -> Trace {
    const SECOND: i64 = 1_000 * MS;
    let mut trace = Trace { duration_ns: 30 * SECOND, ..Trace::default() };
    trace.system.processors = 2;
    process(&mut trace, 4, "System", Some(0), None);
    thread(&mut trace, 8, 4, Some(0), None);
    switches(
        &mut trace,
        &[(SECOND / 2, 1, 8, 0, 0), (SECOND, 0, 0, 8, 9), (26 * SECOND, 0, 8, 0, 0), (29 * SECOND, 1, 0, 0, 0)],
    );
    trace
}

fn with_sleep_records(trace: &mut Trace) {
    const SECOND: i64 = 1_000 * MS;
    milestone_value(trace, 3 * SECOND, milestone::SLEEP, "4", Some(4));
    milestone_value(trace, 24 * SECOND, milestone::WAKE, "4", Some(4));
}

#[test]
fn nobody_runs_while_the_machine_sleeps() {
    const SECOND: i64 = 1_000 * MS;
    let whole = [0, 30 * SECOND];
    let mut trace = slept();
    // A recording without those records does not say that it slept.
    let without = usage(&trace, &whole);
    assert_eq!((without[0].busy_ns, without[0].asleep_ns), (25 * SECOND + SECOND / 2, 0));
    with_sleep_records(&mut trace);
    let with = &usage(&trace, &whole)[0];
    assert_eq!((with.busy_ns, with.asleep_ns, with.unknown_ns), (4 * SECOND + SECOND / 2, 42 * SECOND, 0));
    assert_eq!(with.by_process.iter().map(|row| row.cpu_ns).sum::<i64>(), with.busy_ns);
    // In parts, and of each processor.
    let cuts = [0, 10 * SECOND, 25 * SECOND, 30 * SECOND];
    let parts: Vec<(i64, i64)> = usage(&trace, &cuts).iter().map(|part| (part.busy_ns, part.asleep_ns)).collect();
    assert_eq!(parts, [(2 * SECOND + SECOND / 2, 14 * SECOND), (SECOND, 28 * SECOND), (SECOND, 0)]);
    let grid = grid::grid(&trace, &cuts, CpuSource::ContextSwitches, false);
    assert_eq!(grid.interval(1), [SECOND, 0]);
}

/// What the machine did in the sleep that is no sleep: the image was written for 5 s, the firmware ran for 2 s. No record says who did what.
#[test]
fn writing_the_image_is_not_recorded_and_no_sleep() {
    const SECOND: i64 = 1_000 * MS;
    let mut trace = slept();
    with_sleep_records(&mut trace);
    milestone_value(&mut trace, 25 * SECOND, milestone::POWER_HIBERNATE_WRITE_TIME, "", Some(5 * SECOND));
    milestone_value(&mut trace, 25 * SECOND, milestone::POWER_FIRMWARE_TIME, "", Some(2 * SECOND));
    let usage = &usage(&trace, &[0, 30 * SECOND])[0];
    assert_eq!((usage.busy_ns, usage.asleep_ns), (4 * SECOND + SECOND / 2, 28 * SECOND));
    assert_eq!(usage.unknown_ns, 14 * SECOND);
}

/// Processors that work between the records of a sleep were awake: it slept where they were silent.
#[test]
fn a_sleep_begins_with_the_last_record_of_the_processors() {
    const SECOND: i64 = 1_000 * MS;
    let mut trace = Trace { duration_ns: 30 * SECOND, ..Trace::default() };
    trace.system.processors = 1;
    process(&mut trace, 4, "System", Some(0), None);
    thread(&mut trace, 8, 4, Some(0), None);
    with_sleep_records(&mut trace);
    let at = [0, 3, 4, 5, 20, 22, 24, 28].map(|second| second * SECOND);
    let rows: Vec<_> = at.iter().map(|&at| (at, 0, 8, 8, 9)).collect();
    switches(&mut trace, &rows);
    let usage = &usage(&trace, &[0, 30 * SECOND])[0];
    // After the last switch nothing says who ran.
    assert_eq!((usage.busy_ns, usage.asleep_ns, usage.unknown_ns), (13 * SECOND, 15 * SECOND, 2 * SECOND));
}
