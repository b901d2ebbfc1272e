//! Analyzes complete synthetic shutdowns. The first has the numbers from the Microsoft paper's explanation of
//! KernelShutdown.

use crate::Variant;
use onoff_trace::{ActivityKind, IoPriority, NotificationKind as Kind, Trace, milestone, shutdown_step};

use super::*;
use onoff_testkit::hostile::hostile_trace;
use onoff_testkit::synthetic::{
    MS, activity, disk, milestone, milestone_value, notification, process, service_stop, session_shutdown, thread,
};
use onoff_usage::units::{ServiceNotification, TimeOutKind};

const US: i64 = 1_000;
const S: i64 = 1_000 * MS;

/// Returns the shutdown from the paper: session 1 lasts from 448 to 7091 ms (6642 ms), session 0 from 8335 to 11010 ms
/// (2675 ms), and the shutdown 13066 ms, so 3749 ms remain for the kernel. The paper truncates to milliseconds.
fn paper() -> Trace {
    let mut trace = Trace { duration_ns: 13_066_900 * US, ..Trace::default() };
    trace.system.os_build = 7601;
    process(&mut trace, 4, "System", None, None);
    process(&mut trace, 600, "services.exe", None, None);
    process(&mut trace, 900, "mail.exe", None, Some(4_640 * MS));
    process(&mut trace, 904, "player.exe", None, None);
    process(&mut trace, 908, "spoolsv.exe", None, Some(10_990 * MS));
    milestone(&mut trace, 100 * US, milestone::SHUTDOWN_REQUEST, "1");
    session_shutdown(&mut trace, 1, 448_300 * US, Some(7_091_100 * US));
    let notified = (Kind::ApplicationShutdown, Some(900), None, 1);
    notification(&mut trace, notified, 450 * MS, Some(4_650 * MS));
    let notified = (Kind::ApplicationShutdown, Some(904), None, 1);
    notification(&mut trace, notified, 4_650 * MS, Some(4_960 * MS));
    let name = shutdown_step::PRE_SHUTDOWN_NOTIFICATION;
    activity(&mut trace, ActivityKind::ShutdownStep, name, 7_100 * MS, Some(7_800 * MS));
    service_stop(&mut trace, "Search", 912, (7_101 * MS, Some(7_106 * MS), Some(7_799 * MS)));
    session_shutdown(&mut trace, 0, 8_335_200 * US, Some(11_010_400 * US));
    let notified = (Kind::ApplicationShutdown, Some(600), None, 0);
    notification(&mut trace, notified, 8_336 * MS, Some(11_010 * MS));
    service_stop(&mut trace, "Spooler", 908, (8_340 * MS, Some(8_342 * MS), Some(10_940 * MS)));
    service_stop(&mut trace, "Dhcp", 916, (8_341 * MS, None, Some(8_461 * MS)));
    milestone(&mut trace, 11_020 * MS, milestone::KERNEL_SHUTDOWN, "");
    milestone_value(&mut trace, 11_021 * MS, milestone::SHUTDOWN_ACTION, "0", Some(6));
    let kernel = ActivityKind::KernelShutdownStep;
    let end = Some(13_066_700 * US);
    activity(&mut trace, kernel, shutdown_step::GRACEFUL_SHUTDOWN, 11_022 * MS, end);
    activity(&mut trace, kernel, shutdown_step::REGISTRY, 11_500 * MS, Some(12_400 * MS));
    disk(&mut trace, 1_000 * MS, 5 * MS, IoPriority::Normal, "mail.dat");
    disk(&mut trace, 12_000 * MS, 7 * MS, IoPriority::Normal, "SOFTWARE");
    trace
}

fn analyze_with_defaults(trace: &Trace) -> ShutdownReport {
    analyze(trace, &ShutdownOptions::default()).unwrap()
}

fn ms(ns: i64) -> i64 {
    ns / MS
}

#[test]
fn kernel_time_matches_the_paper() {
    let report = analyze_with_defaults(&paper());
    assert_eq!(report.variant, Variant::PowerOff);
    assert_eq!(report.total_ns, Some(13_066_600 * US));
    assert_eq!(report.total_certainty, Certainty::Measured);
    type Row = (Option<u32>, i64, Option<i64>, Option<i64>);
    let sessions: Vec<Row> = report
        .details
        .sessions
        .iter()
        .map(|row| (row.session, ms(row.start_ns), row.end_ns.map(ms), row.duration_ns.map(ms)))
        .collect();
    assert_eq!(sessions, [(Some(1), 448, Some(7_091), Some(6_642)), (Some(0), 8_335, Some(11_010), Some(2_675)),]);
    let difference = report.details.difference;
    assert!(difference.ended);
    assert_eq!(ms(difference.shutdown_ns) - 6_642 - 2_675, 3_749);
    assert_eq!(difference.kernel_ns, (13_066_600 - 6_642_800 - 2_675_200) * US);
}

#[test]
fn a_shutdown_lasts_until_the_last_kernel_step() {
    // A step within the orderly part does not determine the end.
    let report = analyze_with_defaults(&paper());
    assert_eq!(report.details.ends.rule, Rule::KernelOrderlyShutdownEnds);
    // After the orderly part, the page file is cleared for 3 s.
    let mut trace = paper();
    trace.duration_ns = 17 * S;
    let kernel = ActivityKind::KernelShutdownStep;
    activity(&mut trace, kernel, shutdown_step::ZERO_PAGE_FILE, 13_067 * MS, Some(16_067 * MS));
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.total_ns, Some(16_067 * MS - 100 * US));
    assert_eq!(report.details.ends.rule, Rule::KernelLastStepEnds);
    // A last step that does not end in the recording leaves the end of the shutdown unknown.
    let mut trace = paper();
    trace.duration_ns = 17 * S;
    activity(&mut trace, kernel, shutdown_step::ZERO_PAGE_FILE, 13_067 * MS, None);
    let report = analyze_with_defaults(&trace);
    assert_eq!((report.total_ns, report.total_certainty), (None, Certainty::Missing));
}

#[test]
fn phases_and_intervals_between_them_add_up_to_the_total() {
    let report = analyze_with_defaults(&paper());
    let phases: Vec<(&str, Option<i64>, Option<i64>, Certainty)> = report
        .phases
        .iter()
        .map(|phase| {
            let name = phase.name.as_str();
            (name, phase.start_ns.map(ms), phase.end_ns.map(ms), phase.certainty)
        })
        .collect();
    let measured = Certainty::Measured;
    assert_eq!(
        phases,
        [
            ("UserSession", Some(448), Some(7_091), measured),
            ("SystemSession", Some(7_100), Some(11_010), measured),
            ("KernelShutdown", Some(11_020), Some(13_066), measured),
        ]
    );
    let in_phases_ns: i64 = report.phases.iter().filter_map(|phase| phase.duration_ns).sum();
    let between_phases_ns: i64 = report.details.intervals.iter().map(|row| row.duration_ns).sum();
    assert_eq!(Some(in_phases_ns + between_phases_ns), report.total_ns);
    let names: Vec<&str> = report.details.intervals.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["request to UserSession", "UserSession to SystemSession", "SystemSession to KernelShutdown"]);
    // Disk requests count in the phase in which they completed.
    let reads = |name| {
        let disk = report.phase(name).unwrap().disk.as_ref().unwrap();
        disk.operations.read.operations
    };
    assert_eq!(reads(PhaseName::UserSession), 1);
    assert_eq!(reads(PhaseName::SystemSession), 0);
    assert_eq!(reads(PhaseName::KernelShutdown), 1);
}

#[test]
fn applications_and_services_have_durations() {
    let report = analyze_with_defaults(&paper());
    let user = &report.details.sessions[0];
    assert_eq!(user.applications_ns, 4_510 * MS);
    assert_eq!(user.other_ns, Some(6_642_800 * US - 4_510 * MS));
    let mail = &user.applications[0];
    assert_eq!(mail.name, "mail.exe");
    assert_eq!(mail.duration_ns, Some(4_200 * MS));
    assert_eq!(mail.details.process_end_ns, Some(4_640 * MS));
    assert_eq!(user.applications[1].details.process_end_ns, None);
    assert_eq!(mail.details.program, ProgramKind::Unknown);
    let services: Vec<(&str, Option<i64>, ServiceNotification, bool)> = report
        .units
        .iter()
        .map(|row| (row.name.as_str(), row.duration_ns.map(ms), row.notification, row.time_out.is_some()))
        .collect();
    assert_eq!(
        services,
        [
            ("Search", Some(698), ServiceNotification::PreShutdown, false),
            ("Spooler", Some(2_600), ServiceNotification::Shutdown, false),
            ("Dhcp", Some(120), ServiceNotification::Shutdown, false),
        ]
    );
    assert_eq!(report.details.service_time_out.limit_ns, Some(12 * S));
    // The service control manager is skipped, because it only waits for its services.
    let longest = report.details.longest.unwrap();
    assert_eq!((longest.kind, longest.name.as_str()), (LongestKind::Application, "mail.exe"));
}

/// Appendix A of the paper: a console program that does not respond takes 5 of 17 s.
#[test]
fn a_console_program_is_terminated_after_its_time_out() {
    let mut trace = Trace { duration_ns: 17 * S, ..Trace::default() };
    process(&mut trace, 900, "slow_shutdown.exe", None, Some(6_020 * MS));
    process(&mut trace, 904, "editor.exe", None, Some(400 * MS));
    milestone(&mut trace, 0, milestone::SHUTDOWN_REQUEST, "1");
    session_shutdown(&mut trace, 1, 200 * MS, Some(6_100 * MS));
    let notified = (Kind::ApplicationShutdown, Some(904), None, 1);
    notification(&mut trace, notified, 300 * MS, Some(450 * MS));
    let notified = (Kind::ThreadShutdown, None, Some(5_000), 1);
    notification(&mut trace, notified, 310 * MS, Some(440 * MS));
    let notified = (Kind::ApplicationShutdown, Some(900), None, 1);
    notification(&mut trace, notified, 1_000 * MS, Some(6_050 * MS));
    let killed = (Kind::Termination, None, None, 1);
    notification(&mut trace, killed, 6_001 * MS, Some(6_030 * MS));
    milestone(&mut trace, 7 * S, milestone::KERNEL_SHUTDOWN, "");
    let kernel = ActivityKind::KernelShutdownStep;
    activity(&mut trace, kernel, shutdown_step::GRACEFUL_SHUTDOWN, 7 * S, Some(17 * S));
    let report = analyze_with_defaults(&trace);
    let editor = &report.details.sessions[0].applications[0];
    assert_eq!(editor.details.program, ProgramKind::Window);
    assert_eq!(editor.details.threads[0].duration_ns, Some(130 * MS));
    assert!(editor.details.time_outs.is_empty() && !editor.details.terminated);
    let slow = &report.details.sessions[0].applications[1];
    assert_eq!(slow.details.program, ProgramKind::Console);
    assert!(slow.details.terminated);
    let [limit] = &slow.details.time_outs[..] else {
        panic!("{:?}", slow.details.time_outs);
    };
    assert_eq!(limit.kind, TimeOutKind::Console);
    assert_eq!((limit.at_ns, limit.limit_ns), (Some(6 * S), Some(5 * S)));
    assert_eq!(limit.certainty, Certainty::Measured);
    let longest = report.details.longest.unwrap();
    assert_eq!(longest.name, "slow_shutdown.exe");
    assert_eq!(longest.duration_ns, 5_050 * MS);
    assert_eq!(longest.reason.to_string(), "console program, terminated after its 5.00 s timeout");
}

/// The user forces the shutdown, so Windows asks the window again, for 0.25 and 0.5 s.
#[test]
fn a_hung_window_is_asked_again_in_a_forced_shutdown() {
    let mut trace = Trace { duration_ns: 12 * S, ..Trace::default() };
    process(&mut trace, 900, "hung.exe", None, Some(8 * S));
    session_shutdown(&mut trace, 1, 0, Some(9 * S));
    let notified = (Kind::ApplicationShutdown, Some(900), None, 1);
    notification(&mut trace, notified, 0, Some(8 * S));
    let asked = (Kind::ThreadShutdown, Some(900), Some(904), 1);
    notification(&mut trace, asked, 10 * MS, Some(5_010 * MS));
    notification(&mut trace, asked, 7 * S, Some(7_750 * MS));
    let report = analyze_with_defaults(&trace);
    let hung = &report.details.sessions[0].applications[0];
    let kinds: Vec<(TimeOutKind, Option<i64>, Certainty)> =
        hung.details.time_outs.iter().map(|limit| (limit.kind, limit.limit_ns, limit.certainty)).collect();
    assert_eq!(
        kinds,
        [
            (TimeOutKind::Window, Some(5 * S), Certainty::Measured),
            (TimeOutKind::Forced, Some(750 * MS), Certainty::Inferred),
        ]
    );
}

#[test]
fn a_service_that_never_stops_has_a_measured_time_out() {
    // The system session lasts as long as the service control manager waits.
    let mut trace = Trace { duration_ns: 30 * S, ..Trace::default() };
    trace.system.os_build = 7601;
    session_shutdown(&mut trace, 0, S, Some(13_100 * MS));
    service_stop(&mut trace, "Stuck", 700, (1_050 * MS, Some(1_060 * MS), None));
    service_stop(&mut trace, "Good", 704, (1_051 * MS, Some(1_052 * MS), Some(2 * S)));
    let report = analyze_with_defaults(&trace);
    let stuck = report.units.iter().find(|row| row.name == "Stuck").unwrap();
    assert!(stuck.time_out.is_some());
    let limit = stuck.time_out.as_ref().unwrap();
    assert_eq!((limit.limit_ns, limit.certainty), (Some(12 * S), Certainty::Measured));
    assert_eq!(limit.at_ns, Some(13_050 * MS));
    assert!(report.units.iter().all(|row| row.name == "Stuck" || row.time_out.is_none()));
    let longest = report.details.longest.unwrap();
    assert_eq!(longest.name, "Stuck");
    assert_eq!(longest.reason.to_string(), "did not stop within the service timeout of 12.0 s");

    // A configured timeout overrides the default of the Windows version.
    let options = ShutdownOptions { service_time_out_ns: Some(900 * MS) };
    let report = analyze(&trace, &options).unwrap();
    assert!(report.units.iter().all(|row| row.time_out.is_some()));
    assert_eq!(report.details.service_time_out.certainty, Certainty::Measured);
}

#[test]
fn service_time_out_depends_on_the_version() {
    let limit = |build: u32| {
        let mut trace = Trace::default();
        trace.system.os_build = build;
        services::time_out(&trace, &ShutdownOptions::default()).limit_ns
    };
    assert_eq!(limit(0), None);
    assert_eq!(limit(6_002), Some(20 * S));
    assert_eq!(limit(7_600), Some(12 * S));
    assert_eq!(limit(18_362), Some(5 * S));
}

#[test]
fn a_recording_that_ends_in_the_kernel_phase_has_no_total() {
    let mut trace = paper();
    trace.duration_ns = 12 * S;
    trace.activities = trace
        .activities
        .iter()
        .filter(|row| row.start_ns < 12 * S)
        .map(|mut row| {
            row.end_ns = row.end_ns.filter(|&end| end < 12 * S);
            row
        })
        .collect();
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.total_ns, None);
    assert_eq!(report.total_at_least_ns, 12 * S - 100 * US);
    assert_eq!(report.total_certainty, Certainty::Missing);
    let kernel = report.phase(PhaseName::KernelShutdown).unwrap();
    assert_eq!((kernel.start_ns, kernel.end_ns), (Some(11_020 * MS), None));
    assert_eq!(kernel.recorded_ns, 980 * MS);
    assert_eq!(
        kernel.ends.unmatched_rules,
        [Rule::KernelOrderlyShutdownEnds, Rule::WindowsAccount { field: "ShutdownKernelTime" }]
    );
    assert!(!report.details.difference.ended);
    let sessions = (6_642_800 + 2_675_200) * US;
    assert_eq!(report.details.difference.kernel_ns, 12 * S - 100 * US - sessions);
}

#[test]
fn the_user_part_of_a_fast_startup_ends_where_the_memory_image_starts() {
    let mut trace = Trace { duration_ns: 9 * S, ..Trace::default() };
    milestone(&mut trace, 10 * MS, milestone::LOGOFF_REQUEST, "1");
    session_shutdown(&mut trace, 1, 100 * MS, Some(900 * MS));
    activity(&mut trace, ActivityKind::PowerTransition, "4", 1_500 * MS, None);
    milestone(&mut trace, 3 * S, milestone::HIBERNATE, "");
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.variant, Variant::FastStartup);
    assert_eq!(report.total_ns, Some(1_490 * MS));
    let user = report.phase(PhaseName::UserSession).unwrap();
    // From the request on, everything is the end of the session: work after the applications belongs to the logoff.
    assert_eq!((user.start_ns, user.end_ns), (Some(10 * MS), Some(1_500 * MS)));
    assert_eq!(report.phase(PhaseName::KernelShutdown).unwrap().start_ns, None);
}

#[test]
fn an_earlier_logoff_is_not_part_of_the_shutdown() {
    let mut trace = paper();
    session_shutdown(&mut trace, 2, 10 * US, Some(20 * US));
    trace.activities = {
        let mut rows: Vec<_> = trace.activities.iter().collect();
        rows.sort_by_key(|row| row.start_ns);
        rows.into_iter().collect()
    };
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.details.sessions.len(), 2);
    assert_eq!(report.details.starts.time_ns, Some(100 * US));
}

/// Returns a trace with only processes, threads and modules, as recorded by the built-in shutdown recorder of Windows.
fn only_exits() -> Trace {
    let mut trace = Trace { duration_ns: 105 * S, ..Trace::default() };
    process(&mut trace, 600, "services.exe", None, None);
    // A program that exited long before the shutdown.
    process(&mut trace, 899, "notepad.exe", None, Some(S));
    for number in 0..12_u32 {
        let end = 100 * S + i64::from(number) * 100 * MS;
        process(&mut trace, 900 + number, "app.exe", None, Some(end));
    }
    for number in 0..5_u32 {
        let end = 101_500 * MS + i64::from(number) * 400 * MS;
        process(&mut trace, 1_000 + number, "svchost.exe", None, Some(end));
    }
    let rows: Vec<_> = trace.processes.iter().collect();
    trace.processes = rows
        .into_iter()
        .map(|mut row| {
            let is_host = (1_000..1_100).contains(&row.pid);
            row.parent_pid = Some(if is_host { 600 } else { 300 });
            row.session = Some(u32::from(!is_host && row.pid != 600));
            row
        })
        .collect();
    thread(&mut trace, 5_000, 911, None, Some(101_050 * MS));
    thread(&mut trace, 5_004, 911, None, Some(101_090 * MS));
    trace
}

#[test]
fn process_exits_give_an_inferred_result() {
    let report = analyze_with_defaults(&only_exits());
    assert_eq!(report.details.starts.time_ns, Some(100 * S));
    assert_eq!(report.details.starts.certainty, Certainty::Inferred);
    let phases: Vec<(Option<i64>, Option<i64>, Certainty)> =
        report.phases.iter().map(|phase| (phase.start_ns.map(ms), phase.end_ns.map(ms), phase.certainty)).collect();
    assert_eq!(
        phases,
        [
            (Some(100_000), Some(101_100), Certainty::Inferred),
            (Some(101_100), Some(103_100), Certainty::Inferred),
            (Some(103_100), None, Certainty::Missing),
        ]
    );
    let exits = &report.details.exits;
    assert_eq!(exits.processes.len(), 17);
    assert_eq!(exits.duration_ns, Some(3_100 * MS));
    assert_eq!(exits.still_running, 1);
    let last_user = exits.processes.iter().find(|exit| exit.pid == 911).unwrap();
    assert_eq!(last_user.dying_ns, Some(50 * MS));
    assert_eq!(last_user.threads_ended, 2);
    assert_eq!(last_user.since_first_ns, 1_100 * MS);
    let longest = report.details.longest.unwrap();
    assert_eq!((longest.kind, longest.duration_ns), (LongestKind::Exit, 400 * MS));
    assert_eq!(longest.certainty, Certainty::Inferred);
    assert_eq!(report.total_ns, None);
    assert_eq!(report.total_at_least_ns, 5 * S);
}

#[test]
fn a_few_process_exits_are_not_a_shutdown() {
    let mut trace = only_exits();
    trace.processes = trace.processes.iter().filter(|row| row.pid < 1_000).collect();
    let error = analyze(&trace, &ShutdownOptions::default()).unwrap_err();
    assert_eq!(error.processes_ended, 13);
    let text = error.to_string();
    assert!(text.starts_with("no shutdown in this recording ("), "{text}");
    assert!(text.ends_with("0 processes started and 13 exited in 105 s"), "{text}");
}

#[test]
fn random_traces_are_analyzed_without_panic() {
    let mut report_count = 0;
    for seed in 0..600 {
        let trace = hostile_trace(seed);
        if let Ok(report) = analyze(&trace, &ShutdownOptions::default()) {
            report_count += 1;
            assert_eq!(report.phases.len(), 3, "seed {seed}");
            let boundaries: Vec<i64> =
                report.phases.iter().flat_map(|phase| [phase.start_ns, phase.end_ns]).flatten().collect();
            assert!(boundaries.is_sorted(), "seed {seed}: {boundaries:?}");
            assert!(report.details.intervals.iter().all(|row| row.duration_ns >= 0), "seed {seed}");
        }
    }
    assert!(report_count > 100, "only {report_count} recordings contained a shutdown");
}
