//! Files of both formats and with every compression: reading returns the original entries, as `journalctl` does.

use std::collections::BTreeSet;
use std::process::Command;

use onoff_journal::{Losses, State};
use onoff_testkit::journal::JournalWriter;

use crate::synthetic::{LZ4, XZ, ZSTANDARD, entries, read_all, sorted};

fn makers() -> Vec<(String, JournalWriter)> {
    let mut makers = Vec::new();
    for compact in [false, true] {
        for (name, packing) in [("plain", None), ("xz", Some(XZ)), ("lz4", Some(LZ4)), ("zstd", Some(ZSTANDARD))] {
            let maker = JournalWriter { is_compact: compact, compression: packing, ..JournalWriter::default() };
            makers.push((format!("{name}, compact {compact}"), maker));
        }
    }
    makers
}

#[test]
fn reads_every_format_and_compression() {
    let expected = entries(100);
    for (name, maker) in makers() {
        let (found, losses) = read_all(&[&maker.file(&expected)]);
        assert_eq!(found, sorted(expected.clone()), "{name}");
        assert_eq!(losses, Losses::default(), "{name}");
    }
}

#[test]
fn empty_journal_has_no_entries() {
    let (found, losses) = read_all(&[&JournalWriter::default().file(&[])]);
    assert!(found.is_empty());
    assert_eq!(losses, Losses::default());
}

#[test]
fn reads_header() {
    let maker = JournalWriter { state: 2, is_compact: true, ..JournalWriter::default() };
    let bytes = maker.file(&entries(3));
    let file = onoff_journal::JournalFile::open(&bytes).unwrap();
    let header = file.header();
    assert_eq!((header.state, header.entries, header.is_compact), (State::Archived, 3, true));
    assert_eq!((header.machine, header.sequence), (maker.machine_id, maker.sequence_id));
}

/// `journalctl` reads the same entries from the synthetic files.
#[test]
fn agrees_with_journalctl() {
    let folder = std::env::temp_dir().join(format!("onoff-journal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let expected = entries(60);
    for (at, (name, maker)) in makers().into_iter().enumerate() {
        let path = folder.join(format!("{at}.journal"));
        let bytes = maker.file(&expected);
        std::fs::write(&path, &bytes).unwrap();
        let output =
            Command::new("journalctl").args(["--quiet", "-o", "export", "--all", "--file"]).arg(&path).output();
        let Ok(output) = output else {
            eprintln!("skipped: journalctl not found");
            break;
        };
        let theirs = export(&output.stdout);
        let (found, _) = read_all(&[&bytes]);
        let ours: Vec<BTreeSet<(String, Vec<u8>)>> =
            found.into_iter().map(|entry| entry.fields.into_iter().collect()).collect();
        assert_eq!(theirs.len(), ours.len(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(theirs == ours, "{name}: fields differ");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The fields of each exported entry, without those derived from the head of the entry.
fn export(mut bytes: &[u8]) -> Vec<BTreeSet<(String, Vec<u8>)>> {
    let mut entries = Vec::new();
    let mut entry = BTreeSet::new();
    while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        bytes = rest;
        let (name, value) = match line.iter().position(|&byte| byte == b'=') {
            _ if line.is_empty() => {
                entries.push(std::mem::take(&mut entry));
                continue;
            }
            Some(at) => (&line[..at], line[at + 1..].to_vec()),
            None => {
                let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
                bytes = &rest[8 + length + 1..];
                (line, rest[8..8 + length].to_vec())
            }
        };
        if !name.starts_with(b"__") {
            entry.insert((String::from_utf8(name.to_vec()).unwrap(), value));
        }
    }
    entries
}
