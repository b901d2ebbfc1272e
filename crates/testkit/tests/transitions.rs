//! From a scenario through file, reader and tables to the rows that really happened.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use onoff_sources::Options;
use onoff_testkit::simulate::{
    Activity, Milestone, Notification, Scenario, ServiceStop, Simulated, Truth,
};
use onoff_trace::{ServiceChange, ServiceOutcome, Tables, Trace};

fn scenario(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenarios")
        .join(format!("{name}.toml"));
    Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every scenario with a transition.
fn names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !scenario(name).boots())
        .collect();
    names.sort();
    names
}

fn play(name: &str) -> (Truth, Trace) {
    let Simulated { files, truth } = scenario(name).simulate().unwrap();
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
    let trace = onoff_sources::open(&paths, Tables::all(), &Options::default()).unwrap();
    (truth, trace)
}

/// Compares row by row, so that the first wrong row is shown and not all of them.
fn compare<T: PartialEq + std::fmt::Debug>(name: &str, read: &[T], played: &[T]) {
    for (read, played) in read.iter().zip(played) {
        assert_eq!(read, played, "{name}");
    }
    assert_eq!(
        read.get(played.len()..),
        played.get(read.len()..).map(|_| &[][..]),
        "{name}: {} rows read, {} played: {:?}",
        read.len(),
        played.len(),
        played.get(read.len())
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

/// Names and times, values and details; the truth's names are its own.
fn milestones(trace: &Trace) -> Vec<(String, i64, Option<i64>, String)> {
    let rows = trace.milestones.iter().map(|row| {
        let (name, detail) = (trace.text(row.name), trace.text(row.detail));
        (name.to_owned(), row.time_ns, row.value, detail.to_owned())
    });
    rows.collect()
}

fn true_milestones(rows: &[Milestone]) -> Vec<(String, i64, Option<i64>, String)> {
    let rows = rows.iter().map(|row| {
        (
            row.name.to_owned(),
            row.time_ns,
            row.value,
            row.detail.clone(),
        )
    });
    rows.collect()
}

fn stops(name: &str, trace: &Trace, played: &[ServiceStop]) {
    let mut read = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Stop);
    for played in played {
        let row = read.next().unwrap();
        let service = trace.text(row.service);
        assert_eq!(service, played.name, "{name}");
        assert_eq!(row.start_ns, played.start_ns, "{name}: {service}");
        assert_eq!(row.checkpoint_ns, played.pending_ns, "{name}: {service}");
        assert_eq!(row.end_ns, played.end_ns, "{name}: {service}");
        assert_eq!(
            row.container_pid,
            Some(played.container_pid),
            "{name}: {service}"
        );
        let outcome = match played.end_ns {
            Some(_) => ServiceOutcome::Completed,
            None => ServiceOutcome::Unfinished,
        };
        assert_eq!(row.outcome, outcome, "{name}: {service}");
    }
    assert!(read.next().is_none(), "{name}");
}

#[test]
fn what_is_read_of_a_transition_is_what_was_played() {
    for name in names() {
        let (truth, trace) = play(&name);
        let played = &truth.transitions;
        compare(&name, &notifications(&trace), &played.notifications);
        compare(&name, &activities(&trace), &played.activities);
        compare(
            &name,
            &milestones(&trace),
            &true_milestones(&played.milestones),
        );
        stops(&name, &trace, &played.service_stops);
        assert_eq!(
            trace
                .service_transitions
                .iter()
                .filter(|row| row.kind == ServiceChange::Start)
                .count(),
            0,
            "{name}"
        );
        assert!(!played.milestones.is_empty(), "{name}");
    }
}

/// Whole milliseconds as the papers print them: cut, not rounded.
fn milliseconds(nanoseconds: i64) -> i64 {
    nanoseconds / 1_000_000
}

#[test]
fn the_kernel_phase_is_what_the_paper_calculates() {
    let truth = scenario("shutdown-paper-arithmetic")
        .simulate()
        .unwrap()
        .truth;
    let sessions: Vec<(i64, i64, i64)> = truth
        .transitions
        .activities
        .iter()
        .filter(|row| row.kind == "session_shutdown")
        .map(|row| {
            let (start, end) = (row.start_ns, row.end_ns.unwrap());
            (
                milliseconds(start),
                milliseconds(end),
                milliseconds(end - start),
            )
        })
        .collect();
    assert_eq!(sessions, [(448, 7091, 6642), (8335, 11010, 2675)]);
    let kernel = truth
        .transitions
        .activity("kernel_shutdown_step", "graceful_shutdown")
        .unwrap();
    let request = truth.transitions.milestone("shutdown.request").unwrap();
    // Both readings of "how long": since the recording began, and since the request.
    assert_eq!(milliseconds(kernel.end_ns.unwrap()), 13066);
    assert_eq!(
        milliseconds(kernel.end_ns.unwrap() - request.time_ns),
        13066
    );
    assert_eq!(13066 - sessions[0].2 - sessions[1].2, 3749);
}
