//! Assembled records are read back unchanged: any records, processors and buffers.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::ops::ControlFlow;

use onoff_etl::{HeaderKind, Input, Recording};
use onoff_testkit::assemble::{
    ClassHeader, ClockKind, EtlBuilder, EventHeader, ExtendedItem, Header, MessageHeader, PointerSize, Record, Session,
    SystemHeader,
};
use onoff_testkit::compress::Compression;
use proptest::prelude::*;
use uuid::Uuid;

/// A record to write, with the expected result.
#[derive(Clone, Debug)]
struct ExpectedRecord {
    processor: u16,
    kind: HeaderKind,
    ticks: u64,
    wide: bool,
    payload: Vec<u8>,
    items: Vec<ExtendedItem>,
}

const COUNTERS: [u64; 3] = [1, u64::MAX, 7];
const CLASS: Uuid = Uuid::from_u128(0x3d6fa8d0_fe05_11d0_9dda_00c04fd7ba7c);

impl ExpectedRecord {
    fn record(&self) -> Record<'_> {
        let classic = SystemHeader { hook: 0x0301, version: 4, thread: 8, process: 12, ..SystemHeader::default() };
        let class = ClassHeader { class: CLASS, opcode: 9, ..ClassHeader::default() };
        let header = match self.kind {
            HeaderKind::System => Header::System(classic),
            HeaderKind::Compact => Header::Compact(classic),
            HeaderKind::Perfinfo => {
                Header::Perfinfo { hook: 0x0524, version: 4, pebs_index: self.wide.then_some(5), counters: &COUNTERS }
            }
            HeaderKind::Full => Header::Full(class),
            HeaderKind::Instance => Header::Instance { event: class, instance: 3, parent: 2, parent_class: CLASS },
            HeaderKind::Message => Header::Message(MessageHeader {
                number: 17,
                guid: Some(CLASS),
                timestamp: true,
                thread_and_process: Some((8, 12)),
                ..MessageHeader::default()
            }),
            _ => Header::Event(Box::new(EventHeader {
                provider: CLASS,
                id: 500,
                extended: self.items.clone(),
                ..EventHeader::default()
            })),
        };
        Record {
            ticks: self.ticks,
            pointer_size: if self.wide { PointerSize::Eight } else { PointerSize::Four },
            header,
            payload: Cow::Borrowed(&self.payload),
        }
    }
}

/// Type and data of an extended item.
type GeneratedItem = (u16, Vec<u8>);
/// Processor, kind, ticks since the previous record, 64-bit, payload, extended items.
type Generated = (u16, usize, u64, bool, Vec<u8>, Vec<GeneratedItem>);

fn generated_record() -> impl Strategy<Value = Generated> {
    (
        0u16..5,
        0usize..7,
        1u64..2_000,
        any::<bool>(),
        proptest::collection::vec(any::<u8>(), 0..200),
        proptest::collection::vec((1u16..19, proptest::collection::vec(any::<u8>(), 0..40)), 0..3),
    )
}

const KINDS: [HeaderKind; 7] = [
    HeaderKind::System,
    HeaderKind::Compact,
    HeaderKind::Perfinfo,
    HeaderKind::Full,
    HeaderKind::Instance,
    HeaderKind::Event,
    HeaderKind::Message,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn reads_records_in_time_order(
        generated in proptest::collection::vec(generated_record(), 1..300),
        compression in prop::sample::select(vec![
            None,
            Some(Compression::Lznt1),
            Some(Compression::Xpress),
            Some(Compression::XpressHuffman),
        ]),
        system_time in any::<bool>(),
        wide in any::<bool>(),
    ) {
        let mut session = if wide { Session::windows_10(5) } else { Session::windows_7_x86(5) };
        session.buffer_size = 0x1000;
        session.header_buffer_size = 0x1000;
        if let Some(compression) = compression {
            session = session.with_compression(compression);
        }
        if system_time {
            session.clock = ClockKind::SystemTime;
            session.start_ticks = session.start_time;
        }
        let mut ticks = session.start_ticks;
        let records: Vec<ExpectedRecord> = generated
            .into_iter()
            .map(|(processor, kind, step, wide, payload, items)| {
                ticks += step;
                ExpectedRecord {
                    processor,
                    kind: KINDS[kind],
                    ticks,
                    wide,
                    payload,
                    items: items
                        .into_iter()
                        .map(|(kind, data)| ExtendedItem { kind, data })
                        .collect(),
                }
            })
            .collect();
        let mut etl = EtlBuilder::new(session);
        for expected_record in &records {
            etl.push(expected_record.processor, &expected_record.record());
        }
        let count = etl.record_count();
        let bytes = etl.finish();
        let recording = Recording::open(&[Input { name: "assembled.etl", bytes: &bytes }]).unwrap();
        let mut read_count = 0;
        let mut expected = records.iter();
        let walk = recording.for_each(|record| {
            read_count += 1;
            if read_count == 1 {
                assert_eq!(record.hook(), Some(0), "the logfile header comes first");
                return ControlFlow::<()>::Continue(());
            }
            let expected_record = expected.next().unwrap();
            assert_eq!(record.kind(), expected_record.kind);
            assert_eq!(record.ticks(), expected_record.ticks);
            assert_eq!(record.cpu(), expected_record.processor);
            assert_eq!(record.payload(), expected_record.payload);
            assert_eq!(record.pointer_size(), if expected_record.wide { 8 } else { 4 });
            if expected_record.kind == HeaderKind::Event {
                let items: Vec<ExtendedItem> = record
                    .extended_items()
                    .map(|item| ExtendedItem { kind: item.kind, data: item.data.to_vec() })
                    .collect();
                assert_eq!(items, expected_record.items);
            }
            ControlFlow::Continue(())
        });
        prop_assert!(walk.losses.is_empty(), "{:?}", walk.losses);
        prop_assert_eq!(read_count, count);
    }
}
