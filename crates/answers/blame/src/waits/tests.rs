//! Wait chains computed by hand.

mod services;

use onoff_trace::{
    ContextSwitch, ContextSwitches, DiskIo, DiskOperation, InterruptKind, IoPriority, Milestone, Process, ReadyThread,
    ReadyThreads, Thread, Trace, milestone,
};

use super::*;
use onoff_evidence::rule::Rule;
use onoff_testkit::hostile::ExtremeValues;
use onoff_testkit::synthetic::{
    MS, image, interrupts, milestone_value, process, service, switches, switches_in_ms, thread,
};

const EXECUTIVE: u8 = 7;
const DELAY: u8 = 4;
const QUEUE: u8 = 15;
const WAITING: u8 = 5;
const READY: u8 = 1;

/// A recording of 100 ms; threads 44, 64, 16, 20 of System, 104 of a.exe, 204 of b.exe.
fn recording() -> Trace {
    let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
    process(&mut trace, 4, "System", None, None);
    process(&mut trace, 100, "a.exe", None, None);
    process(&mut trace, 200, "b.exe", None, None);
    for tid in [16, 20, 44, 64] {
        thread(&mut trace, tid, 4, None, None);
    }
    thread(&mut trace, 104, 100, None, None);
    thread(&mut trace, 204, 200, None, None);
    trace
}

/// Wake-ups as (ms, processor, thread, readying thread, in an interrupt).
fn readies(trace: &mut Trace, rows: &[(i64, u16, u32, u32, bool)]) {
    let rows = rows.iter().map(|&(ms, cpu, ready_tid, readying_tid, in_interrupt)| ReadyThread {
        time_ns: ms * MS,
        cpu,
        ready_tid,
        readying_tid: Some(readying_tid),
        adjust_reason: 1,
        adjust_increment: 0,
        flags: u8::from(in_interrupt),
        after_switches: None,
    });
    trace.ready_threads.push(ReadyThreads::from_iter(rows));
}

fn read(trace: &mut Trace, tid: u32, issue_ms: i64, complete_ms: i64, file: &str) {
    let file = trace.strings.intern(file);
    trace.disk_ios.push(DiskIo {
        issue_ns: Some(issue_ms * MS),
        complete_ns: complete_ms * MS,
        disk: 0,
        operation: DiskOperation::Read,
        offset: 0,
        size: 4096,
        priority: IoPriority::Normal,
        service_ns: MS,
        pid: None,
        tid: Some(tid),
        file,
        file_object: 1,
        irp: 0,
        irp_flags: 0,
    });
}

fn path_of(trace: &Trace, tid: u32, from_ms: i64, until_ms: i64) -> CriticalPath {
    let waits = Waits::new(trace);
    let range = Interval::new(from_ms * MS, until_ms * MS);
    let path = waits.critical_path(range, &EndThread::from_tid(tid), PathOptions::default());
    assert_eq!(path.shares.iter().map(|share| share.ns).sum::<i64>(), path.duration_ns);
    assert_eq!(path.measured_ns + path.inferred_ns + path.missing_ns, path.duration_ns);
    path
}

/// Steps as (from ms, until ms, thread, kind, detail).
fn steps(path: &CriticalPath) -> Vec<(i64, i64, u32, StepKind, &str)> {
    path.steps
        .iter()
        .map(|step| (step.start_ns / MS, step.end_ns / MS, step.thread.tid, step.kind, step.detail.as_str()))
        .collect()
}

use StepKind::{Cpu, Device, Disk, Other, Ready, Timer};

/// The chain from the paper's appendix: 44 waits for 64, 64 for 16, 16 for 20, and 20 for a timer.
#[test]
fn follows_chain_to_timer() {
    let mut trace = recording();
    switches_in_ms(
        &mut trace,
        &[
            (10, 0, 44, (WAITING, EXECUTIVE), 64),
            (12, 0, 64, (WAITING, EXECUTIVE), 16),
            (14, 0, 16, (WAITING, EXECUTIVE), 20),
            (16, 0, 20, (WAITING, DELAY), 0),
            (80, 0, 0, (2, 0), 20),
            (82, 0, 20, (WAITING, EXECUTIVE), 16),
            (84, 0, 16, (WAITING, EXECUTIVE), 64),
            (86, 0, 64, (WAITING, EXECUTIVE), 44),
            (90, 0, 44, (WAITING, EXECUTIVE), 0),
        ],
    );
    readies(
        &mut trace,
        &[
            (9, 0, 64, 44, false),
            (11, 0, 16, 64, false),
            (13, 0, 20, 16, false),
            (80, 0, 20, 0, true),
            (81, 0, 16, 20, false),
            (83, 0, 64, 16, false),
            (85, 0, 44, 64, false),
        ],
    );
    let path = path_of(&trace, 44, 0, 88);
    assert_eq!(
        steps(&path),
        [
            (0, 10, 44, Cpu, ""),
            (10, 12, 64, Cpu, ""),
            (12, 14, 16, Cpu, ""),
            (14, 16, 20, Cpu, ""),
            (16, 80, 20, Timer, ""),
            (80, 81, 20, Cpu, ""),
            (81, 82, 16, Ready, ""),
            (82, 83, 16, Cpu, ""),
            (83, 84, 64, Ready, ""),
            (84, 85, 64, Cpu, ""),
            (85, 86, 44, Ready, ""),
            (86, 88, 44, Cpu, ""),
        ]
    );
    assert_eq!(path.steps[4].waiters, [16, 64, 44]);
    assert_eq!(path.steps[5].readies_tid, Some(16));
    assert_eq!(path.kind_ns(Timer), 64 * MS);
    assert_eq!(path.missing_ns, 0);
    assert_eq!(path.on_path_ns(Subject::Process("system")), 88 * MS);
}

/// While the service's process waits for a sleeping thread of another process, the path is in both.
#[test]
fn service_path_includes_what_service_waits_for() {
    let mut trace = recording();
    // Its host is process 536.
    service(&mut trace, "Waiter", "", (10, Some(11), None, Some(95)));
    process(&mut trace, 536, "svchost.exe", None, None);
    thread(&mut trace, 540, 536, None, None);
    switches_in_ms(
        &mut trace,
        &[
            (20, 0, 540, (WAITING, EXECUTIVE), 204),
            (21, 0, 204, (WAITING, DELAY), 0),
            (70, 0, 0, (2, 0), 204),
            (75, 0, 204, (WAITING, DELAY), 540),
            (95, 0, 540, (WAITING, EXECUTIVE), 0),
        ],
    );
    readies(&mut trace, &[(5, 0, 204, 540, false), (70, 0, 204, 0, true), (74, 0, 540, 204, false)]);
    let path = path_of(&trace, 540, 0, 95);
    assert_eq!(
        steps(&path),
        [
            (0, 20, 540, Cpu, ""),
            (20, 21, 204, Cpu, ""),
            (21, 70, 204, Timer, ""),
            (70, 74, 204, Cpu, ""),
            (74, 75, 540, Ready, ""),
            (75, 95, 540, Cpu, ""),
        ]
    );
    assert_eq!(path.on_path_ns(Subject::Process("b.exe")), 54 * MS);
    assert_eq!(path.on_path_ns(Subject::Process("svchost.exe")), 95 * MS);
    assert_eq!(path.on_path_ns(Subject::Service("waiter")), 85 * MS);
    assert_eq!(path.on_path_ns(Subject::Service("other")), 0);
    let sleeper = path.shares.iter().find(|share| share.kind == Timer).unwrap();
    assert_eq!((sleeper.name.as_str(), sleeper.ns), ("b.exe", 49 * MS));
}

#[test]
fn attributes_read_to_file_and_dpc_to_driver() {
    const DRIVER: u64 = 0xffff_f801_2000_0000;
    let mut trace = recording();
    image(&mut trace, 4, (DRIVER, 0x1000), None, r"\drivers\usbhub.sys");
    switches_in_ms(
        &mut trace,
        &[
            (10, 0, 104, (WAITING, 0), 0),
            (30, 0, 0, (2, 0), 104),
            (40, 0, 104, (WAITING, EXECUTIVE), 0),
            (60, 0, 0, (2, 0), 104),
        ],
    );
    readies(&mut trace, &[(30, 0, 104, 0, true), (60, 0, 104, 0, true)]);
    read(&mut trace, 104, 9, 30, r"C:\Windows\slow.dll");
    interrupts(&mut trace, &[(59 * MS, 60 * MS, 0, InterruptKind::Dpc, DRIVER + 8)]);
    let path = path_of(&trace, 104, 0, 70);
    assert_eq!(
        steps(&path),
        [
            (0, 10, 104, Cpu, ""),
            (10, 30, 104, Disk, r"C:\Windows\slow.dll"),
            (30, 40, 104, Cpu, ""),
            (40, 60, 104, Device, "usbhub.sys"),
            (60, 70, 104, Cpu, ""),
        ]
    );
    assert_eq!(path.on_path_ns(Subject::File(r"c:\windows\slow.dll")), 20 * MS);
    assert_eq!(path.on_path_ns(Subject::Driver(r"\Driver\USBHUB")), 20 * MS);
}

/// Another thread reads a page on behalf of the waiting one: its work before the read counts.
#[test]
fn follows_request_to_issuing_thread() {
    let mut trace = recording();
    switches_in_ms(
        &mut trace,
        &[(10, 0, 104, (WAITING, 0), 204), (22, 0, 204, (WAITING, EXECUTIVE), 0), (30, 0, 0, (2, 0), 104)],
    );
    readies(&mut trace, &[(30, 0, 104, 0, true)]);
    read(&mut trace, 204, 20, 30, "page.sys");
    interrupts(&mut trace, &[(29 * MS, 30 * MS, 0, InterruptKind::Dpc, 0x10)]);
    let path = path_of(&trace, 104, 0, 40);
    assert_eq!(
        steps(&path),
        [(0, 10, 104, Cpu, ""), (10, 20, 204, Cpu, ""), (20, 30, 104, Disk, "page.sys"), (30, 40, 104, Cpu, ""),]
    );
}

#[test]
fn follows_work_item_to_its_producer() {
    let mut trace = recording();
    switches_in_ms(
        &mut trace,
        &[
            // 104 works on something else, then waits for a work item; 204 queues one at 50.
            (20, 0, 104, (WAITING, QUEUE), 204),
            (51, 0, 204, (WAITING, EXECUTIVE), 104),
        ],
    );
    readies(&mut trace, &[(10, 0, 204, 0, true), (50, 0, 104, 204, false)]);
    let path = path_of(&trace, 104, 0, 90);
    assert_eq!(
        steps(&path)[1..],
        [
            // The work of 104 until 20 is not included.
            (10, 20, 204, Ready, ""),
            (20, 50, 204, Cpu, ""),
            (50, 51, 104, Ready, ""),
            (51, 90, 104, Cpu, "")
        ]
    );
    assert!(path.steps.iter().all(|step| step.waiters.is_empty()));
}

#[test]
fn counts_starvation_as_ready_time() {
    let mut trace = recording();
    switches_in_ms(&mut trace, &[(10, 0, 104, (READY, 32), 204), (60, 0, 204, (READY, 30), 104)]);
    let path = path_of(&trace, 104, 0, 70);
    assert_eq!(steps(&path), [(0, 10, 104, Cpu, ""), (10, 60, 104, Ready, ""), (60, 70, 104, Cpu, "")]);
}

#[test]
fn reports_reason_for_missing_or_contradictory_events() {
    let mut trace = recording();
    switches_in_ms(
        &mut trace,
        &[(10, 0, 104, (WAITING, EXECUTIVE), 0), (30, 0, 0, (2, 0), 104), (40, 0, 104, (WAITING, EXECUTIVE), 0)],
    );
    let path = path_of(&trace, 104, 0, 50);
    assert_eq!(path.steps[1].kind, Other);
    assert!(path.steps[1].detail.contains("no ready-thread event"));
    assert_eq!(path.missing_ns, 30 * MS);
    assert!(path.missing_evidence[0] == onoff_evidence::missing_evidence::MissingRecords::ReadyThreads);
    // The last wait does not end.
    assert!(path.steps[3].detail.contains("still in progress"));

    // Two threads that wait for each other, each recorded as having woken the other.
    let mut trace = recording();
    switches_in_ms(
        &mut trace,
        &[
            (10, 0, 104, (WAITING, EXECUTIVE), 0),
            (10, 1, 204, (WAITING, EXECUTIVE), 0),
            (50, 0, 0, (2, 0), 104),
            (50, 1, 0, (2, 0), 204),
        ],
    );
    readies(&mut trace, &[(49, 1, 104, 204, false), (49, 0, 204, 104, false)]);
    let path = path_of(&trace, 104, 0, 60);
    assert!(path.steps.iter().any(|step| step.kind == Other && step.detail.contains("returns to")));
}

#[test]
fn follows_new_thread_to_creator() {
    let mut trace = recording();
    let image = trace.strings.intern("new.exe");
    trace.processes.push(Process { parent_pid: Some(200), start_ns: Some(30 * MS), image, ..Process::unknown(300) });
    thread(&mut trace, 304, 300, Some(30 * MS), None);
    switches_in_ms(&mut trace, &[(5, 0, 104, (WAITING, EXECUTIVE), 204), (35, 0, 204, (WAITING, EXECUTIVE), 304)]);
    readies(&mut trace, &[(31, 0, 304, 204, false)]);
    let path = path_of(&trace, 304, 5, 50);
    assert_eq!(steps(&path), [(5, 31, 204, Cpu, ""), (31, 35, 304, Ready, ""), (35, 50, 304, Cpu, "")]);
    let end = Waits::new(&trace).end_at(30 * MS);
    assert_eq!((end.tid, end.certainty), (Some(204), onoff_evidence::Certainty::Measured));
    assert_eq!(end.rule, Rule::CreatingThread { image: "new.exe".to_owned() });

    // If no thread of the parent ran, the thread that woke its first thread is the creator.
    process(&mut trace, 310, "orphan.exe", Some(40 * MS), None);
    thread(&mut trace, 314, 310, Some(40 * MS), None);
    readies(&mut trace, &[(41, 0, 314, 304, false)]);
    assert_eq!(Waits::new(&trace).end_at(40 * MS).tid, Some(304));

    let unknown_end =
        Waits::new(&trace).critical_path(Interval::new(0, 50 * MS), &EndThread::default(), PathOptions::default());
    assert_eq!(unknown_end.kind_ns(Other), 50 * MS);
}

#[test]
fn omits_short_steps_from_list_only() {
    let mut trace = recording();
    switches_in_ms(&mut trace, &[(10, 0, 104, (READY, 32), 204), (11, 0, 204, (READY, 30), 104)]);
    let waits = Waits::new(&trace);
    let options = PathOptions { min_step_ns: 2 * MS, max_steps: 1 };
    let path = waits.critical_path(Interval::new(0, 70 * MS), &EndThread::from_tid(104), options);
    assert_eq!(steps(&path), [(11, 70, 104, Cpu, "")]);
    assert_eq!((path.omitted_steps, path.omitted_ns), (2, 11 * MS));
    assert_eq!(path.kind_ns(Ready), MS);
}

#[test]
fn damaged_recordings_keep_path_duration() {
    let mut source = ExtremeValues(7);
    for _ in 0..200 {
        let mut trace = recording();
        let mut pick = |choices: &[i64]| {
            let index = usize::try_from(source.value() % choices.len() as u64).unwrap();
            choices[index]
        };
        const TIMES: [i64; 9] = [i64::MIN, -1, 0, 1, 20, 20, 21, 90, i64::MAX];
        let number = |value: i64| u32::try_from(value).unwrap();
        let mut rows = Vec::new();
        let mut wakes = Vec::new();
        for _ in 0..40 {
            rows.push(ContextSwitch {
                time_ns: pick(&TIMES),
                cpu: u16::try_from(pick(&[0, 1, 65_535])).unwrap(),
                new_tid: number(pick(&[0, 44, 64, 104, 4_294_967_295])),
                old_tid: number(pick(&[0, 44, 64, 104, 4_294_967_295])),
                new_priority: -1,
                old_priority: 127,
                old_wait_reason: u8::try_from(pick(&[0, 4, 15, 255])).unwrap(),
                old_wait_mode: 9,
                old_state: u8::try_from(pick(&[0, 1, 4, 5, 5, 255])).unwrap(),
                previous_c_state: 0,
                old_ideal_processor: 0,
                new_wait_ticks: 0,
            });
            wakes.push(ReadyThread {
                time_ns: pick(&TIMES),
                cpu: 0,
                ready_tid: number(pick(&[0, 44, 64, 104, 4_294_967_295])),
                readying_tid: Some(number(pick(&[0, 44, 64, 104]))),
                adjust_reason: 0,
                adjust_increment: 0,
                flags: u8::try_from(pick(&[0, 0, 1, 255])).unwrap(),
                after_switches: None,
            });
        }
        if pick(&[0, 1]) == 0 {
            rows.sort_by_key(|row| row.time_ns);
            wakes.sort_by_key(|row| row.time_ns);
        }
        trace.context_switches.push(ContextSwitches::from_iter(rows));
        trace.ready_threads.push(ReadyThreads::from_iter(wakes));
        trace.duration_ns = pick(&[0, 1, 100, i64::MAX]);
        let waits = Waits::new(&trace);
        for tid in [0, 44, 104, u32::MAX] {
            let range = Interval::new(i64::MIN, i64::MAX);
            let path = waits.critical_path(range, &EndThread::from_tid(tid), PathOptions::default());
            let sum: i64 = path.shares.iter().map(|share| share.ns).sum();
            assert_eq!(sum, path.duration_ns);
        }
        let _ = waits.end_at(20);
    }
}

#[test]
fn follows_exited_thread_from_its_exit() {
    let mut trace = recording();
    // 104 sleeps, runs from 40 and exits at 45; the interval ends at 60.
    switches_in_ms(
        &mut trace,
        &[
            (0, 0, 0, (READY, 0), 104),
            (10, 0, 104, (WAITING, DELAY), 0),
            (40, 0, 0, (READY, 0), 104),
            (45, 0, 104, (4, 0), 0),
        ],
    );
    let path = path_of(&trace, 104, 0, 60);
    let steps = steps(&path);
    let times: Vec<_> = steps.iter().map(|&(start, end, tid, kind, _)| (start, end, tid, kind)).collect();
    assert_eq!(
        times,
        [
            (0, 10, 104, StepKind::Cpu),
            (10, 40, 104, StepKind::Timer),
            (40, 45, 104, StepKind::Cpu),
            (45, 60, 104, StepKind::Other),
        ]
    );
    assert!(steps[3].4.starts_with("the thread had already exited"), "{}", steps[3].4);
}

#[test]
fn wake_during_switch_out_is_no_wait() {
    let mut trace = recording();
    switches_in_ms(
        &mut trace,
        &[
            (0, 0, 0, (READY, 0), 104),
            (10, 0, 104, (WAITING, EXECUTIVE), 204),
            (12, 0, 204, (READY, 0), 104),
            (20, 0, 104, (WAITING, EXECUTIVE), 204),
            (25, 0, 204, (READY, 0), 104),
            (30, 0, 104, (WAITING, EXECUTIVE), 0),
        ],
    );
    // In interrupts: exactly at the first switch-out, and 10 µs before the second.
    readies(&mut trace, &[(10, 1, 104, 64, true), (20, 1, 104, 64, true)]);
    let mut late = trace.ready_threads.chunks()[0].clone();
    late.time_ns[1] -= 10_000;
    trace.ready_threads = onoff_trace::Batches::default();
    trace.ready_threads.push(late);
    let path = path_of(&trace, 104, 0, 30);
    let steps: Vec<_> = steps(&path).into_iter().map(|(start, end, tid, kind, _)| (start, end, tid, kind)).collect();
    assert_eq!(
        steps,
        [
            (0, 10, 104, StepKind::Cpu),
            (10, 12, 104, StepKind::Ready),
            (12, 20, 104, StepKind::Cpu),
            (20, 25, 104, StepKind::Ready),
            (25, 30, 104, StepKind::Cpu),
        ]
    );
}

#[test]
fn follows_unwoken_new_thread_to_logging_thread() {
    let times = |creator_tid| {
        let mut trace = recording();
        trace.threads.push(Thread { creator_tid, start_ns: Some(30 * MS), ..Thread::unknown(108, 100) });
        switches_in_ms(&mut trace, &[(5, 0, 104, (WAITING, EXECUTIVE), 204), (35, 0, 204, (WAITING, EXECUTIVE), 108)]);
        let path = path_of(&trace, 108, 5, 50);
        (path.kind_ns(Cpu), path.kind_ns(Ready), path.kind_ns(Other))
    };
    assert_eq!(times(Some(204)), (40 * MS, 5 * MS, 0));
    // No creator if the header has no thread, or an otherwise unknown one.
    assert_eq!(times(None), (15 * MS, 0, 30 * MS));
    assert_eq!(times(Some(999)), (15 * MS, 0, 30 * MS));
}

#[test]
fn end_thread_is_the_one_that_logged_the_last_record() {
    let mut trace = recording();
    thread(&mut trace, 108, 100, None, None);
    // Thread 104 logs the desktop; 108 of the same process runs at that moment and is unrelated.
    switches_in_ms(
        &mut trace,
        &[(10, 0, 104, (WAITING, EXECUTIVE), 204), (20, 1, 0, (2, 0), 108), (30, 0, 204, (1, 0), 104)],
    );
    let (name, event) = (trace.strings.intern("desktop_ready"), trace.strings.intern("Shell-Core/27231"));
    let row = |tid| Milestone {
        time_ns: 50 * MS,
        name,
        detail: onoff_trace::StringId::EMPTY,
        value: None,
        pid: Some(100),
        tid,
        event,
    };
    trace.milestones.push(row(Some(104)));
    let end = Waits::new(&trace).end_at(50 * MS);
    assert_eq!((end.tid, end.certainty), (Some(104), onoff_evidence::Certainty::Measured));

    // Without a thread in the record only its process is known, and the end thread is inferred.
    trace.milestones = [row(None)].into_iter().collect();
    let end = Waits::new(&trace).end_at(50 * MS);
    assert_eq!(end.certainty, onoff_evidence::Certainty::Inferred);
}

/// Thread 44 suspends the system from 20 to 80 ms and stays on its processor; 64 waits for it.
#[test]
fn path_excludes_system_sleep() {
    let mut trace = recording();
    switches_in_ms(&mut trace, &[(10, 0, 64, (WAITING, EXECUTIVE), 44), (90, 0, 44, (WAITING, EXECUTIVE), 64)]);
    readies(&mut trace, &[(90, 0, 64, 44, false)]);
    let path_before_sleep = path_of(&trace, 64, 0, 95);
    assert!(steps(&path_before_sleep).contains(&(10, 90, 44, Cpu, "")), "{:?}", steps(&path_before_sleep));
    milestone_value(&mut trace, 20 * MS, milestone::SLEEP, "4", Some(4));
    milestone_value(&mut trace, 80 * MS, milestone::WAKE, "4", Some(4));
    let path = path_of(&trace, 64, 0, 95);
    let steps_of_44: Vec<_> = steps(&path).into_iter().filter(|&(_, _, tid, ..)| tid == 44).collect();
    assert_eq!(
        steps_of_44,
        [(10, 20, 44, Cpu, ""), (20, 80, 44, Other, "the machine was asleep"), (80, 90, 44, Cpu, "")]
    );
    let waits = Waits::new(&trace);
    let account =
        crate::account::AccountBuilder::new(&waits).path(Interval::new(0, 95 * MS), Some(&EndThread::from_tid(64)));
    let idle = account.entries.iter().find(|entry| entry.kind == crate::account::AccountSubjectKind::Idle);
    assert_eq!(idle.map(|entry| entry.ns), Some(60 * MS));
    assert_eq!(account.entries.iter().map(|entry| entry.ns).sum::<i64>(), 95 * MS);
}

#[test]
fn histories_end_at_a_time() {
    let mut trace = recording();
    let (waiting, ready) = ((WAITING, EXECUTIVE), (READY, 0));
    switches_in_ms(
        &mut trace,
        &[(10, 0, 0, ready, 44), (20, 0, 44, waiting, 64), (50, 0, 64, ready, 44), (60, 0, 44, waiting, 0)],
    );
    readies(&mut trace, &[(30, 0, 44, 64, false)]);
    let waits = Waits::new(&trace);
    let runs = |until_ms: i64| {
        let histories = waits.histories(until_ms.saturating_mul(MS));
        let of_thread = |tid: u32| {
            let steps = histories.iter().filter(|history| history.tid == tid).flat_map(|history| &history.steps);
            let runs = steps.filter_map(|step| match *step {
                HistoryStep::Run { start_ns, end_ns, .. } => Some((start_ns / MS, end_ns / MS)),
                HistoryStep::Wait { .. } => None,
            });
            runs.collect::<Vec<_>>()
        };
        (of_thread(44), of_thread(64))
    };
    assert_eq!(runs(i64::MAX), (vec![(10, 20), (50, 60)], vec![(20, 50)]));
    // A thread that runs at the time, runs until then.
    assert_eq!(runs(40), (vec![(10, 20)], vec![(20, 40)]));
    assert_eq!(runs(15), (vec![(10, 15)], vec![]));
    // The wait is known, but not what ended it.
    let steps = &waits.histories(25 * MS)[0].steps;
    assert!(matches!(steps.last(), Some(HistoryStep::Wait { ready_ns: None, .. })), "{steps:?}");
}

/// A processor that becomes idle: (ms, processor, thread that leaves it).
type IdleRow = (i64, u16, u32);

/// Returns when the wait of thread 44 from 10 ms ends, ms. It is made ready at 20 ms and runs on the idle processor 1 at
/// 23 ms. Processor 2 switches between two threads `other_switches` times just after 20 ms.
fn end_of_wait_for_idle_processor(became_idle: &[IdleRow], other_switches: i64) -> Option<i64> {
    let mut trace = recording();
    let (waiting, ready) = ((WAITING, EXECUTIVE), (READY, 0));
    switches_in_ms(&mut trace, &[(1, 0, 0, ready, 44), (2, 1, 0, ready, 104), (3, 2, 0, ready, 204)]);
    let (early, late): (Vec<_>, Vec<_>) = became_idle.iter().partition(|row| row.0 < 10);
    let idle_rows = |rows: Vec<IdleRow>| rows.into_iter().map(|(ms, cpu, tid)| (ms, cpu, tid, waiting, 0));
    let rows: Vec<_> = idle_rows(early).chain([(10, 0, 44, waiting, 0)]).collect();
    switches_in_ms(&mut trace, &rows);
    let other_rows = (1..=other_switches).map(|number| match number % 2 {
        0 => (20 * MS + number, 2, 16, 204, 8),
        _ => (20 * MS + number, 2, 204, 16, 8),
    });
    switches(&mut trace, &other_rows.collect::<Vec<_>>());
    let rows: Vec<_> = idle_rows(late).chain([(23, 1, 0, ready, 44)]).collect();
    switches_in_ms(&mut trace, &rows);
    readies(&mut trace, &[(20, 2, 44, 64, false)]);
    let histories = Waits::new(&trace).histories(i64::MAX);
    let steps = histories.iter().filter(|history| history.tid == 44).flat_map(|history| &history.steps);
    let mut ends = steps.filter_map(|step| match *step {
        HistoryStep::Wait { start_ns, ready_ns, .. } if start_ns == 10 * MS => Some(ready_ns? / MS),
        _ => None,
    });
    ends.next_back()
}

#[test]
fn wait_includes_waking_of_idle_processor() {
    assert_eq!(end_of_wait_for_idle_processor(&[(5, 1, 104)], 0), Some(23));
    // The processor was busy when the thread was made ready: it waited for the processor.
    assert_eq!(end_of_wait_for_idle_processor(&[(21, 1, 104)], 0), Some(20));
    // Another processor became idle meanwhile.
    assert_eq!(end_of_wait_for_idle_processor(&[(5, 1, 104), (21, 2, 204)], 0), Some(23));
    // After too many switches it is not known that the processor was idle.
    assert_eq!(end_of_wait_for_idle_processor(&[(5, 1, 104)], 60_000), Some(23));
    assert_eq!(end_of_wait_for_idle_processor(&[(5, 1, 104)], 70_000), Some(20));
}
