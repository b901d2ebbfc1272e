//! Checks that the analysis of random traces does not panic and does bounded work.

#![allow(clippy::unwrap_used)]

use onoff_trace::{
    Activity, ActivityKind, ContextSwitch, ContextSwitches, Milestone, Notification, NotificationKind, PowerRequest,
    PowerRequestKind, PowerRequestScope, PowerStateKind, Process, StringId, Trace, milestone, power_phase,
};

use onoff_testkit::hostile::ExtremeValues;

use onoff_transitions::suspend::report::PowerTransition;
use onoff_transitions::suspend::{SuspendOptions, analyze, fast_startup};

const TEXTS: [&str; 22] = [
    "",
    "5",
    "explorer.exe",
    "fast_startup",
    "sleep",
    "Power/ActionStart",
    power_phase::SUSPEND_APPS,
    power_phase::SUSPEND_DEVICES,
    power_phase::RESUME_DEVICES,
    power_phase::RESUME_APPS,
    power_phase::ZERO_HIBERNATION_FILE,
    milestone::SLEEP,
    milestone::WAKE,
    milestone::HIBERNATE,
    milestone::POWER_BEGIN_UTC,
    milestone::POWER_END_UTC,
    milestone::POWER_SUSPEND_TIME,
    milestone::POWER_HIBERNATE_WRITE_TIME,
    milestone::RESUME_KERNEL_READ_TIME,
    milestone::CLOCK_SET,
    milestone::STANDBY_ENTER,
    milestone::LOGOFF_REQUEST,
];

fn random_trace(seed: u64) -> Trace {
    let mut any = ExtremeValues(seed);
    let mut trace = Trace { duration_ns: any.time(), ..Trace::default() };
    trace.system.processors = any.pick(&[0, 1, 8, u32::MAX]);
    let texts: Vec<StringId> = TEXTS.iter().map(|text| trace.strings.intern(text)).collect();
    for _ in 0..any.below(24) {
        trace.activities.push(Activity {
            kind: any.pick(&[
                ActivityKind::PowerTransition,
                ActivityKind::PowerPhase,
                ActivityKind::PowerPhase,
                ActivityKind::SessionShutdown,
                ActivityKind::KernelShutdownStep,
            ]),
            name: any.pick(&texts),
            detail: any.pick(&texts),
            start_ns: any.time(),
            end_ns: any.optional_time(),
            pid: None,
            tid: None,
            end_tid: None,
            session: None,
            status: Some(any.pick(&[0, 1])),
            event: any.pick(&texts),
        });
        trace.milestones.push(Milestone {
            time_ns: any.time(),
            name: any.pick(&texts),
            detail: any.pick(&texts),
            value: any.optional_time(),
            pid: None,
            tid: None,
            event: any.pick(&texts),
        });
        trace.notifications.push(Notification {
            kind: any.pick(NotificationKind::ALL),
            start_ns: any.time(),
            end_ns: any.optional_time(),
            name: any.pick(&texts),
            pid: Some(any.pick(&[0, 4, u32::MAX])),
            tid: None,
            session: None,
            level: None,
            flags: None,
            status: None,
            sender_pid: None,
            sender_tid: None,
            event: any.pick(&texts),
        });
        trace.power_requests.push(PowerRequest {
            kind: any.pick(PowerRequestKind::ALL),
            scope: any.pick(PowerRequestScope::ALL),
            start_ns: any.time(),
            end_ns: any.optional_time(),
            device: any.pick(&texts),
            driver: any.pick(&texts),
            description: StringId::EMPTY,
            friendly_name: StringId::EMPTY,
            state_kind: any.pick(PowerStateKind::ALL),
            state: any.pick(&[None, Some(0), Some(1), Some(5), Some(255)]),
            status: None,
            failed_driver: StringId::EMPTY,
            irp: any.value() % 3,
            waiting_ns: any.optional_time(),
            parent: StringId::EMPTY,
            message: StringId::EMPTY,
            tid: None,
            event: any.pick(&texts),
        });
        trace.processes.push(Process {
            image: any.pick(&texts),
            start_ns: any.optional_time(),
            ..Process::unknown(any.pick(&[0, 4, u32::MAX]))
        });
    }
    let switches: ContextSwitches = (0..any.below(20))
        .map(|_| ContextSwitch {
            time_ns: any.time(),
            cpu: any.pick(&[0, 1, u16::MAX]),
            new_tid: any.pick(&[0, 4, u32::MAX]),
            old_tid: any.pick(&[0, 4, u32::MAX]),
            new_priority: 8,
            old_priority: 8,
            old_wait_reason: 0,
            old_wait_mode: 0,
            old_state: 0,
            previous_c_state: 0,
            old_ideal_processor: 0,
            new_wait_ticks: 0,
        })
        .collect();
    trace.context_switches.push(switches);
    trace
}

#[test]
fn random_traces_are_analyzed_without_panic() {
    let mut report_count = 0;
    for seed in 0..600 {
        let trace = random_trace(seed);
        let options = SuspendOptions { transition: (seed % 5 == 0).then_some(2), ..SuspendOptions::default() };
        if let Ok(report) = analyze(&trace, &options) {
            report_count += 1;
            assert!(report.transitions.len() <= report.found as usize);
        }
        let _ = fast_startup(&trace, &options);
    }
    assert!(report_count > 200, "only {report_count} recordings contained a transition");
}

#[test]
fn work_is_linear_in_the_number_of_transitions() {
    let mut trace = Trace::default();
    let [suspend_phase, resume_phase, device] =
        [power_phase::SUSPEND_APPS, power_phase::RESUME_DEVICES, "A"].map(|text| trace.strings.intern(text));
    for start_ns in (0..60_000).step_by(10) {
        for (name, start_ns) in [(suspend_phase, start_ns), (resume_phase, start_ns + 5)] {
            trace.activities.push(Activity {
                kind: ActivityKind::PowerPhase,
                name,
                detail: StringId::EMPTY,
                start_ns,
                end_ns: Some(start_ns + 1),
                pid: None,
                tid: None,
                end_tid: None,
                session: None,
                status: None,
                event: StringId::EMPTY,
            });
        }
        trace.power_requests.push(PowerRequest {
            kind: PowerRequestKind::Set,
            scope: PowerRequestScope::Device,
            start_ns: start_ns + 2,
            end_ns: Some(start_ns + 3),
            device,
            driver: device,
            description: StringId::EMPTY,
            friendly_name: StringId::EMPTY,
            state_kind: PowerStateKind::System,
            state: Some(4),
            status: None,
            failed_driver: StringId::EMPTY,
            irp: 1,
            waiting_ns: None,
            parent: StringId::EMPTY,
            message: StringId::EMPTY,
            tid: None,
            event: StringId::EMPTY,
        });
    }
    let report = analyze(&trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.found, 6_000);
    // The last transition is analyzed like the first.
    let rule = |transition: &PowerTransition| transition.settling.as_ref().unwrap().rule.to_string();
    let (first, last) = (report.transitions.first().unwrap(), report.transitions.last().unwrap());
    assert_eq!(rule(last), rule(first));
    assert_eq!(last.details.devices.len(), 1);
}
