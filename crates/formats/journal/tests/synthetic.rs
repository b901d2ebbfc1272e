//! Synthetic journals.

use onoff_journal::{Entry, JournalFile, Losses, read};
use onoff_testkit::journal::{FieldCompression, JournalEntry};

pub const BOOT: u128 = 0x00c0_ffee_0000_4000_8000_0000_0000_0001;

fn xz(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut packed = (bytes.len() as u64).to_le_bytes().to_vec();
    packed.extend(lz4_flex::block::compress(bytes));
    packed
}

/// Compresses to one frame with a content size, as journald always writes.
fn zstandard(bytes: &[u8]) -> Vec<u8> {
    /// Bits of the frame header descriptor: a 4-byte size in a single segment; a checksum is present.
    const SIZED: u8 = 0xa0;
    const CHECKSUM: u8 = 4;
    let packed = ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    let (magic, frame) = packed.split_at(4);
    let [descriptor, _window, blocks @ ..] = frame else {
        panic!("frame without header");
    };
    assert_eq!(descriptor & !CHECKSUM, 0, "header without size");
    let size = u32::try_from(bytes.len()).unwrap().to_le_bytes();
    [magic, &[SIZED | descriptor], &size, blocks].concat()
}

pub const XZ: FieldCompression = FieldCompression { flag: 1, compress: xz, min_len: 80 };
pub const LZ4: FieldCompression = FieldCompression { flag: 2, compress: lz4, min_len: 80 };
pub const ZSTANDARD: FieldCompression = FieldCompression { flag: 4, compress: zstandard, min_len: 80 };

/// Builds `count` entries of one boot, with short, long and binary fields.
pub fn entries(count: u64) -> Vec<JournalEntry> {
    (1..=count)
        .map(|number| JournalEntry {
            sequence_number: number,
            realtime_us: 1_700_000_000_000_000 + number * 1000,
            monotonic_us: number * 1000,
            boot_id: BOOT,
            fields: vec![
                ("_BOOT_ID".to_owned(), format!("{BOOT:032x}").into_bytes()),
                (
                    "MESSAGE".to_owned(),
                    format!("message {number} {}", "long ".repeat(number as usize * 7 % 90)).into_bytes(),
                ),
                ("BINARY".to_owned(), vec![b'\n', 0, 0xff, number as u8]),
                ("_TRANSPORT".to_owned(), b"kernel".to_vec()),
            ],
        })
        .collect()
}

/// Converts an entry to the type of the test kit.
pub fn to_journal_entry(entry: &Entry<'_, '_>) -> JournalEntry {
    JournalEntry {
        sequence_number: entry.sequence_number,
        realtime_us: entry.realtime_us,
        monotonic_us: entry.monotonic_us,
        boot_id: entry.boot,
        fields: entry
            .fields()
            .map(|field| (String::from_utf8_lossy(&field.name).into_owned(), field.value.into_owned()))
            .collect(),
    }
}

/// Reads all entries of `files`, with fields sorted by name.
pub fn read_all(files: &[&[u8]]) -> (Vec<JournalEntry>, Losses) {
    let files: Vec<JournalFile<'_>> = files.iter().map(|bytes| JournalFile::open(bytes).unwrap()).collect();
    let mut entries_read = Vec::new();
    let losses = read(&files, |entry| {
        let mut entry = to_journal_entry(entry);
        entry.fields.sort();
        entries_read.push(entry);
    });
    (entries_read, losses)
}

/// Sorts the fields of `entries` by name.
pub fn sort_fields(mut entries: Vec<JournalEntry>) -> Vec<JournalEntry> {
    for entry in &mut entries {
        entry.fields.sort();
    }
    entries
}
