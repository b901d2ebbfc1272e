//! Commands without a file, which read this computer's own logs. The tests use a root folder in a temporary directory.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::harness::{Folder, LINUX_BOOT};
use onoff_testkit::journal::{JournalEntry, JournalWriter, parse_export};
use onoff_testkit::planted_linux::PLANTED;
use serde_json::Value;

const MACHINE: &str = "4f0e9c1d2a3b4c5d8e6f708192a3b4c5";

/// Creates a root folder with this journal.
pub fn create_root(folder: &Folder, entries: &[JournalEntry]) {
    for path in [format!("root/var/log/journal/{MACHINE}"), "root/etc".to_owned()] {
        fs::create_dir_all(folder.path(&path)).unwrap();
    }
    folder.file("root/etc/machine-id", format!("{MACHINE}\n").as_bytes());
    let journal = JournalWriter { state: 1, ..JournalWriter::default() }.file(entries);
    folder.file(&format!("root/var/log/journal/{MACHINE}/system.journal"), &journal);
}

fn answer(folder: &Folder, arguments: &str) -> (String, String) {
    let output = folder.run(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "onoff {arguments}: {stderr}");
    (String::from_utf8(output.stdout).unwrap(), stderr)
}

/// Removes provenance from the output: file names, the other boots, and the note that a journal in use is not closed.
fn json(text: &str) -> Value {
    let mut answer: Value = serde_json::from_str(text).unwrap();
    for key in ["onoff", "recording", "boots", "losses"] {
        answer[key] = Value::Null;
    }
    answer
}

#[track_caller]
fn assert_same(actual: &str, expected: &str) {
    // Compare key by key to keep the assertion message short.
    let (actual, expected) = (json(actual), json(expected));
    for (name, value) in actual.as_object().unwrap() {
        assert!(expected[name] == *value, "{name} differs");
    }
    assert_eq!(actual.as_object().unwrap().len(), expected.as_object().unwrap().len());
}

#[test]
fn matches_same_journal_as_file() {
    let folder = Folder::new();
    let (_, export) = LINUX_BOOT.iter().find(|(name, _)| *name == "journal.export").unwrap();
    folder.file("journal.export", export.as_bytes());
    create_root(&folder, &parse_export(export.as_bytes(), 1));
    let (text, stderr) = answer(&folder, "boot --root root --format json");
    assert_same(&text, &folder.answer("boot journal.export --format json"));
    // The root folder has no systemd, which is reported on stderr.
    assert!(stderr.contains("systemd's times"), "{stderr}");
    let (previous_boot, stderr) = answer(&folder, "boot --root root --boot -1 --format json");
    assert_same(&previous_boot, &folder.answer("boot journal.export --boot -1 --format json"));
    assert_eq!(json(&previous_boot)["startup_ns"], 7_000_000_000_i64);
    // Another boot needs only the journal.
    assert_eq!(stderr, "");
    let (list, _) = answer(&folder, "boot --root root --list-boots");
    assert_eq!(list, folder.answer("boot journal.export --list-boots"));
}

/// Reads a member of an archive.
pub fn member(archive: &Path, name: &str) -> Vec<u8> {
    let packed = fs::read(archive).unwrap();
    let mut unpacked = Vec::new();
    lzma_rust2::XzReader::new(&packed[..], true).read_to_end(&mut unpacked).unwrap();
    let mut tar = tar::Archive::new(&unpacked[..]);
    let mut bytes = Vec::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap() == Path::new(name) {
            entry.read_to_end(&mut bytes).unwrap();
        }
    }
    assert!(!bytes.is_empty(), "{}: {name}", archive.display());
    bytes
}

#[test]
fn shutdown_reads_previous_boot() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    let stopped = member(&samples.join("shutdown-slowstop.tar.xz"), "shutdown-slowstop/labsd/journal.export");
    let running = member(&samples.join("boot-1.tar.xz"), "boot-1/lab/journal.export");
    let mut entries = parse_export(&stopped, 1);
    let next_number = entries.len() as u64 + 1;
    entries.extend(parse_export(&running, next_number));
    create_root(&folder, &entries);
    folder.file("stopped.export", &stopped);
    folder.file("running.export", &running);
    let (text, _) = answer(&folder, "shutdown --root root --format json");
    let report = json(&text);
    assert_same(&text, &folder.answer("shutdown stopped.export --format json"));
    // The ExecStop of the unit sleeps for 5 s.
    let units = report["units"].as_array().unwrap();
    let slow = units.iter().find(|unit| unit["name"] == "slowstop.service").unwrap();
    let duration_ns = slow["duration_ns"].as_i64().unwrap();
    assert!((5_000_000_000..5_500_000_000).contains(&duration_ns), "{duration_ns}");
    let (boot, _) = answer(&folder, "boot --root root --format json");
    assert_same(&boot, &folder.answer("boot running.export --format json"));
}

#[test]
fn reports_unreadable_sources_with_advice() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("root/etc")).unwrap();
    let output = folder.run("boot --root root");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("no journal in /var/log/journal or /run/log/journal"), "{stderr}");
    assert!(stderr.lines().last().unwrap().contains("pass a recording"), "{stderr}");
    // Journals of other machines are ignored.
    let entry = JournalEntry { boot_id: 1, sequence_number: 1, realtime_us: 1, ..JournalEntry::default() };
    create_root(&folder, &[entry]);
    folder.file("root/etc/machine-id", b"00000000000000000000000000000001\n");
    let output = folder.run("boot --root root");
    assert_eq!(output.status.code(), Some(2));
}

/// Concatenates the members of an archive.
fn members(folder: &Folder, name: &str) -> String {
    let packed = fs::read(folder.path(name)).unwrap();
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
    String::from_utf8_lossy(&unpacked).into_owned()
}

#[test]
fn collected_file_gives_same_results() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    let journal = member(&samples.join("boot-2.tar.xz"), "boot-2/lab/journal.export");
    create_root(&folder, &parse_export(&journal, 1));
    folder.file("root/etc/hostname", b"labguest\n");
    let (expected, _) = answer(&folder, "boot --root root --format json");
    for (name, option) in [("plain.tar.gz", ""), ("redacted.tar.gz", " --redact")] {
        let (output, _) = answer(&folder, &format!("collect --root root -o {name}{option}"));
        assert!(output.starts_with(&format!("Wrote {name}:\n  boots            1\n")), "{output}");
        assert_same(&expected, &folder.answer(&format!("boot {name} --format json")));
    }
    assert!(members(&folder, "plain.tar.gz").contains("labguest"));
    let redacted = members(&folder, "redacted.tar.gz");
    assert!(!redacted.contains("labguest") && !redacted.contains(MACHINE));
    // An existing file is not overwritten.
    let original = fs::read(folder.path("plain.tar.gz")).unwrap();
    let (code, message) = folder.failure("collect --root root -o plain.tar.gz");
    assert_eq!(code, 2);
    assert!(message.contains("the file already exists"), "{message}");
    assert_eq!(fs::read(folder.path("plain.tar.gz")).unwrap(), original);
}

/// Names planted in the journal of a real boot: the redacted collection gives the same numbers, and no answer has a
/// name.
#[test]
fn redacted_collection_gives_the_same_numbers() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    let journal = member(&samples.join("boot-fpdt.tar.xz"), "boot-fpdt/lab/journal.export");
    let mut entries = parse_export(&journal, 1);
    let place = entries.len() / 2;
    for (line, _) in PLANTED {
        let mut entry = entries[place].clone();
        entry.fields.retain(|(name, _)| ["_PID", "_UID", "_TRANSPORT", "_HOSTNAME"].contains(&name.as_str()));
        entry.fields.push(("MESSAGE".to_owned(), line.as_bytes().to_vec()));
        entries.insert(place, entry);
    }
    for (number, entry) in (1..).zip(&mut entries) {
        entry.sequence_number = number;
    }
    create_root(&folder, &entries);
    folder.file("root/etc/passwd", b"marlene:x:1000:1000:Marlene Muster:/h:/bin/sh\n");
    for (name, option) in [("plain.tar.gz", ""), ("redacted.tar.gz", " --redact")] {
        answer(&folder, &format!("collect --root root -o {name}{option}"));
    }
    let redacted_file = members(&folder, "redacted.tar.gz");
    for (line, names) in PLANTED {
        for planted in *names {
            assert!(!redacted_file.to_lowercase().contains(&planted.to_lowercase()), "{planted} of '{line}'");
        }
    }
    for arguments in ["boot --format json", "diagnose --format json", "shutdown --format json"] {
        let output = folder.run(&format!("{arguments} plain.tar.gz"));
        let redacted = folder.run(&format!("{arguments} redacted.tar.gz"));
        assert_eq!(output.status.code(), redacted.status.code(), "{arguments}");
        if output.status.success() {
            let [plain, redacted] =
                [output.stdout, redacted.stdout].map(|text| json(&String::from_utf8(text).unwrap()));
            assert_same_numbers(&plain, &redacted, arguments);
        }
    }
}

/// Asserts that two answers differ only in texts.
fn assert_same_numbers(plain: &Value, redacted: &Value, place: &str) {
    match (plain, redacted) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{place}");
            for (key, value) in a {
                assert_same_numbers(value, &b[key], &format!("{place}.{key}"));
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            for (a, b) in a.iter().zip(b) {
                assert_same_numbers(a, b, &format!("{place}[]"));
            }
        }
        (Value::String(_), Value::String(_)) => {}
        _ => assert_eq!(plain, redacted, "{place}"),
    }
}

#[test]
fn empty_collection_leaves_no_file() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("root")).unwrap();
    assert_eq!(folder.run("collect --root root -o none.tar.gz").status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1);
    let (code, _) = folder.failure("collect --root root -o absent/none.tar.gz");
    assert_eq!(code, 1);
}
