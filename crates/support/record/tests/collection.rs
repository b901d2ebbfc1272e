//! Collections from the fake computer: the archive is complete and has none of the planted names.

use std::io::Read;

use flate2::read::GzDecoder;
use onoff_record::collection::{CollectionOptions, write};
use onoff_record::known_names::redaction_for;
use onoff_record::running::{JournalFile, Scope, inspect};
use onoff_testkit::journal::{JournalEntry, JournalWriter};

use crate::fake_machine::{FakeMachine, Loader};

/// Names that are planted in every place where a computer writes them.
const PLANTED: [&str; 9] = [
    "ersatz-7",
    "ersatz\\x2d7",
    "example.net",
    "marlene",
    "Marlene Muster",
    "10.20.30.40",
    "fe80::aa",
    "3c:52:82",
    "3c5282aabbcc",
];

fn computer() -> (FakeMachine, Vec<u8>) {
    let machine = FakeMachine::new(Loader::SystemdBoot);
    machine.write_file("/etc/machine-id", "4f0e9c1d2a3b4c5d8e6f708192a3b4c5\n");
    machine.write_file("/etc/hostname", "ersatz-7.lab.example.net\n");
    machine.write_file("/etc/passwd", "marlene:x:1000:1000:Marlene Muster,,,:/home/marlene:/bin/sh\n");
    machine.write_file("/proc/cmdline", "root=/dev/mapper/ersatz--7--vg-root ip=10.20.30.40\n");
    machine.write_file("/var/log/journal/4f0e9c1d2a3b4c5d8e6f708192a3b4c5/system.journal", "placeholder");
    let messages = [
        "Hostname set to <ersatz-7>.",
        "Mounted home-marlene.mount - /home/marlene.",
        "dev-mapper-ersatz\\x2d7\\x2dvg-root.device: Changed",
        "eth0: 3c:52:82:aa:bb:cc, renamed to enx3c5282aabbcc",
        "DHCPACK of 10.20.30.40, fe80::aa from mail@lab.example.net",
        "two lines\nof Marlene Muster",
    ];
    let entries: Vec<JournalEntry> = (1..=4_u64)
        .flat_map(|boot| messages.iter().map(move |message| (boot, message)))
        .enumerate()
        .map(|(number, (boot, message))| JournalEntry {
            sequence_number: number as u64 + 1,
            realtime_us: 1_700_000_000_000_000 + number as u64,
            monotonic_us: number as u64,
            boot_id: boot.into(),
            fields: [
                ("MESSAGE", *message),
                ("_HOSTNAME", "ersatz-7"),
                ("_PID", "1"),
                ("_CMDLINE", "/home/marlene/start"),
                ("COREDUMP_ENVIRON", "USER=marlene"),
                ("_MACHINE_ID", "4f0e9c1d2a3b4c5d8e6f708192a3b4c5"),
            ]
            .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
            .to_vec(),
        })
        .collect();
    (machine, JournalWriter::default().file(&entries))
}

/// Packs a collection, and returns the files of the archive and the summary.
fn pack_collection(redact: bool) -> (Vec<(String, Vec<u8>)>, onoff_record::collection::CollectionSummary) {
    let (mut machine, journal) = computer();
    let inspection = inspect(&mut machine, Scope::ThisBoot);
    let journals = [JournalFile::open(&journal).unwrap()];
    let mut bytes = Vec::new();
    let redaction = Some(redaction_for(&machine));
    let summary = write(&inspection, &journals, CollectionOptions { boots: 3, redact }, redaction, &mut bytes).unwrap();
    (unpack(&bytes), summary)
}

/// Returns the names and contents of the files of an archive.
pub fn unpack(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(GzDecoder::new(bytes));
    archive
        .entries()
        .unwrap()
        .map(|entry| {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.path().unwrap().to_string_lossy().into_owned(), bytes)
        })
        .collect()
}

pub fn contains(bytes: &[u8], planted: &str) -> bool {
    String::from_utf8_lossy(bytes).to_ascii_lowercase().contains(&planted.to_ascii_lowercase())
}

#[test]
fn redaction_removes_all_planted_names() {
    let (members, summary) = pack_collection(true);
    for (name, bytes) in &members {
        for planted in PLANTED.iter().chain(&["4f0e9c1d2a3b", "COREDUMP"]) {
            assert!(!contains(name.as_bytes(), planted), "{name}");
            assert!(!contains(bytes, planted), "{planted} in {name}: {}", String::from_utf8_lossy(bytes));
        }
    }
    let replaced = summary.replaced.unwrap();
    assert_eq!((replaced.hosts, replaced.users), (3, 2));
    // Without redaction, the archive has all planted names, so the checks above would find them.
    let (members, summary) = pack_collection(false);
    assert_eq!(summary.replaced, None);
    for planted in PLANTED {
        assert!(members.iter().any(|(_, bytes)| contains(bytes, planted)), "{planted}");
    }
}

#[test]
fn packs_last_boots_and_all_files() {
    let (members, summary) = pack_collection(false);
    assert_eq!(summary.boots, [2_u32, 3, 4].map(|boot| format!("{boot:032x}")));
    assert_eq!(summary.entries, 18);
    assert_eq!(summary.file_count, members.len());
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["journal.export", "show-units.txt", "show-manager.txt", "dmesg.txt", "proc/cmdline", "recording.json"]
    {
        assert!(names.contains(&format!("collected/{name}").as_str()), "{name}: {names:?}");
    }
    let (_, export) = members.iter().find(|(name, _)| name.ends_with("journal.export")).unwrap();
    let entries = onoff_testkit::journal::parse_export(export, 1);
    assert_eq!(entries.len(), 18);
    assert_eq!(entries[0].boot_id, 2);
    let message = |entry: &JournalEntry| entry.fields.iter().find(|(name, _)| name == "MESSAGE").unwrap().1.clone();
    assert_eq!(message(&entries[5]), b"two lines\nof Marlene Muster");
}
