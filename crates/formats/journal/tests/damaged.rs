//! Files damaged by a crash, a full disk or a bad disk.

use onoff_journal::{Error, JournalFile, Location};
use onoff_testkit::journal::JournalWriter;

use crate::synthetic::{ZSTANDARD, entries, read_all, sort_fields};

fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

fn u64_at(bytes: &[u8], offset: usize) -> usize {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap()) as usize
}

#[test]
fn reads_and_reports_unclosed_file() {
    let writer = JournalWriter { state: 1, ..JournalWriter::default() };
    let expected = entries(20);
    let (entries_read, losses) = read_all(&[&writer.file(&expected)]);
    assert_eq!(entries_read, sort_fields(expected));
    assert_eq!((losses.unclosed, losses.recovered_entries, losses.unreadable_entries), (1, 0, 0));
}

#[test]
fn searches_entries_after_damaged_array() {
    for is_compact in [false, true] {
        let writer = JournalWriter { is_compact, ..JournalWriter::default() };
        let expected = entries(40);
        let mut bytes = writer.file(&expected);
        let first_array = u64_at(&bytes, 176);
        // The next-array offset of the first array is out of range.
        put_u64(&mut bytes, first_array + 16, 1 << 40);
        let (entries_read, losses) = read_all(&[&bytes]);
        assert_eq!(entries_read, sort_fields(expected), "compact {is_compact}");
        assert_eq!((losses.damaged_arrays, losses.recovered_entries, losses.unreadable_entries), (1, 36, 0));
        assert_eq!(losses.first_location, Some(Location { file: 0, offset: 1 << 40 }));
    }
}

#[test]
fn reads_truncated_file_up_to_the_end() {
    let expected = entries(40);
    let bytes = JournalWriter::default().file(&expected);
    let truncated = bytes.len() * 2 / 3;
    let (entries_read, losses) = read_all(&[&bytes[..truncated]]);
    // The arrays are at the end of a synthetic file, so all entries are found by the search.
    assert!(entries_read.len() > 20 && entries_read.len() < 40, "{}", entries_read.len());
    assert_eq!(entries_read, sort_fields(expected)[..entries_read.len()]);
    assert_eq!((losses.truncated, losses.damaged_arrays), (1, 1));
    assert_eq!(losses.recovered_entries + losses.unreadable_entries, 40);
}

#[test]
fn overwritten_objects_cost_only_their_entries() {
    let expected = entries(40);
    let mut bytes = JournalWriter::default().file(&expected);
    let first_array = u64_at(&bytes, 176);
    let second_entry = u64_at(&bytes, first_array + 16 + 8 + 8);
    // Overwrite the second entry and the following bytes with zeros, as after a lost write.
    bytes[second_entry..second_entry + 512].fill(0);
    let (entries_read, losses) = read_all(&[&bytes]);
    let lost = 40 - entries_read.len() as u64;
    assert!((1..=4).contains(&lost), "{lost}");
    assert_eq!(losses.unreadable_entries, lost);
    assert_eq!(losses.damaged_arrays, 1);
}

#[test]
fn counts_undecompressible_field_and_keeps_others() {
    let writer = JournalWriter { compression: Some(ZSTANDARD), ..JournalWriter::default() };
    let expected = entries(40);
    let mut bytes = writer.file(&expected);
    let magic_offset = bytes.windows(4).position(|window| window == [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    bytes[magic_offset] = 0;
    let (entries_read, losses) = read_all(&[&bytes]);
    assert_eq!(entries_read.len(), 40);
    assert_eq!(losses.unreadable_fields, 1);
    let fields: usize = entries_read.iter().map(|entry| entry.fields.len()).sum();
    assert_eq!(fields, 40 * 4 - 1);
}

#[test]
fn stops_at_cyclic_arrays() {
    let expected = entries(40);
    let mut bytes = JournalWriter::default().file(&expected);
    let first_array = u64_at(&bytes, 176);
    put_u64(&mut bytes, first_array + 16, first_array as u64);
    let (entries_read, losses) = read_all(&[&bytes]);
    assert_eq!(entries_read, sort_fields(expected));
    assert_eq!(losses.damaged_arrays, 1);
}

#[test]
fn skips_field_beyond_budget() {
    fn bomb(_: &[u8]) -> Vec<u8> {
        (crate::synthetic::XZ.compress)(&vec![b'a'; 65 << 20])
    }
    let compression = onoff_testkit::journal::FieldCompression { flag: 1, compress: bomb, min_len: 420 };
    let writer = JournalWriter { compression: Some(compression), ..JournalWriter::default() };
    let bytes = writer.file(&entries(12));
    assert!(bytes.len() < 100_000);
    let (entries_read, losses) = read_all(&[&bytes]);
    assert_eq!(entries_read.len(), 12);
    assert_eq!((losses.fields_beyond_budget, losses.unreadable_fields), (1, 0));
}

#[test]
fn rejects_other_files_with_position() {
    assert!(matches!(JournalFile::open(b"LPKSHHRH"), Err(Error::Truncated { length: 8 })));
    assert!(matches!(JournalFile::open(&[0; 400]), Err(Error::NotAJournal { offset: 0, .. })));
    let mut bytes = JournalWriter::default().file(&entries(1));
    bytes[13] = 1;
    assert_eq!(JournalFile::open(&bytes).unwrap_err(), Error::Unsupported { flags: 0x100 });
    let mut bytes = JournalWriter::default().file(&entries(1));
    put_u64(&mut bytes, 88, 7);
    assert!(matches!(JournalFile::open(&bytes), Err(Error::NotAJournal { offset: 88, .. })));
}
