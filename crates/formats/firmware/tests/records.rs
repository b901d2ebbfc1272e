//! Synthetic tables, including defects on which other readers loop or give up.
#![allow(clippy::unwrap_used)]

use onoff_firmware::{
    BasicBoot, Event, EventFormat, IssueKind, MAX_RECORDS, RecordContent, S3Resume, S3Suspend, Signature, Uuid, read,
};

/// A table with an 8-byte header and the given records.
fn table(letters: &str, records: &[&[u8]]) -> Vec<u8> {
    let body = records.concat();
    let mut bytes = letters.as_bytes().to_vec();
    bytes.extend_from_slice(&(8 + body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

fn record(number: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend_from_slice(&[4 + body.len() as u8, 1]);
    bytes.extend_from_slice(body);
    bytes
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn basic_boot() -> Vec<u8> {
    record(2, &[&[0; 4][..], &numbers(&[1, 22, 333, 4444, 55555])].concat())
}

/// An FPDT with a valid checksum.
fn fpdt(records: &[&[u8]]) -> Vec<u8> {
    let body = records.concat();
    let mut bytes = b"FPDT".to_vec();
    bytes.extend_from_slice(&(36 + body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&[1, 0]);
    bytes.extend_from_slice(b"MAKER MACHINE ");
    bytes.extend_from_slice(&7_u32.to_le_bytes());
    bytes.extend_from_slice(b"TOOL\x01\0\0\0");
    bytes.extend_from_slice(&body);
    bytes[9] = bytes.iter().fold(0_u8, |sum, &byte| sum.wrapping_sub(byte));
    bytes
}

fn pointer(number: u16, address: u64) -> Vec<u8> {
    record(number, &[&[0; 4][..], &address.to_le_bytes()].concat())
}

fn event(number: u16, progress: u16, tail: &[u8]) -> Vec<u8> {
    let fields = [
        &progress.to_le_bytes()[..],
        &3_u32.to_le_bytes(),
        &1_234_567_890_u64.to_le_bytes(),
        // 9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50 with little-endian first three fields.
        b"\x4f\xda\x3a\x9b\x56\xae\x24\x4c\x8d\xea\xf0\x3b\x75\x58\xae\x50",
    ];
    record(number, &[&fields.concat(), tail].concat())
}

#[test]
fn reads_pointers_in_any_order() {
    let bytes = fpdt(&[
        &pointer(0x3001, 0xdead_0000),
        &pointer(1, 0x1000),
        &record(0x0042, &[1, 2, 3]),
        &pointer(0, 0xffff_0000_1234),
    ]);
    let contents = read(&bytes);
    let [table] = &contents.tables[..] else { panic!() };
    assert_eq!((&contents.issues[..], &table.issues[..]), (&[][..], &[][..]));
    let header = table.header.as_ref().unwrap();
    assert_eq!((header.oem.as_str(), header.oem_table.as_str(), header.oem_revision), ("MAKER", "MACHINE", 7));
    let records: Vec<(u64, u16, &RecordContent)> =
        table.records.iter().map(|record| (record.offset, record.record_type, &record.content)).collect();
    assert_eq!(
        records,
        [
            (36, 0x3001, &RecordContent::Pointer { address: 0xdead_0000 }),
            (52, 1, &RecordContent::Pointer { address: 0x1000 }),
            (68, 0x42, &RecordContent::Other(vec![1, 2, 3])),
            (75, 0, &RecordContent::Pointer { address: 0xffff_0000_1234 }),
        ]
    );
}

#[test]
fn reports_wrong_checksum_with_expected_one() {
    let mut bytes = fpdt(&[&pointer(0, 0x1000)]);
    let correct = bytes[9];
    bytes[9] = correct.wrapping_add(5);
    let table = &read(&bytes).tables[0];
    assert_eq!(table.issues[0].offset, 9);
    assert_eq!(table.issues[0].kind, IssueKind::BadChecksum { stored: correct.wrapping_add(5), expected: correct });
    assert_eq!(table.records.len(), 1, "the records are still read");
}

#[test]
fn reads_every_event_format_by_new_and_old_number() {
    let guid: Uuid = "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50".parse().unwrap();
    let second_guid = "FFFFFFFF-0000-0000-0000-000000000001";
    let second_bytes = b"\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\x01";
    let common = Event {
        format: EventFormat::Guid,
        progress_id: 0x50,
        apic_id: 3,
        time_ns: 1_234_567_890,
        guid,
        second_guid: None,
        handle: None,
        text: String::new(),
    };
    let cases = [
        (&[0x1010][..], vec![], common.clone()),
        (
            &[0x1011, 0x2001],
            b"PEI\0rubbish".to_vec(),
            Event { format: EventFormat::DynamicString, text: "PEI".into(), ..common.clone() },
        ),
        (
            &[0x1012, 0x2002],
            [&second_bytes[..], b"unterminated"].concat(),
            Event {
                format: EventFormat::DualGuidString,
                second_guid: Some(second_guid.parse().unwrap()),
                text: "unterminated".into(),
                ..common.clone()
            },
        ),
        (
            &[0x1013, 0x2003],
            numbers(&[77]),
            Event { format: EventFormat::GuidQword, handle: Some(77), ..common.clone() },
        ),
        (
            &[0x1014, 0x2004],
            [&numbers(&[u64::MAX])[..], b"\0"].concat(),
            Event { format: EventFormat::GuidQwordString, handle: Some(u64::MAX), ..common.clone() },
        ),
    ];
    for (record_numbers, tail, expected) in cases {
        for &number in record_numbers {
            let bytes = table("FBPT", &[&event(number, 0x50, &tail), &basic_boot()]);
            let read = &read(&bytes).tables[0];
            assert_eq!(read.issues, [], "{number:#x}");
            assert_eq!(read.records[0].content, RecordContent::Event(expected.clone()), "{number:#x}");
            assert!(matches!(read.records[1].content, RecordContent::BasicBoot(_)));
        }
    }
}

#[test]
fn keeps_too_short_event_as_bytes() {
    let bytes = table("FBPT", &[&event(0x1013, 1, &[1, 2, 3]), &basic_boot()]);
    let table = &read(&bytes).tables[0];
    assert_eq!(table.issues[0].kind, IssueKind::WrongRecordLength { number: 0x1013, length: 37 });
    assert!(matches!(&table.records[0].content, RecordContent::Other(bytes) if bytes.len() == 33));
    assert_eq!(table.records.len(), 2);
}

#[test]
fn reads_suspend_and_resume_around_vendor_record() {
    let resume = record(0, &[&2_u32.to_le_bytes()[..], &numbers(&[910, 880])].concat());
    let suspend = record(1, &numbers(&[5_000, 8_000]));
    // Readers that do not skip unknown records never reach the suspend record.
    let bytes = table("S3PT", &[&resume, &record(0x2abc, &[9; 7]), &suspend]);
    let contents: Vec<RecordContent> =
        read(&bytes).tables[0].records.iter().map(|record| record.content.clone()).collect();
    assert_eq!(
        contents,
        [
            RecordContent::S3Resume(S3Resume { count: 2, full_resume_ns: 910, average_ns: 880 }),
            RecordContent::Other(vec![9; 7]),
            RecordContent::S3Suspend(S3Suspend { start_ns: 5_000, end_ns: 8_000 }),
        ]
    );
}

#[test]
fn zero_length_record_ends_table() {
    let bytes = table("FBPT", &[&basic_boot(), &[0; 40], &basic_boot()]);
    let table = &read(&bytes).tables[0];
    assert_eq!(table.records.len(), 1);
    assert_eq!(
        (table.issues[0].offset, table.issues[0].kind, table.issues[0].skipped_bytes),
        (56, IssueKind::ZeroLengthRecord, 88)
    );
}

#[test]
fn invalid_record_lengths_end_table() {
    for (length, kind) in [
        (3, IssueKind::InvalidRecordLength { length: 3 }),
        (49, IssueKind::RecordPastEnd { length: 49, remaining: 48 }),
    ] {
        let mut boot = basic_boot();
        boot[2] = length;
        let bytes = table("FBPT", &[&boot]);
        let table = &read(&bytes).tables[0];
        assert_eq!(table.records, []);
        assert_eq!((table.issues[0].kind, table.issues[0].skipped_bytes), (kind, 48));
    }
    let bytes = table("FBPT", &[&basic_boot(), &[2, 0]]);
    let table = &read(&bytes).tables[0];
    assert_eq!(table.records.len(), 1);
    assert_eq!(table.issues[0].kind, IssueKind::RecordPastEnd { length: 0, remaining: 2 });
}

#[test]
fn skips_repeated_signatures() {
    let bytes = table("FBPT", &[b"FBPT", b"FBPT", &basic_boot(), b"FBPT"]);
    let table = &read(&bytes).tables[0];
    assert_eq!(
        table.records[0].content,
        RecordContent::BasicBoot(BasicBoot {
            reset_end_ns: 1,
            loader_load_ns: 22,
            loader_start_ns: 333,
            exit_start_ns: 4444,
            exit_end_ns: 55555,
        })
    );
    assert_eq!(table.issues.len(), 3);
    assert!(table.issues.iter().all(|issue| issue.kind == IssueKind::RepeatedSignature));
}

#[test]
fn reads_consecutive_tables_with_other_bytes_between() {
    let first = fpdt(&[&pointer(0, 0x1000)]);
    let second = table("S3PT", &[&record(1, &numbers(&[1, 2]))]);
    let third = table("FBPT", &[&basic_boot()]);
    let bytes = [&first[..], &[0; 12], &second, b"FBPT is here", &third].concat();
    let contents = read(&bytes);
    let signatures: Vec<Signature> = contents.tables.iter().map(|table| table.signature).collect();
    assert_eq!(signatures, [Signature::Fpdt, Signature::S3pt, Signature::Fbpt]);
    let [issue] = &contents.issues[..] else { panic!() };
    assert_eq!((issue.kind, issue.skipped_bytes), (IssueKind::BytesOutsideTables, 12));
    assert_eq!(contents.tables[2].records.len(), 1);
}

#[test]
fn reads_complete_records_of_truncated_table() {
    let complete = table("FBPT", &[&basic_boot(), &event(0x1010, 1, &[])]);
    for length in 0..complete.len() {
        let contents = read(&complete[..length]);
        let records: usize = contents.tables.iter().map(|table| table.records.len()).sum();
        assert_eq!(records, usize::from(length >= 56), "{length}");
        assert_eq!(contents.tables.len(), usize::from(length >= 4), "{length}");
    }
}

#[test]
fn reports_bytes_beyond_record_limit() {
    let mut records = vec![0; (MAX_RECORDS + 10) * 4];
    for record in records.chunks_exact_mut(4) {
        record.copy_from_slice(&[0x77, 0x77, 4, 0]);
    }
    let bytes = table("FBPT", &[&records]);
    let table = &read(&bytes).tables[0];
    // The table itself counts as a record.
    assert_eq!(table.records.len(), MAX_RECORDS - 1);
    assert_eq!(table.issues[0].skipped_bytes, 44);
}
