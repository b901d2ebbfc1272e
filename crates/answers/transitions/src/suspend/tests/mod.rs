//! Analyzes synthetic transitions and compares the results with manually determined values.

use onoff_trace::{
    Activity, ActivityKind, Milestone, Notification, NotificationKind, PowerRequest, PowerRequestKind,
    PowerRequestScope, PowerStateKind, StringId, Trace, milestone, power_phase,
};

use super::*;
use onoff_testkit::synthetic::{MS, activity, milestone, milestone_value, process, switches, thread};

mod finding;
mod measures;

const US: i64 = 1_000;
const SECOND: i64 = 1_000_000_000;

/// Adds a power transition activity.
fn transition(trace: &mut Trace, start_ns: i64, end_ns: Option<i64>) {
    let name = trace.strings.intern("7");
    let event = trace.strings.intern("Microsoft-Windows-Kernel-Power/1");
    trace.activities.push(Activity {
        kind: ActivityKind::PowerTransition,
        name,
        detail: StringId::EMPTY,
        start_ns,
        end_ns,
        pid: None,
        tid: None,
        end_tid: None,
        session: None,
        status: end_ns.map(|_| 0),
        event,
    });
}

fn phase(trace: &mut Trace, name: &str, start_ns: i64, end_ns: i64) {
    activity(trace, ActivityKind::PowerPhase, name, start_ns, Some(end_ns));
}

fn notify(trace: &mut Trace, kind: NotificationKind, name: &str, start_ns: i64, end_ns: Option<i64>) {
    let name = trace.strings.intern(name);
    let event = trace.strings.intern("Microsoft-Windows-Kernel-Power/16");
    trace.notifications.push(Notification {
        kind,
        start_ns,
        end_ns,
        name,
        pid: Some(100),
        tid: None,
        session: None,
        level: None,
        flags: None,
        status: None,
        sender_pid: None,
        sender_tid: None,
        event,
    });
}

/// Adds a request to a device; `state` 1 is the working state.
fn request(
    trace: &mut Trace,
    (irp, device, driver): (u64, &str, &str),
    (state_kind, state): (PowerStateKind, u8),
    (start_ns, end_ns): (i64, i64),
) {
    let device = trace.strings.intern(device);
    let driver = trace.strings.intern(driver);
    trace.power_requests.push(PowerRequest {
        kind: PowerRequestKind::Set,
        scope: PowerRequestScope::Device,
        start_ns,
        end_ns: Some(end_ns),
        device,
        driver,
        description: StringId::EMPTY,
        friendly_name: StringId::EMPTY,
        state_kind,
        state: Some(state),
        status: Some(0),
        failed_driver: StringId::EMPTY,
        irp,
        waiting_ns: None,
        parent: StringId::EMPTY,
        message: StringId::EMPTY,
        tid: Some(44),
        event: StringId::EMPTY,
    });
}

fn sleep_state(trace: &mut Trace, time_ns: i64, target: i64, effective: &str) {
    milestone_value(trace, time_ns, milestone::SLEEP, effective, Some(target));
}

fn wake(trace: &mut Trace, time_ns: i64, from_state: i64) {
    milestone_value(trace, time_ns, milestone::WAKE, "", Some(from_state));
}

fn recording() -> Trace {
    Trace { duration_ns: 100 * SECOND, ..Trace::default() }
}

fn single_transition(trace: &Trace) -> PowerTransition {
    let report = analyze(trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.transitions.len(), 1);
    report.transitions.into_iter().next().unwrap()
}

fn find(transition: &PowerTransition, name: PhaseName) -> &Phase {
    transition.phases.iter().find(|phase| phase.name == name).unwrap_or_else(|| panic!("no phase {}", name.as_str()))
}

/// Returns a sleep of 300 s on the wall clock and 1 s on the recording's clock, with a service that does not respond.
fn sleep_with_slow_service() -> Trace {
    let mut trace = recording();
    transition(&mut trace, 2 * SECOND, Some(39 * SECOND));
    let unix = 1_700_000_000 * SECOND;
    milestone_value(&mut trace, 2 * SECOND, milestone::POWER_BEGIN_UTC, "", Some(unix));
    // Times in µs from figure 17 of the Microsoft paper (the node of applications).
    phase(&mut trace, power_phase::SUSPEND_APPS, 2 * SECOND, 2 * SECOND + 1_320_415 * US);
    notify(
        &mut trace,
        NotificationKind::ApplicationSuspend,
        r"C:\a\slow.exe",
        2 * SECOND,
        Some(2 * SECOND + 400_000 * US),
    );
    notify(&mut trace, NotificationKind::ApplicationSuspend, "quick.exe", 3 * SECOND, Some(3 * SECOND + 72_485 * US));
    phase(&mut trace, power_phase::SUSPEND_SERVICES, 4 * SECOND, 35 * SECOND);
    notify(&mut trace, NotificationKind::ServiceSuspend, "Slowsvc", 4 * SECOND + 5, Some(34 * SECOND + 5));
    notify(&mut trace, NotificationKind::ServiceSuspend, "Quicksvc", 34 * SECOND + 10, Some(34 * SECOND + 10 + MS));
    sleep_state(&mut trace, 36 * SECOND, 4, "4");
    wake(&mut trace, 37 * SECOND, 4);
    phase(&mut trace, power_phase::RESUME_DEVICES, 37 * SECOND, 38 * SECOND);
    milestone_value(&mut trace, 39 * SECOND, milestone::POWER_END_UTC, "", Some(unix + 336 * SECOND));
    milestone(&mut trace, 39 * SECOND, milestone::WAKE_SOURCE, "power button");
    milestone_value(&mut trace, 39 * SECOND, milestone::POWER_SUSPEND_TIME, "", Some(33_990 * MS));
    milestone_value(&mut trace, 39 * SECOND, milestone::POWER_RESUME_TIME, "", Some(2_000 * MS));
    milestone_value(&mut trace, 39 * SECOND, milestone::POWER_FIRMWARE_TIME, "", Some(310 * MS));
    milestone_value(&mut trace, 39 * SECOND, milestone::POWER_DRIVER_WAKE_TIME, "", Some(990 * MS));
    milestone_value(&mut trace, 39 * SECOND, milestone::POWER_HIBERNATE_WRITE_TIME, "", Some(0));
    milestone_value(&mut trace, 39 * SECOND, milestone::POWER_HIBERNATE_READ_TIME, "", Some(0));
    trace
}
