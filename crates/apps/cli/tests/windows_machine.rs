//! Event logs of a Windows computer: packed by `collect`, redacted, and read again. The program's own access to a
//! computer is tested under Wine (`tools/logs-under-wine`).
#![allow(clippy::unwrap_used)]

use std::fs;

use onoff_record::running::{CollectedFile, RunningSystem};
use onoff_record::windows::collection::{LogRange, write};
use onoff_record::windows::export::EventLog;
use onoff_testkit::planted_logs::{self, NAMES};
use serde_json::Value;

use crate::harness::Folder;

/// Creates a folder with the logs in `logs`.
fn computer() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path("logs")).unwrap();
    for (name, bytes) in planted_logs::files() {
        folder.file(&format!("logs/{name}"), &bytes);
    }
    folder
}

/// Packs the logs with a trace and a report as `collect` does on Windows.
fn pack(folder: &Folder, name: &str, range: &LogRange, redact: bool) {
    let contents: Vec<(String, Vec<u8>)> = planted_logs::files();
    let logs: Vec<EventLog<'_>> = contents.iter().map(|(name, bytes)| EventLog { name, bytes }).collect();
    let trace = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../samples/slow-boot.etl")).unwrap();
    let file = |name: &str, bytes: Vec<u8>| CollectedFile { name: name.to_owned(), bytes };
    let report = file("sleepstudy-report.html", b"<html>LocalSprData = {}</html>".to_vec());
    let files = vec![file("BootPerfDiagLogger.etl", trace), report];
    let system = RunningSystem { files, ..RunningSystem::default() };
    let mut packed = Vec::new();
    write(&system, &logs, range, redact.then(Default::default), &mut packed).unwrap();
    folder.file(name, &packed);
}

fn json(text: &str) -> Value {
    let mut answer: Value = serde_json::from_str(text).unwrap();
    for key in ["onoff", "recording"] {
        answer[key] = Value::Null;
    }
    answer
}

fn planted_in(text: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| text.to_lowercase().contains(&name.to_lowercase()))
}

/// Compares two answers, and returns the number of texts that differ because they contain a planted name.
fn assert_same_but_for_names(plain: &Value, redacted: &Value, place: &str) -> usize {
    match (plain, redacted) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{place}");
            a.iter().map(|(key, value)| assert_same_but_for_names(value, &b[key], &format!("{place}.{key}"))).sum()
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            a.iter().zip(b).map(|(a, b)| assert_same_but_for_names(a, b, &format!("{place}[]"))).sum()
        }
        (Value::String(a), Value::String(b)) if planted_in(a).is_some() => {
            assert_ne!(a, b, "{place}");
            assert_eq!(planted_in(b), None, "{place}: {b}");
            1
        }
        _ => {
            assert_eq!(plain, redacted, "{place}");
            0
        }
    }
}

#[test]
fn a_collection_gives_the_same_report_as_the_logs() {
    let folder = computer();
    pack(&folder, "all.tar.gz", &LogRange::default(), false);
    for arguments in ["boot --format json", "boot --boot -1 --format json", "boot --list-boots --format json"] {
        let plain = json(&folder.answer(&format!("{arguments} logs")));
        let collected = json(&folder.answer(&format!("{arguments} all.tar.gz")));
        assert!(plain == collected, "{arguments}");
    }
    // The trace and the report in the archive are separate recordings.
    let text = folder.answer("boot all.tar.gz");
    assert!(text.contains("38.3 s"), "{text}");
}

#[test]
fn redacted_logs_give_the_same_report_except_for_names() {
    let folder = computer();
    pack(&folder, "redacted.tar.gz", &LogRange::default(), true);
    for arguments in ["boot --format json", "boot --list-boots --format json", "diagnose --format json"] {
        let plain = json(&folder.answer(&format!("{arguments} logs")));
        // The option of the report replaces the same names.
        for redacted in ["redacted.tar.gz", "--redact logs"] {
            let redacted = json(&folder.answer(&format!("{arguments} {redacted}")));
            let names = assert_same_but_for_names(&plain, &redacted, arguments);
            assert!(names > 0 || arguments.starts_with("diagnose"), "{arguments}: no planted name in the report");
        }
    }
}

#[test]
fn every_format_of_a_redacted_report_is_without_names() {
    let folder = computer();
    for arguments in [
        "boot",
        "boot --top 50 --format html",
        "boot --format json",
        "boot --format svg",
        "boot --list-boots",
        "diagnose",
    ] {
        let answer = folder.answer(&format!("{arguments} --redact logs"));
        assert_eq!(planted_in(&answer), None, "{arguments}: {answer}");
    }
    let plain = folder.answer("boot --top 50 logs");
    assert!(planted_in(&plain).is_some(), "{plain}");
    let history = folder.answer("compare --boots logs --redact --format json");
    assert_eq!(planted_in(&history), None, "{history}");
}

#[test]
fn the_last_boots_are_selected_by_their_start() {
    let folder = computer();
    let boots = json(&folder.answer("boot --list-boots --format json logs"))["boots"].clone();
    let boots = boots.as_array().unwrap();
    assert_eq!(boots.len(), 3);
    let day_ns = 86_400_000_000_000;
    let since_unix_ns = Some(planted_logs::FIRST_START_NS + day_ns - 60_000_000_000);
    pack(&folder, "two.tar.gz", &LogRange { since_unix_ns, ..LogRange::default() }, false);
    let selected = json(&folder.answer("boot --list-boots --format json two.tar.gz"))["boots"].clone();
    let ids = |boots: &[Value]| boots.iter().map(|boot| boot["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(selected.as_array().unwrap()), ids(&boots[1..]));
    let plain = json(&folder.answer("boot --format json logs"));
    assert!(plain["phases"] == json(&folder.answer("boot --format json two.tar.gz"))["phases"]);
}

#[test]
fn redaction_of_other_recordings_is_refused() {
    let folder = Folder::linux_boot();
    let (code, message) = folder.failure("boot linux --redact");
    assert_eq!(code, 2);
    assert!(message.contains("--redact supports Windows event logs only"), "{message}");
    assert_eq!(folder.run("compare a b --redact").status.code(), Some(64));
    assert_eq!(folder.run("boot linux --redact --firmware x").status.code(), Some(64));
}

#[test]
fn losses_stay_in_a_redacted_report() {
    let folder = computer();
    let mut bytes = fs::read(folder.path("logs/System.evtx")).unwrap();
    // The second record.
    let length = u32::from_le_bytes(bytes[4096 + 516..4096 + 520].try_into().unwrap()) as usize;
    bytes[4096 + 512 + length + 24..4096 + 512 + length + 60].fill(0xee);
    folder.file("logs/System.evtx", &bytes);
    let losses = |arguments: &str| {
        let report = json(&folder.answer(arguments));
        let losses = report["losses"].as_array().unwrap().iter();
        losses.map(|loss| (loss["counter"].clone(), loss["count"].clone())).collect::<Vec<_>>()
    };
    let plain = losses("boot --format json logs");
    assert_eq!(plain.len(), 1, "{plain:?}");
    assert_eq!(losses("boot --format json --redact logs"), plain);
}
