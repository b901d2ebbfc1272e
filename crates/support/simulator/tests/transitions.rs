//! Compares the tables read from simulated transitions with the truth.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use onoff_files::Options;
use onoff_simulator::{
    Activity, Milestone, Notification, PowerRequest, Scenario, ServiceStop, SimulatedRecording, TickDuration, Truth,
};
use onoff_trace::{ServiceChange, ServiceOutcome, TableSet, Trace};
use onoff_transitions::shutdown::ProgramKind;

fn scenario(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the names of all scenarios that are not boots.
fn names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !scenario(name).is_boot())
        .collect();
    names.sort();
    names
}

fn simulate(name: &str) -> (Truth, Trace) {
    simulate_scenario(&scenario(name))
}

fn simulate_scenario(scenario: &Scenario) -> (Truth, Trace) {
    let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(index, bytes)| {
            let path = folder.path().join(format!("{index}.etl"));
            std::fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    let trace = onoff_files::open(&paths, TableSet::all(), &Options::default()).unwrap();
    (truth, trace)
}

/// Compares row by row, so that a failure shows only the first wrong row.
fn compare<T: PartialEq + std::fmt::Debug>(name: &str, read: &[T], simulated: &[T]) {
    for (read, simulated) in read.iter().zip(simulated) {
        assert_eq!(read, simulated, "{name}");
    }
    assert_eq!(
        read.get(simulated.len()..),
        simulated.get(read.len()..).map(|_| &[][..]),
        "{name}: {} rows read, {} simulated: {:?}",
        read.len(),
        simulated.len(),
        simulated.get(read.len())
    );
}

fn notifications(trace: &Trace) -> Vec<Notification> {
    let rows = trace.notifications.iter().map(|row| Notification {
        kind: row.kind.as_str(),
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        name: trace.text(row.name).to_owned(),
        pid: row.pid,
        tid: row.tid,
        session: row.session,
        level: row.level,
        flags: row.flags,
        status: row.status,
    });
    rows.collect()
}

fn activities(trace: &Trace) -> Vec<Activity> {
    let rows = trace.activities.iter().map(|row| Activity {
        kind: row.kind.as_str(),
        name: trace.text(row.name).to_owned(),
        detail: trace.text(row.detail).to_owned(),
        start_ns: row.start_ns,
        end_ns: row.end_ns,
    });
    rows.collect()
}

fn power_requests(trace: &Trace) -> Vec<PowerRequest> {
    let rows = trace.power_requests.iter().map(|row| PowerRequest {
        kind: row.kind.as_str(),
        scope: row.scope.as_str(),
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        device: trace.text(row.device).to_owned(),
        driver: trace.text(row.driver).to_owned(),
        description: trace.text(row.description).to_owned(),
        state_kind: row.state_kind.as_str(),
        state: row.state,
        status: row.status,
        irp: row.irp,
        waiting_ns: row.waiting_ns,
    });
    rows.collect()
}

fn milestones(trace: &Trace) -> Vec<(String, i64, Option<i64>, String)> {
    let rows = trace.milestones.iter().map(|row| {
        let (name, detail) = (trace.text(row.name), trace.text(row.detail));
        (name.to_owned(), row.time_ns, row.value, detail.to_owned())
    });
    rows.collect()
}

fn true_milestones(rows: &[Milestone]) -> Vec<(String, i64, Option<i64>, String)> {
    let rows = rows.iter().map(|row| (row.name.to_owned(), row.time_ns, row.value, row.detail.clone()));
    rows.collect()
}

fn compare_stops(name: &str, trace: &Trace, simulated: &[ServiceStop]) {
    let mut read = trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Stop);
    for simulated in simulated {
        let row = read.next().unwrap();
        let service = trace.text(row.service);
        assert_eq!(service, simulated.name, "{name}");
        assert_eq!(row.start_ns, simulated.start_ns, "{name}: {service}");
        assert_eq!(row.checkpoint_ns, simulated.pending_ns, "{name}: {service}");
        assert_eq!(row.end_ns, simulated.end_ns, "{name}: {service}");
        assert_eq!(row.container_pid, Some(simulated.container_pid), "{name}: {service}");
        let outcome = match simulated.end_ns {
            Some(_) => ServiceOutcome::Completed,
            None => ServiceOutcome::Unfinished,
        };
        assert_eq!(row.outcome, outcome, "{name}: {service}");
    }
    assert!(read.next().is_none(), "{name}");
}

/// Kinds of activities of transitions; other tests check the activities of a logon.
const TRANSITION_ACTIVITIES: [&str; 6] = [
    "group_policy_script",
    "kernel_shutdown_step",
    "power_phase",
    "power_transition",
    "session_shutdown",
    "shutdown_step",
];

#[test]
fn transitions_match_the_truth() {
    let names = names();
    assert!(names.len() >= 17, "{names:?}");
    for name in names {
        let (truth, trace) = simulate(&name);
        assert_matches(&name, &truth, &trace);
        let starts = trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start).count();
        assert_eq!(starts, 0, "{name}");
    }
}

fn assert_matches(name: &str, truth: &Truth, trace: &Trace) {
    let simulated = &truth.transitions;
    compare(name, &notifications(trace), &simulated.notifications);
    compare(name, &power_requests(trace), &simulated.power_requests);
    let mut read = activities(trace);
    let mut simulated_activities = simulated.activities.clone();
    let mut read_milestones = milestones(trace);
    if truth.desktop_ready_ns.is_some() {
        read.retain(|row| TRANSITION_ACTIVITIES.contains(&row.kind));
        simulated_activities.retain(|row| TRANSITION_ACTIVITIES.contains(&row.kind));
        read_milestones.retain(|(name, _, _, detail)| {
            name.starts_with("power.")
                || name.starts_with("clock.")
                || name.starts_with("shutdown.")
                || ["idle_detection.end", "system.stop"].contains(&name.as_str())
                || detail == "fast_startup"
        });
    }
    compare(name, &read, &simulated_activities);
    compare(name, &read_milestones, &true_milestones(&simulated.milestones));
    compare_stops(name, trace, &simulated.service_stops);
    assert!(!simulated.activities.is_empty() || !simulated.milestones.is_empty());
}

/// Transitions that follow a boot in the same recording.
const TRANSITIONS_AFTER_BOOT: &str = r#"
[[application]]
image = "notepad.exe"
[application.shutdown]
time = "12ms"
gone = "11ms"
[application.suspend]
time = "5ms"

[[device]]
instance = "PCI\\VEN_8086&DEV_1502\\3&11583659&0&C8"
driver = "e1cexpress"
suspend = "5ms"
resume = "8ms"

[[power]]
kind = "sleep"
at = "40s"
asleep = "5s"

[shutdown]
at = "60s"
[shutdown.kernel]
registry = "100ms"
"#;

#[test]
fn reads_sleep_and_shutdown_after_a_boot() {
    let boot = include_str!("../scenarios/services-wes7.toml");
    let scenario = Scenario::from_toml(&format!("{boot}{TRANSITIONS_AFTER_BOOT}")).unwrap();
    let (truth, trace) = simulate_scenario(&scenario);
    assert_matches("services-wes7 and more", &truth, &trace);
    let kinds: Vec<&str> = truth
        .transitions
        .activities
        .iter()
        .filter(|row| ["power_transition", "session_shutdown"].contains(&row.kind))
        .map(|row| row.kind)
        .collect();
    assert_eq!(kinds, ["power_transition", "session_shutdown", "session_shutdown"]);
    // The transitions do not change the boot.
    let boot_truth = Scenario::from_toml(boot).unwrap().simulate().unwrap().truth;
    assert_eq!(truth.desktop_ready_ns, boot_truth.desktop_ready_ns);
    assert_eq!(format!("{:?}", truth.services), format!("{:?}", boot_truth.services));
}

#[test]
fn idle_metric_matches_intervals_after_resume_from_image() {
    let truth = scenario("fast-startup-boot").simulate().unwrap().truth;
    let ready_ns = truth.desktop_ready_ns.unwrap();
    let metric = truth.post_boot.unwrap();
    assert!(metric.is_satisfied && metric.busy_ns > 0);
    // Slices counted during the simulation match slices computed afterwards from the intervals.
    let computed = truth.timeline.idle_metric(ready_ns, truth.end_ns);
    assert_eq!(computed.slices, metric.slices);
    assert_eq!(computed.busy_ns, metric.busy_ns);
}

/// Converts to whole milliseconds, truncated as in the papers.
fn milliseconds(nanoseconds: i64) -> i64 {
    nanoseconds / 1_000_000
}

#[test]
fn kernel_phase_matches_the_paper() {
    let truth = scenario("shutdown-paper-arithmetic").simulate().unwrap().truth;
    let sessions: Vec<(i64, i64, i64)> = truth
        .transitions
        .activities
        .iter()
        .filter(|row| row.kind == "session_shutdown")
        .map(|row| {
            let (start, end) = (row.start_ns, row.end_ns.unwrap());
            (milliseconds(start), milliseconds(end), milliseconds(end - start))
        })
        .collect();
    assert_eq!(sessions, [(448, 7091, 6642), (8335, 11010, 2675)]);
    let kernel = truth.transitions.activity("kernel_shutdown_step", "graceful_shutdown").unwrap();
    let request = truth.transitions.milestone("shutdown.request").unwrap();
    // Both interpretations of the duration: since the start of the recording, and since the request.
    assert_eq!(milliseconds(kernel.end_ns.unwrap()), 13066);
    assert_eq!(milliseconds(kernel.end_ns.unwrap() - request.time_ns), 13066);
    assert_eq!(13066 - sessions[0].2 - sessions[1].2, 3749);
}

fn duration_ns(start_ns: i64, end_ns: Option<i64>) -> i64 {
    end_ns.unwrap() - start_ns
}

#[test]
fn application_timeouts_match_the_paper() {
    let truth = scenario("shutdown-slow-console").simulate().unwrap().truth;
    let slow = truth.processes.iter().find(|process| process.image == "slow_shutdown.exe").unwrap();
    let notification = truth
        .transitions
        .notifications
        .iter()
        .find(|row| row.kind == "application_shutdown" && row.pid == Some(slow.pid))
        .unwrap();
    // In the paper: about 5 s of about 17 s, during which the program uses the CPU.
    assert_eq!(milliseconds(duration_ns(notification.start_ns, notification.end_ns)), 5000);
    assert!(notification.status != Some(0));
    assert!(slow.end_ns.unwrap() <= notification.end_ns.unwrap());
    let usage = truth.timeline.usage(notification.start_ns, notification.end_ns.unwrap());
    assert!(usage.cpu_by_process_ns[&slow.pid] > 4_900_000_000);
    assert_eq!(milliseconds(truth.end_ns) / 1000, 17);

    let truth = scenario("shutdown-hung-window").simulate().unwrap().truth;
    let threads: Vec<i64> = truth
        .transitions
        .notifications
        .iter()
        .filter(|row| row.kind == "thread_shutdown")
        .map(|row| milliseconds(duration_ns(row.start_ns, row.end_ns)))
        .collect();
    // 5 s; after the dialog 0.25 s plus 0.5 s; 15 ms for the other program.
    assert_eq!(threads, [5000, 750, 15]);
}

#[test]
fn slow_services_and_drivers_match_the_paper() {
    let truth = scenario("sleep-slow-service").simulate().unwrap().truth;
    let rows = &truth.transitions;
    let slow = rows.notifications.iter().find(|row| row.kind == "service_suspend" && row.name == "Slowsvc").unwrap();
    assert_eq!(milliseconds(duration_ns(slow.start_ns, slow.end_ns)), 30_000);
    let suspend_apps = rows.activity("power_phase", "suspend_apps").unwrap();
    let notified: i64 = rows
        .notifications
        .iter()
        .filter(|row| row.kind == "application_suspend")
        .map(|row| duration_ns(row.start_ns, row.end_ns))
        .sum();
    let fade_out = duration_ns(suspend_apps.start_ns, suspend_apps.end_ns) - notified;
    assert_eq!(milliseconds(fade_out), 847);

    let (truth, trace) = simulate("sleep-slow-driver");
    let slow = truth
        .transitions
        .power_requests
        .iter()
        .find(|row| row.scope == "driver" && row.driver == "\\Driver\\piwddev" && row.kind == "set")
        .unwrap();
    assert_eq!(milliseconds(duration_ns(slow.start_ns, slow.end_ns)), 20_000);
    let sent = trace.power_requests.iter().find(|row| row.irp == slow.irp && row.start_ns == slow.start_ns).unwrap();
    assert_eq!(sent.tid, Some(44));
    // The chain in the paper: which thread readied which, from the end of the wait back to the timer.
    let last_readying = |tid: u32, before_ns: i64| {
        trace
            .ready_threads
            .iter()
            .filter(|row| row.ready_tid == tid && row.time_ns <= before_ns)
            .max_by_key(|row| row.time_ns)
            .unwrap()
    };
    let mut time_ns = slow.end_ns.unwrap();
    for (waiting_tid, readying_tid) in [(44, 64), (64, 16), (16, 20)] {
        let row = last_readying(waiting_tid, time_ns);
        assert_eq!(row.readying_tid, Some(readying_tid), "{waiting_tid}");
        assert_eq!(row.flags & 1, 0, "{waiting_tid}");
        time_ns = row.time_ns;
    }
    assert_eq!(last_readying(20, time_ns).flags & 1, 1, "a timer ends the wait");
}

#[test]
fn wall_clock_includes_time_while_off() {
    let durations = |name: &str, first: &str, last: &str| {
        let truth = scenario(name).simulate().unwrap().truth;
        let time = |name: &str| truth.transitions.milestone(name).unwrap().clone();
        let (first, last) = (time(first), time(last));
        let wall_ns = last.value.unwrap() - first.value.unwrap();
        (wall_ns, last.time_ns - first.time_ns)
    };
    // Writing the image, sleep, firmware, boot manager, loader, reading the image.
    let off_ms = 9_500 + 600_000 + 2_300 + 410 + 350 + 6_200;
    let (wall, clock) = durations("hibernate", "power.begin_utc", "power.end_utc");
    assert_eq!(milliseconds(wall - clock), off_ms);
    // The recording's clock keeps running, so both show the same.
    let (wall, clock) = durations("sleep-slow-service", "power.begin_utc", "power.end_utc");
    assert_eq!(wall, clock);
    let truth = scenario("sleep-slow-service").simulate().unwrap().truth;
    let [sleep, wake] = ["power.sleep", "power.wake"].map(|name| truth.transitions.milestone(name).unwrap().time_ns);
    assert_eq!(milliseconds(wake - sleep), 45_380);
}

/// Returns the trace of a scenario recorded with a clock of `ticks` of 100 ns.
fn with_clock(name: &str, ticks: u64) -> Trace {
    let mut scenario = scenario(name);
    scenario.recording.clock_step = (ticks > 1).then_some(TickDuration(ticks));
    simulate_scenario(&scenario).1
}

#[test]
fn a_coarse_clock_moves_no_request_to_another_application() {
    type Application = (String, ProgramKind, bool, usize, usize);
    let applications = |name: &str, ticks| -> Vec<Application> {
        let trace = with_clock(name, ticks);
        let sessions = onoff_transitions::shutdown::analyze(&trace, &Default::default()).unwrap().details.sessions;
        let applications = sessions.into_iter().flat_map(|session| session.applications);
        let mut rows: Vec<Application> = applications
            .map(|row| {
                let details = row.details;
                (row.name, details.program, details.terminated, details.time_outs.len(), details.threads.len())
            })
            .collect();
        // The order of applications with the same time is not defined.
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    };
    for name in ["shutdown-slow-console", "shutdown-hung-window", "slow-shutdown", "shutdown-closes-late"] {
        let expected = applications(name, 1);
        for ticks in [10_000, 156_250] {
            assert_eq!(applications(name, ticks), expected, "{name}");
        }
    }
    // The console program timed out and was terminated; the others responded.
    let slow_console = applications("shutdown-slow-console", 156_250);
    let timed_out: Vec<(&str, bool)> = slow_console.iter().map(|row| (row.0.as_str(), row.2 && row.3 == 1)).collect();
    let expected =
        [("notepad.exe", false), ("services.exe", false), ("slow_shutdown.exe", true), ("taskhost.exe", false)];
    assert_eq!(timed_out, expected);
}

#[test]
fn a_coarse_clock_does_not_split_a_sleep() {
    for (name, expected) in
        [("hibernate", 1), ("hibernate-recorded-after", 1), ("slow-sleep", 1), ("two-transitions", 2)]
    {
        for ticks in [1, 10_000, 156_250] {
            let trace = with_clock(name, ticks);
            let report = onoff_transitions::suspend::analyze(&trace, &Default::default()).unwrap();
            assert_eq!(report.transitions.len(), expected, "{name}, clock of {ticks} ticks");
        }
    }
}
