//! Real recordings: event counts found by an independent reader, and properties of every intact file.

use crate::samples_folder;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::samples_folder::{Sample, samples, sources_table};
use onoff_etl::{BufferScratch, CompressionFormat, HeaderKind, Input, Loss, Recording, Severity};

fn open(sample: &Sample) -> Recording<'_> {
    Recording::open(&[Input { name: &sample.name, bytes: &sample.bytes }]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn event_counts_match_sources() {
    let table = sources_table();
    let samples = samples();
    for sample in samples {
        let Some(row) = table.get(&sample.name) else {
            continue;
        };
        let recording = open(sample);
        let walk = recording.for_each(|_| ControlFlow::<()>::Continue(()));
        let header = recording.header();
        assert_eq!(walk.records, row.events, "{}", sample.name);
        assert_eq!(header.os_build, row.os_build, "{}", sample.name);
        assert_eq!(header.pointer_size * 8, row.bits, "{}", sample.name);
        assert_eq!(header.processors, row.processors, "{}", sample.name);
    }
    if !samples.is_empty() {
        let missing: Vec<_> = table.keys().filter(|name| !samples.iter().any(|sample| sample.name == **name)).collect();
        assert!(missing.is_empty(), "listed in SOURCES.md but missing: {missing:?}");
    }
}

#[test]
fn reads_every_record_without_loss() {
    for sample in samples() {
        let recording = open(sample);
        let mut last_ns = i64::MIN;
        let mut unknown_headers = 0;
        let walk = recording.for_each(|record| {
            assert!(record.time_ns() >= last_ns, "{}: time goes back at {record:?}", sample.name);
            last_ns = record.time_ns();
            unknown_headers += u64::from(matches!(record.kind(), HeaderKind::Other(_)));
            ControlFlow::<()>::Continue(())
        });
        let mut losses = recording.losses().clone();
        losses.merge(&walk.losses);
        let recorder_losses = [Loss::EventsLost, Loss::BuffersLost, Loss::UnfinishedFile];
        let unexpected: Vec<_> = losses
            .iter()
            .filter(|(loss, ..)| loss.severity() > Severity::Notice && !recorder_losses.contains(loss))
            .collect();
        assert!(unexpected.is_empty(), "{}: {unexpected:?}", sample.name);
        assert_eq!(losses.count(Loss::TimeInversion), 0, "{}", sample.name);
        assert_eq!(unknown_headers, 0, "{}", sample.name);
        assert_eq!(recording.duration_ns(), last_ns.max(0), "{}", sample.name);
    }
}

#[test]
fn windows_cover_recording() {
    for sample in samples() {
        let recording = open(sample);
        let identity = |record: &onoff_etl::Record<'_>| {
            (record.ticks(), record.cpu(), record.kind(), record.size(), record.opcode(), record.hook())
        };
        let mut all_records = Vec::new();
        let walk = recording.for_each(|record| {
            all_records.push(identity(record));
            ControlFlow::<()>::Continue(())
        });
        for count in [1, 2, 3, 7, 40] {
            let windows = recording.windows(count);
            assert!(windows.len() <= count);
            let mut losses = onoff_etl::Losses::default();
            let mut window_records = Vec::with_capacity(all_records.len());
            for window in &windows {
                let walk = window.for_each(|record| {
                    window_records.push(identity(record));
                    ControlFlow::<()>::Continue(())
                });
                losses.merge(&walk.losses);
            }
            assert!(window_records == all_records, "{}: {count} windows differ from the whole recording", sample.name);
            assert_eq!(losses, walk.losses, "{}: {count} windows", sample.name);
        }
    }
}

#[test]
fn ranges_of_finished_windows_cover_each_file_once() {
    for sample in samples() {
        let recording = open(sample);
        let bytes_with_records: usize = {
            let mut scratch = BufferScratch::default();
            let buffers = recording.buffers().iter().filter(|buffer| {
                recording.for_each_in_buffer(buffer, &mut scratch, |_| ControlFlow::<()>::Continue(())).records > 0
            });
            buffers.map(|buffer| buffer.available).sum()
        };
        let ranges = recording.windows(9).iter().flat_map(|window| window.releasable_ranges()).collect::<Vec<_>>();
        assert_eq!(ranges.iter().map(|range| range.bytes.len()).sum::<usize>(), bytes_with_records, "{}", sample.name);
    }
}

#[test]
fn reading_by_buffer_gives_same_records() {
    for sample in samples() {
        let recording = open(sample);
        let mut merged = BTreeMap::new();
        let mut single = BTreeMap::new();
        let _ = recording.for_each(|record| {
            *merged.entry((record.kind(), record.time_ns(), record.size())).or_insert(0) += 1;
            ControlFlow::<()>::Continue(())
        });
        let mut scratch = BufferScratch::default();
        for buffer in recording.buffers() {
            let walk = recording.for_each_in_buffer(buffer, &mut scratch, |record| {
                *single.entry((record.kind(), record.time_ns(), record.size())).or_insert(0) += 1;
                ControlFlow::<()>::Continue(())
            });
            assert!(walk.losses.iter().all(|(loss, ..)| loss.severity() == Severity::Notice));
        }
        assert!(merged == single, "{}", sample.name);
    }
}

#[test]
fn between_returns_records_of_interval() {
    for sample in samples() {
        let recording = open(sample);
        let (start, end) = (recording.duration_ns() / 3, recording.duration_ns() / 3 * 2);
        let mut expected = 0;
        let _ = recording.for_each(|record| {
            expected += u64::from((start..end).contains(&record.time_ns()));
            ControlFlow::<()>::Continue(())
        });
        let walk = recording.window(start, end).for_each(|record| {
            assert!((start..end).contains(&record.time_ns()));
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(walk.records, expected, "{}", sample.name);
    }
}

#[test]
fn break_stops_immediately() {
    for sample in samples() {
        let recording = open(sample);
        let walk = recording.for_each(|record| ControlFlow::Break(record.time_ns()));
        assert!(walk.outcome.is_break());
        assert_eq!(walk.records, 1);
    }
}

#[test]
fn detects_compression() {
    for sample in samples() {
        let compressed = ["net.4.5.2.x64.etl", "SelfDescribingSingleEvent.etl", "smallEtlFile.etl"];
        let expected = compressed.contains(&sample.name.as_str()).then_some(CompressionFormat::Xpress);
        assert_eq!(open(sample).files()[0].compression, expected, "{}", sample.name);
    }
}

#[test]
fn consecutive_boots_share_system_clock() {
    let samples = samples();
    let boots: Vec<Input<'_>> = ["CldFlt2.etl", "CldFlt0.etl", "CldFlt1.etl"]
        .iter()
        .filter_map(|name| samples.iter().find(|sample| sample.name == *name))
        .map(|sample| Input { name: &sample.name, bytes: &sample.bytes })
        .collect();
    if boots.len() < 3 {
        return;
    }
    let recording = Recording::open(&boots).unwrap();
    let mut files = Vec::new();
    let walk = recording.for_each(|record| {
        files.push(record.file());
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(walk.records, 17 + 7 + 2);
    files.dedup();
    assert_eq!(files, [1, 2, 0]);
    assert_eq!(recording.losses().count(Loss::UnrelatedFile), 0);
    assert_eq!(recording.losses().count(Loss::UnfinishedFile), 1);
}

#[test]
fn recordings_of_different_machines_are_placed_by_utc() {
    let samples = samples();
    let find = |name: &str| samples.iter().find(|sample| sample.name == name);
    let (Some(newer), Some(older)) = (find("AMSITrace.etl"), find("HTTP_Server.etl")) else {
        return;
    };
    let inputs = [newer, older].map(|sample| Input { name: &sample.name, bytes: &sample.bytes });
    let recording = Recording::open(&inputs).unwrap();
    assert_eq!(recording.losses().count(Loss::UnrelatedFile), 1);
    assert_eq!(recording.clock().start_filetime(), 129_402_939_974_768_585);
    let mut first_of_newer = None;
    let walk = recording.for_each(|record| {
        if record.file() == 0 {
            first_of_newer.get_or_insert(recording.clock().filetime(record.time_ns()));
        }
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(walk.records, 21 + 2042);
    // Within one tick of the other clock: at 1,818,300 ticks per second, 550 ns.
    let difference = first_of_newer.unwrap() - 132_264_173_104_203_138;
    assert!((-6..=6).contains(&difference), "{difference}");
}

/// Event times in milliseconds, as printed by another reader.
fn baseline_times(text: &str) -> Vec<f64> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("EVENT ")?.split_once(": "));
    lines.filter_map(|(time, _)| time.replace(',', "").parse().ok()).collect()
}

#[test]
fn times_match_other_reader() {
    let Some(folder) = samples_folder::folder() else {
        return;
    };
    let mut compared = 0;
    for sample in samples() {
        let name = sample.name.trim_end_matches(".etl");
        let path = folder.join(format!("etl/baseline/{name}.baseline.txt"));
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        let mut times = Vec::new();
        let _ = open(sample).for_each(|record| {
            times.push(record.time_ns());
            ControlFlow::<()>::Continue(())
        });
        for expected in baseline_times(&text) {
            // Rounded to a microsecond.
            let earliest_ns = ((expected - 0.0006) * 1e6) as i64;
            let latest_ns = ((expected + 0.0006) * 1e6) as i64;
            let position = times.partition_point(|&time| time < earliest_ns);
            assert!(times.get(position).is_some_and(|&time| time <= latest_ns), "{name}: no event at {expected} ms");
            compared += 1;
        }
    }
    println!("{compared} times compared");
    assert!(compared > 500);
}
