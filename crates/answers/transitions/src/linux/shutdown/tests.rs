#![allow(clippy::unwrap_used)]

use crate::Variant;
use onoff_evidence::missing_evidence::UnknownFact;
use onoff_trace::{
    ActivityKind, DependencyKind, NotificationKind, Process, ServiceDependency, SystemKind, TableSet, Trace, milestone,
    shutdown_step,
};

use super::*;

use onoff_testkit::synthetic::{MS, activity, as_linux, milestone, notification, service_stop};

fn linux() -> Trace {
    let mut trace = as_linux(Trace { requested_tables: TableSet::all(), duration_ns: 20_000 * MS, ..Trace::default() });
    trace.system.kind = SystemKind::Linux;
    trace.system.processors = 2;
    trace
}

fn stop(trace: &mut Trace, name: &str, pid: u32, start_ms: i64, end_ms: i64) {
    service_stop(trace, name, pid, (start_ms * MS, None, Some(end_ms * MS)));
}

fn after(trace: &mut Trace, service: &str, on: &str) {
    let service = trace.strings.intern(service);
    let on = trace.strings.intern(on);
    trace.service_dependencies.push(ServiceDependency { service, kind: DependencyKind::After, on });
}

fn child_of_manager(trace: &mut Trace, pid: u32, image: &str, start_ms: i64, end_ms: i64) {
    let image = trace.strings.intern(image);
    trace.processes.push(Process {
        parent_pid: Some(1),
        start_ns: Some(start_ms * MS),
        end_ns: Some(end_ms * MS),
        image,
        ..Process::unknown(pid)
    });
}

/// Returns a shutdown in which units stop from 10.1 s on. `slow` takes 5 s, and `late` stops only after `slow`.
fn slow() -> Trace {
    let mut trace = linux();
    milestone(&mut trace, 10_000 * MS, milestone::SHUTDOWN_REQUEST, "poweroff");
    // Long before the shutdown, so not part of it.
    stop(&mut trace, "early.service", 50, 2_000, 9_500);
    stop(&mut trace, "graphical.target", 0, 10_100, 10_100);
    stop(&mut trace, "quick.service", 60, 10_150, 10_300);
    stop(&mut trace, "slow.service", 70, 10_200, 15_200);
    stop(&mut trace, "basic.target", 0, 15_210, 15_210);
    stop(&mut trace, "late.service", 80, 15_300, 15_500);
    child_of_manager(&mut trace, 98, "/usr/bin/sleep", 10_210, 15_180);
    milestone(&mut trace, 15_600 * MS, milestone::TARGET_REACHED, "poweroff.target");
    milestone(&mut trace, 15_700 * MS, milestone::SHUTDOWN_EXECUTOR, "");
    trace
}

fn systemd_shutdown(trace: &mut Trace) {
    for (kind, name, start, end) in [
        (ActivityKind::ShutdownStep, shutdown_step::TERMINATE_REMAINING, 15_800, 16_000),
        (ActivityKind::ShutdownStep, shutdown_step::KILL_REMAINING, 16_000, 16_100),
        (ActivityKind::ShutdownStep, shutdown_step::UNMOUNT, 16_100, 16_400),
        (ActivityKind::ShutdownStep, shutdown_step::SHUTDOWN_HOOKS, 16_400, 17_000),
        (ActivityKind::KernelShutdownStep, shutdown_step::KERNEL_STOP, 17_000, 17_250),
    ] {
        activity(trace, kind, name, start * MS, Some(end * MS));
    }
}

#[test]
fn the_slow_unit_is_longest_and_the_total_is_from_request_to_stop() {
    let mut trace = slow();
    systemd_shutdown(&mut trace);
    let report = analyze(&trace).unwrap();
    assert_eq!(report.variant, Variant::PowerOff);
    assert_eq!(report.total_ns, Some(7_250 * MS));
    assert_eq!(report.total_certainty, Certainty::Measured);
    let longest = report.details.longest.as_ref().unwrap();
    assert_eq!((longest.name.as_str(), longest.is_unit), ("slow.service", true));
    assert_eq!(longest.duration_ns, 5_000 * MS);
    assert!(longest.on_path);
    assert_eq!(longest.reason.to_string(), "4.97 s in its stop command: sleep, pid 98");
    let lengths: Vec<(&str, Option<i64>)> =
        report.phases.iter().map(|phase| (phase.name.as_str(), phase.duration_ns.map(|ns| ns / MS))).collect();
    assert_eq!(
        lengths,
        [
            ("stop_units", Some(5_700)),
            ("sync", Some(100)),
            ("terminate_remaining", Some(200)),
            ("kill_remaining", Some(100)),
            ("unmount", Some(300)),
            ("hooks", Some(600)),
            ("kernel", Some(250)),
        ]
    );
    assert_eq!(report.units.len(), 5);
    assert_eq!(report.units[0].name, "graphical.target");
}

#[test]
fn waits_are_declared_or_inferred() {
    let mut trace = slow();
    // Without declared order, the unit that stopped last counts.
    let report = analyze(&trace).unwrap();
    let path: Vec<(&str, Certainty)> =
        report.details.path.iter().map(|step| (step.name.as_str(), step.certainty)).collect();
    assert_eq!(path[0].0, "late.service");
    assert_eq!(path[1], ("basic.target", Certainty::Inferred));
    assert_eq!(path[2], ("slow.service", Certainty::Inferred));
    assert!(report.missing_evidence.items.iter().any(|part| part.unknown == UnknownFact::UnitStopOrder));

    after(&mut trace, "slow.service", "basic.target");
    after(&mut trace, "quick.service", "basic.target");
    after(&mut trace, "basic.target", "late.service");
    let report = analyze(&trace).unwrap();
    let unit = report.units.iter().find(|unit| unit.name == "basic.target").unwrap();
    let wait = unit.waited_for.as_ref().unwrap();
    assert_eq!((wait.name.as_str(), wait.gap_ns), ("slow.service", 10 * MS));
    assert_eq!(wait.certainty, Certainty::Measured);
    assert_eq!(report.details.path[1].certainty, Certainty::Measured);
    assert_eq!(report.details.path[2].name, "slow.service");
}

#[test]
fn a_journal_alone_gives_a_partial_result() {
    let mut trace = slow();
    trace.duration_ns = 15_900 * MS;
    let report = analyze(&trace).unwrap();
    assert_eq!(report.total_ns, None);
    assert_eq!(report.total_at_least_ns, 5_900 * MS);
    assert_eq!(report.details.ends.time_ns, None);
    assert_eq!(report.details.longest.unwrap().name, "slow.service");
    let kernel = report.phases.iter().find(|phase| phase.name == PhaseName::Kernel).unwrap();
    assert_eq!((kernel.start_ns, kernel.end_ns), (None, None));
    assert!(report.missing_evidence.items.iter().any(|part| part.unknown == UnknownFact::AfterUnits));
    assert!(report.missing_evidence.items.iter().any(|part| part.unknown == UnknownFact::MachineStopped));
}

#[test]
fn without_a_request_the_series_of_stops_sets_the_start() {
    let mut trace = slow();
    let request = trace.strings.find(milestone::SHUTDOWN_REQUEST);
    let rows: Vec<_> = trace.milestones.iter().filter(|row| Some(row.name) != request).collect();
    trace.milestones = rows.into_iter().collect();
    // `early` stopped 600 ms before the next stop started, so it belongs to the series.
    let report = analyze(&trace).unwrap();
    assert_eq!(report.details.starts.certainty, Certainty::Inferred);
    assert_eq!(report.details.starts.time_ns, Some(2_000 * MS));
    stop(&mut trace, "boot.service", 10, 500, 600);
    let report = analyze(&trace).unwrap();
    assert_eq!(report.details.starts.time_ns, Some(500 * MS));
}

#[test]
fn a_pause_ends_the_series_of_stops() {
    let mut trace = linux();
    stop(&mut trace, "long-ago.service", 10, 500, 600);
    stop(&mut trace, "a.service", 20, 8_000, 8_100);
    stop(&mut trace, "b.service", 21, 8_050, 9_000);
    milestone(&mut trace, 9_100 * MS, milestone::TARGET_REACHED, "reboot.target");
    let report = analyze(&trace).unwrap();
    assert_eq!(report.details.starts.time_ns, Some(8_000 * MS));
    assert_eq!(report.variant, Variant::Restart);
    assert_eq!(report.units.len(), 2);
}

#[test]
fn processes_are_signaled_or_killed() {
    let mut trace = slow();
    systemd_shutdown(&mut trace);
    trace.processes.push(Process {
        end_ns: Some(10_290 * MS),
        image: trace.strings.intern("quickd"),
        ..Process::unknown(60)
    });
    let signal = |trace: &mut Trace, pid, time_ms: i64| {
        notification(trace, (NotificationKind::ApplicationShutdown, Some(pid), None, 0), time_ms * MS, None);
    };
    signal(&mut trace, 60, 10_160);
    signal(&mut trace, 70, 10_205);
    notification(&mut trace, (NotificationKind::Termination, Some(70), None, 0), 15_190 * MS, None);
    *trace.notifications.name.last_mut().unwrap() = trace.strings.intern("slow.service");
    let report = analyze(&trace).unwrap();
    assert_eq!(report.details.killed.len(), 1);
    assert_eq!(report.details.killed[0].name, "slow.service");
    let quick = report.details.processes.iter().find(|process| process.pid == 60).unwrap();
    assert_eq!(quick.duration_ns, Some(130 * MS));
    assert_eq!((quick.image.as_str(), quick.unit.as_str()), ("quickd", "quick.service"));
    assert!(!quick.killed);
    let slow = report.details.processes.iter().find(|process| process.pid == 70).unwrap();
    assert!(slow.killed);
    assert_eq!(slow.duration_ns, None);
    let unit = report.units.iter().find(|unit| unit.name == "slow.service").unwrap();
    assert!(unit.time_out.is_some());
    assert!(report.details.longest.unwrap().reason.to_string().contains("was killed"));
}

#[test]
fn a_boot_is_not_a_shutdown() {
    let mut trace = linux();
    stop(&mut trace, "plymouth-quit.service", 10, 500, 600);
    milestone(&mut trace, 1_000 * MS, milestone::TARGET_REACHED, "multi-user.target");
    let error = analyze(&trace).unwrap_err();
    assert!(error.reason.contains("no shutdown"), "{}", error.reason);
}

#[test]
fn random_traces_are_analyzed_without_panic() {
    use onoff_testkit::hostile::{ExtremeValues, hostile_trace};
    let mut report_count = 0;
    for seed in 0..1_000 {
        let mut trace = hostile_trace(seed);
        let mut any = ExtremeValues(!seed);
        let names: Vec<_> = [
            shutdown_step::TERMINATE_REMAINING,
            shutdown_step::KILL_REMAINING,
            shutdown_step::UNMOUNT,
            shutdown_step::SHUTDOWN_HOOKS,
            shutdown_step::KERNEL_STOP,
        ]
        .map(|name| trace.strings.intern(name))
        .to_vec();
        let rows: Vec<_> = trace.activities.iter().collect();
        trace.activities = rows
            .into_iter()
            .map(|row| onoff_trace::Activity {
                kind: any.pick(&[ActivityKind::ShutdownStep, ActivityKind::KernelShutdownStep]),
                name: any.pick(&names),
                ..row
            })
            .collect();
        let units = trace.service_transitions.service.clone();
        for _ in 0..any.below(8) {
            if units.is_empty() {
                break;
            }
            let row =
                ServiceDependency { service: any.pick(&units), kind: DependencyKind::After, on: any.pick(&units) };
            trace.service_dependencies.push(row);
        }
        report_count += usize::from(analyze(&trace).is_ok());
    }
    assert!(report_count > 100, "{report_count}");
}
