//! Events of .NET 5 to 10 decode to the offsets and sizes that another reader of these events (TraceEvent) uses.

#![allow(clippy::expect_used, reason = "a test")]

use onoff_etl::{Guid, Record};
use onoff_etw::{Decoded, Fields, SchemaSource, Schemas, Status};

const RUNTIME: Guid = Guid::from_u128(0xe13c0d23_ccbc_4e12_931b_d9cc2eee27e4);
const RUNDOWN: Guid = Guid::from_u128(0xa669021c_c450_4609_a035_5af59af4df18);
const PRIVATE: Guid = Guid::from_u128(0x763fd754_7086_4dfe_95eb_c01a46faf4ca);

/// Decodes an event of a program with pointers of `pointer_size` bytes. Returns its fields as JSON.
fn decode(provider: Guid, (id, version): (u16, u8), pointer_size: usize, payload: &[u8]) -> (Decoded, String) {
    let kind = if pointer_size == 4 { 0x12 } else { 0x13 };
    let mut bytes = vec![0, 0, kind, 0xc0, 0, 0, 0, 0];
    bytes.resize(0x18, 0);
    bytes.extend(provider.to_bytes_le());
    bytes.extend(id.to_le_bytes());
    bytes.push(version);
    bytes.resize(0x50, 0);
    bytes.extend(payload);
    let size = u16::try_from(bytes.len()).expect("small");
    bytes[..2].copy_from_slice(&size.to_le_bytes());
    let record = Record::parse(&bytes).expect("a valid record");
    let (schemas, mut fields) = (Schemas::new(), Fields::new());
    let decoded = schemas.decode(&record, &mut fields);
    assert_eq!(decoded.source, SchemaSource::Catalog, "{id}");
    let mut json = String::new();
    fields.write_json(&mut json).expect("writing to a String cannot fail");
    (decoded, json)
}

/// The whole payload is read as `json`.
fn assert_exact(event: (u16, u8), pointer_size: usize, payload: &[u8], json: &str) {
    let (decoded, fields) = decode(RUNTIME, event, pointer_size, payload);
    assert_eq!((decoded.status, fields.as_str()), (Status::Exact, json), "{event:?}");
}

/// Builds payloads, with pointers of a fixed size.
struct Payload {
    bytes: Vec<u8>,
    pointer_size: usize,
}

impl Payload {
    fn new(pointer_size: usize) -> Self {
        Self { bytes: Vec::new(), pointer_size }
    }

    fn u16(mut self, value: u16) -> Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn pointer(mut self, value: u64) -> Self {
        self.bytes.extend(&value.to_le_bytes()[..self.pointer_size]);
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        self
    }

    /// Bytes between members of a structure, which may have any value.
    fn padding(mut self, bytes: usize) -> Self {
        self.bytes.resize(self.bytes.len() + bytes, 0xee);
        self
    }
}

#[test]
fn heap_statistics_of_each_version() {
    let first = (1..=10).fold(Payload::new(8), Payload::u64).u32(11).u32(12).u32(13);
    let sizes = |count: u64| {
        (0..count)
            .map(|index| {
                let (size, promoted) = (index * 2 + 1, index * 2 + 2);
                format!(r#""GenerationSize{index}":"0x{size:x}","TotalPromotedSize{index}":"0x{promoted:x}""#)
            })
            .collect::<Vec<_>>()
            .join(",")
    };
    let rest = concat!(
        r#""FinalizationPromotedSize":"0x9","FinalizationPromotedCount":10,"#,
        r#""PinnedObjectCount":11,"SinkBlockCount":12,"GCHandleCount":13"#
    );
    let version_1 = first.u16(14);
    let old_fields = format!(r#"{{{},{rest},"ClrInstanceID":14"#, sizes(4));
    assert_exact((4, 1), 8, &version_1.bytes, &format!("{old_fields}}}"));
    // Version 1 has 94 bytes, so the fields of version 2 are at 94 and 102.
    assert_eq!(version_1.bytes.len(), 94);
    let version_2 = version_1.u64(0x15).u64(0x16);
    let new_fields = r#","GenerationSize4":"0x15","TotalPromotedSize4":"0x16"}"#;
    assert_exact((4, 2), 8, &version_2.bytes, &format!("{old_fields}{new_fields}"));
    let cut = decode(RUNTIME, (4, 2), 8, &version_2.bytes[..102]).0;
    assert_eq!((cut.status, cut.consumed), (Status::Short, 102));
}

#[test]
fn allocation_ticks_of_each_version() {
    for pointer_size in [4, 8] {
        let version_3 = Payload::new(pointer_size)
            .u32(0x1_90f8)
            .u32(2)
            .u16(7)
            .u64(0x1_90f8)
            .pointer(0x1234)
            .text("System.Byte[]")
            .u32(3)
            .pointer(0x5678);
        let fields = concat!(
            r#"{"AllocationAmount":"0x190f8","AllocationKind":"Pinned","ClrInstanceID":7,"#,
            r#""AllocationAmount64":"0x190f8","TypeID":"0x0000000000001234","TypeName":"System.Byte[]","#,
            r#""HeapIndex":3,"Address":"0x0000000000005678""#
        );
        assert_exact((10, 3), pointer_size, &version_3.bytes, &format!("{fields}}}"));
        let version_4 = version_3.u64(0x18_0018);
        let size = r#","ObjectSize":"0x180018"}"#;
        assert_exact((10, 4), pointer_size, &version_4.bytes, &format!("{fields}{size}"));
        // A program of the other width: the type's address has another size, so nothing after it fits.
        assert_ne!(decode(RUNTIME, (10, 4), 12 - pointer_size, &version_4.bytes).0.status, Status::Exact);
    }
}

#[test]
fn heap_histories_have_all_generations() {
    for pointer_size in [4, 8] {
        let hex = |value: u64| format!("0x{value:016x}");
        let head = (1..=6).fold(Payload::new(pointer_size).u16(9), Payload::pointer);
        let head = (7..=12).fold(head, Payload::u32).pointer(13).u32(2);
        let payload = (100..120).fold(head, Payload::pointer);
        let (decoded, json) = decode(RUNTIME, (204, 3), pointer_size, &payload.bytes);
        assert_eq!(decoded.status, Status::Exact);
        let fields: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
        assert_eq!(fields["FreeListAllocated"], hex(1));
        assert_eq!((&fields["RunningFreeListEfficiency"], &fields["HeapIndex"]), (&7.into(), &12.into()));
        assert_eq!((&fields["ExtraGen0Commit"], &fields["Count"]), (&hex(13).into(), &2.into()));
        let members = ["SizeBefore", "FreeListBefore", "FreeObjBefore", "SizeAfter", "FreeListAfter"];
        let members =
            members.into_iter().chain(["FreeObjAfter", "In", "PinnedSurv", "NonePinnedSurv", "NewAllocation"]);
        for (index, member) in members.enumerate() {
            let values = [0, 1].map(|generation: usize| &fields["Values"][generation][member]);
            let expected = [hex(100 + index as u64), hex(110 + index as u64)];
            assert_eq!(values, [&expected[0], &expected[1]], "{member}");
        }
    }
    let payload = (0..11).fold(Payload::new(8).u64(1), Payload::u32);
    let payload = Payload { bytes: payload.bytes[..46].to_vec(), ..payload };
    let version_3 = decode(RUNTIME, (205, 3), 8, &payload.bytes).0;
    assert_eq!((version_3.status, version_3.consumed), (Status::Exact, 46));
    let (version_4, json) = decode(RUNTIME, (205, 4), 8, &payload.u32(2).u32(70).u32(80).bytes);
    assert_eq!(version_4.status, Status::Exact);
    assert!(json.ends_with(r#""Count":2,"Values":[{"Time":70},{"Time":80}]}"#), "{json}");
}

/// The runtime copies these structures as the compiler aligns them; its manifest does not say so.
#[test]
fn structures_are_aligned() {
    for (pointer_size, gap) in [(4, 0), (8, 4)] {
        let head = Payload::new(pointer_size).u16(1).u16(2);
        let heap = |payload: Payload, first: u32| {
            let times = payload.u32(first).u32(first + 1).u32(first + 2).padding(gap);
            times.pointer(u64::from(first) + 3).pointer(u64::from(first) + 4)
        };
        let expected = |first: u32| {
            format!(
                concat!(
                    r#"{{"TimePlan":{},"TimeCompact":{},"TimeRelocate":{},"#,
                    r#""TotalRefs":"0x{:016x}","ZeroRefs":"0x{:016x}"}}"#
                ),
                first,
                first + 1,
                first + 2,
                first + 3,
                first + 4
            )
        };
        let payload = heap(heap(head, 10), 20);
        assert_eq!(payload.bytes.len(), 4 + 2 * if pointer_size == 8 { 32 } else { 20 });
        let json = format!(r#"{{"ClrInstanceID":1,"Count":2,"Values":[{},{}]}}"#, expected(10), expected(20));
        assert_exact((208, 0), pointer_size, &payload.bytes, &json);

        let head = Payload::new(pointer_size).u16(1).u16(1).u64(300).u16(2);
        let bucket = |payload: Payload, index: u16| payload.u16(index).padding(2).u32(50).pointer(0x60);
        let payload = bucket(bucket(head, 4), 5);
        assert_eq!(payload.bytes.len(), 14 + 2 * if pointer_size == 8 { 16 } else { 12 });
        let expected = |index: u16| format!(r#"{{"Index":{index},"Count":50,"Size":"0x{:016x}"}}"#, 0x60);
        let json = format!(
            r#"{{"ClrInstanceID":1,"BucketKind":"Plug","TotalSize":300,"Count":2,"Values":[{},{}]}}"#,
            expected(4),
            expected(5)
        );
        assert_exact((209, 0), pointer_size, &payload.bytes, &json);

        // As the manifest has it.
        let head = Payload::new(pointer_size).u16(1).u16(1).u64(300).u16(2);
        let packed = head.u16(4).u32(50).pointer(0x60).u16(5).u32(50).pointer(0x60);
        assert_eq!(decode(RUNTIME, (209, 0), pointer_size, &packed.bytes).0.status, Status::Short);
    }
}

/// Sizes of events with 64-bit pointers, no text and no list items, as TraceEvent checks or reads them. Of the events
/// that it does not know completely, the sizes of their last known fields plus the new field.
const EMPTY_SIZES: &[(Guid, (u16, u8), usize)] = &[
    (RUNTIME, (58, 0), 18),
    (RUNTIME, (59, 0), 10),
    (RUNTIME, (72, 0), 32),
    (RUNTIME, (73, 0), 6),
    (RUNTIME, (74, 0), 18),
    (RUNTIME, (81, 2), 27),
    (RUNTIME, (90, 0), 18),
    (RUNTIME, (146, 0), 46),
    (RUNTIME, (152, 3), 76),
    (RUNTIME, (160, 0), 10),
    (RUNTIME, (190, 1), 29),
    (RUNTIME, (206, 0), 6),
    (RUNTIME, (207, 0), 6),
    (RUNTIME, (290, 0), 12),
    (RUNTIME, (291, 0), 24),
    (RUNTIME, (292, 0), 16),
    (RUNTIME, (293, 0), 12),
    (RUNTIME, (294, 0), 10),
    (RUNTIME, (295, 0), 12),
    (RUNTIME, (296, 0), 10),
    (RUNTIME, (297, 0), 18),
    (RUNTIME, (298, 0), 36),
    (RUNTIME, (299, 0), 4),
    (RUNTIME, (300, 0), 12),
    (RUNTIME, (301, 0), 11),
    (RUNTIME, (302, 0), 2),
    (RUNTIME, (303, 0), 40),
    (RUNDOWN, (10, 0), 50),
    (RUNDOWN, (149, 1), 29),
    (RUNDOWN, (150, 1), 29),
    (RUNDOWN, (154, 3), 76),
    (RUNDOWN, (300, 0), 12),
    (PRIVATE, (22, 1), 34),
    (PRIVATE, (189, 0), 34),
];

#[test]
fn empty_events_have_their_sizes() {
    for &(provider, event, size) in EMPTY_SIZES {
        let bytes = vec![0; size + 1];
        let status = |size: usize| {
            let decoded = decode(provider, event, 8, &bytes[..size]).0;
            (decoded.status, decoded.consumed)
        };
        assert_eq!(status(size), (Status::Exact, size), "{event:?}");
        assert_eq!(status(size + 1), (Status::Trailing, size), "{event:?}");
        assert_ne!(status(size - 1).0, Status::Exact, "{event:?}");
    }
}
