//! Files of both formats and with every compression: reading returns the original entries, as `journalctl` does.

use std::collections::BTreeSet;
use std::process::Command;

use onoff_journal::{Losses, State};
use onoff_testkit::journal::JournalWriter;

use crate::synthetic::{LZ4, XZ, ZSTANDARD, entries, read_all, sort_fields};

fn writers() -> Vec<(String, JournalWriter)> {
    let mut writers = Vec::new();
    for is_compact in [false, true] {
        for (name, compression) in [("plain", None), ("xz", Some(XZ)), ("lz4", Some(LZ4)), ("zstd", Some(ZSTANDARD))] {
            let writer = JournalWriter { is_compact, compression, ..JournalWriter::default() };
            writers.push((format!("{name}, compact {is_compact}"), writer));
        }
    }
    writers
}

#[test]
fn reads_every_format_and_compression() {
    let expected = entries(100);
    for (name, writer) in writers() {
        let (entries_read, losses) = read_all(&[&writer.file(&expected)]);
        assert_eq!(entries_read, sort_fields(expected.clone()), "{name}");
        assert_eq!(losses, Losses::default(), "{name}");
    }
}

#[test]
fn empty_journal_has_no_entries() {
    let (entries_read, losses) = read_all(&[&JournalWriter::default().file(&[])]);
    assert!(entries_read.is_empty());
    assert_eq!(losses, Losses::default());
}

#[test]
fn reads_header() {
    let writer = JournalWriter { state: 2, is_compact: true, ..JournalWriter::default() };
    let bytes = writer.file(&entries(3));
    let file = onoff_journal::JournalFile::open(&bytes).unwrap();
    let header = file.header();
    assert_eq!((header.state, header.entries, header.is_compact), (State::Archived, 3, true));
    assert_eq!((header.machine, header.sequence), (writer.machine_id, writer.sequence_id));
}

/// `journalctl` reads the same entries from the synthetic files.
#[test]
fn agrees_with_journalctl() {
    let folder = std::env::temp_dir().join(format!("onoff-journal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let expected = entries(60);
    for (index, (name, writer)) in writers().into_iter().enumerate() {
        let path = folder.join(format!("{index}.journal"));
        let bytes = writer.file(&expected);
        std::fs::write(&path, &bytes).unwrap();
        let output =
            Command::new("journalctl").args(["--quiet", "-o", "export", "--all", "--file"]).arg(&path).output();
        let Ok(output) = output else {
            eprintln!("skipped: journalctl not found");
            break;
        };
        let expected_fields = export(&output.stdout);
        let (entries_read, _) = read_all(&[&bytes]);
        let actual_fields: Vec<BTreeSet<(String, Vec<u8>)>> =
            entries_read.into_iter().map(|entry| entry.fields.into_iter().collect()).collect();
        assert_eq!(expected_fields.len(), actual_fields.len(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(expected_fields == actual_fields, "{name}: fields differ");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Parses the fields of each exported entry, without the fields derived from the entry's header.
fn export(mut bytes: &[u8]) -> Vec<BTreeSet<(String, Vec<u8>)>> {
    let mut entries = Vec::new();
    let mut entry = BTreeSet::new();
    while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
        let (line, remaining) = (&bytes[..end], &bytes[end + 1..]);
        bytes = remaining;
        let (name, value) = match line.iter().position(|&byte| byte == b'=') {
            _ if line.is_empty() => {
                entries.push(std::mem::take(&mut entry));
                continue;
            }
            Some(separator) => (&line[..separator], line[separator + 1..].to_vec()),
            None => {
                let length = u64::from_le_bytes(remaining[..8].try_into().unwrap()) as usize;
                bytes = &remaining[8 + length + 1..];
                (line, remaining[8..8 + length].to_vec())
            }
        };
        if !name.starts_with(b"__") {
            entry.insert((String::from_utf8(name.to_vec()).unwrap(), value));
        }
    }
    entries
}
