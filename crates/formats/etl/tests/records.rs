//! Every header kind, 32- and 64-bit: reading returns what was assembled.

use onoff_etl::{CpuTimes, Defect, EventDescriptor, ExtendedItem, Guid, HeaderKind, InstanceIds, Record};
use onoff_testkit::assemble::{
    ClassHeader, EventHeader, ExtendedItem as Item, Header, MessageHeader, Payload, PointerSize, Record as BuiltRecord,
    SystemHeader,
};

const GUID: Guid = Guid::from_u128(0x9e814aad_3204_11d2_9a82_006008a86939);
const TICKS: u64 = 0x1122_3344_5566_7788;

fn encode(record: &BuiltRecord<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    bytes
}

fn read(bytes: &[u8]) -> Record<'_> {
    Record::parse(bytes).unwrap_or_else(|defect| panic!("{defect}"))
}

const SIZES: [(PointerSize, usize); 2] = [(PointerSize::Four, 4), (PointerSize::Eight, 8)];

#[test]
fn reads_kernel_headers() {
    for (pointer_size, size) in SIZES {
        let classic =
            SystemHeader { hook: 0x0301, version: 4, thread: 11, process: u32::MAX, kernel_time: 5, user_time: 6 };
        for (header, kind, times) in [
            (Header::System(classic), HeaderKind::System, Some(CpuTimes { kernel: 5, user: 6 })),
            (Header::Compact(classic), HeaderKind::Compact, None),
        ] {
            let bytes = encode(&BuiltRecord::new(TICKS, header, Payload::new(pointer_size).u32(0xABCD).u8(1)));
            let record = read(&bytes);
            assert_eq!(record.kind(), kind);
            assert_eq!(record.pointer_size(), size);
            assert_eq!(record.hook(), Some(0x0301));
            assert_eq!((record.opcode(), record.version(), record.level()), (1, 4, 0));
            assert_eq!((record.thread_id(), record.process_id()), (Some(11), None));
            assert_eq!((record.ticks(), record.raw_ticks()), (TICKS, Some(TICKS)));
            assert_eq!(record.cpu_times(), times);
            assert_eq!(record.payload(), [0xCD, 0xAB, 0, 0, 1]);
            assert_eq!(record.bytes(), bytes);
            assert_eq!((record.class_guid(), record.descriptor(), record.activity_id()), (None, None, None));
            assert_eq!((record.message_number(), record.instance()), (None, None));
        }
    }
}

#[test]
fn reads_counters_from_extended_item() {
    let data: Vec<u8> = [5u64, u64::MAX].iter().flat_map(|value| value.to_le_bytes()).collect();
    for (data, expected) in [(&data[..], &[5, u64::MAX][..]), (&data[..15], &[5]), (&[], &[])] {
        let item = Item { kind: ExtendedItem::PMC_COUNTERS, data: data.to_vec() };
        let event = EventHeader { extended: vec![item], ..EventHeader::default() };
        let bytes = encode(&BuiltRecord::manifest(event, TICKS, Payload::wide().u32(1)));
        assert_eq!(read(&bytes).hardware_counters().collect::<Vec<_>>(), expected);
    }
    let bytes = encode(&BuiltRecord::manifest(EventHeader::default(), TICKS, Payload::wide().u32(1)));
    assert_eq!(read(&bytes).hardware_counters().len(), 0);
}

#[test]
fn reads_perfinfo_headers_with_and_without_counters() {
    for (pointer_size, size) in SIZES {
        for pebs_index in [None, Some(99)] {
            for counters in [&[][..], &[7], &[1, 2, 3, 4, 5, 6, 7]] {
                let header = Header::Perfinfo { hook: 0x0524, version: 4, pebs_index, counters };
                let bytes = encode(&BuiltRecord::new(TICKS, header, Payload::new(pointer_size).u32(42)));
                let record = read(&bytes);
                assert_eq!((record.kind(), record.pointer_size()), (HeaderKind::Perfinfo, size));
                assert_eq!((record.hook(), record.version(), record.opcode()), (Some(0x0524), 4, 0x24));
                assert_eq!((record.thread_id(), record.process_id()), (None, None));
                assert_eq!(record.ticks(), TICKS);
                assert_eq!(record.pebs_index(), pebs_index);
                assert_eq!(record.hardware_counters().collect::<Vec<_>>(), counters);
                assert_eq!(record.payload(), 42u32.to_le_bytes());
            }
        }
    }
}

#[test]
fn reads_class_headers() {
    for (pointer_size, size) in SIZES {
        let event = ClassHeader { class: GUID, opcode: 9, level: 3, version: 0x102, thread: 1, process: 2 };
        let bytes = encode(&BuiltRecord::new(TICKS, Header::Full(event), Payload::new(pointer_size).u8(5)));
        let full = read(&bytes);
        assert_eq!((full.kind(), full.pointer_size()), (HeaderKind::Full, size));
        assert_eq!(full.instance(), None);

        let header = Header::Instance { event, instance: 77, parent: 78, parent_class: Guid::from_u128(3) };
        let bytes = encode(&BuiltRecord::new(TICKS, header, Payload::new(pointer_size).u8(5)));
        let instance = read(&bytes);
        assert_eq!((instance.kind(), instance.pointer_size()), (HeaderKind::Instance, size));
        let ids = InstanceIds { instance: 77, parent: 78, parent_guid: Guid::from_u128(3) };
        assert_eq!(instance.instance(), Some(ids));

        for record in [full, instance] {
            assert_eq!(record.class_guid(), Some(GUID));
            assert_eq!((record.opcode(), record.level(), record.version()), (9, 3, 0x102));
            assert_eq!((record.thread_id(), record.process_id()), (Some(1), Some(2)));
            assert_eq!((record.hook(), record.descriptor()), (None, None));
            assert_eq!(record.ticks(), TICKS);
            assert_eq!(record.payload(), [5]);
        }
    }
}

fn manifest_event(extended: Vec<Item>) -> EventHeader {
    EventHeader {
        provider: GUID,
        id: 0x1234,
        version: 2,
        channel: 11,
        level: 4,
        opcode: 1,
        task: 0x5678,
        keyword: 0x8000_0000_0000_0001,
        thread: 3,
        process: 4,
        activity: Guid::from_u128(8),
        extended,
    }
}

#[test]
fn reads_event_headers() {
    for (pointer_size, size) in SIZES {
        let header = Header::Event(Box::new(manifest_event(Vec::new())));
        let bytes = encode(&BuiltRecord::new(TICKS, header, Payload::new(pointer_size).u16(0xBEEF)));
        let record = read(&bytes);
        assert_eq!((record.kind(), record.pointer_size()), (HeaderKind::Event, size));
        let descriptor = EventDescriptor {
            id: 0x1234,
            version: 2,
            channel: 11,
            level: 4,
            opcode: 1,
            task: 0x5678,
            keyword: 0x8000_0000_0000_0001,
        };
        assert_eq!(record.descriptor(), Some(descriptor));
        assert_eq!((record.class_guid(), record.activity_id()), (Some(GUID), Some(Guid::from_u128(8))));
        assert_eq!((record.opcode(), record.level(), record.version()), (1, 4, 2));
        assert_eq!((record.thread_id(), record.process_id()), (Some(3), Some(4)));
        assert_eq!((record.event_flags(), record.event_property()), (Some(0), Some(0)));
        assert_eq!(record.extended_items().count(), 0);
        assert_eq!(record.payload(), [0xEF, 0xBE]);
    }
}

#[test]
fn reads_extended_items_and_payload() {
    for lengths in [&[0][..], &[1], &[16, 5, 24], &[3, 0, 8, 9]] {
        let items: Vec<Item> =
            (1..).zip(lengths).map(|(kind, &length)| Item { kind, data: vec![kind as u8; length] }).collect();
        let bytes =
            encode(&BuiltRecord::manifest(manifest_event(items.clone()), TICKS, Payload::wide().u8(0xAA).u8(0xBB)));
        let record = read(&bytes);
        let decoded: Vec<_> = record.extended_items().map(|item| (item.kind, item.data.to_vec())).collect();
        assert_eq!(decoded, items.into_iter().map(|item| (item.kind, item.data)).collect::<Vec<_>>());
        assert_eq!(record.payload(), [0xAA, 0xBB]);
        assert_eq!(record.extended_item(1), record.extended_items().next());
        assert_eq!(record.extended_item(ExtendedItem::EVENT_KEY), None);
    }
}

#[test]
fn damaged_extended_items_end_the_list() {
    let items = vec![Item { kind: 1, data: vec![0; 16] }, Item { kind: 12, data: vec![1; 8] }];
    let bytes = encode(&BuiltRecord::manifest(manifest_event(items), TICKS, Payload::wide().u8(0xAA)));
    for (offset, value, expected_items) in [(0x50, 7u16, 0), (0x50, 0xFFFF, 0), (0x68, 4, 1), (0x68, 0x100, 1)] {
        let mut damaged = bytes.clone();
        damaged[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
        let record = read(&damaged);
        assert_eq!(record.extended_items().count(), expected_items, "item size {value:#x} at {offset:#x}");
        assert!(record.payload().len() <= record.size() - 0x50);
    }
    // A data size beyond the item is limited to the item.
    let mut damaged = bytes;
    damaged[0x56] = 0xFF;
    assert_eq!(read(&damaged).extended_items().map(|item| item.data.len()).collect::<Vec<_>>(), [16, 8]);
}

#[test]
fn reads_message_headers_with_every_combination_of_fields() {
    for (pointer_size, size) in SIZES {
        for field_bits in 0..32u32 {
            let has_field = |bit: u32| field_bits >> bit & 1 != 0;
            let message = MessageHeader {
                number: 21,
                sequence: has_field(0).then_some(1000),
                guid: has_field(1).then_some(GUID),
                component: has_field(2).then_some(55),
                timestamp: has_field(3),
                thread_and_process: has_field(4).then_some((7, 8)),
            };
            let bytes = encode(&BuiltRecord::new(TICKS, Header::Message(message), Payload::new(pointer_size).u32(9)));
            let record = read(&bytes);
            assert_eq!((record.kind(), record.pointer_size()), (HeaderKind::Message, size));
            assert_eq!(record.message_number(), Some(21));
            assert_eq!(record.message_sequence(), message.sequence);
            assert_eq!(record.message_component(), message.component);
            assert_eq!(record.class_guid(), message.guid.filter(|_| message.component.is_none()));
            assert_eq!(record.raw_ticks(), message.timestamp.then_some(TICKS));
            assert_eq!(record.thread_id().zip(record.process_id()), message.thread_and_process);
            assert_eq!(record.payload(), 9u32.to_le_bytes());
            assert_eq!((record.hook(), record.descriptor(), record.opcode()), (None, None, 0));
        }
    }
}

#[test]
fn obsolete_message_time_stamp_only_reserves_space() {
    let message = MessageHeader { number: 1, timestamp: true, ..MessageHeader::default() };
    let mut bytes = encode(&BuiltRecord::message(message, TICKS, Payload::wide().u32(9)));
    bytes[6] = 0x90;
    let record = read(&bytes);
    assert_eq!(record.raw_ticks(), None);
    assert_eq!(record.payload(), 9u32.to_le_bytes());
}

#[test]
fn skips_unknown_headers_by_size() {
    for (bytes, kind, ticks) in [
        ([24, 0, 0x0C, 0xC0, 1, 0, 0, 0], HeaderKind::Other(0x0C), None),
        ([24, 0, 0x0D, 0xC0, 1, 0, 0, 0], HeaderKind::Other(0x0D), None),
        ([24, 0, 0, 0xA0, 1, 0, 0, 0], HeaderKind::Other(0xA0), None),
        ([24, 0, 0, 0xB0, 1, 0, 0, 0], HeaderKind::Other(0xB0), Some(5)),
    ] {
        let mut bytes = bytes.to_vec();
        bytes.extend_from_slice(&5u64.to_le_bytes());
        bytes.extend_from_slice(&6u64.to_le_bytes());
        let record = read(&bytes);
        assert_eq!((record.kind(), record.size(), record.raw_ticks()), (kind, 24, ticks));
    }
}

#[test]
fn rejects_other_bytes_with_reason() {
    let defect = |bytes: &[u8]| Record::parse(bytes).unwrap_err();
    assert_eq!(defect(&[]), Defect::Short);
    assert_eq!(defect(&[0; 7]), Defect::Short);
    assert_eq!(defect(&[0xFF; 64]), Defect::Fill);
    assert_eq!(defect(&[0; 64]), Defect::Marker(0));
    assert_eq!(defect(&[16, 0, 0x16, 0xC0, 16, 0, 0, 0]), Defect::Marker(0xC016_0010));
    assert_eq!(defect(&[16, 0, 0x05, 0xC0, 16, 0, 0, 0]), Defect::Marker(0xC005_0010));
    let bytes = encode(&BuiltRecord::perfinfo(0x0524, 4, TICKS, Payload::wide().u64(0)));
    for length in 8..bytes.len() {
        assert_eq!(defect(&bytes[..length]), Defect::Size { size: 24, header: 16, space: length });
    }
    let mut small = bytes;
    small[4] = 15;
    assert_eq!(defect(&small), Defect::Size { size: 15, header: 16, space: 24 });
}
