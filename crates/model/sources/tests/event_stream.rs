//! Tests event streams: completeness, order, names, filters and parallel output.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use onoff_sources::{EventFilter, EventStream, EventWriter, Limits, Options, Pattern, files_from_bytes};
use onoff_testkit::assemble::{EtlBuilder, EventHeader, ExtendedItem, Payload, Record, Session};
use onoff_trace::DescribedEvent;
use uuid::Uuid;

fn samples() -> Option<PathBuf> {
    onoff_testkit::real_recordings::samples_folder("etl")
}

/// Returns the path of the demo recording.
fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl")
}

/// Visits and counts the selected events.
fn stream(path: &Path, filter: &EventFilter, mut visit: impl FnMut(&DescribedEvent<'_>)) -> u64 {
    let options = Options::default();
    let files = onoff_files::open_all(&[path.to_owned()], &Limits::default()).unwrap();
    let stream = EventStream::open(&files, &options).unwrap();
    let result = stream.for_each(filter, &options, |event| {
        visit(event);
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(result.outcome.is_continue());
    result.visited
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
        let visited = stream(&path, &EventFilter::default(), |event| {
            assert!(event.time_ns >= last_ns, "{name}: {event:?}");
            last_ns = event.time_ns;
            assert!(!event.name.is_empty() && !event.provider.is_empty(), "{name}: {event:?}");
        });
        assert_eq!(visited, events, "{name}");
        files += 1;
    }
    assert!(files >= 20, "too few samples in the table: {files}");
}

#[test]
fn names_the_60_processes_that_exit_in_a_shutdown() {
    let Some(folder) = samples() else { return };
    let filter = EventFilter { events: patterns(&["p-end"]), ..EventFilter::default() };
    let mut with_name = 0;
    let visited = stream(&folder.join("ShutdownPerfDiagLogger.etl"), &filter, |event| {
        let pid = event.number("ProcessId").and_then(|pid| u32::try_from(pid).ok()).unwrap();
        with_name += u64::from(event.directory.process(pid).is_some_and(|name| name.contains('.')));
    });
    assert_eq!((visited, with_name), (60, 60));
}

#[test]
fn names_files_before_their_name_records() {
    let filter = EventFilter { events: patterns(&["DiskRead"]), ..EventFilter::default() };
    let (mut with_key, mut with_name) = (0, 0);
    let visited = stream(&demo(), &filter, |event| {
        with_key += u64::from(event.number("FileObject").is_some_and(|key| key != 0));
        with_name += u64::from(event.derived.file.is_some());
        assert!(event.derived.service_ns <= event.derived.elapsed_ns, "{event:?}");
    });
    assert!(visited > 0 && with_key > 0);
    assert_eq!(with_name, with_key);
}

#[test]
fn filters_by_provider_event_process_and_time() {
    let count_events = |filter: EventFilter| {
        let mut names = BTreeSet::new();
        let visited = stream(&demo(), &filter, |event| {
            names.insert(format!("{} {}", event.provider, event.name));
        });
        (visited, names)
    };
    let (all, _) = count_events(EventFilter::default());
    let (device_events, names) =
        count_events(EventFilter { providers: patterns(&["*-kernel-pnp"]), ..EventFilter::default() });
    assert!(device_events > 0 && device_events < all);
    assert!(names.iter().all(|name| name.starts_with("Microsoft-Windows-Kernel-PnP ")), "{names:?}");
    let guid = patterns(&["{9c205a39-1250-487d-abd7-e831c6290539}"]);
    assert_eq!(count_events(EventFilter { providers: guid, ..EventFilter::default() }).0, device_events);

    let (switches, names) = count_events(EventFilter { events: patterns(&["0x0524"]), ..EventFilter::default() });
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Thread CSwitch"]);
    assert_eq!(count_events(EventFilter { events: patterns(&["cswitch"]), ..EventFilter::default() }).0, switches);

    // An event matches if it is about the process, although a start event is logged by another process.
    let filter = EventFilter {
        events: patterns(&["P-Start"]),
        processes: patterns(&["explorer.exe"]),
        ..EventFilter::default()
    };
    let (starts, _) = count_events(filter);
    assert!(starts >= 1);

    let half_ns = 20_000_000_000;
    let (first_half, _) = count_events(EventFilter { until_ns: Some(half_ns), ..EventFilter::default() });
    let (second_half, _) = count_events(EventFilter { from_ns: Some(half_ns), ..EventFilter::default() });
    assert_eq!(first_half + second_half, all);
}

/// Events of a request with a child and a grandchild, and of another request, as (activity, related activity).
fn requests() -> Vec<u8> {
    let mut builder = EtlBuilder::new(Session::windows_10(1));
    let events: [(u128, Option<u128>); 7] =
        [(1, None), (7, None), (2, Some(1)), (8, Some(7)), (3, Some(2)), (3, None), (2, None)];
    for (number, (activity, related)) in events.into_iter().enumerate() {
        let related = related.map(|related| Uuid::from_u128(related).to_bytes_le().to_vec());
        let header = EventHeader {
            provider: Uuid::from_u128(0x1234),
            activity: Uuid::from_u128(activity),
            id: u16::try_from(number).unwrap(),
            extended: related.into_iter().map(|data| ExtendedItem { kind: 1, data }).collect(),
            ..EventHeader::default()
        };
        let ticks = Session::windows_10(1).start_ticks + number as u64 * 10;
        builder.push(0, &Record::manifest(header, ticks, Payload::wide()));
    }
    builder.finish()
}

#[test]
fn an_activity_brings_the_activities_that_it_started() {
    let files = files_from_bytes([("requests.etl".to_owned(), requests())], &Options::default().limits).unwrap();
    let ids = |activities: Vec<u128>| {
        let filter = EventFilter { activities, ..EventFilter::default() };
        let mut ids = Vec::new();
        let stream = EventStream::open(&files, &Options::default()).unwrap();
        let end = stream.for_each(&filter, &Options::default(), |event| {
            ids.push(event.id);
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(end.visited, ids.len() as u64);
        ids
    };
    assert_eq!(ids(vec![1]), [0, 2, 4, 5, 6]);
    assert_eq!(ids(vec![2]), [2, 4, 5, 6]);
    assert_eq!(ids(vec![7]), [1, 3]);
    assert_eq!(ids(vec![99]), [0_u16; 0]);
}

#[test]
fn stops_when_visitor_breaks() {
    let options = Options::default();
    let files = onoff_files::open_all(&[demo()], &Limits::default()).unwrap();
    let stream = EventStream::open(&files, &options).unwrap();
    assert_eq!(stream.header().pointer_bytes, 8);
    let result = stream.for_each(&EventFilter::default(), &options, |event| ControlFlow::Break(event.time_ns));
    assert_eq!(result.visited, 1);
    assert_eq!(result.outcome, ControlFlow::Break(0));
}

/// Writes all known values of an event.
struct FullText;

impl EventWriter for FullText {
    fn event(&mut self, event: &DescribedEvent<'_>, text: &mut Vec<u8>) {
        let subject = (event.pid, event.tid, event.pid.and_then(|pid| event.directory.process(pid)));
        writeln!(text, "{} {} {subject:?} {:?} {:?}", event.time_ns, event.name, event.fields, event.derived).unwrap();
    }
}

/// Returns the text of the events selected by `filter` with `threads` threads, their number, and the number of losses.
fn parallel(path: &Path, filter: &EventFilter, threads: usize, batch: u64) -> (Vec<u8>, u64, usize) {
    let options = Options::default();
    let files = onoff_files::open_all(&[path.to_owned()], &Limits::default()).unwrap();
    let stream = EventStream::open(&files, &options).unwrap();
    let writers = (0..threads).map(|_| Box::new(FullText) as Box<dyn EventWriter>).collect();
    let mut text = Vec::new();
    let result = stream.for_each_parallel(filter, &options, writers, batch, |batch_text| {
        text.extend_from_slice(batch_text);
        ControlFlow::<Infallible>::Continue(())
    });
    (text, result.visited, result.losses.iter().count())
}

fn sequential(path: &Path, filter: &EventFilter) -> (Vec<u8>, u64, usize) {
    let options = Options::default();
    let files = onoff_files::open_all(&[path.to_owned()], &Limits::default()).unwrap();
    let mut text = Vec::new();
    let result = EventStream::open(&files, &options).unwrap().for_each(filter, &options, |event| {
        FullText.event(event, &mut text);
        ControlFlow::<Infallible>::Continue(())
    });
    (text, result.visited, result.losses.iter().count())
}

#[test]
fn parallel_text_equals_sequential_text() {
    let time_range =
        EventFilter { from_ns: Some(8_000_000_000), until_ns: Some(14_000_000_001), ..EventFilter::default() };
    let process = EventFilter { processes: patterns(&["explorer.exe"]), ..EventFilter::default() };
    let no_event = EventFilter { events: patterns(&["NoSuchEvent"]), ..EventFilter::default() };
    for (filter, min_events) in [(EventFilter::default(), 40_000), (time_range, 1_000), (process, 1_000), (no_event, 0)]
    {
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
    let mut batches = 0;
    let filter = EventFilter::default();
    let stream = EventStream::open(&files, &options).unwrap();
    let result = stream.for_each_parallel(&filter, &options, writers, 100, |_| {
        batches += 1;
        if batches == 5 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    });
    assert_eq!((result.outcome, batches), (ControlFlow::Break("enough"), 5));
    assert!(result.visited < 5_000, "{}", result.visited);
}

/// The stacks of the .NET runtime have the time of the event before them on the same thread, as in `TraceEvent`'s
/// `TraceLog`. Here, that event is searched backwards.
#[test]
fn dotnet_stacks_belong_to_the_event_before_them() {
    let Some(folder) = samples() else { return };
    let mut events: Vec<(Option<u32>, i64, bool)> = Vec::new();
    let (mut stacks, mut joined) = (0, 0);
    stream(&folder.join("net.4.5.2.x64.etl"), &EventFilter::default(), |event| {
        if !event.provider.starts_with("Microsoft-Windows-DotNETRuntime") {
            return;
        }
        let is_stack = event.name.ends_with("CLRStackWalk");
        if is_stack {
            stacks += 1;
            let previous = events.iter().rev().find(|(tid, ..)| *tid == event.tid);
            let expected = previous.and_then(|&(_, time_ns, is_stack)| (!is_stack).then_some(time_ns));
            assert_eq!(event.derived.stack_event_ns, expected, "{event:?}");
            joined += u32::from(expected.is_some());
        } else {
            assert_eq!(event.derived.stack_event_ns, None, "{event:?}");
        }
        events.push((event.tid, event.time_ns, is_stack));
    });
    assert_eq!((stacks, joined), (14_983, 14_983));
}
