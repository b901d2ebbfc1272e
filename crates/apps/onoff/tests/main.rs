//! Guarantees for front ends: paths and bytes give the same results, tables are read once, errors describe the
//! recording.
#![allow(clippy::unwrap_used)]

mod accompanied_shutdown;
mod accompanying_logs;
mod boot_history;
mod call_graphs;
mod event_log_exports;
mod event_logs;
mod event_logs_off;
mod large_recordings;
mod linux_counts;
mod linux_sleeps;
mod logged_changes;
mod logged_facts;
mod logged_service_failures;
mod many_sleeps;
mod netboot_properties;
mod power_absences;
mod power_reports;
mod power_tables;
mod processor_limits;
mod questions;
mod sleep_history;
mod sleep_runs;

use onoff::answers::compare::RunSubject;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff::answers::evidence::recording::Provenance;
use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::shutdown::ShutdownOptions;
use onoff::answers::transitions::suspend::SuspendOptions;
use onoff::report::text::time_point::TimePoint;
use onoff::sections::table::RowSelection;
use onoff::sources::Pattern;
use onoff::trace::{TableName, TableSet};
use onoff::{Boot, Error, List, ListError, ListQuery, QueryError, RangeError, Session, TransitionAnswer, Transitions};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples").join(name)
}

fn session(name: &str) -> Session {
    Session::open(&[sample(name)], &onoff_files::Options::default()).unwrap()
}

#[test]
fn finds_only_recorded_transition() {
    for (name, expected) in [
        ("slow-boot.etl", Transitions { boot: true, ..Transitions::default() }),
        ("slow-shutdown.etl", Transitions { shutdown: true, ..Transitions::default() }),
        ("slow-sleep.etl", Transitions { sleep: true, ..Transitions::default() }),
    ] {
        assert_eq!(session(name).transitions().unwrap(), expected, "{name}");
    }
}

#[test]
fn bytes_and_file_give_same_results() {
    let path = sample("slow-boot.etl");
    let text = |session: &Session| {
        let mut text = Vec::new();
        session.boot(&BootOptions::default()).unwrap().write_text(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let from_file = Session::open(std::slice::from_ref(&path), &onoff_files::Options::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let from_bytes = Session::from_bytes([(path.display().to_string(), bytes)]).unwrap();
    assert_eq!(text(&from_file), text(&from_bytes));
    assert!(matches!(from_file.boot(&BootOptions::default()), Ok(TransitionAnswer { report: Boot::Windows(_), .. })));
}

#[test]
fn provenance_ignores_compression() {
    let path = sample("slow-boot.etl");
    let bytes = std::fs::read(&path).unwrap();
    let mut compressed = Vec::new();
    std::io::copy(&mut flate2::read::GzEncoder::new(&bytes[..], flate2::Compression::fast()), &mut compressed).unwrap();
    let from_file = Session::open(&[path], &onoff_files::Options::default()).unwrap().provenance().unwrap();
    let from_packed = Session::from_bytes([("boot.etl.gz".to_owned(), compressed)]).unwrap().provenance().unwrap();
    let content = |provenance: &Provenance| (provenance.files[0].bytes, provenance.files[0].sha256.clone());
    assert_eq!(content(&from_file), content(&from_packed));
    assert_eq!((from_file.computer.as_str(), from_file.os.as_str()), ("LAPTOP-7F3", "Windows 10 22H2"));

    // A single changed bit changes the provenance.
    let mut changed = bytes.clone();
    *changed.last_mut().unwrap() ^= 1;
    let from_changed = Session::from_bytes([("boot.etl".to_owned(), changed)]).unwrap().provenance().unwrap();
    assert_ne!(content(&from_file), content(&from_changed));
}

#[test]
fn reuses_cached_tables() {
    let session = session("slow-boot.etl");
    let wanted = TableSet::from_names(&[TableName::Processes, TableName::Milestones]);
    let tables = session.tables(wanted).unwrap();
    let subset = session.tables(TableSet::from_names(&[TableName::Processes])).unwrap();
    assert!(Arc::ptr_eq(&tables, &subset));
    let larger_set = session.tables(TableSet::from_names(&[TableName::DiskIos])).unwrap();
    assert!(!Arc::ptr_eq(&tables, &larger_set));
    assert_eq!(larger_set.table(TableName::Processes).len(), tables.table(TableName::Processes).len());
    assert!(!larger_set.disk_ios.is_empty());
}

#[test]
fn errors_describe_recording() {
    let boot = session("slow-boot.etl");
    assert!(matches!(boot.shutdown(&ShutdownOptions::default()), Err(QueryError::Unanswerable(_))));
    assert!(matches!(boot.sleeps(&SuspendOptions::default()), Err(QueryError::Unanswerable(_))));
    let noise = Session::from_bytes([("noise.bin".to_owned(), vec![7; 4096])]);
    assert!(matches!(noise, Err(Error::NotARecording { .. })));
    let empty = Session::from_bytes(Vec::new());
    assert!(matches!(empty, Err(Error::NoFile)));
}

#[test]
fn runs_use_first_transition() {
    let runs = |name| session(name).runs(name.to_owned(), None, None).unwrap();
    assert_eq!(runs("slow-boot.etl").transition, RunSubject::Boot);
    assert_eq!(runs("slow-shutdown.etl").transition, RunSubject::Shutdown);
    let sleep = runs("slow-sleep.etl");
    assert_eq!((sleep.transition, sleep.runs.len()), (RunSubject::Suspend, 1));
    let result = session("slow-boot.etl").runs("boot".to_owned(), Some(RunSubject::Shutdown), None);
    assert!(matches!(result, Err(QueryError::Unanswerable(reason)) if reason.starts_with("boot: ")));
}

fn write_to_string(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn library_lists_rows() {
    let session = session("slow-boot.etl");
    let processes = session.list(&List::Processes, &ListQuery::default()).unwrap();
    let rows = write_to_string(|out| processes.write_csv(out));
    assert!(rows.starts_with("image,"), "{rows}");
    assert!(rows.contains("\nwinlogon.exe,"), "{rows}");
    // A removed row is reported as not shown.
    let selection = RowSelection { top: Some(rows.lines().count() - 2), ..RowSelection::default() };
    let truncated = session.list(&List::Processes, &ListQuery { selection, ..ListQuery::default() }).unwrap();
    assert!(write_to_string(|out| truncated.write_text(out)).contains("and 1 more row;"));
}

#[test]
fn list_errors_have_reasons() {
    let session = session("slow-boot.etl");
    let list_error = |list: &List, query: &ListQuery| match session.list(list, query) {
        Err(QueryError::Unanswerable(error)) => error,
        result => panic!("{result:?}"),
    };
    let unknown_column = ListQuery {
        selection: RowSelection { sort: Some("speed".to_owned()), ..RowSelection::default() },
        ..ListQuery::default()
    };
    assert!(matches!(list_error(&List::Processes, &unknown_column), ListError::Column(_)));
    let far_future = TimePoint::SinceStart(i64::MAX - 1);
    let outside = ListQuery { range: Some((far_future, TimePoint::SinceStart(i64::MAX))), ..ListQuery::default() };
    assert!(matches!(
        list_error(&List::Processes, &outside),
        ListError::Range(RangeError::Outside { start_ns: 0, end_ns: 1.., .. })
    ));
    let unknown_process = ListQuery { processes: vec![Pattern::new("nobody.exe")], ..ListQuery::default() };
    assert!(matches!(list_error(&List::Processes, &unknown_process), ListError::NoRows(_)));
    assert!(matches!(list_error(&List::Devices, &unknown_process), ListError::NotPerProcess(_)));
}

#[test]
fn sections_have_all_rows() {
    let session = session("slow-boot.etl");
    let boot = session.boot(&BootOptions::default()).unwrap();
    let text = write_to_string(|out| boot.write_text(out));
    let sections = boot.sections(1);
    let names: Vec<&str> = sections.iter().map(|section| section.name).collect();
    assert!(names.starts_with(&["phases"]) && names.contains(&"units"), "{names:?}");
    assert!(sections.iter().all(|section| text.contains(&*section.title)));
    let Boot::Windows(report) = &boot.report else { panic!("{boot:?}") };
    let units: Vec<_> = boot.sections(1).into_iter().filter(|section| section.name == "units").collect();
    let rows = write_to_string(|out| onoff::sections::section::csv::write(&units, out));
    assert_eq!(rows.lines().count(), report.units.len() + 1);
}

#[test]
fn lane_fits_pixels_and_counts_rest() {
    use onoff::answers::lanes::DrawnLane;
    const PIXELS: u32 = 40;

    let session = session("slow-boot.etl");
    let lanes = session.lanes().unwrap();
    let trace = session.tables(TableSet::from_names(&[TableName::Processes])).unwrap();
    let processes: Vec<_> =
        lanes.tracks().into_iter().filter(|track| track.name.starts_with("svchost.exe (")).collect();
    assert!(!processes.is_empty(), "hosts of services");
    for track in lanes.tracks() {
        let count = |drawn: &DrawnLane| match drawn {
            DrawnLane::Slices(slices) => {
                assert!(slices.rows.iter().all(|row| row.count.len() <= 2 * PIXELS as usize + 1), "{}", track.name);
                slices.rows.iter().flat_map(|row| &row.count).map(|&count| u64::from(count)).sum::<u64>()
            }
            DrawnLane::Utilization(shares) => shares.busy.len() as u64,
            DrawnLane::Stacked(shares) => shares.series.iter().map(|series| series.busy.len() as u64).sum(),
        };
        let total = count(&lanes.draw(track.id, 0, trace.duration_ns, PIXELS).unwrap());
        // Each half has at most as many entries as the whole, and the two halves together have at least as many.
        let middle = trace.duration_ns / 2;
        let halves = [(0, middle), (middle, trace.duration_ns)];
        let half_counts = halves.map(|(from_ns, to_ns)| count(&lanes.draw(track.id, from_ns, to_ns, PIXELS).unwrap()));
        assert!(half_counts.iter().all(|&half| half <= total), "{}: {half_counts:?} of {total}", track.name);
        assert!(half_counts.iter().sum::<u64>() >= total, "{}: {half_counts:?} of {total}", track.name);
    }
    assert!(lanes.draw(u32::MAX, 0, 1, PIXELS).is_none());
}
