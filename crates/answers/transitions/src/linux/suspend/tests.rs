#![allow(clippy::unwrap_used)]

use crate::CallbackReason;
use crate::Variant;
use onoff_evidence::missing_evidence::UnknownFact;
use onoff_trace::{
    ActivityKind, CallGraphFunction, ContextSwitch, ContextSwitches, IoPriority, PowerRequest, PowerRequestKind,
    PowerRequestScope, PowerStateKind, StringId, SystemKind, TableSet, Trace, milestone, power_phase,
};

use super::*;

use onoff_testkit::synthetic::{MS, activity, as_linux, disk, milestone, milestone_value, process, thread};

fn linux() -> Trace {
    let mut trace = as_linux(Trace { requested_tables: TableSet::all(), duration_ns: 60_000 * MS, ..Trace::default() });
    trace.system.kind = SystemKind::Linux;
    trace.system.processors = 2;
    trace
}

fn phase(trace: &mut Trace, name: &str, start_ms: i64, end_ms: i64) {
    activity(trace, ActivityKind::PowerPhase, name, start_ms * MS, Some(end_ms * MS));
    *trace.activities.event.last_mut().unwrap() = trace.strings.intern("ftrace/suspend_resume");
}

/// Thread id whose callbacks fail.
const FAILING_TID: u32 = 99;

fn callback(
    trace: &mut Trace,
    kind: PowerRequestKind,
    (device, parent, tid): (&str, &str, u32),
    (start_ms, end_ms): (i64, i64),
) {
    let device = trace.strings.intern(device);
    let parent = trace.strings.intern(parent);
    let driver = trace.strings.intern("driver");
    trace.power_requests.push(PowerRequest {
        kind,
        scope: PowerRequestScope::Device,
        start_ns: start_ms * MS,
        end_ns: Some(end_ms * MS),
        device,
        driver,
        description: StringId::EMPTY,
        friendly_name: StringId::EMPTY,
        state_kind: PowerStateKind::Unknown,
        state: None,
        status: Some(if tid == FAILING_TID { (-16_i32).cast_unsigned() } else { 0 }),
        failed_driver: StringId::EMPTY,
        irp: 0,
        waiting_ns: None,
        parent,
        message: StringId::EMPTY,
        tid: Some(tid),
        event: StringId::EMPTY,
    });
}

/// Returns a suspend-to-RAM from 1000 to 2000 ms that enters the sleep state at 1400 ms.
fn suspend_to_ram() -> Trace {
    let mut trace = linux();
    activity(&mut trace, ActivityKind::PowerTransition, "mem", 1000 * MS, Some(2000 * MS));
    for (name, start, end) in [
        (power_phase::SYNC_FILE_SYSTEMS, 1000, 1050),
        (power_phase::FREEZE_PROCESSES, 1060, 1100),
        (power_phase::DEVICES_PREPARE, 1100, 1110),
        (power_phase::DEVICES_SUSPEND, 1110, 1300),
        (power_phase::DEVICES_SUSPEND_NOIRQ, 1300, 1350),
        (power_phase::MACHINE, 1400, 1400),
        (power_phase::DEVICES_RESUME_NOIRQ, 1410, 1500),
        (power_phase::DEVICES_RESUME, 1500, 1900),
        (power_phase::THAW_PROCESSES, 1910, 2000),
    ] {
        phase(&mut trace, name, start, end);
    }
    trace
}

fn single_sleep(trace: &Trace) -> LinuxSleep {
    let report = analyze(trace, &SuspendOptions::default()).unwrap();
    assert_eq!((report.found, report.transitions.len()), (1, 1));
    report.transitions.into_iter().next().unwrap()
}

#[test]
fn time_asleep_comes_from_a_clock_that_keeps_running() {
    let mut trace = suspend_to_ram();
    milestone_value(&mut trace, 1400 * MS, milestone::WAKE, "mem", Some(20_772 * MS));
    *trace.milestones.event.last_mut().unwrap() = trace.strings.intern("ftrace/suspend_resume");
    milestone_value(&mut trace, 1400 * MS, milestone::POWER_SLEEP_TIME, "", Some(20_771 * MS));
    milestone(&mut trace, 1500 * MS, milestone::WAKE_SOURCE, "00:03");
    let sleep = single_sleep(&trace);
    assert_eq!(sleep.variant, Variant::Sleep);
    assert_eq!(sleep.details.outcome, SleepOutcome::Slept);
    assert_eq!(sleep.details.suspend.duration_ns, Some(400 * MS));
    assert_eq!(sleep.details.resume.duration_ns, Some(600 * MS));
    assert_eq!(sleep.total_ns, Some(1000 * MS));
    assert_eq!(sleep.details.asleep.measured.duration_ns, Some(0));
    assert_eq!(sleep.details.asleep.slept_ns, Some(20_772 * MS));
    assert_eq!(sleep.details.asleep.kernel_ns, Some(20_771 * MS));
    assert_eq!(sleep.details.wake_sources[0].name, "00:03");
    let names: Vec<&str> = sleep.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names.len(), 9);
    assert!(sleep.details.image.is_none());
}

#[test]
fn without_such_a_clock_the_time_asleep_is_unknown_and_reported_as_missing() {
    let trace = suspend_to_ram();
    let report = analyze(&trace, &SuspendOptions::default()).unwrap();
    let sleep = &report.transitions[0];
    assert_eq!(sleep.details.asleep.slept_ns, None);
    assert_eq!(sleep.details.asleep.slept_certainty, Certainty::Missing);
    let missing: Vec<_> = report.missing_evidence().unwrap().items.iter().map(|item| item.unknown).collect();
    assert!(missing.contains(&UnknownFact::TimeAsleep), "{missing:?}");
    assert!(missing.contains(&UnknownFact::LinuxDeviceCallbacks), "{missing:?}");
    assert!(!missing.contains(&UnknownFact::LinuxSleepPhases), "{missing:?}");
}

#[test]
fn the_axis_keeps_running_in_suspend_to_idle() {
    let mut trace = linux();
    activity(&mut trace, ActivityKind::PowerTransition, "freeze", 1000 * MS, Some(9000 * MS));
    phase(&mut trace, power_phase::DEVICES_SUSPEND, 1000, 1200);
    phase(&mut trace, power_phase::MACHINE, 1300, 8000);
    phase(&mut trace, power_phase::DEVICES_RESUME, 8100, 8500);
    let sleep = single_sleep(&trace);
    assert_eq!(sleep.variant, Variant::SuspendToIdle);
    assert_eq!(sleep.details.asleep.slept_ns, Some(6700 * MS));
    assert_eq!(sleep.details.asleep.slept_certainty, Certainty::Measured);
    assert_eq!(sleep.details.suspend.duration_ns, Some(300 * MS));
    assert_eq!(sleep.details.resume.duration_ns, Some(1000 * MS));
}

#[test]
fn during_suspend_the_path_goes_from_parent_to_child() {
    use PowerRequestKind::Suspend;
    let mut trace = suspend_to_ram();
    // The disk is a child of the controller, which is a child of the bus; the keyboard runs in parallel.
    callback(&mut trace, Suspend, ("disk", "controller", 20), (1120, 1250));
    callback(&mut trace, Suspend, ("keyboard", "serio", 10), (1115, 1135));
    callback(&mut trace, Suspend, ("mouse", "serio", 10), (1135, 1140));
    callback(&mut trace, Suspend, ("controller", "bus", 21), (1252, 1280));
    callback(&mut trace, Suspend, ("bus", "", 10), (1285, 1298));
    let sleep = single_sleep(&trace);
    let phase = sleep.phases.iter().find(|phase| phase.name == PhaseName::DevicesSuspend).unwrap();
    let path: Vec<(&str, CallbackReason, i64)> =
        phase.work.path.iter().map(|step| (step.device.as_str(), step.reason, step.duration_ns / MS)).collect();
    assert_eq!(
        path,
        [
            ("bus", CallbackReason::FinishedLast, 13),
            ("controller", CallbackReason::Child, 28),
            ("disk", CallbackReason::Child, 130),
        ]
    );
    assert_eq!(phase.work.path_ns, 171 * MS);
    assert_eq!(phase.work.items, 5);
    assert_eq!(phase.work.total_ns, (130 + 20 + 5 + 28 + 13) * MS);
    // From 1115 to 1250, 1252 to 1280, 1285 to 1298.
    assert_eq!(phase.work.covered_ns, (135 + 28 + 13) * MS);
    let disk = &sleep.details.devices[0];
    assert_eq!((disk.device.as_str(), disk.on_path_ns), ("disk", 130 * MS));
    let keyboard = sleep.details.devices.iter().find(|device| device.device == "keyboard").unwrap();
    assert_eq!((keyboard.on_path_ns, keyboard.total_ns), (0, 20 * MS));
}

#[test]
fn during_resume_the_path_goes_from_child_to_parent_and_threads_queue() {
    use PowerRequestKind::Resume;
    let mut trace = suspend_to_ram();
    callback(&mut trace, Resume, ("bus", "", 10), (1500, 1520));
    callback(&mut trace, Resume, ("other", "bus", 10), (1520, 1570));
    callback(&mut trace, Resume, ("card", "bus", 21), (1525, 1880));
    callback(&mut trace, Resume, ("last", "elsewhere", 10), (1600, 1890));
    let sleep = single_sleep(&trace);
    let phase = sleep.phases.iter().find(|phase| phase.name == PhaseName::DevicesResume).unwrap();
    let path: Vec<(&str, CallbackReason)> =
        phase.work.path.iter().map(|step| (step.device.as_str(), step.reason)).collect();
    assert_eq!(
        path,
        [
            ("last", CallbackReason::FinishedLast),
            ("other", CallbackReason::SameThread),
            ("bus", CallbackReason::Parent),
        ]
    );
    assert_eq!(phase.work.path_ns, (290 + 50 + 20) * MS);
}

#[test]
fn callbacks_without_duration_cause_no_cycle() {
    let mut trace = suspend_to_ram();
    for device in ["a", "b", "c"] {
        callback(&mut trace, PowerRequestKind::Suspend, (device, "", 10), (1200, 1200));
    }
    let sleep = single_sleep(&trace);
    let phase = sleep.phases.iter().find(|phase| phase.name == PhaseName::DevicesSuspend).unwrap();
    assert_eq!(phase.work.path.len(), 3);
}

#[test]
fn tasks_are_frozen_when_they_stop_running() {
    let mut trace = suspend_to_ram();
    process(&mut trace, 300, "agent", None, None);
    thread(&mut trace, 301, 300, None, None);
    let row = |time_ms: i64, old_tid, new_tid, state, mode| ContextSwitch {
        time_ns: time_ms * MS,
        cpu: 0,
        new_tid,
        old_tid,
        new_priority: 19,
        old_priority: 19,
        old_wait_reason: 0,
        old_wait_mode: mode,
        old_state: state,
        previous_c_state: 0,
        old_ideal_processor: 0,
        new_wait_ticks: 0,
    };
    let rows = [
        row(1065, 0, 301, 0, 0),
        row(1070, 301, 400, 5, 0),
        // This task waits and runs again before the machine sleeps, so it is not frozen.
        row(1080, 400, 500, 5, 0),
        row(1120, 500, 400, 5, 1),
        row(1130, 400, 0, 5, 0),
        row(1950, 0, 301, 0, 0),
    ];
    trace.context_switches.push(rows.into_iter().collect::<ContextSwitches>());
    let tasks = single_sleep(&trace).details.tasks;
    assert_eq!(tasks.len(), 1);
    assert_eq!((tasks[0].tid, tasks[0].name.as_str()), (301, "agent"));
    assert_eq!(tasks[0].frozen_ns, 1070 * MS);
    assert_eq!(tasks[0].after_ns, 10 * MS);
    assert_eq!(tasks[0].thawed_ns, Some(1950 * MS));
}

#[test]
fn a_hibernation_image_without_times_has_an_upper_bound() {
    let mut trace = linux();
    activity(&mut trace, ActivityKind::PowerTransition, "disk", 1000 * MS, Some(4000 * MS));
    phase(&mut trace, power_phase::CREATE_IMAGE, 1100, 1900);
    phase(&mut trace, power_phase::MACHINE, 2000, 2000);
    milestone_value(&mut trace, 2000 * MS, milestone::WAKE, "disk", Some(73_211 * MS));
    *trace.milestones.event.last_mut().unwrap() = trace.strings.intern("kernel log");
    milestone_value(&mut trace, 1000 * MS, milestone::POWER_HIBERNATE_PAGES, "", Some(94_948));
    let sleep = single_sleep(&trace);
    assert_eq!(sleep.details.asleep.kernel_ns, Some(73_211 * MS));
    let image = sleep.details.image.unwrap();
    assert_eq!(image.pages, Some(94_948));
    assert_eq!(image.create_ns, Some(800 * MS));
    assert_eq!((image.write_ns, image.read_ns), (None, None));
    assert_eq!(image.max_ns, Some(73_211 * MS));
    assert!(image.rule.to_string().contains("did not run during the write or the read"));
}

#[test]
fn an_aborted_suspend_has_its_reason_and_failed_device() {
    let mut trace = linux();
    let name = trace.strings.intern("mem");
    trace.activities.push(Activity {
        kind: ActivityKind::PowerTransition,
        name,
        detail: StringId::EMPTY,
        start_ns: 1000 * MS,
        end_ns: Some(1500 * MS),
        pid: None,
        tid: None,
        end_tid: None,
        session: None,
        status: Some((-16_i32).cast_unsigned()),
        event: StringId::EMPTY,
    });
    phase(&mut trace, power_phase::DEVICES_SUSPEND, 1100, 1200);
    phase(&mut trace, power_phase::DEVICES_RESUME, 1210, 1400);
    callback(&mut trace, PowerRequestKind::Suspend, ("usb1", "", FAILING_TID), (1100, 1190));
    milestone(
        &mut trace,
        1200 * MS,
        milestone::POWER_ABORTED,
        "Some devices failed to suspend, or early wake event detected",
    );
    let sleep = single_sleep(&trace);
    assert_eq!(sleep.details.outcome, SleepOutcome::Aborted);
    assert_eq!(sleep.details.error, Some(-16));
    assert_eq!(sleep.details.refusals.len(), 1);
    assert!(sleep.details.devices[0].failed);
    assert_eq!(sleep.details.suspend.duration_ns, Some(200 * MS));
    assert_eq!(sleep.details.asleep.slept_ns, None);
}

#[test]
fn a_single_suspend_can_be_selected() {
    let mut trace = suspend_to_ram();
    activity(&mut trace, ActivityKind::PowerTransition, "mem", 5000 * MS, Some(6000 * MS));
    let options = |number| SuspendOptions { transition: Some(number), ..SuspendOptions::default() };
    let report = analyze(&trace, &options(2)).unwrap();
    assert_eq!(report.found, 2);
    assert_eq!(report.transitions.len(), 1);
    assert_eq!(report.transitions[0].number, 2);
    assert!(matches!(analyze(&trace, &options(3)), Err(NoSuspend::NoSuch { .. })));
    assert!(matches!(analyze(&linux(), &SuspendOptions::default()), Err(NoSuspend::NoneOnLinux(_))));
}

#[test]
fn each_suspend_has_its_own_usage_and_call_graphs() {
    const SLEEPS: i64 = 40;
    let mut trace = linux();
    trace.duration_ns = SLEEPS * 1000 * MS;
    for start_ms in (0..SLEEPS).map(|number| number * 1000) {
        activity(&mut trace, ActivityKind::PowerTransition, "mem", start_ms * MS, Some((start_ms + 500) * MS));
        phase(&mut trace, power_phase::SYNC_FILE_SYSTEMS, start_ms, start_ms + 100);
        disk(&mut trace, (start_ms + 50) * MS, 10 * MS, IoPriority::Normal, "a");
        // The first graph is within the suspend, the second graph after it.
        for at_ms in [start_ms + 200, start_ms + 600] {
            trace.call_graph_functions.push(CallGraphFunction {
                subject: CallGraphSubject::DeviceCallback,
                start_ns: at_ms * MS,
                end_ns: Some((at_ms + 20) * MS),
                calls: 1,
                ..CallGraphFunction::UNKNOWN
            });
        }
    }
    let report = analyze(&trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.transitions.len(), SLEEPS as usize);
    for sleep in &report.transitions {
        let reads = sleep.phases[0].disk.as_ref().map(|disk| disk.operations.read.operations);
        let graphs: Vec<i64> = sleep.details.call_graphs.iter().map(|graph| graph.start_ns).collect();
        assert_eq!((reads, graphs), (Some(1), vec![sleep.start_ns.unwrap() + 200 * MS]), "{}", sleep.number);
    }
}

#[test]
fn random_traces_are_analyzed_without_panic() {
    use onoff_testkit::hostile::{ExtremeValues, hostile_trace};
    let mut report_count = 0;
    for seed in 0..1_000 {
        let mut trace = hostile_trace(seed);
        let mut any = ExtremeValues(!seed);
        let names: Vec<StringId> = PhaseName::ALL
            .iter()
            .map(|name| name.as_str())
            .chain(["mem", "disk", "freeze"])
            .map(|name| trace.strings.intern(name))
            .collect();
        let rows: Vec<Activity> = trace.activities.iter().collect();
        trace.activities = rows
            .into_iter()
            .map(|row| Activity {
                kind: any.pick(&[ActivityKind::PowerPhase, ActivityKind::PowerTransition]),
                name: any.pick(&names),
                ..row
            })
            .collect();
        report_count += usize::from(analyze(&trace, &SuspendOptions::default()).is_ok());
    }
    assert!(report_count > 100, "{report_count}");
}

/// Adds a phase from kernel log lines.
fn logged_phase(trace: &mut Trace, name: &str, start_ms: i64, end_ms: i64) {
    phase(trace, name, start_ms, end_ms);
    *trace.activities.event.last_mut().unwrap() = trace.strings.intern("kernel log/PM");
}

#[test]
fn the_longest_gap_excludes_the_time_asleep() {
    // 10 ms between leaving the sleep state at 1400 ms and the next phase; 50 ms before entering it.
    let gap = single_sleep(&suspend_to_ram()).details.longest_gap.unwrap();
    assert_eq!((gap.start_ns, gap.duration_ns), (1350 * MS, 50 * MS));
    assert_eq!((gap.after, gap.before), (Some(PhaseName::DevicesSuspendNoirq), Some(PhaseName::Machine)));
    // A suspend-to-idle without a record of its 30 s asleep: the gap is the 5 ms after them.
    let mut idle = linux();
    activity(&mut idle, ActivityKind::PowerTransition, "freeze", 1000 * MS, Some(33_000 * MS));
    logged_phase(&mut idle, power_phase::DEVICES_SUSPEND, 1000, 2000);
    logged_phase(&mut idle, power_phase::DEVICES_RESUME, 32_000, 32_995);
    let sleep = single_sleep(&idle);
    assert_eq!(sleep.details.longest_gap.unwrap().duration_ns, 5 * MS);
    assert_eq!(sleep.details.suspend.duration_ns, Some(1000 * MS));
}

#[test]
fn halves_without_device_phases_are_unknown() {
    let mut trace = linux();
    activity(&mut trace, ActivityKind::PowerTransition, "freeze", 1000 * MS, Some(4000 * MS));
    logged_phase(&mut trace, power_phase::SYNC_FILE_SYSTEMS, 1000, 1030);
    logged_phase(&mut trace, power_phase::FREEZE_PROCESSES, 1030, 1065);
    logged_phase(&mut trace, power_phase::THAW_PROCESSES, 3990, 4000);
    let sleep = single_sleep(&trace);
    assert_eq!((sleep.details.suspend.duration_ns, sleep.details.resume.duration_ns), (None, None));
    let gap = sleep.details.longest_gap.unwrap();
    assert_eq!((gap.start_ns, gap.duration_ns), (1065 * MS, 2925 * MS));
    // An aborted suspend did not suspend devices, so its logged phases cover the suspend.
    let mut aborted = linux();
    activity(&mut aborted, ActivityKind::PowerTransition, "mem", 1000 * MS, Some(21_100 * MS));
    milestone(&mut aborted, 21_000 * MS, milestone::POWER_ABORTED, "Freezing of tasks failed after 20.000 seconds");
    logged_phase(&mut aborted, power_phase::FREEZE_PROCESSES, 1000, 21_000);
    assert_eq!(single_sleep(&aborted).details.suspend.duration_ns, Some(20_000 * MS));
}
