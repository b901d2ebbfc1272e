//! Compares units and manager times of real Linux recordings with `systemd-analyze` output from the same machine.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

use onoff_files::open;
use onoff_sources::{Limits, Options, files_from_bytes};
use onoff_trace::{ServiceChange, TableSet, Trace, milestone};

/// The recordings, and whether they contain unit properties (`systemctl show '*'`).
const RECORDINGS: [(&str, bool); 6] = [
    ("boot-1", true),
    ("boot-2", true),
    ("boot-fpdt", true),
    ("shutdown-slowstop", false),
    ("suspend-s3", false),
    ("hibernate-s4", false),
];

fn recordings() -> Vec<(&'static str, bool, std::path::PathBuf)> {
    let Some(folder) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return Vec::new();
    };
    RECORDINGS.into_iter().map(|(name, units)| (name, units, folder.join(format!("{name}.tar.xz")))).collect()
}

/// Reads the file of a recording whose name ends with `ending`.
fn read_member(path: &Path, ending: &str) -> Vec<u8> {
    let mut tar_bytes = Vec::new();
    let mut reader = lzma_rust2::XzReader::new(std::fs::File::open(path).unwrap(), true);
    std::io::Read::read_to_end(&mut reader, &mut tar_bytes).unwrap();
    let mut archive = tar::Archive::new(&tar_bytes[..]);
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().to_string_lossy().ends_with(ending) {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
            return bytes;
        }
    }
    panic!("{}: no {ending}", path.display());
}

fn read_text_member(path: &Path, ending: &str) -> String {
    String::from_utf8(read_member(path, ending)).unwrap()
}

/// Parses a duration such as `1min 26.294s`, in ms.
fn ms(text: &str) -> i64 {
    text.split_whitespace()
        .map(|part| {
            if let Some(number) = part.strip_suffix("min") {
                number.parse::<i64>().unwrap() * 60_000
            } else if let Some(number) = part.strip_suffix("ms") {
                number.parse().unwrap()
            } else {
                let (seconds, fraction) =
                    part.strip_suffix('s').unwrap().split_once('.').unwrap_or((part.trim_end_matches('s'), "0"));
                let seconds: i64 = seconds.parse().unwrap();
                seconds * 1000 + format!("{fraction:0<3}").parse::<i64>().unwrap()
            }
        })
        .sum()
}

fn milestone_time(trace: &Trace, name: &str) -> Option<(i64, Option<i64>)> {
    let name = trace.strings.find(name)?;
    let row = trace.milestones.iter().find(|row| row.name == name)?;
    Some((row.time_ns, row.value))
}

#[test]
fn startup_times_match_systemd_analyze() {
    for (name, _, path) in recordings() {
        let trace = open(std::slice::from_ref(&path), TableSet::all(), &onoff_files::Options::default()).unwrap();
        let text = read_text_member(&path, "analyze-time.txt");
        let line = text.lines().next().unwrap();
        let duration = |part: &str| {
            let line_start = line.split(&format!(" ({part})")).next().unwrap();
            ms(line_start.rsplit(['+', 'n']).next().unwrap().trim())
        };
        let (_, firmware) = milestone_time(&trace, milestone::FIRMWARE).unwrap();
        let (_, loader) = milestone_time(&trace, milestone::BOOT_MANAGER).unwrap();
        let (user_space, _) = milestone_time(&trace, milestone::USER_SPACE_BEGIN).unwrap();
        let (finished, _) = milestone_time(&trace, milestone::STARTUP_FINISHED).unwrap();
        assert_eq!(firmware.unwrap() / 1_000_000, duration("firmware"), "{name}");
        assert_eq!(loader.unwrap() / 1_000_000, duration("loader"), "{name}");
        assert_eq!(user_space / 1_000_000, duration("kernel"), "{name}");
        assert_eq!((finished - user_space) / 1_000_000, duration("userspace"), "{name}");
        let total = ms(line.rsplit(" = ").next().unwrap().trim());
        let (begin, _) = milestone_time(&trace, milestone::FIRMWARE).unwrap();
        assert_eq!((finished - begin) / 1_000_000, total, "{name}");
    }
}

#[test]
fn matches_systemd_analyze_blame() {
    for (name, units, path) in recordings() {
        let trace = open(std::slice::from_ref(&path), TableSet::all(), &onoff_files::Options::default()).unwrap();
        let text = read_text_member(&path, "blame.txt");
        let expected: BTreeMap<String, i64> = text
            .lines()
            .map(|line| {
                let (duration, unit) = line.trim().rsplit_once(' ').unwrap();
                (unit.to_owned(), ms(duration))
            })
            .collect();
        assert!(expected.len() > 30, "{name}");
        let (finished, _) = milestone_time(&trace, milestone::STARTUP_FINISHED).unwrap();
        let actual: BTreeMap<String, i64> = trace
            .service_transitions
            .iter()
            .filter(|row| row.kind == ServiceChange::Start)
            // Only units that started before blame ran.
            .filter(|row| row.start_ns <= finished)
            .filter_map(|row| {
                let duration = row.end_ns? - row.start_ns;
                (duration >= 1_000).then(|| (trace.text(row.service).to_owned(), duration / 1_000_000))
            })
            .collect();
        if units {
            assert_eq!(actual, expected, "{name}");
            continue;
        }
        // Without properties, durations are from blame, but only for units in the journal. The device is not in the
        // journal.
        let missing: Vec<&str> = expected
            .iter()
            .filter(|&(unit, duration)| actual.get(unit) != Some(duration))
            .map(|(unit, _)| unit.as_str())
            .collect();
        assert_eq!(missing, ["dev-vda2.device"], "{name}");
        let unplaced = trace.losses.iter().find(|loss| loss.counter == "blamed_units_unplaced");
        assert_eq!(unplaced.unwrap().count, 1, "{name}");
    }
}

/// The times in unit properties are exact. Without them, starts and ends of units are from messages, and durations are
/// from blame.
#[test]
fn blame_corrects_late_messages() {
    for (name, _, path) in recordings().into_iter().filter(|&(_, units, _)| units) {
        let read_bytes = |files: Vec<(String, Vec<u8>)>| {
            let files = files_from_bytes(files, &Limits::default()).unwrap();
            onoff_sources::open_files(&files, TableSet::all(), &Options::default()).unwrap()
        };
        let journal = || ("journal".to_owned(), read_member(&path, "lab/journal.export"));
        let blame = ("blame".to_owned(), read_member(&path, "blame.txt"));
        let true_times =
            starts(&open(std::slice::from_ref(&path), TableSet::all(), &onoff_files::Options::default()).unwrap());
        // Sum of the errors of starts and ends, ns.
        let error_ns = |trace: &Trace| -> i64 {
            let message_times = starts(trace);
            let pairs = true_times.iter().filter_map(|(unit, times)| Some((times, message_times.get(unit)?)));
            pairs.map(|(a, b)| (a.0 - b.0).abs() + (a.1 - b.1).abs()).sum()
        };
        let error_without_blame = error_ns(&read_bytes(vec![journal()]));
        let error_with_blame = error_ns(&read_bytes(vec![journal(), blame]));
        assert!(error_with_blame < error_without_blame, "{name}: {error_with_blame} {error_without_blame}");
    }
}

#[test]
fn counts_unreadable_blame_lines() {
    let list = "  9.1s a.service\n".repeat(8) + "\nand others\n";
    let journal = "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\n__MONOTONIC_TIMESTAMP=1\n\n";
    let files = [("blame.txt", list.as_str()), ("journal.export", journal)]
        .map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    let files = files_from_bytes(files, &Limits::default()).unwrap();
    let trace = onoff_sources::open_files(&files, TableSet::all(), &Options::default()).unwrap();
    let count_and_first = |counter: &str| {
        let loss = trace.losses.iter().find(|loss| loss.counter == counter);
        loss.map(|loss| (loss.count, loss.first.clone()))
    };
    assert_eq!(count_and_first("blame_lines_unreadable"), Some((1, Some("blame.txt, line 10".to_owned()))));
    assert_eq!(count_and_first("blamed_units_unplaced"), Some((1, Some("a.service".to_owned()))));
}

/// Returns the start and end of the first start of every unit that took at least 1 ms to start, in ns.
fn starts(trace: &Trace) -> BTreeMap<String, (i64, i64)> {
    let rows = trace.service_transitions.iter();
    rows.filter(|row| row.kind == ServiceChange::Start)
        .filter_map(|row| {
            let end_ns = row.end_ns.filter(|&end| end - row.start_ns >= 1_000_000)?;
            Some((trace.text(row.service).to_owned(), (row.start_ns, end_ns)))
        })
        .rev()
        .collect()
}

#[test]
fn journal_alone_gives_similar_times() {
    for (name, units, path) in recordings() {
        let full = open(std::slice::from_ref(&path), TableSet::all(), &onoff_files::Options::default()).unwrap();
        let journal = read_member(&path, "lab/journal.export");
        let files = files_from_bytes([("journal".to_owned(), journal)], &Limits::default()).unwrap();
        let journal_only = onoff_sources::open_files(&files, TableSet::all(), &Options::default()).unwrap();
        assert_eq!(journal_only.boots.len(), 1, "{name}");
        assert_eq!(journal_only.boots[0].id, full.boots[0].id, "{name}");
        for milestone in [milestone::USER_SPACE_BEGIN, milestone::STARTUP_FINISHED] {
            let journal_time = milestone_time(&journal_only, milestone);
            let full_time = milestone_time(&full, milestone);
            // This computer was shut down before systemd logged the end of startup. The times are from systemd's first
            // message instead, which is late.
            if name == "shutdown-slowstop" {
                let delay_ns = journal_time.zip(full_time).map(|((journal, _), (full, _))| journal - full);
                let is_begin = milestone == milestone::USER_SPACE_BEGIN;
                assert!(if is_begin {
                    delay_ns.is_some_and(|delay_ns| (0..2_500_000_000).contains(&delay_ns))
                } else {
                    journal_time.is_none()
                });
                continue;
            }
            assert_eq!(journal_time, full_time, "{name}");
        }
        if !units {
            continue;
        }
        // Start and end of every service that took at least 100 ms. The tolerance is for delayed messages of a busy
        // manager.
        let rows = |trace: &Trace| -> BTreeMap<String, (i64, i64)> {
            trace
                .service_transitions
                .iter()
                .filter(|row| row.kind == ServiceChange::Start && row.automatic)
                .filter_map(|row| Some((trace.text(row.service).to_owned(), (row.start_ns, row.end_ns?))))
                .filter(|(unit, (start, end))| unit.ends_with(".service") && end - start > 100_000_000)
                .collect()
        };
        let (journal_rows, full_rows) = (rows(&journal_only), rows(&full));
        assert!(full_rows.len() > 15, "{name}: {}", full_rows.len());
        for (unit, (start, end)) in &full_rows {
            let (journal_start, journal_end) = journal_rows.get(unit).unwrap_or_else(|| panic!("{name}: {unit}"));
            assert!(
                start.abs_diff(*journal_start) < 150_000_000 && end.abs_diff(*journal_end) < 150_000_000,
                "{name}: {unit}: {start} {journal_start}, {end} {journal_end}"
            );
        }
    }
}
