//! Single defects: how many records each costs, and which loss is counted.

use crate::assembled::{START, interleaved_events, numbered_event, open, read, small_buffers};
use onoff_etl::{Error, Input, Loss, Recording};
use onoff_testkit::assemble::{Defect, EtlBuilder};
use onoff_testkit::compress::Compression;

#[test]
fn sorts_small_time_inversions() {
    // Within a buffer, and between the end of one buffer and the start of the next.
    let mut etl = EtlBuilder::new(small_buffers(1));
    for (ticks, number) in [(10, 1), (30, 3), (20, 2), (50, 5)] {
        etl.push(0, &numbered_event(START + ticks, number));
    }
    etl.flush(0);
    for (ticks, number) in [(40, 4), (60, 6)] {
        etl.push(0, &numbered_event(START + ticks, number));
    }
    let bytes = etl.finish();
    let recording = open(&bytes);
    let (events, losses) = read(&recording);
    assert_eq!(events, (1..=6).map(|number| (i64::from(number) * 1000, number as u32)).collect::<Vec<_>>());
    assert_eq!(losses.count(Loss::TimeInversion), 1);
    assert_eq!(losses.iter().count(), 1);
}

#[test]
fn single_wild_time_stamp_does_not_move_neighbors() {
    for wild in [1, u64::MAX / 2] {
        for position in [0, 57, 119] {
            let mut etl = EtlBuilder::new(small_buffers(1));
            for number in 0..1000u32 {
                let ticks = if number == 240 + position { wild } else { START + u64::from(number) * 1000 };
                etl.push(0, &numbered_event(ticks, number));
            }
            let bytes = etl.finish();
            let recording = open(&bytes);
            let (events, losses) = read(&recording);
            assert!(events.is_sorted_by_key(|&(time, _)| time));
            let other_events = events.iter().filter(|&&(_, number)| number != 240 + position);
            let correct = other_events.filter(|&&(time, number)| time == i64::from(number) * 100_000).count();
            assert_eq!((correct, events.len()), (999, 1000), "timestamp {wild:#x} at {position}");
            assert_eq!(losses.count(Loss::TimeContradiction), 1, "timestamp {wild:#x} at {position}: {losses:?}");
            assert_eq!(recording.duration_ns(), 99_900_000);
        }
    }
}

#[test]
fn sorts_and_reports_clock_set_back() {
    let mut etl = EtlBuilder::new(small_buffers(1));
    for number in 0..1000u32 {
        let setback = if number < 600 { 0 } else { 500_000_000 };
        etl.push(0, &numbered_event(START + 600_000_000 + u64::from(number) * 10 - setback, number));
    }
    let bytes = etl.finish();
    let recording = open(&bytes);
    let (events, losses) = read(&recording);
    assert_eq!(events.len(), 1000);
    assert!(events.is_sorted_by_key(|&(time, _)| time));
    assert_eq!(events[0].1, 600);
    assert!(losses.count(Loss::DisorderedBuffers) > 0);
}

#[test]
fn counts_lost_and_repeated_buffers() {
    let mut etl = interleaved_events(small_buffers(1), 2000);
    etl.defect(Defect::MissingBuffer { buffer: 3 }).defect(Defect::RepeatedBuffer { buffer: 5 });
    let bytes = etl.finish();
    let recording = open(&bytes);
    let (events, losses) = read(&recording);
    assert!(events.is_sorted() && events.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(losses.count(Loss::MissingSequence), 1);
    assert_eq!(losses.count(Loss::DuplicateBuffer), 1);
    assert_eq!(losses.count(Loss::BuffersAbsent), 1);
    assert_eq!(losses.first(Loss::DuplicateBuffer).map(|location| location.offset), Some(7 * 0x1000));
}

#[test]
fn counts_lossy_flags() {
    let mut etl = interleaved_events(small_buffers(1), 500);
    etl.flush(0).flag_last_buffer(0x2);
    let bytes = etl.finish();
    assert_eq!(open(&bytes).losses().count(Loss::BuffersMarkedLossy), 1);
}

#[test]
fn bad_record_costs_rest_of_buffer_only() {
    for defect in [
        Defect::RecordSize { buffer: 1, record: 4, size: 3 },
        Defect::RecordSize { buffer: 1, record: 4, size: 0xFFF8 },
        Defect::RecordMarker { buffer: 1, record: 4, marker: 0x12 },
    ] {
        let mut etl = interleaved_events(small_buffers(1), 1000);
        etl.defect(defect);
        let bytes = etl.finish();
        let (events, losses) = read(&open(&bytes));
        let per_buffer = (0x1000 - 0x48) / 24;
        assert_eq!(events.len(), 1000 - per_buffer + 4, "{defect:?}");
        assert_eq!(losses.count(Loss::BadRecord), 1, "{defect:?}");
        assert_eq!(losses.first(Loss::BadRecord).map(|location| location.offset), Some(0x2000 + 0x48 + 4 * 24));
    }
}

#[test]
fn wrong_size_of_uncompressed_buffer_costs_nothing() {
    for size in [0, 8, 0x48, 0x1001, 0x5000, u32::MAX] {
        let mut etl = interleaved_events(small_buffers(1), 2000);
        etl.defect(Defect::BufferSize { buffer: 2, size });
        let bytes = etl.finish();
        let (events, losses) = read(&open(&bytes));
        assert_eq!(events.len(), 2000, "size {size:#x}: {losses:?}");
        let counted: Vec<_> = losses.iter().map(|(loss, count, _)| (loss, count)).collect();
        assert_eq!(counted, [(Loss::BufferSizeDamaged, 1)], "size {size:#x}");
    }
}

#[test]
fn damaged_buffer_header_costs_one_buffer() {
    for session in [small_buffers(1), small_buffers(1).with_compression(Compression::Xpress)] {
        let clean = interleaved_events(session, 2000).finish();
        let target = open(&clean).buffers()[3].clone();
        let mut bytes = clean.clone();
        bytes[target.offset..target.offset + 0x48].fill(0xEE);
        let (events, losses) = read(&open(&bytes));
        assert_eq!(losses.count(Loss::UnreadableSpan), 1, "{losses:?}");
        assert_eq!(losses.first(Loss::UnreadableSpan).map(|location| location.offset), Some(target.offset as u64));
        assert_eq!(losses.count(Loss::MissingSequence), 1);
        assert_eq!(events.len(), 2000 - (0x1000 - 0x48) / 24);
    }
}

#[test]
fn bounds_fill_level_by_buffer() {
    for fill in [0, 0x47, 0x48, 0x50] {
        let mut etl = interleaved_events(small_buffers(1), 500);
        etl.defect(Defect::FillLevel { buffer: 0, offset: fill });
        let bytes = etl.finish();
        let (events, _) = read(&open(&bytes));
        assert!(events.len() >= 500 - (0x1000 - 0x48) / 24, "fill {fill:#x}");
    }
    // The fill pattern follows the records.
    let mut etl = interleaved_events(small_buffers(1), 500);
    etl.defect(Defect::FillLevel { buffer: 2, offset: 0x1000 });
    let bytes = etl.finish();
    let (events, losses) = read(&open(&bytes));
    assert_eq!(events.len(), 500);
    assert_eq!(losses.count(Loss::UnwrittenSpace), 1);
}

#[test]
fn wrong_compressed_size_keeps_valid_records() {
    for compression in [Compression::Lznt1, Compression::Xpress, Compression::XpressHuffman] {
        let mut etl = interleaved_events(small_buffers(1).with_compression(compression), 1000);
        etl.defect(Defect::FillLevel { buffer: 1, offset: 0x1000 + 0x200 });
        let bytes = etl.finish();
        let (events, losses) = read(&open(&bytes));
        assert_eq!(events.len(), 1000, "{compression:?}");
        assert_eq!(losses.count(Loss::DecompressionShort), 1, "{compression:?}: {losses:?}");
    }
}

#[test]
fn rejects_absurd_expansion() {
    let mut etl = interleaved_events(small_buffers(1).with_compression(Compression::Xpress), 5000);
    for buffer in 0..8 {
        etl.defect(Defect::FillLevel { buffer, offset: 60 << 20 });
    }
    let bytes = etl.finish();
    let recording = open(&bytes);
    let (_, losses) = read(&recording);
    assert!(losses.count(Loss::DecompressionRefused) >= 6, "{losses:?}");
}

#[test]
fn reports_unknown_compression() {
    let mut bytes = interleaved_events(small_buffers(1).with_compression(Compression::Xpress), 100).finish();
    bytes[0x2C] = 9;
    let recording = open(&bytes);
    let (events, losses) = read(&recording);
    assert!(events.is_empty());
    assert_eq!(losses.count(Loss::UnknownCompression), 1);
}

#[test]
fn rejects_other_files_with_name_and_offset() {
    let open_error = |bytes: &[u8]| Recording::open(&[Input { name: "x.etl", bytes }]).unwrap_err();
    assert_eq!(open_error(&[]).to_string(), "x.etl: byte offset 0: the file is empty");
    assert_eq!(open_error(&[0; 5000]).to_string(), "x.etl: byte offset 0: the file is empty (all bytes are zero)");
    assert_eq!(
        open_error(b"MZ\x90").to_string(),
        "x.etl: byte offset 0x0: the file ends inside the first buffer header: 72 bytes needed, 3 available"
    );
    assert!(matches!(open_error(&[b'A'; 5000]), Error::NotAnEventTraceLog { offset: 0, .. }));
    let bytes = EtlBuilder::new(small_buffers(1)).finish();
    assert!(matches!(open_error(&bytes[..0x100]), Error::Truncated { offset: 0x48, .. }));
    let mut damaged = bytes.clone();
    damaged[0x48 + 6] = 1;
    assert!(matches!(open_error(&damaged), Error::NotAnEventTraceLog { offset: 0x48, .. }));
    let mut damaged = bytes;
    damaged[0x48 + 2] = 0x13;
    assert!(open_error(&damaged).to_string().contains("its marker is 0xc013"));
    assert_eq!(Recording::open(&[]).unwrap_err(), Error::NoInput);
}
