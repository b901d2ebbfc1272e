//! CPU times of synthetic recordings.

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
fn time_is_charged_to_the_running_thread_and_split_at_cuts() {
    let mut trace = machine();
    switches(
        &mut trace,
        &[(10 * MS, 0, 0, 8, 9), (30 * MS, 0, 8, 12, 4), (40 * MS, 0, 12, 0, 0), (50 * MS, 1, 8, 0, 0)],
    );
    let usage = usage(&trace, &[0, 20 * MS, 100 * MS]);
    let first_interval = &usage[0];
    // CPU 0: idle 10, busy.exe 10. CPU 1: thread 8 before its first switch, 20.
    assert_eq!(first_interval.source, CpuSource::ContextSwitches);
    assert_eq!(first_interval.capacity_ns, 40 * MS);
    assert_eq!((first_interval.busy_ns, first_interval.idle_ns, first_interval.unknown_ns), (30 * MS, 10 * MS, 0));
    assert_eq!(first_interval.by_process.len(), 1);
    assert_eq!(first_interval.by_process[0].image, "busy.exe");
    assert!((first_interval.by_process[0].percent - 75.0).abs() < 1e-9);
    let priorities: Vec<_> = first_interval.by_priority.iter().map(|row| (row.priority, row.cpu_ns)).collect();
    assert_eq!(priorities, [(9, 10 * MS), (8, 20 * MS)]);

    // CPU 0: busy.exe 10, lazy.exe 10, idle 60 to the end. CPU 1: thread 8 30, idle 50.
    let second_interval = &usage[1];
    let processes: Vec<_> =
        second_interval.by_process.iter().map(|row| (row.image.as_str(), row.pid, row.cpu_ns)).collect();
    assert_eq!(processes, [("busy.exe", Some(100), 40 * MS), ("lazy.exe", Some(200), 10 * MS)]);
    assert_eq!(second_interval.idle_ns, 110 * MS);
    assert_eq!(second_interval.unknown_ns, 0);
}

#[test]
fn a_cpu_without_switches_is_unknown_and_an_unlisted_thread_has_no_process() {
    let mut trace = machine();
    switches(&mut trace, &[(10 * MS, 0, 0, 400, 8)]);
    let usage = usage(&trace, &[0, 30 * MS]);
    assert_eq!(usage[0].unknown_ns, 30 * MS);
    assert_eq!(usage[0].idle_ns, 10 * MS);
    assert_eq!(usage[0].by_process[0].pid, None);
    assert_eq!(usage[0].by_process[0].cpu_ns, 20 * MS);
}

#[test]
fn time_that_goes_backwards_is_not_charged_twice() {
    let mut trace = machine();
    switches(&mut trace, &[(30 * MS, 0, 0, 8, 8), (20 * MS, 0, 8, 0, 0), (40 * MS, 0, 0, 8, 8)]);
    let usage = usage(&trace, &[0, 50 * MS]);
    assert_eq!(usage[0].busy_ns + usage[0].idle_ns, 50 * MS);
}

#[test]
fn chunks_and_events_outside_the_cuts_leave_no_gap() {
    let mut trace = machine();
    switches(&mut trace, &[(10 * MS, 0, 0, 8, 8)]);
    switches(&mut trace, &[(90 * MS, 0, 8, 0, 0)]);
    let usage = usage(&trace, &[20 * MS, 30 * MS, 30 * MS, 50 * MS]);
    let busy: Vec<_> = usage.iter().map(|interval| interval.busy_ns).collect();
    assert_eq!(busy, [10 * MS, 0, 20 * MS]);
}

#[test]
fn time_without_recorded_switches_is_unknown() {
    let mut trace = machine();
    trace.duration_ns = 20_000 * MS;
    switches(&mut trace, &[(3000 * MS, 0, 8, 0, 0), (3000 * MS, 1, 0, 8, 8), (9000 * MS, 0, 0, 8, 8)]);
    assert_eq!(recorded_interval(&trace), Some((3000 * MS, 9000 * MS)));
    let usage = usage(&trace, &[0, 5000 * MS, 20_000 * MS]);
    let times = |usage: &CpuUsage| (usage.busy_ns / MS, usage.idle_ns / MS, usage.unknown_ns / MS);
    assert_eq!(times(&usage[0]), (2000, 2000, 6000));
    assert_eq!(times(&usage[1]), (4000, 4000, 22_000));
}

#[test]
fn each_sample_represents_one_period() {
    let mut trace = machine();
    let samples: Samples = (0..100)
        .map(|index| Sample {
            time_ns: index * MS,
            cpu: 0,
            tid: if index < 25 { 8 } else { 0 },
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
fn without_data_the_usage_is_missing() {
    let usage = usage(&machine(), &[0, 10 * MS]);
    assert_eq!(usage[0].source, CpuSource::None);
    assert_eq!(usage[0].certainty, Certainty::Missing);
    assert_eq!(usage[0].unknown_ns, 20 * MS);
}

/// Returns a trace in which the System process starts a sleep of 20 s on CPU 0, where no other thread is switched in;
/// CPU 1 is idle. The sleep records are 1 s after the last switch before the sleep and 1 s before the first switch
/// after it.
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
fn no_thread_runs_while_the_machine_sleeps() {
    const SECOND: i64 = 1_000 * MS;
    let cuts_of_recording = [0, 30 * SECOND];
    let mut trace = slept();
    // Without the sleep records, the sleep is unknown.
    let without_records = usage(&trace, &cuts_of_recording);
    assert_eq!((without_records[0].busy_ns, without_records[0].asleep_ns), (25 * SECOND + SECOND / 2, 0));
    with_sleep_records(&mut trace);
    let with_records = &usage(&trace, &cuts_of_recording)[0];
    assert_eq!(
        (with_records.busy_ns, with_records.asleep_ns, with_records.unknown_ns),
        (4 * SECOND + SECOND / 2, 42 * SECOND, 0)
    );
    assert_eq!(with_records.by_process.iter().map(|row| row.cpu_ns).sum::<i64>(), with_records.busy_ns);
    // The same in parts, and per CPU.
    let cuts = [0, 10 * SECOND, 25 * SECOND, 30 * SECOND];
    let parts: Vec<(i64, i64)> = usage(&trace, &cuts).iter().map(|part| (part.busy_ns, part.asleep_ns)).collect();
    assert_eq!(parts, [(2 * SECOND + SECOND / 2, 14 * SECOND), (SECOND, 28 * SECOND), (SECOND, 0)]);
    let grid = grid::grid(&trace, &cuts, CpuSource::ContextSwitches, false);
    assert_eq!(grid.busy(1), [SECOND, 0]);
}

/// The sleep window contains time that is not time asleep and has no records: 5 s to write the image and 2 s of
/// firmware.
#[test]
fn writing_the_image_is_neither_recorded_nor_time_asleep() {
    const SECOND: i64 = 1_000 * MS;
    let mut trace = slept();
    with_sleep_records(&mut trace);
    milestone_value(&mut trace, 25 * SECOND, milestone::POWER_HIBERNATE_WRITE_TIME, "", Some(5 * SECOND));
    milestone_value(&mut trace, 25 * SECOND, milestone::POWER_FIRMWARE_TIME, "", Some(2 * SECOND));
    let usage = &usage(&trace, &[0, 30 * SECOND])[0];
    assert_eq!((usage.busy_ns, usage.asleep_ns), (4 * SECOND + SECOND / 2, 28 * SECOND));
    assert_eq!(usage.unknown_ns, 14 * SECOND);
}

/// CPUs that are active between the sleep records were awake: the machine slept while they were silent.
#[test]
fn a_sleep_starts_with_the_last_cpu_activity() {
    const SECOND: i64 = 1_000 * MS;
    let mut trace = Trace { duration_ns: 30 * SECOND, ..Trace::default() };
    trace.system.processors = 1;
    process(&mut trace, 4, "System", Some(0), None);
    thread(&mut trace, 8, 4, Some(0), None);
    with_sleep_records(&mut trace);
    let times = [0, 3, 4, 5, 20, 22, 24, 28].map(|second| second * SECOND);
    let rows: Vec<_> = times.iter().map(|&time_ns| (time_ns, 0, 8, 8, 9)).collect();
    switches(&mut trace, &rows);
    let usage = &usage(&trace, &[0, 30 * SECOND])[0];
    // The time after the last switch is unknown.
    assert_eq!((usage.busy_ns, usage.asleep_ns, usage.unknown_ns), (13 * SECOND, 15 * SECOND, 2 * SECOND));
}

/// Returns a recording with 100 samples of a processor at this distance.
fn samples_every(distance_ns: i64, recorded_ns: Option<i64>) -> Trace {
    let mut trace = machine();
    trace.system.sampling_interval_ns = recorded_ns;
    let sample =
        |number: i64| Sample { time_ns: number * distance_ns, cpu: 0, tid: 8, address: 0, count: 1, source: 0 };
    trace.samples.push((0..100).map(sample).collect::<Samples>());
    trace
}

#[test]
fn recorded_interval_is_the_weight_of_a_sample() {
    // A timer that is a little late, as on Windows 7.
    assert_eq!(sampling_period(&samples_every(1_000_800, Some(MS))), MS);
    assert_eq!(sampling_period(&samples_every(125_100, Some(125_000))), 125_000);
}

#[test]
fn distance_of_samples_is_their_weight_without_a_recorded_interval() {
    assert_eq!(sampling_period(&samples_every(1_000_800, None)), 1_000_800);
}

/// A virtual machine can deliver fewer samples than the interval promises.
#[test]
fn recorded_interval_that_contradicts_the_samples_is_not_used() {
    assert_eq!(sampling_period(&samples_every(10 * MS, Some(MS))), 10 * MS);
}
