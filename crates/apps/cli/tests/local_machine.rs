//! Commands without a file, which read this computer's own logs; here from a root folder in a temporary directory.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::harness::{Folder, LINUX_BOOT};
use onoff_testkit::journal::{JournalEntry, JournalWriter, parse_export};
use serde_json::Value;

const MACHINE: &str = "4f0e9c1d2a3b4c5d8e6f708192a3b4c5";

/// Creates a root folder with this journal.
pub fn computer(folder: &Folder, entries: &[JournalEntry]) {
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
    for about in ["onoff", "recording", "boots", "losses"] {
        answer[about] = Value::Null;
    }
    answer
}

#[track_caller]
fn assert_same(one: &str, other: &str) {
    // Keep the assertion message short.
    let (one, other) = (json(one), json(other));
    for (name, value) in one.as_object().unwrap() {
        assert!(other[name] == *value, "{name} differs");
    }
    assert_eq!(one.as_object().unwrap().len(), other.as_object().unwrap().len());
}

#[test]
fn matches_same_journal_as_file() {
    let folder = Folder::new();
    let (_, export) = LINUX_BOOT.iter().find(|(name, _)| *name == "journal.export").unwrap();
    folder.file("journal.export", export.as_bytes());
    computer(&folder, &parse_export(export.as_bytes(), 1));
    let (text, printed) = answer(&folder, "boot --root root --format json");
    assert_same(&text, &folder.answer("boot journal.export --format json"));
    // The root folder has no systemd, which the output reports.
    assert!(printed.contains("systemd's times"), "{printed}");
    let (earlier, printed) = answer(&folder, "boot --root root --boot -1 --format json");
    assert_same(&earlier, &folder.answer("boot journal.export --boot -1 --format json"));
    assert_eq!(json(&earlier)["startup_ns"], 7_000_000_000_i64);
    // Another boot needs only the journal.
    assert_eq!(printed, "");
    let (list, _) = answer(&folder, "boot --root root --list-boots");
    assert_eq!(list, folder.answer("boot journal.export --list-boots"));
}

/// Reads a member of an archive.
pub fn member(archive: &Path, member: &str) -> Vec<u8> {
    let packed = fs::read(archive).unwrap();
    let mut unpacked = Vec::new();
    lzma_rust2::XzReader::new(&packed[..], true).read_to_end(&mut unpacked).unwrap();
    let mut tar = tar::Archive::new(&unpacked[..]);
    let mut found = Vec::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap() == Path::new(member) {
            entry.read_to_end(&mut found).unwrap();
        }
    }
    assert!(!found.is_empty(), "{}: {member}", archive.display());
    found
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
    let first = entries.len() as u64 + 1;
    entries.extend(parse_export(&running, first));
    computer(&folder, &entries);
    folder.file("stopped.export", &stopped);
    folder.file("running.export", &running);
    let (text, _) = answer(&folder, "shutdown --root root --format json");
    let report = json(&text);
    assert_same(&text, &folder.answer("shutdown stopped.export --format json"));
    // The unit with an ExecStop that sleeps for 5 s.
    let units = report["units"].as_array().unwrap();
    let slow = units.iter().find(|unit| unit["name"] == "slowstop.service").unwrap();
    let took = slow["duration_ns"].as_i64().unwrap();
    assert!((5_000_000_000..5_500_000_000).contains(&took), "{took}");
    let (boot, _) = answer(&folder, "boot --root root --format json");
    assert_same(&boot, &folder.answer("boot running.export --format json"));
}

#[test]
fn reports_unreadable_sources_with_advice() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("root/etc")).unwrap();
    let output = folder.run("boot --root root");
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("not found in /var/log/journal or /run/log/journal"), "{printed}");
    assert!(printed.lines().last().unwrap().contains("pass a recording"), "{printed}");
    // Journals of other machines are ignored.
    let entry = JournalEntry { boot_id: 1, sequence_number: 1, realtime_us: 1, ..JournalEntry::default() };
    computer(&folder, &[entry]);
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
    computer(&folder, &parse_export(&journal, 1));
    folder.file("root/etc/hostname", b"labguest\n");
    let (here, _) = answer(&folder, "boot --root root --format json");
    for (name, wish) in [("plain.tar.gz", ""), ("redacted.tar.gz", " --redact")] {
        let (printed, _) = answer(&folder, &format!("collect --root root -o {name}{wish}"));
        assert!(printed.starts_with(&format!("Wrote {name}:\n  boots            1\n")), "{printed}");
        assert_same(&here, &folder.answer(&format!("boot {name} --format json")));
    }
    assert!(members(&folder, "plain.tar.gz").contains("labguest"));
    let redacted = members(&folder, "redacted.tar.gz");
    assert!(!redacted.contains("labguest") && !redacted.contains(MACHINE));
    // An existing file is not overwritten.
    let before = fs::read(folder.path("plain.tar.gz")).unwrap();
    let (code, message) = folder.refusal("collect --root root -o plain.tar.gz");
    assert_eq!(code, 2);
    assert!(message.contains("the file already exists"), "{message}");
    assert_eq!(fs::read(folder.path("plain.tar.gz")).unwrap(), before);
}

#[test]
fn empty_collection_leaves_no_file() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("root")).unwrap();
    assert_eq!(folder.run("collect --root root -o none.tar.gz").status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1);
    let (code, _) = folder.refusal("collect --root root -o absent/none.tar.gz");
    assert_eq!(code, 1);
}
