//! Every kind of name in every file of a collection: a redacted collection has none of them, and keeps what an analysis
//! needs.

use onoff_record::collection::{CollectionOptions, write};
use onoff_record::known_names::redaction_for;
use onoff_record::running::{CollectedFile, JournalFile, RunningSystem, Scope, inspect};
use onoff_testkit::journal::{JournalEntry, JournalWriter, parse_export};
use onoff_testkit::planted_linux::{DECOYS, PLANTED};

use crate::collection::{contains, unpack};
use crate::fake_machine::{FakeMachine, Loader};

/// The name of the member, and its text.
fn texts(members: &[(String, Vec<u8>)]) -> Vec<(&str, String)> {
    members.iter().map(|(name, bytes)| (name.as_str(), String::from_utf8_lossy(bytes).into_owned())).collect()
}

/// Packs a collection whose every text file and journal field has the lines.
fn collection_of(lines: &[&str], redact: bool) -> Vec<(String, Vec<u8>)> {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    machine.write_file("/etc/passwd", "gdm:x:120:120::/:/bin/false\nmarlene:x:1000:1000:Marlene Muster:/h:/bin/sh\n");
    machine.write_file("/etc/os-release", "ID=debian\n");
    let mut system: RunningSystem = inspect(&mut machine, Scope::ThisBoot);
    for file in &mut system.files {
        if let Ok(text) = std::str::from_utf8(&file.bytes)
            && !text.contains('\0')
        {
            file.bytes = format!("{text}{}\n", lines.join("\n")).into_bytes();
        }
    }
    assert!(system.files.len() >= 7, "{:?}", system.files.iter().map(|file| &file.name).collect::<Vec<_>>());
    system.files.push(CollectedFile { name: "/sys/table".to_owned(), bytes: vec![0xff, 0, 1] });
    let entries: Vec<JournalEntry> = (1..)
        .zip(lines)
        .map(|(number, line)| JournalEntry {
            sequence_number: number,
            realtime_us: 1_700_000_000_000_000 + number,
            monotonic_us: number,
            boot_id: 1,
            fields: ["MESSAGE", "_CMDLINE"].map(|name| (name.to_owned(), line.as_bytes().to_vec())).to_vec(),
        })
        .collect();
    let journal = JournalWriter::default().file(&entries);
    let journals = [JournalFile::open(&journal).unwrap()];
    let mut bytes = Vec::new();
    let redaction = Some(redaction_for(&machine));
    write(&system, &journals, CollectionOptions { boots: 3, redact }, redaction, &mut bytes).unwrap();
    unpack(&bytes)
}

#[test]
fn every_planted_name_is_removed_from_every_file() {
    let lines: Vec<&str> = PLANTED.iter().map(|(line, _)| *line).collect();
    for (name, text) in texts(&collection_of(&lines, true)) {
        for (line, names) in PLANTED {
            for planted in *names {
                let leaking: Vec<&str> = text.lines().filter(|line| contains(line.as_bytes(), planted)).collect();
                assert!(leaking.is_empty(), "{planted} of '{line}' in {name}: {leaking:?}");
            }
        }
    }
    let plain = collection_of(&lines, false);
    for (line, names) in PLANTED {
        for planted in *names {
            let count = plain.iter().filter(|(_, bytes)| contains(bytes, planted)).count();
            assert!(count >= 8, "{planted} of '{line}' is in {count} files only");
        }
    }
}

#[test]
fn what_identifies_nobody_stays_in_every_file() {
    // The planted names are there too: they must not take anything else with them.
    let planted = PLANTED.iter().map(|(line, _)| *line);
    let lines: Vec<&str> = planted.chain(DECOYS.iter().copied()).collect();
    let members = collection_of(&lines, true);
    for (name, text) in texts(&members) {
        if name.ends_with("recording.json") || name.ends_with("table") || name.contains("efivars") {
            continue;
        }
        for decoy in DECOYS {
            assert!(text.contains(decoy), "'{decoy}' is not in {name}");
        }
    }
    let (_, export) = members.iter().find(|(name, _)| name.ends_with("journal.export")).unwrap();
    let entries = parse_export(export, 1);
    assert_eq!(entries.len(), lines.len());
    assert_eq!(entries[0].realtime_us, 1_700_000_000_000_001);
    assert!(members.iter().any(|(name, _)| name.ends_with("LoaderTimeInitUSec-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")));
}

#[test]
fn the_same_name_has_the_same_substitute_in_all_files() {
    let lines = [
        "usb 1-2: SerialNumber: 4C530001230918",
        "dev-disk-by\\x2did-usb\\x2dSanDisk_Ultra_4C530001230918\\x2d0:0.device",
        "EXT4-fs (sda2): mounted filesystem 1b2c3d4e-aaaa-4bbb-8ccc-0123456789ab ro",
        "dev-disk-by\\x2duuid-1b2c3d4e\\x2daaaa\\x2d4bbb\\x2d8ccc\\x2d0123456789ab.device",
        "eth0: 3c:52:82:aa:bb:cc BOOTIF=3c5282aabbcc",
    ];
    let members = collection_of(&lines, true);
    for (name, text) in texts(&members) {
        if !name.ends_with("dmesg.txt") {
            continue;
        }
        for part in [
            "SerialNumber: serial1\n",
            "SanDisk_Ultra_serial1\\x2d0:0.device",
            "filesystem 00000000-0000-0000-0000-000000000001 ro",
            "00000000\\x2d0000\\x2d0000\\x2d0000\\x2d000000000001.device",
            "02:00:00:00:00:01 BOOTIF=020000000001",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
