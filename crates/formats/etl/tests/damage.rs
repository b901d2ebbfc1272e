//! Damaged files give an error or a consistent result: no panic, and no more records than fit in the bytes.

use crate::samples_folder;

use std::ops::ControlFlow;

use onoff_etl::{BufferScratch, Input, Losses, Record, Recording};
use onoff_testkit::assemble::{
    ClassHeader, EtlBuilder, EventHeader, ExtendedItem, MessageHeader, Payload, Record as BuiltRecord, Session,
};
use onoff_testkit::compress::Compression;
use proptest::prelude::*;

/// A few records of every kind on two processors, in buffers of 1 KiB.
fn small_recording(compression: Option<Compression>) -> Vec<u8> {
    let session = Session { buffer_size: 0x400, header_buffer_size: 0x400, ..Session::windows_10(2) };
    let session = match compression {
        Some(compression) => session.with_compression(compression),
        None => session,
    };
    let mut etl = EtlBuilder::new(session);
    let extended = vec![ExtendedItem { kind: 1, data: vec![7; 16] }, ExtendedItem { kind: 6, data: vec![1; 40] }];
    for number in 0..60u64 {
        let ticks = 6_370_000 + number * 100;
        let payload = || Payload::wide().u64(number).text("disk");
        let record = match number % 6 {
            0 => BuiltRecord::system(0x0301, 4, ticks, 1, 2, payload()),
            1 => BuiltRecord::compact(0x0302, 4, ticks, 1, 2, payload()),
            2 => BuiltRecord::full(ClassHeader::default(), ticks, payload()),
            3 => BuiltRecord::manifest(
                EventHeader { extended: extended.clone(), ..Default::default() },
                ticks,
                payload(),
            ),
            4 => BuiltRecord::message(
                MessageHeader { timestamp: number % 4 == 0, ..Default::default() },
                ticks,
                payload(),
            ),
            _ => BuiltRecord::perfinfo(0x0524, 4, ticks, payload()),
        };
        etl.push((number % 2) as u16, &record);
    }
    etl.finish()
}

const FORMATS: [Option<Compression>; 4] =
    [None, Some(Compression::Lznt1), Some(Compression::Xpress), Some(Compression::XpressHuffman)];

/// Opens a file and visits its records in every possible way. The results must agree. Returns the number of records.
fn check(bytes: &[u8]) -> Option<u64> {
    let input = Input { name: "damaged.etl", bytes };
    let recording = match Recording::open(&[input]) {
        Ok(recording) => recording,
        Err(error) => {
            assert!(error.to_string().starts_with("damaged.etl: byte offset "), "{error}");
            return None;
        }
    };
    let mut last_ns = i64::MIN;
    let mut all_records = Vec::new();
    let walk = recording.for_each(|record| {
        assert!(record.time_ns() >= last_ns);
        last_ns = record.time_ns();
        all_records.push(identity(record));
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(walk.records, all_records.len() as u64);

    let mut window_records = Vec::new();
    let mut losses = Losses::default();
    for window in recording.windows(3) {
        let walk = window.for_each(|record| {
            window_records.push(identity(record));
            ControlFlow::<()>::Continue(())
        });
        losses.merge(&walk.losses);
        for range in window.releasable_ranges() {
            assert!(range.bytes.end <= bytes.len());
        }
    }
    assert!(window_records == all_records);
    assert_eq!(losses, walk.losses);

    let mut scratch = BufferScratch::default();
    let mut count = 0;
    for buffer in recording.buffers() {
        count += recording.for_each_in_buffer(buffer, &mut scratch, |_| ControlFlow::<()>::Continue(())).records;
    }
    assert_eq!(count, walk.records);
    Some(count)
}

fn identity(record: &Record<'_>) -> (u64, u16, usize, usize) {
    let items = record.extended_items().map(|item| item.data.len()).sum::<usize>();
    assert!(record.payload().len() + items <= record.size());
    let _ = (record.descriptor(), record.class_guid(), record.instance(), record.message_sequence());
    (record.ticks(), record.cpu(), record.size(), items)
}

#[test]
fn accepts_truncation_at_every_byte() {
    for format in FORMATS {
        let bytes = small_recording(format);
        let all_records = check(&bytes).unwrap();
        assert_eq!(all_records, 61);
        let mut previous = 0;
        for length in 0..bytes.len() {
            let records = check(&bytes[..length]).unwrap_or(0);
            assert!(records <= all_records, "{format:?} truncated to {length}");
            // In an uncompressed file, more bytes can only add records.
            assert!(format.is_some() || records >= previous, "truncated to {length}: {previous} then {records}");
            previous = records;
        }
    }
}

#[test]
fn accepts_inversion_of_every_byte() {
    for format in FORMATS {
        let bytes = small_recording(format);
        for offset in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[offset] = !damaged[offset];
            check(&damaged);
        }
    }
}

#[test]
fn inverted_byte_costs_at_most_one_uncompressed_buffer() {
    let bytes = small_recording(None);
    let max_lost = (0x400 - 0x48) / 16;
    for offset in 0x400..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[offset] = !damaged[offset];
        let records = check(&damaged).unwrap();
        assert!(records + max_lost >= 61, "byte {offset:#x}: {records} records left");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn accepts_many_overwritten_bytes(format in 0usize..4, writes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40), cut in any::<prop::sample::Index>()) {
        let mut bytes = small_recording(FORMATS[format]);
        for (position, value) in writes {
            let offset = position.index(bytes.len());
            bytes[offset] = value;
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len() / 4));
        check(&bytes);
    }

    #[test]
    fn accepts_random_bytes_after_valid_header(format in 0usize..4, tail in prop::collection::vec(any::<u8>(), 0..5000)) {
        let mut bytes = small_recording(FORMATS[format]);
        bytes.truncate(0x400);
        bytes.extend(tail);
        check(&bytes);
    }

    #[test]
    fn accepts_random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&bytes);
    }
}

/// Found by the fuzzer: moving a session after one that ends at the last possible tick overflowed.
#[test]
fn accepts_appended_sessions_at_extreme_times() {
    let session = |number: u32, ticks: &[u64]| {
        let mut etl = EtlBuilder::new(Session::windows_10(1));
        for &ticks in ticks {
            etl.push(0, &BuiltRecord::perfinfo(0x0524, 4, ticks, Payload::wide().u32(number)));
            etl.flush(0);
        }
        etl
    };
    for first in [[5, u64::MAX], [0, u64::MAX], [u64::MAX, u64::MAX]] {
        for second in [[0, 0], [0, u64::MAX], [u64::MAX, 0]] {
            let bytes = session(1, &first).finish_appended(session(2, &second));
            assert_eq!(check(&bytes), Some(5), "{first:?} {second:?}");
        }
    }
}

/// Regression inputs from fuzzing and bug reports.
#[test]
fn regression_inputs_stay_fixed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    for path in samples_folder::files_below(&folder, "etl") {
        check(&std::fs::read(&path).unwrap());
    }
}
