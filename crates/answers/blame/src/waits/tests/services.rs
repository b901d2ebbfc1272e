//! Wait chains that continue through a service, computed by hand.

use onoff_trace::{ContextSwitch, ContextSwitches, StringId, SystemKind, Trace};

use super::super::*;
use crate::why::{WhyQuestion, WhyTarget, why};
use onoff_testkit::hostile::ExtremeValues;
use onoff_testkit::synthetic::{MS, process, service, thread};

/// State of a waiting thread, and wait reasons: another thread, and a sleep.
const WAITING: u8 = 5;
const EXECUTIVE: u8 = 7;
const DELAY: u8 = 4;

/// (ms, old thread, its wait reason, new thread), without ready-thread events.
fn switches(trace: &mut Trace, rows: &[(i64, u32, u8, u32)]) {
    let rows = rows.iter().map(|&(ms, old_tid, old_wait_reason, new_tid)| ContextSwitch {
        time_ns: ms * MS,
        cpu: 0,
        new_tid,
        old_tid,
        new_priority: 8,
        old_priority: 8,
        old_wait_reason,
        old_wait_mode: 1,
        old_state: WAITING,
        previous_c_state: 0,
        old_ideal_processor: 0,
        new_wait_ticks: 0,
    });
    trace.context_switches.push(ContextSwitches::from_iter(rows));
}

/// Thread 50 of the service control manager waits from 10 to 90 ms. `Spooler` (process 536, thread 60) starts from 20
/// to 85 ms: it works until 25, sleeps until 45, and waits for an unknown cause until 84.
fn recording() -> Trace {
    let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
    trace.system.kind = SystemKind::Windows;
    process(&mut trace, 5, "services.exe", None, None);
    process(&mut trace, 536, "spoolsv.exe", None, None);
    thread(&mut trace, 50, 5, None, None);
    thread(&mut trace, 60, 536, None, None);
    switches(
        &mut trace,
        &[
            (0, 0, 0, 50),
            (10, 50, EXECUTIVE, 60),
            (25, 60, DELAY, 0),
            (45, 0, 0, 60),
            (46, 60, EXECUTIVE, 0),
            (84, 0, 0, 60),
            (86, 60, EXECUTIVE, 0),
            (90, 0, 0, 50),
        ],
    );
    service(&mut trace, "Spooler", "", (20, None, None, Some(85)));
    trace
}

fn path(trace: &Trace, tid: u32) -> CriticalPath {
    let waits = Waits::new(trace);
    let range = Interval::new(0, 100 * MS);
    waits.critical_path(range, &EndThread::from_tid(tid), PathOptions::default())
}

#[test]
fn unexplained_manager_wait_is_the_starting_service() {
    let trace = recording();
    let path = path(&trace, 50);
    let steps: Vec<(i64, i64, u32, StepKind, bool)> = path
        .steps
        .iter()
        .map(|step| (step.start_ns / MS, step.end_ns / MS, step.thread.tid, step.kind, step.service.is_some()))
        .collect();
    assert_eq!(
        steps,
        [
            (0, 10, 50, StepKind::Cpu, false),
            // Before the start request and after the service was ready, nothing explains the wait.
            (10, 20, 50, StepKind::Other, false),
            (20, 25, 60, StepKind::Cpu, true),
            (25, 45, 60, StepKind::Timer, true),
            (45, 46, 60, StepKind::Cpu, true),
            (46, 84, 60, StepKind::ServiceDependency, true),
            (84, 85, 60, StepKind::Cpu, true),
            (85, 90, 50, StepKind::Other, false),
            (90, 100, 50, StepKind::Cpu, false),
        ]
    );
    let step = &path.steps[5];
    assert_eq!(step.waiters, [50]);
    assert_eq!(step.certainty, onoff_evidence::Certainty::Inferred);
    assert_eq!(
        step.service,
        Some(WaitedService {
            name: "Spooler".to_owned(),
            change: onoff_trace::ServiceChange::Start,
            start_ns: 20 * MS,
            ready_ns: Some(85 * MS),
        })
    );
    assert_eq!(path.services.len(), 1);
    assert_eq!(path.services[0].ns, 65 * MS);
    assert_eq!(path.on_path_ns(Subject::Service("Spooler")), 65 * MS);
    assert_eq!(path.kind_ns(StepKind::ServiceDependency), 38 * MS);
    let sum: i64 = path.shares.iter().map(|share| share.ns).sum();
    assert_eq!(sum, 100 * MS);
    assert_eq!(path.missing_ns, 15 * MS);
}

#[test]
fn names_service_without_known_thread() {
    let mut trace = recording();
    let mut rows: Vec<_> = trace.service_transitions.iter().collect();
    rows[0].container_pid = None;
    trace.service_transitions = rows.into_iter().collect();
    let path = path(&trace, 50);
    assert_eq!(path.kind_ns(StepKind::ServiceDependency), 65 * MS);
    let step = path.steps.iter().find(|step| step.service.is_some());
    let step = step.map(|step| (step.thread.tid, step.detail.as_str()));
    assert_eq!(step, Some((50, "no thread of the service was recorded")));
}

#[test]
fn services_wait_only_for_declared_dependencies() {
    let mut trace = recording();
    process(&mut trace, 700, "other.exe", None, None);
    thread(&mut trace, 70, 700, None, None);
    switches(&mut trace, &[(91, 0, 0, 70), (92, 70, EXECUTIVE, 0), (96, 0, 0, 70)]);
    // Other starts while Spooler, which is slow here, is starting too.
    service(&mut trace, "Other", "", (91, None, None, Some(97)));
    let mut rows: Vec<_> = trace.service_transitions.iter().collect();
    rows[0].end_ns = Some(99 * MS);
    rows[1].container_pid = Some(700);
    trace.service_transitions = rows.into_iter().collect();
    assert_eq!(path(&trace, 70).kind_ns(StepKind::ServiceDependency), 0);
    let id = |name: &str| trace.strings.find(name).unwrap_or(StringId::EMPTY);
    let row = onoff_trace::ServiceDependency {
        service: id("Other"),
        kind: onoff_trace::DependencyKind::Requires,
        on: id("Spooler"),
    };
    trace.service_dependencies.push(row);
    let path = path(&trace, 70);
    assert_eq!(path.services.len(), 1);
    assert_eq!(path.services[0].service.name, "Spooler");
    assert_eq!(path.services[0].ns, 4 * MS);
}

/// Services and switches at arbitrary times: paths keep their duration, and every walk ends.
#[test]
fn damaged_recordings_keep_durations() {
    const TIMES: [i64; 9] = [i64::MIN, -1, 0, 1, 20, 21, 90, 100, i64::MAX];
    let mut source = ExtremeValues(11);
    for round in 0..200_u32 {
        let mut pick = |choices: &[i64]| {
            let index = usize::try_from(source.value() % choices.len() as u64).unwrap();
            choices[index]
        };
        let mut trace = recording();
        if round % 2 == 0 {
            trace.system.kind = SystemKind::Linux;
            process(&mut trace, 1, "systemd", None, None);
            thread(&mut trace, 1, 1, None, None);
        }
        let number = |value: i64| u32::try_from(value).unwrap();
        let rows: Vec<_> = (0..40)
            .map(|_| ContextSwitch {
                time_ns: pick(&TIMES),
                cpu: 0,
                new_tid: number(pick(&[0, 1, 2, 50, 60])),
                old_tid: number(pick(&[0, 1, 2, 50, 60])),
                new_priority: 8,
                old_priority: 8,
                old_wait_reason: u8::try_from(pick(&[0, 4, 7, 15])).unwrap(),
                old_wait_mode: 0,
                old_state: u8::try_from(pick(&[1, 4, 5, 5])).unwrap(),
                previous_c_state: 0,
                old_ideal_processor: 0,
                new_wait_ticks: 0,
            })
            .collect();
        trace.context_switches.push(ContextSwitches::from_iter(rows));
        for name in ["a", "b", "c", "multi-user.target"] {
            service(&mut trace, name, "g", (1, None, None, Some(2)));
        }
        let mut rows: Vec<_> = trace.service_transitions.iter().collect();
        for row in &mut rows {
            row.start_ns = pick(&TIMES);
            row.end_ns = Some(pick(&TIMES)).filter(|_| pick(&[0, 1, 2]) > 0);
            row.container_pid = Some(number(pick(&[0, 1, 5, 536])));
            row.kind = match pick(&[0, 1, 2]) {
                0 => onoff_trace::ServiceChange::Stop,
                _ => onoff_trace::ServiceChange::Start,
            };
        }
        let names: Vec<StringId> = rows.iter().map(|row| row.service).collect();
        trace.service_transitions = rows.into_iter().collect();
        for &service in &names {
            let on = names[usize::try_from(pick(&[0, 1, 2, 3])).unwrap()];
            let kind = onoff_trace::DependencyKind::After;
            let row = onoff_trace::ServiceDependency { service, kind, on };
            trace.service_dependencies.push(row);
        }
        trace.duration_ns = pick(&[0, 1, 100, i64::MAX]);
        let waits = Waits::new(&trace);
        for tid in [1, 2, 50, 60] {
            let end = EndThread::from_tid(tid);
            let range = Interval::new(i64::MIN, i64::MAX);
            let path = waits.critical_path(range, &end, PathOptions::default());
            let sum: i64 = path.shares.iter().map(|share| share.ns).sum();
            assert_eq!(sum, path.duration_ns);
        }
        let question = WhyQuestion {
            target: WhyTarget::Service(onoff_trace::Pattern::new("*")),
            at_ns: None,
            within: None,
            min_duration_ns: 0,
            max_intervals: None,
            include_work_waits: true,
            path: PathOptions::default(),
        };
        for interval in why(&trace, &question).map_or_else(|_| Vec::new(), |report| report.intervals) {
            let sum: i64 = interval.path.shares.iter().map(|share| share.ns).sum();
            assert_eq!(sum, interval.duration_ns);
        }
    }
}
