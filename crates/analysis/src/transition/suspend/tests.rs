//! Transitions whose truth is written down by hand.

use onoff_trace::{
    Activity, ActivityKind, Notification, NotificationKind, PowerRequest, PowerRequestKind,
    PowerRequestScope, PowerStateKind, StringId, Trace, milestone, power_phase,
};

use super::*;
use crate::hand_made::{MS, activity, milestone, milestone_value, process, switches, thread};

const US: i64 = 1_000;
const SECOND: i64 = 1_000_000_000;

/// The whole transition, from its begin to its end.
fn whole(trace: &mut Trace, start_ns: i64, end_ns: Option<i64>) {
    let name = trace.strings.intern("7");
    let event = trace.strings.intern("Microsoft-Windows-Kernel-Power/1");
    trace.activities.push(Activity {
        kind: ActivityKind::PowerTransition,
        name,
        detail: StringId::EMPTY,
        start_ns,
        end_ns,
        pid: None,
        session: None,
        status: end_ns.map(|_| 0),
        event,
    });
}

fn phase(trace: &mut Trace, name: &str, start_ns: i64, end_ns: i64) {
    activity(
        trace,
        ActivityKind::PowerPhase,
        name,
        start_ns,
        Some(end_ns),
    );
}

fn told(trace: &mut Trace, kind: NotificationKind, name: &str, start_ns: i64, end_ns: Option<i64>) {
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
        teller_pid: None,
        teller_tid: None,
        event,
    });
}

/// A request to a device; `state` 1 is working.
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
        tid: Some(44),
        event: StringId::EMPTY,
    });
}

fn sleep_state(trace: &mut Trace, time_ns: i64, target: i64, effective: &str) {
    milestone_value(trace, time_ns, milestone::SLEEP, effective, Some(target));
}

fn wake(trace: &mut Trace, time_ns: i64, from: i64) {
    milestone_value(trace, time_ns, milestone::WAKE, "", Some(from));
}

fn recording() -> Trace {
    Trace {
        duration_ns: 100 * SECOND,
        ..Trace::default()
    }
}

fn only(trace: &Trace) -> PowerTransition {
    let report = analyse(trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.transitions.len(), 1);
    report.transitions.into_iter().next().unwrap()
}

fn find(transition: &PowerTransition, name: PowerPhaseName) -> &PowerPhase {
    transition
        .phases
        .iter()
        .find(|phase| phase.name == name)
        .unwrap_or_else(|| panic!("no phase {}", name.as_str()))
}

/// A sleep of 300 s by the wall's clock, of which the recording's clock counts 1 s, with a service that does not answer.
fn sleep_with_slow_service() -> Trace {
    let mut trace = recording();
    whole(&mut trace, 2 * SECOND, Some(39 * SECOND));
    let unix = 1_700_000_000 * SECOND;
    milestone_value(
        &mut trace,
        2 * SECOND,
        milestone::POWER_BEGIN_UTC,
        "",
        Some(unix),
    );
    // Figure 17 of Microsoft's paper: the applications' node, in µs.
    phase(
        &mut trace,
        power_phase::SUSPEND_APPS,
        2 * SECOND,
        2 * SECOND + 1_320_415 * US,
    );
    told(
        &mut trace,
        NotificationKind::ApplicationSuspend,
        r"C:\a\slow.exe",
        2 * SECOND,
        Some(2 * SECOND + 400_000 * US),
    );
    told(
        &mut trace,
        NotificationKind::ApplicationSuspend,
        "quick.exe",
        3 * SECOND,
        Some(3 * SECOND + 72_485 * US),
    );
    phase(
        &mut trace,
        power_phase::SUSPEND_SERVICES,
        4 * SECOND,
        35 * SECOND,
    );
    told(
        &mut trace,
        NotificationKind::ServiceSuspend,
        "Slowsvc",
        4 * SECOND + 5,
        Some(34 * SECOND + 5),
    );
    told(
        &mut trace,
        NotificationKind::ServiceSuspend,
        "Quicksvc",
        34 * SECOND + 10,
        Some(34 * SECOND + 10 + MS),
    );
    sleep_state(&mut trace, 36 * SECOND, 4, "4");
    wake(&mut trace, 37 * SECOND, 4);
    phase(
        &mut trace,
        power_phase::RESUME_DEVICES,
        37 * SECOND,
        38 * SECOND,
    );
    milestone_value(
        &mut trace,
        39 * SECOND,
        milestone::POWER_END_UTC,
        "",
        Some(unix + 336 * SECOND),
    );
    milestone(
        &mut trace,
        39 * SECOND,
        milestone::WAKE_SOURCE,
        "power button",
    );
    milestone_value(
        &mut trace,
        39 * SECOND,
        milestone::POWER_SUSPEND_TIME,
        "",
        Some(33_990 * MS),
    );
    milestone_value(
        &mut trace,
        39 * SECOND,
        milestone::POWER_RESUME_TIME,
        "",
        Some(2_000 * MS),
    );
    milestone_value(
        &mut trace,
        39 * SECOND,
        milestone::POWER_FIRMWARE_TIME,
        "",
        Some(310 * MS),
    );
    milestone_value(
        &mut trace,
        39 * SECOND,
        milestone::POWER_DRIVER_WAKE_TIME,
        "",
        Some(990 * MS),
    );
    milestone_value(
        &mut trace,
        39 * SECOND,
        milestone::POWER_HIBERNATE_WRITE_TIME,
        "",
        Some(0),
    );
    milestone_value(
        &mut trace,
        39 * SECOND,
        milestone::POWER_HIBERNATE_READ_TIME,
        "",
        Some(0),
    );
    trace
}

#[test]
fn a_sleep_is_measured_and_its_slow_service_found() {
    let transition = only(&sleep_with_slow_service());
    assert_eq!(transition.kind, PowerTransitionKind::Sleep);
    assert_eq!(transition.kind_certainty, Certainty::Measured);
    assert_eq!(transition.suspend.measured.duration_ns, Some(34 * SECOND));
    assert_eq!(transition.suspend.measured.certainty, Certainty::Measured);
    assert_eq!(transition.suspend.difference_ns, Some(10 * MS));
    assert_eq!(transition.resume.measured.duration_ns, Some(2 * SECOND));
    assert_eq!(transition.resume.difference_ns, Some(0));
    assert_eq!(transition.work_ns, Some(36 * SECOND));
    assert_eq!(transition.wake_source, "power button");
    assert_eq!(transition.reason, Some(7));

    let services = find(&transition, PowerPhaseName::SuspendServices);
    assert_eq!(services.duration_ns, Some(31 * SECOND));
    assert_eq!(
        (services.children, services.children_total_ns),
        (2, Some(30 * SECOND + MS))
    );
    let slow = transition
        .notifications
        .iter()
        .find(|row| row.name == "Slowsvc")
        .unwrap();
    assert_eq!(slow.duration_ns, Some(30 * SECOND));
    assert_eq!(
        slow.time_out.as_ref().unwrap().limit_ns,
        SERVICE_TIME_OUT_NS
    );
    let answered = transition
        .notifications
        .iter()
        .filter(|row| row.time_out.is_none());
    assert_eq!(answered.count(), 3);
}

#[test]
fn what_the_children_do_not_account_for_is_the_papers_number() {
    let transition = only(&sleep_with_slow_service());
    let apps = find(&transition, PowerPhaseName::SuspendApps);
    assert_eq!(apps.duration_ns, Some(1_320_415 * US));
    assert_eq!(apps.children_total_ns, Some(472_485 * US));
    assert_eq!(apps.not_in_children_ns, Some(847_930 * US));
    let slow = &transition.notifications[0];
    assert_eq!(
        (slow.name.as_str(), slow.path.as_str()),
        ("slow.exe", r"C:\a\slow.exe")
    );
}

#[test]
fn the_clock_that_stood_still_is_told_by_the_walls() {
    let gap = only(&sleep_with_slow_service()).asleep;
    assert_eq!(gap.measured.duration_ns, Some(SECOND));
    // 336 s by the wall, 37 s by the recording's clock.
    assert_eq!(gap.clock_missed_ns, Some(299 * SECOND));
    assert_eq!(gap.wall_ns, Some(300 * SECOND));
    assert_eq!(gap.wall_certainty, Certainty::Measured);
}

#[test]
fn without_real_times_a_clock_that_was_set_tells_how_long_it_slept() {
    let mut trace = recording();
    sleep_state(&mut trace, 5 * SECOND, 4, "4");
    wake(&mut trace, 6 * SECOND, 4);
    milestone_value(
        &mut trace,
        7 * SECOND,
        milestone::CLOCK_SET,
        "",
        Some(60_000),
    );
    let gap = only(&trace).asleep;
    assert_eq!(
        (gap.clock_set_ns, gap.wall_ns),
        (Some(60 * SECOND), Some(61 * SECOND))
    );
    assert_eq!(gap.wall_certainty, Certainty::Inferred);
}

#[test]
fn the_kernels_account_gives_phases_the_events_cannot() {
    let transition = only(&sleep_with_slow_service());
    let length = |name| find(&transition, name).duration_ns;
    assert_eq!(length(PowerPhaseName::BiosInit), Some(310 * MS));
    assert_eq!(length(PowerPhaseName::ResumeCritical), Some(990 * MS));
    assert_eq!(length(PowerPhaseName::Asleep), Some(SECOND));
    let none = [PowerPhaseName::HiberWrite, PowerPhaseName::HiberRead];
    assert!(
        transition
            .phases
            .iter()
            .all(|phase| !none.contains(&phase.name))
    );
    let order: Vec<&str> = transition
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert_eq!(
        order,
        [
            "SuspendApps",
            "SuspendServices",
            "Asleep",
            "BiosInit",
            "ResumeCritical",
            "ResumeDevices",
            "PostResume"
        ]
    );
}

/// Devices that go to sleep side by side: one holds the phase for 20 s.
#[test]
fn the_device_that_ends_a_phase_is_named_with_what_it_cost() {
    let mut trace = recording();
    whole(&mut trace, 0, None);
    phase(
        &mut trace,
        power_phase::SUSPEND_DEVICES,
        2 * SECOND,
        23 * SECOND,
    );
    let (system, own) = (PowerStateKind::System, PowerStateKind::Device);
    request(
        &mut trace,
        (0xa, "PCI\\A", "disk"),
        (system, 4),
        (2 * SECOND, 3 * SECOND),
    );
    request(
        &mut trace,
        (0xb, "ROOT\\PIWD", "piwddev"),
        (system, 4),
        (2_910 * MS, 22_926 * MS),
    );
    // Packet 0xa is used again for the second device's own state.
    request(
        &mut trace,
        (0xa, "ROOT\\PIWD", "piwddev"),
        (own, 4),
        (3_500 * MS, 22_900 * MS),
    );
    let driver = trace.strings.intern("piwddev");
    let device = trace.strings.intern("ROOT\\PIWD");
    let part = |irp, start_ns, end_ns| PowerRequest {
        scope: PowerRequestScope::Driver,
        driver,
        device,
        irp,
        start_ns,
        end_ns: Some(end_ns),
        ..trace.power_requests.get(2).unwrap()
    };
    let part = part(0xa, 3_600 * MS, 22_800 * MS);
    trace.power_requests.push(part);
    sleep_state(&mut trace, 24 * SECOND, 4, "4");
    let transition = only(&trace);

    let phase = find(&transition, PowerPhaseName::SuspendDevices);
    let last = phase.last.as_ref().unwrap();
    assert_eq!(
        (last.name.as_str(), last.driver.as_str()),
        ("ROOT\\PIWD", "piwddev")
    );
    assert_eq!((last.duration_ns, last.end_ns), (20_016 * MS, 22_926 * MS));
    assert_eq!(last.after_others_ns, Some(19_926 * MS));
    assert_eq!(phase.children, 2);
    assert_eq!(phase.children_total_ns, Some(21_016 * MS));
    assert_eq!(phase.children_covered_ns, Some(20_926 * MS));
    let [disk, slow] = &transition.devices[..] else {
        panic!("two devices")
    };
    assert_eq!((disk.ends_phase, disk.alone_ns), (false, Some(910 * MS)));
    assert_eq!((slow.ends_phase, slow.alone_ns), (true, Some(19_926 * MS)));
    assert!(disk.nested.is_empty() && disk.drivers.is_empty());
    assert_eq!(slow.nested.len(), 1);
    assert_eq!(slow.nested[0].drivers[0].duration_ns, Some(19_200 * MS));
    assert_eq!(transition.drivers.len(), 1);
    assert_eq!(transition.drivers[0].total_ns, 19_200 * MS);
    assert!(transition.drivers[0].own_part);
    assert!(transition.resume.measured.duration_ns.is_none());
}

#[test]
fn kinds_are_told_apart() {
    type Build = fn(&mut Trace);
    let cases: [(PowerTransitionKind, Build); 9] = [
        (PowerTransitionKind::Sleep, |trace| {
            sleep_state(trace, SECOND, 4, "4");
        }),
        (PowerTransitionKind::Hibernate, |trace| {
            sleep_state(trace, SECOND, 5, "5");
            milestone(trace, 2 * SECOND, milestone::HIBERNATE, "");
        }),
        (PowerTransitionKind::HybridSleep, |trace| {
            sleep_state(trace, SECOND, 4, "5");
            wake(trace, 3 * SECOND, 4);
            milestone_value(
                trace,
                4 * SECOND,
                milestone::POWER_HIBERNATE_WRITE_TIME,
                "",
                Some(900 * MS),
            );
            milestone_value(
                trace,
                4 * SECOND,
                milestone::POWER_HIBERNATE_READ_TIME,
                "",
                Some(0),
            );
        }),
        // Power failed: what was a hybrid sleep is known by the state asked for.
        (PowerTransitionKind::HybridSleep, |trace| {
            milestone_value(
                trace,
                4 * SECOND,
                milestone::POWER_HIBERNATE_WRITE_TIME,
                "",
                Some(900 * MS),
            );
            milestone_value(
                trace,
                4 * SECOND,
                milestone::POWER_HIBERNATE_READ_TIME,
                "",
                Some(0),
            );
        }),
        (PowerTransitionKind::Hibernate, |trace| {
            milestone_value(
                trace,
                SECOND,
                milestone::POWER_HIBERNATE_WRITE_TIME,
                "",
                Some(900 * MS),
            );
            milestone_value(
                trace,
                SECOND,
                milestone::POWER_HIBERNATE_READ_TIME,
                "",
                Some(700 * MS),
            );
        }),
        (PowerTransitionKind::FastStartup, |trace| {
            milestone_value(
                trace,
                SECOND,
                milestone::RESUME_KERNEL_READ_TIME,
                "",
                Some(700 * MS),
            );
            milestone_value(trace, SECOND, milestone::BOOT_TYPE, "", Some(1));
        }),
        (PowerTransitionKind::FastStartup, |trace| {
            milestone(trace, SECOND, milestone::LOGOFF_REQUEST, "");
            phase(trace, power_phase::SUSPEND_DEVICES, 2 * SECOND, 3 * SECOND);
            milestone(trace, 4 * SECOND, milestone::HIBERNATE, "");
        }),
        (PowerTransitionKind::Hibernate, |trace| {
            // Somebody logged off and another one on before it.
            milestone(trace, SECOND, milestone::LOGOFF_REQUEST, "");
            milestone(trace, 2 * SECOND, milestone::DESKTOP_READY, "");
            phase(trace, power_phase::SUSPEND_DEVICES, 3 * SECOND, 4 * SECOND);
            milestone(trace, 5 * SECOND, milestone::HIBERNATE, "");
        }),
        (PowerTransitionKind::Unknown, |trace| {
            phase(trace, power_phase::SUSPEND_APPS, SECOND, 2 * SECOND);
        }),
    ];
    for (at, (kind, build)) in cases.into_iter().enumerate() {
        let mut trace = recording();
        build(&mut trace);
        let transition = only(&trace);
        assert_eq!(transition.kind, kind, "case {at}: {}", transition.kind_rule);
        assert_eq!(
            transition.evidence.is_empty(),
            kind == PowerTransitionKind::Unknown
        );
    }
}

#[test]
fn several_transitions_are_listed_and_one_can_be_chosen() {
    let mut trace = sleep_with_slow_service();
    whole(&mut trace, 50 * SECOND, Some(60 * SECOND));
    phase(
        &mut trace,
        power_phase::SUSPEND_DEVICES,
        51 * SECOND,
        52 * SECOND,
    );
    sleep_state(&mut trace, 53 * SECOND, 5, "5");
    wake(&mut trace, 55 * SECOND, 5);
    // Modern standby knows no phases.
    milestone_value(
        &mut trace,
        70 * SECOND,
        milestone::STANDBY_ENTER,
        "",
        Some(15),
    );
    milestone_value(
        &mut trace,
        80 * SECOND,
        milestone::STANDBY_EXIT,
        "",
        Some(31),
    );
    milestone_value(
        &mut trace,
        80 * SECOND,
        milestone::STANDBY_TIME,
        "",
        Some(9_990 * MS),
    );
    let report = analyse(&trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.transitions_found, 3);
    let kinds: Vec<_> = report
        .transitions
        .iter()
        .map(|row| (row.number, row.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            (1, PowerTransitionKind::Sleep),
            (2, PowerTransitionKind::Hibernate),
            (3, PowerTransitionKind::ModernStandby)
        ]
    );
    let standby = &report.transitions[2];
    assert_eq!(standby.asleep.measured.duration_ns, Some(10 * SECOND));
    let figures = standby.standby.as_ref().unwrap();
    assert_eq!(
        (figures.enter_reason, figures.exit_reason),
        (Some(15), Some(31))
    );
    assert_eq!(figures.total_ns, Some(9_990 * MS));

    let choose = |number| {
        let options = SuspendOptions {
            transition: Some(number),
            ..SuspendOptions::default()
        };
        analyse(&trace, &options)
    };
    let second = choose(2).unwrap();
    assert_eq!((second.transitions_found, second.transitions.len()), (3, 1));
    assert_eq!(second.transitions[0], report.transitions[1]);
    assert_eq!(
        choose(4).unwrap_err().to_string(),
        "the recording holds 3 power transitions, so there is no transition 4"
    );
}

#[test]
fn without_begin_and_end_the_phases_tell_where_transitions_lie() {
    let mut trace = recording();
    for start in [10, 40] {
        phase(
            &mut trace,
            power_phase::QUERY_APPS,
            start * SECOND,
            (start + 1) * SECOND,
        );
        phase(
            &mut trace,
            power_phase::SUSPEND_DEVICES,
            (start + 1) * SECOND,
            (start + 3) * SECOND,
        );
        phase(
            &mut trace,
            power_phase::RESUME_DEVICES,
            (start + 9) * SECOND,
            (start + 10) * SECOND,
        );
        phase(
            &mut trace,
            power_phase::RESUME_APPS,
            (start + 10) * SECOND,
            (start + 11) * SECOND,
        );
    }
    let report = analyse(&trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.transitions.len(), 2);
    for (transition, start) in report.transitions.iter().zip([10, 40]) {
        assert_eq!(transition.start_ns, start * SECOND);
        assert_eq!(transition.suspend.measured.duration_ns, Some(3 * SECOND));
        assert_eq!(transition.suspend.measured.certainty, Certainty::Inferred);
        assert_eq!(transition.resume.measured.duration_ns, Some(2 * SECOND));
        assert!(
            transition
                .missing
                .contains(&"the kernel's end of the transition".to_owned())
        );
    }
}

#[test]
fn a_fast_startup_goes_from_the_logoff_to_the_settled_desktop() {
    let mut trace = recording();
    trace.system.processors = 1;
    milestone(&mut trace, SECOND, milestone::LOGOFF_REQUEST, "1");
    told(
        &mut trace,
        NotificationKind::ApplicationShutdown,
        "app.exe",
        2 * SECOND,
        Some(4 * SECOND),
    );
    phase(
        &mut trace,
        power_phase::SUSPEND_APPS,
        5 * SECOND,
        6 * SECOND,
    );
    phase(
        &mut trace,
        power_phase::SUSPEND_DEVICES,
        6 * SECOND,
        8 * SECOND,
    );
    milestone(&mut trace, 9 * SECOND, milestone::HIBERNATE, "");
    wake(&mut trace, 10 * SECOND, 5);
    phase(
        &mut trace,
        power_phase::RESUME_DEVICES,
        10 * SECOND,
        11 * SECOND,
    );
    for (name, ms) in [
        (milestone::RESUME_FIRMWARE_TIME, 2_500),
        (milestone::RESUME_BOOT_MANAGER_TIME, 300),
        (milestone::RESUME_LOADER_TIME, 900),
        (milestone::RESUME_LOADER_READ_TIME, 600),
        (milestone::RESUME_KERNEL_READ_TIME, 1_200),
        (milestone::RESUME_DEVICES_TIME, 1_000),
        (milestone::HIBERNATE_FILE_TIME, 1_700),
    ] {
        milestone_value(&mut trace, 11 * SECOND, name, "", Some(ms * MS));
    }
    milestone(
        &mut trace,
        12 * SECOND,
        milestone::IDLE_DETECTION_BEGIN,
        "fast_startup",
    );
    process(&mut trace, 500, "explorer.exe", Some(14 * SECOND), None);
    milestone(&mut trace, 16 * SECOND, milestone::DESKTOP_READY, "");
    // One busy second after the desktop, then nothing but idle.
    thread(&mut trace, 8, 500, None, None);
    switches(
        &mut trace,
        &[
            (0, 0, 8, 0, 0),
            (16 * SECOND, 0, 0, 8, 8),
            (17 * SECOND, 0, 8, 0, 0),
            (40 * SECOND, 0, 0, 0, 0),
        ],
    );
    trace.duration_ns = 40 * SECOND;
    let transition = only(&trace);
    assert_eq!(transition.kind, PowerTransitionKind::FastStartup);
    let length = |name| find(&transition, name).duration_ns;
    assert_eq!(length(PowerPhaseName::UserSession), Some(4 * SECOND));
    assert_eq!(length(PowerPhaseName::HiberWrite), Some(1_700 * MS));
    assert_eq!(length(PowerPhaseName::HiberRead), Some(1_800 * MS));
    assert_eq!(length(PowerPhaseName::WinLogonInit), Some(3 * SECOND));
    assert_eq!(length(PowerPhaseName::ExplorerInit), Some(2 * SECOND));
    assert_eq!(transition.post_resume.start_ns, Some(16 * SECOND));
    assert_eq!(transition.post_resume.busy_ns, SECOND);
    assert_eq!(transition.suspend.measured.duration_ns, Some(8 * SECOND));
    assert_eq!(
        transition.notifications[0].phase,
        PowerPhaseName::UserSession
    );
    let parts = transition.resume_parts.as_ref().unwrap();
    assert_eq!(
        parts.total_ns,
        Some((2_500 + 300 + 900 + 1_200 + 1_000) * MS)
    );
    assert!(fast_startup(&trace, &SuspendOptions::default()).is_some());
}

#[test]
fn after_a_resume_idle_time_is_looked_for_until_the_next_transition() {
    let mut trace = recording();
    trace.system.processors = 1;
    thread(&mut trace, 8, 500, None, None);
    switches(&mut trace, &[(0, 0, 8, 0, 0), (100 * SECOND, 0, 0, 0, 0)]);
    for start in [1, 6] {
        sleep_state(&mut trace, start * SECOND, 4, "4");
        wake(&mut trace, (start + 1) * SECOND, 4);
        phase(
            &mut trace,
            power_phase::RESUME_DEVICES,
            (start + 1) * SECOND,
            (start + 2) * SECOND,
        );
    }
    let report = analyse(&trace, &SuspendOptions::default()).unwrap();
    let settled: Vec<_> = report
        .transitions
        .iter()
        .map(|row| row.post_resume.end_ns)
        .collect();
    assert_eq!(settled, [None, Some(18 * SECOND)]);
    assert!(
        report.transitions[0]
            .post_resume
            .rule
            .contains("the time looked at ends")
    );
}

#[test]
fn the_kernel_loggers_records_alone_tell_a_sleep() {
    let mut trace = recording();
    let name = trace.strings.intern("2");
    let event = trace.strings.intern("Power/ActionStart");
    trace.activities.push(Activity {
        kind: ActivityKind::PowerTransition,
        name,
        detail: StringId::EMPTY,
        start_ns: SECOND,
        end_ns: Some(9 * SECOND),
        pid: None,
        session: None,
        status: Some(0),
        event,
    });
    let system = PowerStateKind::System;
    request(
        &mut trace,
        (1, "A", "a"),
        (system, 4),
        (2 * SECOND, 4 * SECOND),
    );
    request(
        &mut trace,
        (2, "A", "a"),
        (system, 1),
        (7 * SECOND, 8 * SECOND),
    );
    let transition = only(&trace);
    assert_eq!(transition.kind, PowerTransitionKind::Sleep);
    assert_eq!(transition.kind_certainty, Certainty::Inferred);
    assert_eq!(
        find(&transition, PowerPhaseName::SuspendDevices).duration_ns,
        Some(2 * SECOND)
    );
    assert_eq!(
        find(&transition, PowerPhaseName::ResumeDevices).certainty,
        Certainty::Inferred
    );
    assert_eq!(transition.suspend.measured.duration_ns, Some(3 * SECOND));
    assert_eq!(transition.resume.measured.duration_ns, Some(2 * SECOND));
}

#[test]
fn a_shutdown_and_a_boot_are_no_transition() {
    let mut trace = recording();
    whole(&mut trace, SECOND, None);
    activity(
        &mut trace,
        ActivityKind::KernelShutdownStep,
        "graceful",
        2 * SECOND,
        None,
    );
    milestone_value(&mut trace, 3 * SECOND, milestone::BOOT_TYPE, "", Some(0));
    let absence = analyse(&trace, &SuspendOptions::default()).unwrap_err();
    assert!(matches!(absence, NoSuspend::None(_)));
    assert!(
        absence
            .to_string()
            .starts_with("the recording holds no sleep")
    );
}
