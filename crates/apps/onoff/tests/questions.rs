//! Library queries: events, phases, saved baselines, recordings in a folder.

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

/// The times of the selected events in ns.
fn times(question: &EventQuery) -> Vec<i64> {
    let session = session("slow-boot.etl");
    let mut times = Vec::new();
    let end = session.events(question).unwrap().for_each(|event| {
        times.push(event.time_ns);
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(end.unwrap().visited, times.len() as u64);
    times
}

#[test]
fn selects_events_by_phase() {
    let session = session("slow-boot.etl");
    let phase = session.phase("WinLogonInit").unwrap();
    let of_phase = times(&EventQuery { phase: Some("WinLogonInit".to_owned()), ..EventQuery::default() });
    let all = times(&EventQuery::default());
    let between: Vec<i64> = all.iter().copied().filter(|time| (phase.start_ns..phase.end_ns).contains(time)).collect();
    assert!(!between.is_empty() && between.len() < all.len());
    assert_eq!(of_phase, between);
    let range = (TimePoint::SinceStart(phase.start_ns), TimePoint::SinceStart(phase.end_ns));
    assert_eq!(times(&EventQuery { range: Some(range), ..EventQuery::default() }), between);

    let backwards = EventQuery { range: Some((range.1, range.0)), ..EventQuery::default() };
    let refused = session.events(&backwards).err();
    assert!(
        matches!(refused, Some(QueryError::Unanswerable(EventsError::Range(RangeError::Order { .. })))),
        "{refused:?}"
    );
    let unknown = EventQuery { phase: Some("lunch".to_owned()), ..EventQuery::default() };
    assert!(matches!(session.events(&unknown).err(), Some(QueryError::Unanswerable(EventsError::Phase(_)))));
}

#[test]
fn filters_events_and_stops_on_break() {
    let session = session("slow-boot.etl");
    let filter = EventFilter { events: vec![Pattern::new("Process/Start")], ..EventFilter::default() };
    let question = EventQuery { filter, ..EventQuery::default() };
    let events = session.events(&question).unwrap();
    assert_eq!(events.system(), SystemKind::Windows);
    let mut names = BTreeSet::new();
    let end = events.for_each(|event| {
        names.insert(event.name.to_owned());
        ControlFlow::Break(event.time_ns)
    });
    assert!(matches!(end.unwrap().outcome, ControlFlow::Break(0..)));
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["P-Start"]);
}

/// A query for the boots in `paths`.
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
            // A name without a hint to the contents.
            std::fs::copy(&file, folder.path().join(format!("{number}.dat"))).unwrap();
            copies += 1;
        }
    }
    std::fs::copy(sample("slow-boot.etl"), folder.path().join("boot")).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no recording, and not called one").unwrap();
    std::fs::write(folder.path().join("notes.etl"), "this is called a recording, and is none: it is set apart")
        .unwrap();
    let mut heard = Vec::new();
    let question = boots_in(vec![folder.path().to_owned()]);
    let read = read_runs(&question, true, BadRecording::Exclude, &mut |number, of| {
        heard.push((number, of));
        None
    })
    .unwrap();
    let found = &read.configurations[0].runs;
    let is_unreadable = |run: &&Run| run.exclusions.iter().any(|apart| apart.reason == ExclusionReason::Unreadable);
    let unreadable: Vec<&str> = found.iter().filter(is_unreadable).map(|run| &*run.name).collect();
    assert!(matches!(&unreadable[..], [name] if name.ends_with("notes.etl")), "{unreadable:?}");
    assert_eq!(found.len(), copies + 2);
    assert!(found.iter().any(|run| run.name.ends_with("boot")));
    assert_eq!((read.files[0].len() + 1, heard.len()), (found.len(), heard[0].1));
    assert!(!read.provenances.is_empty());

    let empty = tempfile::tempdir().unwrap();
    let refused = read_runs(&boots_in(vec![empty.path().to_owned()]), false, BadRecording::Fail, &mut |_, _| None);
    assert!(matches!(refused, Err(QueryError::Unanswerable(why)) if why.ends_with("no recordings in this folder")));
}

#[test]
fn reads_saved_baseline_only() {
    let question = boots_in(vec![sample("slow-boot.etl")]);
    let read = read_runs(&question, false, BadRecording::Fail, &mut |_, _| None).unwrap();
    assert!(read.provenances.is_empty(), "nobody wanted them");
    let runs = &read.configurations[0].runs;
    let mut kept = Vec::new();
    write_baseline(runs, &mut kept).unwrap();
    assert_eq!(read_baseline("kept.json", &kept).unwrap(), (RunSubject::Boot, runs.clone()));
    for wrong in [&b"{}"[..], b"", &kept[..kept.len() / 2]] {
        let refused = read_baseline("kept.json", wrong);
        assert!(matches!(refused, Err(Error::Document { name, .. }) if name == "kept.json"));
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
