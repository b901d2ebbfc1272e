//! Event streams: completeness, order, names, filters and parallel output.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use onoff_sources::{EventFilter, EventStream, EventWriter, Limits, Options, Pattern};
use onoff_trace::DescribedEvent;

fn samples() -> Option<PathBuf> {
    onoff_testkit::real_recordings::samples_folder("etl")
}

/// The demo recording.
fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl")
}

/// Visits and counts the selected events.
fn stream(path: &Path, filter: &EventFilter, mut visit: impl FnMut(&DescribedEvent<'_>)) -> u64 {
    let options = Options::default();
    let files = onoff_files::open_all(&[path.to_owned()], &Limits::default()).unwrap();
    let stream = EventStream::open(&files, &options).unwrap();
    let end = stream.for_each(filter, &options, |event| {
        visit(event);
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(end.outcome.is_continue());
    end.visited
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::new(text)).collect()
}

#[test]
fn visits_all_events_once_in_order() {
    let Some(folder) = samples() else { return };
    let table = std::fs::read_to_string(folder.join("SOURCES.md")).unwrap();
    let mut files = 0;
    for line in table.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, events, ..] = cells[..] else {
            continue;
        };
        let Ok(events) = events.parse::<u64>() else {
            continue;
        };
        let plain = folder.join(name);
        let path = if plain.exists() { plain } else { folder.join(format!("{name}.xz")) };
        let mut last_ns = i64::MIN;
        let shown = stream(&path, &EventFilter::default(), |event| {
            assert!(event.time_ns >= last_ns, "{name}: {event:?}");
            last_ns = event.time_ns;
            assert!(!event.name.is_empty() && !event.provider.is_empty(), "{name}: {event:?}");
        });
        assert_eq!(shown, events, "{name}");
        files += 1;
    }
    assert!(files >= 20, "too few samples in the table: {files}");
}

#[test]
fn names_the_60_processes_that_exit_in_a_shutdown() {
    let Some(folder) = samples() else { return };
    let filter = EventFilter { events: patterns(&["p-end"]), ..EventFilter::default() };
    let mut named = 0;
    let shown = stream(&folder.join("ShutdownPerfDiagLogger.etl"), &filter, |event| {
        let pid = event.number("ProcessId").and_then(|pid| u32::try_from(pid).ok()).unwrap();
        named += u64::from(event.directory.process(pid).is_some_and(|name| name.contains('.')));
    });
    assert_eq!((shown, named), (60, 60));
}

#[test]
fn names_files_before_their_name_records() {
    let filter = EventFilter { events: patterns(&["DiskRead"]), ..EventFilter::default() };
    let (mut keyed, mut named) = (0, 0);
    let shown = stream(&demo(), &filter, |event| {
        keyed += u64::from(event.number("FileObject").is_some_and(|key| key != 0));
        named += u64::from(event.derived.file.is_some());
        assert!(event.derived.service_ns <= event.derived.elapsed_ns, "{event:?}");
    });
    assert!(shown > 0 && keyed > 0);
    assert_eq!(named, keyed);
}

#[test]
fn filters_by_provider_event_process_and_time() {
    let by = |filter: EventFilter| {
        let mut names = BTreeSet::new();
        let shown = stream(&demo(), &filter, |event| {
            names.insert(format!("{} {}", event.provider, event.name));
        });
        (shown, names)
    };
    let (all, _) = by(EventFilter::default());
    let (of_devices, names) = by(EventFilter { providers: patterns(&["*-kernel-pnp"]), ..EventFilter::default() });
    assert!(of_devices > 0 && of_devices < all);
    assert!(names.iter().all(|name| name.starts_with("Microsoft-Windows-Kernel-PnP ")), "{names:?}");
    let guid = patterns(&["{9c205a39-1250-487d-abd7-e831c6290539}"]);
    assert_eq!(by(EventFilter { providers: guid, ..EventFilter::default() }).0, of_devices);

    let (switches, names) = by(EventFilter { events: patterns(&["0x0524"]), ..EventFilter::default() });
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Thread CSwitch"]);
    assert_eq!(by(EventFilter { events: patterns(&["cswitch"]), ..EventFilter::default() }).0, switches);

    // An event matches if it is about the process; a start event belongs to another process.
    let filter = EventFilter {
        events: patterns(&["P-Start"]),
        processes: patterns(&["explorer.exe"]),
        ..EventFilter::default()
    };
    let (starts, _) = by(filter);
    assert!(starts >= 1);

    let half = 20_000_000_000;
    let (before, _) = by(EventFilter { until_ns: Some(half), ..EventFilter::default() });
    let (after, _) = by(EventFilter { from_ns: Some(half), ..EventFilter::default() });
    assert_eq!(before + after, all);
}

#[test]
fn stops_when_visitor_breaks() {
    let options = Options::default();
    let files = onoff_files::open_all(&[demo()], &Limits::default()).unwrap();
    let stream = EventStream::open(&files, &options).unwrap();
    assert_eq!(stream.header().pointer_bytes, 8);
    let end = stream.for_each(&EventFilter::default(), &options, |event| ControlFlow::Break(event.time_ns));
    assert_eq!(end.visited, 1);
    assert_eq!(end.outcome, ControlFlow::Break(0));
}

/// Writes everything known about an event.
struct FullText;

impl EventWriter for FullText {
    fn event(&mut self, event: &DescribedEvent<'_>, text: &mut Vec<u8>) {
        let who = (event.pid, event.tid, event.pid.and_then(|pid| event.directory.process(pid)));
        writeln!(text, "{} {} {who:?} {:?} {:?}", event.time_ns, event.name, event.fields, event.derived).unwrap();
    }
}

/// Text of the events selected by `filter` with `threads` threads, their number, and the number of kinds of losses.
fn parallel(path: &Path, filter: &EventFilter, threads: usize, batch: u64) -> (Vec<u8>, u64, usize) {
    let options = Options::default();
    let files = onoff_files::open_all(&[path.to_owned()], &Limits::default()).unwrap();
    let stream = EventStream::open(&files, &options).unwrap();
    let writers = (0..threads).map(|_| Box::new(FullText) as Box<dyn EventWriter>).collect();
    let mut text = Vec::new();
    let end = stream.for_each_parallel(filter, &options, writers, batch, |part| {
        text.extend_from_slice(part);
        ControlFlow::<Infallible>::Continue(())
    });
    (text, end.visited, end.losses.iter().count())
}

fn sequential(path: &Path, filter: &EventFilter) -> (Vec<u8>, u64, usize) {
    let options = Options::default();
    let files = onoff_files::open_all(&[path.to_owned()], &Limits::default()).unwrap();
    let mut text = Vec::new();
    let end = EventStream::open(&files, &options).unwrap().for_each(filter, &options, |event| {
        FullText.event(event, &mut text);
        ControlFlow::<Infallible>::Continue(())
    });
    (text, end.visited, end.losses.iter().count())
}

#[test]
fn parallel_text_equals_sequential_text() {
    let some = EventFilter { from_ns: Some(8_000_000_000), until_ns: Some(14_000_000_001), ..EventFilter::default() };
    let of_one = EventFilter { processes: patterns(&["explorer.exe"]), ..EventFilter::default() };
    let none = EventFilter { events: patterns(&["NoSuchEvent"]), ..EventFilter::default() };
    for (filter, min_events) in [(EventFilter::default(), 40_000), (some, 1_000), (of_one, 1_000), (none, 0)] {
        let expected = sequential(&demo(), &filter);
        assert!(expected.1 >= min_events, "{}", expected.1);
        for (threads, batch) in [(1, 1_000), (2, 1 << 20), (2, 1), (3, 997), (7, 4_096)] {
            assert!(parallel(&demo(), &filter, threads, batch) == expected, "{threads} threads, {batch} each");
        }
    }
}

#[test]
fn parallel_text_equals_sequential_text_for_samples() {
    let Some(folder) = samples() else { return };
    let mut compared = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "etl") {
            let filter = EventFilter::default();
            assert!(parallel(&path, &filter, 3, 501) == sequential(&path, &filter), "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}

#[test]
fn parallel_stream_stops_when_consumer_breaks() {
    let options = Options::default();
    let files = onoff_files::open_all(&[demo()], &Limits::default()).unwrap();
    let writers = (0..3).map(|_| Box::new(FullText) as Box<dyn EventWriter>).collect();
    let mut parts = 0;
    let filter = EventFilter::default();
    let stream = EventStream::open(&files, &options).unwrap();
    let end = stream.for_each_parallel(&filter, &options, writers, 100, |_| {
        parts += 1;
        if parts == 5 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    });
    assert_eq!((end.outcome, parts), (ControlFlow::Break("enough"), 5));
    assert!(end.visited < 5_000, "{}", end.visited);
}
