//! Processor times of hand-made recordings.

use super::*;
use crate::hand_made::{MS, process, switches, thread};
use onoff_trace::{Sample, Samples};

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
