//! Checks durations, clocks, kernel times and requests.

use super::*;
use crate::Variant;

#[test]
fn a_sleep_is_measured_and_its_slow_service_identified() {
    let transition = single_transition(&sleep_with_slow_service());
    assert_eq!(transition.variant, Variant::Sleep);
    assert_eq!(transition.details.variant_certainty, Certainty::Measured);
    assert_eq!(transition.details.suspend.measured.duration_ns, Some(34 * SECOND));
    assert_eq!(transition.details.suspend.measured.certainty, Certainty::Measured);
    assert_eq!(transition.details.suspend.difference_ns, Some(10 * MS));
    assert_eq!(transition.details.resume.measured.duration_ns, Some(2 * SECOND));
    assert_eq!(transition.details.resume.difference_ns, Some(0));
    // The firmware is part of the resume, although no event covers it.
    assert_eq!(transition.details.resume.whole_ns, Some(2_310 * MS));
    assert_eq!(transition.total_ns, Some(36_310 * MS));
    assert_eq!(transition.details.wake_source, "power button");
    assert_eq!(transition.details.reason, Some(7));

    let services = find(&transition, PhaseName::SuspendServices);
    assert_eq!(services.duration_ns, Some(31 * SECOND));
    assert_eq!((services.work.items, services.work.total_ns), (2, 30 * SECOND + MS));
    let slow = transition.details.notifications.iter().find(|row| row.name == "Slowsvc").unwrap();
    assert_eq!(slow.duration_ns, Some(30 * SECOND));
    assert_eq!(slow.details.time_out.as_ref().unwrap().limit_ns, Some(SERVICE_TIME_OUT_NS));
    let responsive = transition.details.notifications.iter().filter(|row| row.details.time_out.is_none());
    assert_eq!(responsive.count(), 3);
}

#[test]
fn the_time_outside_notifications_matches_the_paper() {
    let transition = single_transition(&sleep_with_slow_service());
    let apps = find(&transition, PhaseName::SuspendApps);
    assert_eq!(apps.duration_ns, Some(1_320_415 * US));
    assert_eq!(apps.work.total_ns, 472_485 * US);
    assert_eq!(apps.work.other_ns, Some(847_930 * US));
    let slow = &transition.details.notifications[0];
    assert_eq!((slow.name.as_str(), slow.path.as_str()), ("slow.exe", r"C:\a\slow.exe"));
}

#[test]
fn the_wall_clock_reveals_the_time_asleep() {
    let gap = single_transition(&sleep_with_slow_service()).details.asleep;
    assert_eq!(gap.measured.duration_ns, Some(SECOND));
    // 336 s on the wall clock, 37 s on the recording's clock.
    assert_eq!(gap.clock_missed_ns, Some(299 * SECOND));
    // Of the 300 s between the records, the firmware took 310 ms.
    assert_eq!(gap.wall_ns, Some(299_690 * MS));
    assert_eq!(gap.wall_certainty, Certainty::Measured);
}

#[test]
fn a_clock_set_back_gives_no_negative_sleep() {
    let mut trace = sleep_with_slow_service();
    let name = trace.strings.find(milestone::POWER_END_UTC).unwrap();
    let set_back = |row: Milestone| match row.name == name {
        true => Milestone { value: row.value.map(|ns| ns - 400 * SECOND), ..row },
        false => row,
    };
    trace.milestones = trace.milestones.iter().map(set_back).collect();
    let transition = single_transition(&trace);
    assert_eq!(transition.details.asleep.wall_ns, None);
    assert_eq!(transition.details.asleep.wall_certainty, Certainty::Missing);
    assert!(transition.details.asleep.wall_rule.to_string().contains("the clock was changed"));
    assert_eq!(transition.total_ns, Some(36_310 * MS), "suspend and resume do not depend on that clock");
}

#[test]
fn a_phase_that_ends_after_the_resume_gives_no_negative_sleep() {
    let mut trace = sleep_with_slow_service();
    // The end of the phase was recorded after the computer had resumed.
    phase(&mut trace, power_phase::FLUSH_VOLUMES, 35 * SECOND, 38 * SECOND);
    let transition = single_transition(&trace);
    assert_eq!(transition.details.asleep.measured.duration_ns, Some(SECOND));
    assert_eq!(transition.details.suspend.measured.end_ns, Some(36 * SECOND));
}

/// Two hibernations with only a few recorded events: the image record comes after the wake-up in the first, and before
/// it in the second.
#[test]
fn an_image_record_after_the_resume_starts_no_new_transition() {
    let mut trace = recording();
    for (start, recorded_after) in [(1, true), (20, false)] {
        let time = |offset: i64| (start + offset) * SECOND;
        if !recorded_after {
            milestone_value(&mut trace, time(0), milestone::HIBERNATE, "", None);
        }
        sleep_state(&mut trace, time(1), 5, "5");
        wake(&mut trace, time(2), 5);
        if recorded_after {
            milestone_value(&mut trace, time(3), milestone::HIBERNATE, "", None);
        }
        milestone_value(&mut trace, time(4), milestone::POWER_HIBERNATE_WRITE_TIME, "", Some(7 * SECOND));
        milestone_value(&mut trace, time(4), milestone::POWER_HIBERNATE_READ_TIME, "", Some(5 * SECOND));
    }
    let report = analyze(&trace, &SuspendOptions::default()).unwrap();
    assert_eq!(report.transitions.len(), 2);
    for transition in &report.transitions {
        assert_eq!(transition.variant, Variant::Hibernate);
        assert_eq!(find(transition, PhaseName::HiberWrite).duration_ns, Some(7 * SECOND));
        assert!(transition.details.asleep.measured.duration_ns.is_some_and(|ns| ns >= 0));
    }
    let starts: Vec<_> =
        report.transitions.iter().map(|transition| find(transition, PhaseName::HiberWrite).start_ns).collect();
    assert_eq!(starts, [None, Some(20 * SECOND)]);
}

#[test]
fn without_wall_clock_times_a_clock_change_gives_the_time_asleep() {
    let mut trace = recording();
    sleep_state(&mut trace, 5 * SECOND, 4, "4");
    wake(&mut trace, 6 * SECOND, 4);
    milestone_value(&mut trace, 7 * SECOND, milestone::CLOCK_SET, "", Some(60_000));
    let gap = single_transition(&trace).details.asleep;
    // The wall clock stopped before the sleep, so the clock change equals the whole time asleep.
    assert_eq!((gap.clock_adjustment_ns, gap.wall_ns), (Some(60 * SECOND), Some(60 * SECOND)));
    assert_eq!((gap.clock_missed_ns, gap.wall_certainty), (Some(59 * SECOND), Certainty::Inferred));
}

/// In Kernel-General event 1, reason 2 is a sleep; reason 1 is a program or the time service.
#[test]
fn a_clock_change_by_a_program_is_not_time_asleep() {
    let sleep_times = |clock_sets: &[(i64, i64)]| {
        let mut trace = recording();
        sleep_state(&mut trace, 5 * SECOND, 4, "4");
        wake(&mut trace, 6 * SECOND, 4);
        for &(by_ms, reason) in clock_sets {
            milestone_value(&mut trace, 7 * SECOND + reason, milestone::CLOCK_SET, "", Some(by_ms));
            milestone_value(&mut trace, 7 * SECOND + reason, milestone::CLOCK_SET_REASON, "", Some(reason));
        }
        let gap = single_transition(&trace).details.asleep;
        (gap.clock_adjustment_ns, gap.wall_ns)
    };
    assert_eq!(sleep_times(&[(60_000, 2)]), (Some(60 * SECOND), Some(60 * SECOND)));
    assert_eq!(sleep_times(&[(90_000, 1)]), (None, None));
    assert_eq!(sleep_times(&[(90_000, 1), (60_000, 2)]), (Some(60 * SECOND), Some(60 * SECOND)));
}

/// If the kernel adjusts the recording's clock, the first record after the sleep has the time at which the clock stopped.
#[test]
fn a_wake_record_before_the_clock_change_is_after_the_sleep() {
    let mut trace = recording();
    transition(&mut trace, 2 * SECOND, Some(80 * SECOND));
    sleep_state(&mut trace, 5 * SECOND, 4, "4");
    wake(&mut trace, 5 * SECOND + 10 * MS, 4);
    milestone_value(&mut trace, 76 * SECOND, milestone::CLOCK_SET, "", Some(70_500));
    milestone_value(&mut trace, 76 * SECOND, milestone::CLOCK_SET_REASON, "", Some(2));
    let transition = single_transition(&trace);
    assert_eq!(transition.details.suspend.measured.duration_ns, Some(3 * SECOND + 10 * MS));
    assert_eq!(transition.details.asleep.measured.duration_ns, Some(71 * SECOND - 10 * MS));
    assert_eq!(transition.details.resume.measured.duration_ns, Some(4 * SECOND));
}

/// A clock that keeps running includes writing the image before the sleep and the firmware after it. Neither is time
/// asleep.
#[test]
fn writing_the_image_and_firmware_are_not_time_asleep() {
    let mut trace = recording();
    transition(&mut trace, 2 * SECOND, Some(62 * SECOND));
    let unix = 1_700_000_000 * SECOND;
    milestone_value(&mut trace, 2 * SECOND, milestone::POWER_BEGIN_UTC, "", Some(unix));
    milestone_value(&mut trace, 10 * SECOND, milestone::HIBERNATE, "", None);
    sleep_state(&mut trace, 10 * SECOND, 4, "5");
    wake(&mut trace, 60 * SECOND, 4);
    milestone_value(&mut trace, 61 * SECOND, milestone::POWER_HIBERNATE_WRITE_TIME, "", Some(8 * SECOND));
    milestone_value(&mut trace, 61 * SECOND, milestone::POWER_FIRMWARE_TIME, "", Some(2 * SECOND));
    milestone_value(&mut trace, 62 * SECOND, milestone::POWER_END_UTC, "", Some(unix + 60 * SECOND));
    let transition = single_transition(&trace);
    assert_eq!(transition.variant, Variant::HybridSleep);
    let asleep = find(&transition, PhaseName::Asleep);
    assert_eq!((asleep.start_ns, asleep.end_ns), (Some(18 * SECOND), Some(58 * SECOND)));
    assert_eq!(transition.details.asleep.wall_ns, Some(40 * SECOND));
    assert_eq!(transition.total_ns, Some(20 * SECOND));
}

/// Only the field names of event 507 say that its unit is microseconds.
#[test]
fn modern_standby_times_are_reported_only_if_the_clock_agrees() {
    let figures = |total_ns| {
        let mut trace = recording();
        milestone_value(&mut trace, 10 * SECOND, milestone::STANDBY_ENTER, "", Some(15));
        milestone_value(&mut trace, 30 * SECOND, milestone::STANDBY_EXIT, "", Some(31));
        milestone_value(&mut trace, 30 * SECOND, milestone::STANDBY_TIME, "", Some(total_ns));
        milestone_value(&mut trace, 30 * SECOND, milestone::STANDBY_DEEPEST_TIME, "", Some(total_ns / 2));
        let transition = single_transition(&trace);
        let figures = transition.details.standby.clone().unwrap();
        assert_eq!(find(&transition, PhaseName::Standby).duration_ns, Some(20 * SECOND));
        (figures.total_ns, figures.deepest_ns)
    };
    assert_eq!(figures(19_900 * MS), (Some(19_900 * MS), Some(9_950 * MS)));
    // Milliseconds or 100 ns ticks that were mistaken for microseconds.
    assert_eq!(figures(20 * MS), (None, None));
    assert_eq!(figures(200 * SECOND), (None, None));
}

#[test]
fn kernel_times_give_phases_without_events() {
    let transition = single_transition(&sleep_with_slow_service());
    let length = |name| find(&transition, name).duration_ns;
    assert_eq!(length(PhaseName::BiosInit), Some(310 * MS));
    assert_eq!(length(PhaseName::ResumeCritical), Some(990 * MS));
    assert_eq!(length(PhaseName::Asleep), Some(SECOND));
    let absent = [PhaseName::HiberWrite, PhaseName::HiberRead];
    assert!(transition.phases.iter().all(|phase| !absent.contains(&phase.name)));
    let order: Vec<&str> = transition.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(
        order,
        ["SuspendApps", "SuspendServices", "Asleep", "BiosInit", "ResumeCritical", "ResumeDevices", "PostResume"]
    );
}

/// Devices suspend in parallel; one of them delays the phase by 20 s.
#[test]
fn the_device_that_ends_a_phase_is_named_with_its_cost() {
    let mut trace = recording();
    transition(&mut trace, 0, None);
    phase(&mut trace, power_phase::SUSPEND_DEVICES, 2 * SECOND, 23 * SECOND);
    let (system, device_state) = (PowerStateKind::System, PowerStateKind::Device);
    request(&mut trace, (0xa, "PCI\\A", "disk"), (system, 4), (2 * SECOND, 3 * SECOND));
    request(&mut trace, (0xb, "ROOT\\PIWD", "piwddev"), (system, 4), (2_910 * MS, 22_926 * MS));
    // The address of IRP 0xa is reused for the second device's own power state.
    request(&mut trace, (0xa, "ROOT\\PIWD", "piwddev"), (device_state, 4), (3_500 * MS, 22_900 * MS));
    let driver = trace.strings.intern("piwddev");
    let device = trace.strings.intern("ROOT\\PIWD");
    let driver_part = |irp, start_ns, end_ns| PowerRequest {
        scope: PowerRequestScope::Driver,
        driver,
        device,
        irp,
        start_ns,
        end_ns: Some(end_ns),
        ..trace.power_requests.get(2).unwrap()
    };
    let part = driver_part(0xa, 3_600 * MS, 22_800 * MS);
    trace.power_requests.push(part);
    sleep_state(&mut trace, 24 * SECOND, 4, "4");
    let transition = single_transition(&trace);

    let phase = find(&transition, PhaseName::SuspendDevices);
    let last_finished = phase.work.last.as_ref().unwrap();
    assert_eq!((last_finished.name.as_str(), last_finished.driver.as_str()), ("ROOT\\PIWD", "piwddev"));
    assert_eq!((last_finished.duration_ns, last_finished.end_ns), (20_016 * MS, 22_926 * MS));
    assert_eq!(last_finished.after_others_ns, Some(19_926 * MS));
    assert_eq!(phase.work.items, 2);
    assert_eq!(phase.work.total_ns, 21_016 * MS);
    assert_eq!(phase.work.covered_ns, 20_926 * MS);
    let [disk, slow] = &transition.details.devices[..] else { panic!("two devices") };
    assert_eq!((disk.details.ends_phase, disk.details.exclusive_ns), (false, Some(910 * MS)));
    assert_eq!((slow.details.ends_phase, slow.details.exclusive_ns), (true, Some(19_926 * MS)));
    assert!(disk.details.nested.is_empty() && disk.details.drivers.is_empty());
    assert_eq!(slow.details.nested.len(), 1);
    assert_eq!(slow.details.nested[0].details.drivers[0].duration_ns, Some(19_200 * MS));
    assert_eq!(transition.details.drivers.len(), 1);
    assert_eq!(transition.details.drivers[0].total_ns, 19_200 * MS);
    assert!(transition.details.drivers[0].is_own_part);
    assert!(transition.details.resume.measured.duration_ns.is_none());
}

#[test]
fn idle_time_after_a_resume_is_searched_until_the_next_transition() {
    let mut trace = recording();
    trace.system.processors = 1;
    thread(&mut trace, 8, 500, None, None);
    switches(&mut trace, &[(0, 0, 8, 0, 0), (100 * SECOND, 0, 0, 0, 0)]);
    for start in [1, 6] {
        sleep_state(&mut trace, start * SECOND, 4, "4");
        wake(&mut trace, (start + 1) * SECOND, 4);
        phase(&mut trace, power_phase::RESUME_DEVICES, (start + 1) * SECOND, (start + 2) * SECOND);
    }
    let report = analyze(&trace, &SuspendOptions::default()).unwrap();
    let settled: Vec<_> = report.transitions.iter().map(|row| row.settling.as_ref().unwrap().end_ns).collect();
    assert_eq!(settled, [None, Some(18 * SECOND)]);
    assert!(report.transitions[0].settling.as_ref().unwrap().rule.to_string().contains("the analyzed interval ended"));
}
