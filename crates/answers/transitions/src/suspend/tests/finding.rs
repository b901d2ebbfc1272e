//! Checks that transitions and their kinds are found.

use super::*;
use crate::Variant;

#[test]
fn kinds_are_distinguished() {
    type Build = fn(&mut Trace);
    let cases: [(Variant, Build); 9] = [
        (Variant::Sleep, |trace| {
            sleep_state(trace, SECOND, 4, "4");
        }),
        (Variant::Hibernate, |trace| {
            sleep_state(trace, SECOND, 5, "5");
            milestone(trace, 2 * SECOND, milestone::HIBERNATE, "");
        }),
        (Variant::HybridSleep, |trace| {
            sleep_state(trace, SECOND, 4, "5");
            wake(trace, 3 * SECOND, 4);
            milestone_value(trace, 4 * SECOND, milestone::POWER_HIBERNATE_WRITE_TIME, "", Some(900 * MS));
            milestone_value(trace, 4 * SECOND, milestone::POWER_HIBERNATE_READ_TIME, "", Some(0));
        }),
        // After a power failure, only the requested state reveals a hybrid sleep.
        (Variant::HybridSleep, |trace| {
            milestone_value(trace, 4 * SECOND, milestone::POWER_HIBERNATE_WRITE_TIME, "", Some(900 * MS));
            milestone_value(trace, 4 * SECOND, milestone::POWER_HIBERNATE_READ_TIME, "", Some(0));
        }),
        (Variant::Hibernate, |trace| {
            milestone_value(trace, SECOND, milestone::POWER_HIBERNATE_WRITE_TIME, "", Some(900 * MS));
            milestone_value(trace, SECOND, milestone::POWER_HIBERNATE_READ_TIME, "", Some(700 * MS));
        }),
        (Variant::FastStartup, |trace| {
            milestone_value(trace, SECOND, milestone::RESUME_KERNEL_READ_TIME, "", Some(700 * MS));
            milestone_value(trace, SECOND, milestone::BOOT_TYPE, "", Some(1));
        }),
        (Variant::FastStartup, |trace| {
            milestone(trace, SECOND, milestone::LOGOFF_REQUEST, "");
            phase(trace, power_phase::SUSPEND_DEVICES, 2 * SECOND, 3 * SECOND);
            milestone(trace, 4 * SECOND, milestone::HIBERNATE, "");
        }),
        (Variant::Hibernate, |trace| {
            // A user logged off and another user logged on before the hibernation.
            milestone(trace, SECOND, milestone::LOGOFF_REQUEST, "");
            milestone(trace, 2 * SECOND, milestone::DESKTOP_READY, "");
            phase(trace, power_phase::SUSPEND_DEVICES, 3 * SECOND, 4 * SECOND);
            milestone(trace, 5 * SECOND, milestone::HIBERNATE, "");
        }),
        (Variant::Unknown, |trace| {
            phase(trace, power_phase::SUSPEND_APPS, SECOND, 2 * SECOND);
        }),
    ];
    for (index, (kind, build)) in cases.into_iter().enumerate() {
        let mut trace = recording();
        build(&mut trace);
        let transition = single_transition(&trace);
        assert_eq!(transition.variant, kind, "case {index}: {}", transition.details.variant_rule);
        assert_eq!(transition.details.evidence.is_empty(), kind == Variant::Unknown);
    }
}

#[test]
fn transitions_are_listed_and_one_can_be_selected() {
    let mut trace = sleep_with_slow_service();
    transition(&mut trace, 50 * SECOND, Some(60 * SECOND));
    phase(&mut trace, power_phase::SUSPEND_DEVICES, 51 * SECOND, 52 * SECOND);
    sleep_state(&mut trace, 53 * SECOND, 5, "5");
    wake(&mut trace, 55 * SECOND, 5);
    // Modern standby has no phases.
    milestone_value(&mut trace, 70 * SECOND, milestone::STANDBY_ENTER, "", Some(15));
    milestone_value(&mut trace, 80 * SECOND, milestone::STANDBY_EXIT, "", Some(31));
    milestone_value(&mut trace, 80 * SECOND, milestone::STANDBY_TIME, "", Some(9_990 * MS));
    let report = analyze(&trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.found, 3);
    let kinds: Vec<_> = report.transitions.iter().map(|row| (row.number, row.variant)).collect();
    assert_eq!(kinds, [(1, Variant::Sleep), (2, Variant::Hibernate), (3, Variant::ModernStandby)]);
    let standby = &report.transitions[2];
    assert_eq!(standby.details.asleep.measured.duration_ns, Some(10 * SECOND));
    let figures = standby.details.standby.as_ref().unwrap();
    assert_eq!((figures.enter_reason, figures.exit_reason), (Some(15), Some(31)));
    assert_eq!(figures.total_ns, Some(9_990 * MS));

    let select = |number| {
        let options = SuspendOptions { transition: Some(number), ..SuspendOptions::default() };
        analyze(&trace, &options)
    };
    let selected = select(2).unwrap();
    assert_eq!((selected.found, selected.transitions.len()), (3, 1));
    assert_eq!(selected.transitions[0], report.transitions[1]);
    assert_eq!(select(4).unwrap_err().to_string(), "no transition 4: this recording has 3 power transitions");
}

#[test]
fn phases_reveal_transitions_without_start_and_end() {
    let mut trace = recording();
    for start in [10, 40] {
        phase(&mut trace, power_phase::QUERY_APPS, start * SECOND, (start + 1) * SECOND);
        phase(&mut trace, power_phase::SUSPEND_DEVICES, (start + 1) * SECOND, (start + 3) * SECOND);
        phase(&mut trace, power_phase::RESUME_DEVICES, (start + 9) * SECOND, (start + 10) * SECOND);
        phase(&mut trace, power_phase::RESUME_APPS, (start + 10) * SECOND, (start + 11) * SECOND);
    }
    let report = analyze(&trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.transitions.len(), 2);
    for (transition, start) in report.transitions.iter().zip([10, 40]) {
        assert_eq!(transition.start_ns, Some(start * SECOND));
        assert_eq!(transition.details.suspend.measured.duration_ns, Some(3 * SECOND));
        assert_eq!(transition.details.suspend.measured.certainty, Certainty::Inferred);
        assert_eq!(transition.details.resume.measured.duration_ns, Some(2 * SECOND));
        assert!(transition.details.unmatched_rules.contains(&Rule::KernelTransitionEnds));
    }
}

#[test]
fn a_fast_startup_lasts_from_logoff_to_the_idle_desktop() {
    let mut trace = recording();
    trace.system.processors = 1;
    milestone(&mut trace, SECOND, milestone::LOGOFF_REQUEST, "1");
    notify(&mut trace, NotificationKind::ApplicationShutdown, "app.exe", 2 * SECOND, Some(4 * SECOND));
    phase(&mut trace, power_phase::SUSPEND_APPS, 5 * SECOND, 6 * SECOND);
    phase(&mut trace, power_phase::SUSPEND_DEVICES, 6 * SECOND, 8 * SECOND);
    milestone(&mut trace, 9 * SECOND, milestone::HIBERNATE, "");
    wake(&mut trace, 10 * SECOND, 5);
    phase(&mut trace, power_phase::RESUME_DEVICES, 10 * SECOND, 11 * SECOND);
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
    milestone(&mut trace, 12 * SECOND, milestone::IDLE_DETECTION_BEGIN, "fast_startup");
    process(&mut trace, 500, "explorer.exe", Some(14 * SECOND), None);
    milestone(&mut trace, 16 * SECOND, milestone::DESKTOP_READY, "");
    // One busy second after the desktop, then only idle time.
    thread(&mut trace, 8, 500, None, None);
    switches(
        &mut trace,
        &[(0, 0, 8, 0, 0), (16 * SECOND, 0, 0, 8, 8), (17 * SECOND, 0, 8, 0, 0), (40 * SECOND, 0, 0, 0, 0)],
    );
    trace.duration_ns = 40 * SECOND;
    let transition = single_transition(&trace);
    assert_eq!(transition.variant, Variant::FastStartup);
    let length = |name| find(&transition, name).duration_ns;
    assert_eq!(length(PhaseName::UserSession), Some(4 * SECOND));
    assert_eq!(length(PhaseName::HiberWrite), Some(1_700 * MS));
    assert_eq!(length(PhaseName::HiberRead), Some(1_800 * MS));
    assert_eq!(length(PhaseName::WinLogonInit), Some(3 * SECOND));
    assert_eq!(length(PhaseName::ExplorerInit), Some(2 * SECOND));
    assert_eq!(transition.settling.as_ref().unwrap().start_ns, Some(16 * SECOND));
    assert_eq!(transition.settling.as_ref().unwrap().busy_ns, SECOND);
    assert_eq!(transition.details.suspend.measured.duration_ns, Some(8 * SECOND));
    assert_eq!(transition.details.notifications[0].details.phase, PhaseName::UserSession);
    let parts = transition.details.resume_parts.as_ref().unwrap();
    assert_eq!(parts.total_ns, Some((2_500 + 300 + 900 + 1_200 + 1_000) * MS));
    assert!(fast_startup(&trace, &SuspendOptions::default()).is_some());
}

#[test]
fn kernel_logger_records_alone_reveal_a_sleep() {
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
        tid: None,
        end_tid: None,
        session: None,
        status: Some(0),
        event,
    });
    let system = PowerStateKind::System;
    request(&mut trace, (1, "A", "a"), (system, 4), (2 * SECOND, 4 * SECOND));
    request(&mut trace, (2, "A", "a"), (system, 1), (7 * SECOND, 8 * SECOND));
    let transition = single_transition(&trace);
    assert_eq!(transition.variant, Variant::Sleep);
    assert_eq!(transition.details.variant_certainty, Certainty::Inferred);
    assert_eq!(find(&transition, PhaseName::SuspendDevices).duration_ns, Some(2 * SECOND));
    assert_eq!(find(&transition, PhaseName::ResumeDevices).certainty, Certainty::Inferred);
    assert_eq!(transition.details.suspend.measured.duration_ns, Some(3 * SECOND));
    assert_eq!(transition.details.resume.measured.duration_ns, Some(2 * SECOND));
}

#[test]
fn a_shutdown_or_boot_is_not_a_suspend() {
    let mut trace = recording();
    transition(&mut trace, SECOND, None);
    activity(&mut trace, ActivityKind::KernelShutdownStep, "graceful", 2 * SECOND, None);
    milestone_value(&mut trace, 3 * SECOND, milestone::BOOT_TYPE, "", Some(0));
    let absence = analyze(&trace, &SuspendOptions::default()).unwrap_err();
    assert!(matches!(absence, NoSuspend::None(_)));
    assert!(absence.to_string().starts_with("no sleep, hibernation"));
}
