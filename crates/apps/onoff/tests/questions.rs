//! Library queries for events, phases, saved baselines, and recordings in a folder.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;

use onoff::answers::compare::{ExclusionReason, Run, RunSubject};
use onoff::report::text::time_point::TimePoint;
use onoff::sources::{EventFilter, Pattern};
use onoff::trace::SystemKind;
use onoff::{
    BadRecording, ConfigurationSource, Error, EventQuery, EventsError, QueryError, RangeError, RunsQuery,
    TransitionChoice, file_overview, identify_other_kind, read_baseline, read_runs, write_baseline,
};

use super::{sample, session};

/// Returns the times of the selected events, in ns.
fn times(query: &EventQuery) -> Vec<i64> {
    let session = session("slow-boot.etl");
    let mut times = Vec::new();
    let result = session.events(query).unwrap().for_each(|event| {
        times.push(event.time_ns);
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(result.unwrap().visited, times.len() as u64);
    times
}

#[test]
fn selects_events_by_phase() {
    let session = session("slow-boot.etl");
    let phase = session.phase("WinLogonInit").unwrap();
    let in_phase = times(&EventQuery { phase: Some("WinLogonInit".to_owned()), ..EventQuery::default() });
    let all_times = times(&EventQuery::default());
    let in_range: Vec<i64> =
        all_times.iter().copied().filter(|time| (phase.start_ns..phase.end_ns).contains(time)).collect();
    assert!(!in_range.is_empty() && in_range.len() < all_times.len());
    assert_eq!(in_phase, in_range);
    let range = (TimePoint::SinceStart(phase.start_ns), TimePoint::SinceStart(phase.end_ns));
    assert_eq!(times(&EventQuery { range: Some(range), ..EventQuery::default() }), in_range);

    let backwards = EventQuery { range: Some((range.1, range.0)), ..EventQuery::default() };
    let error = session.events(&backwards).err();
    assert!(matches!(error, Some(QueryError::Unanswerable(EventsError::Range(RangeError::Order { .. })))), "{error:?}");
    let unknown = EventQuery { phase: Some("lunch".to_owned()), ..EventQuery::default() };
    assert!(matches!(session.events(&unknown).err(), Some(QueryError::Unanswerable(EventsError::Phase(_)))));
}

#[test]
fn filters_events_and_stops_on_break() {
    let session = session("slow-boot.etl");
    let filter = EventFilter { events: vec![Pattern::new("Process/Start")], ..EventFilter::default() };
    let query = EventQuery { filter, ..EventQuery::default() };
    let events = session.events(&query).unwrap();
    assert_eq!(events.system(), SystemKind::Windows);
    let mut names = BTreeSet::new();
    let result = events.for_each(|event| {
        names.insert(event.name.to_owned());
        ControlFlow::Break(event.time_ns)
    });
    assert!(matches!(result.unwrap().outcome, ControlFlow::Break(0..)));
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["P-Start"]);
}

/// Creates a query for the boots in `paths`.
fn boots_in(paths: Vec<PathBuf>) -> RunsQuery {
    let source = ConfigurationSource { name: "baseline".to_owned(), factors: Vec::new(), paths };
    RunsQuery {
        configurations: vec![source],
        transition: TransitionChoice { name: Some(RunSubject::Boot), number: None },
        options: onoff_files::Options::default(),
    }
}

#[test]
fn finds_recordings_in_folder_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let runs = sample("runs/after");
    let mut copies = 0;
    for (number, file) in std::fs::read_dir(&runs).unwrap().enumerate() {
        let file = file.unwrap().path();
        if file.is_file() {
            // The name says nothing about the contents.
            std::fs::copy(&file, folder.path().join(format!("{number}.dat"))).unwrap();
            copies += 1;
        }
    }
    std::fs::copy(sample("slow-boot.etl"), folder.path().join("boot")).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not a recording, and not named like one").unwrap();
    std::fs::write(folder.path().join("notes.etl"), "named like a recording, but not one").unwrap();
    let mut progress = Vec::new();
    let query = boots_in(vec![folder.path().to_owned()]);
    let read = read_runs(&query, true, BadRecording::Exclude, &mut |number, total| {
        progress.push((number, total));
        None
    })
    .unwrap();
    let runs_read = &read.configurations[0].runs;
    let is_unreadable =
        |run: &&Run| run.exclusions.iter().any(|exclusion| exclusion.reason == ExclusionReason::Unreadable);
    let unreadable: Vec<&str> = runs_read.iter().filter(is_unreadable).map(|run| &*run.name).collect();
    assert!(matches!(&unreadable[..], [name] if name.ends_with("notes.etl")), "{unreadable:?}");
    assert_eq!(runs_read.len(), copies + 2);
    assert!(runs_read.iter().any(|run| run.name.ends_with("boot")));
    assert_eq!((read.files[0].len() + 1, progress.len()), (runs_read.len(), progress[0].1));
    assert!(!read.provenances.is_empty());

    let empty = tempfile::tempdir().unwrap();
    let result = read_runs(&boots_in(vec![empty.path().to_owned()]), false, BadRecording::Fail, &mut |_, _| None);
    assert!(
        matches!(result, Err(QueryError::Unanswerable(reason)) if reason.ends_with("no recordings in this folder"))
    );
}

#[test]
fn reads_saved_baseline_only() {
    let query = boots_in(vec![sample("slow-boot.etl")]);
    let read = read_runs(&query, false, BadRecording::Fail, &mut |_, _| None).unwrap();
    assert!(read.provenances.is_empty(), "not requested");
    let runs = &read.configurations[0].runs;
    let mut baseline = Vec::new();
    write_baseline(runs, &mut baseline).unwrap();
    assert_eq!(read_baseline("baseline.json", &baseline).unwrap(), (RunSubject::Boot, runs.clone()));
    for invalid in [&b"{}"[..], b"", &baseline[..baseline.len() / 2]] {
        let result = read_baseline("baseline.json", invalid);
        assert!(matches!(result, Err(Error::Document { name, .. }) if name == "baseline.json"));
    }
}

#[test]
fn identifies_non_system_files() {
    let capture = [sample("netboot-slow-link.pcap.xz")];
    assert!(identify_other_kind(&capture).is_some_and(|kind| kind.read_by.contains("netboot")));
    assert!(identify_other_kind(&[sample("slow-boot.etl")]).is_none());
    let firmware = file_overview(&[sample("firmware-FBPT.bin.xz")]).unwrap();
    assert_eq!(firmware.lines[0].command, "firmware");
    assert!(file_overview(&[sample("README.md")]).is_none());
}

#[test]
fn example_prints_boot() {
    // Cargo builds the examples together with the tests.
    let tests = std::env::current_exe().unwrap();
    let example =
        tests.ancestors().nth(2).unwrap().join("examples").join(format!("boot{}", std::env::consts::EXE_SUFFIX));
    let output = Command::new(&example).arg(sample("slow-boot.etl")).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", example.display()));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("winlogon"), "{text}");
}
