//! No input makes the decoder panic, and its reports about a payload are consistent.

#![allow(clippy::expect_used, reason = "a test")]

use std::fmt::Write as _;

use onoff_etl::Record;
use onoff_etw::{Fields, Schemas, Status};
use proptest::prelude::*;

/// A record with a header of one of the kinds that have schemas.
fn record(kind: u8, identity: [u8; 18], version: u8, extended: &[u8], payload: &[u8]) -> Vec<u8> {
    let item_size = usize::from(kind == 3) * (8 + extended.len()).next_multiple_of(8);
    let mut bytes = match kind {
        0 | 1 => {
            let mut header = vec![version, 0, 0x10 + kind, 0xc0, 0, 0, identity[0], identity[1] & 0x1f];
            header.extend([0; 8]);
            header
        }
        2 => {
            let mut header = vec![0, 0, 0x14, 0xc0, identity[16], 4, version, 0];
            header.resize(0x18, 0);
            header.extend(&identity[..16]);
            header.resize(0x30, 0);
            header
        }
        _ => {
            let mut header = vec![0, 0, 0x13, 0xc0, u8::from(kind == 3), 0, 0, 0];
            header.resize(0x18, 0);
            header.extend(&identity[..16]);
            header.extend([identity[16], 0, version, 0]);
            header.resize(0x50, 0);
            header
        }
    };
    if kind == 3 {
        let total = u16::try_from(item_size).expect("small");
        bytes.extend(total.to_le_bytes());
        bytes.extend([11, 0, 0, 0]);
        bytes.extend(u16::try_from(extended.len()).expect("small").to_le_bytes());
        bytes.extend(extended);
        bytes.resize(0x50 + item_size, 0);
    }
    bytes.extend(payload);
    let size = u16::try_from(bytes.len()).expect("small").to_le_bytes();
    let offset = if kind < 2 { 4 } else { 0 };
    bytes[offset..offset + 2].copy_from_slice(&size);
    bytes
}

fn check(schemas: &Schemas, bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(record) = Record::parse(bytes) else {
        return Err(TestCaseError::fail("unexpected header"));
    };
    let description = schemas.describe(&record);
    let mut fields = Fields::new();
    let decoded = schemas.decode(&record, &mut fields);
    prop_assert_eq!(decoded.source, description.source);
    prop_assert!(decoded.consumed <= decoded.size);
    if decoded.status == Status::Exact {
        prop_assert_eq!(decoded.consumed, decoded.size);
    }
    let mut json = String::new();
    fields.write_json(&mut json).expect("writing to a String cannot fail");
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(&json);
    prop_assert!(parsed.is_ok(), "{}", json);
    for field in &fields {
        let mut text = String::new();
        write!(text, "{field}").expect("writing to a String cannot fail");
    }
    Ok(())
}

/// Generates known GUIDs half of the time, random GUIDs otherwise.
fn identity() -> impl Strategy<Value = [u8; 18]> {
    let known_guid = prop::sample::select(vec![
        "b3e675d7-2554-4f18-830b-2762732560de",
        "bbccf6c1-6cd1-48c4-80ff-839482e37671",
        "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c",
        "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716",
        "a68ca8b7-004f-d7b6-a698-07e2de0f1f5d",
        "9c205a39-1250-487d-abd7-e831c6290539",
    ]);
    (known_guid, any::<[u8; 18]>(), any::<bool>()).prop_map(|(known_guid, mut identity, replace)| {
        if replace {
            let guid = onoff_etl::Guid::parse_str(known_guid).expect("a GUID");
            identity[..16].copy_from_slice(&guid.to_bytes_le());
        }
        identity
    })
}

proptest! {
    #[test]
    fn decodes_any_payload_of_any_event(
        kind in 0u8..5,
        identity in identity(),
        version in 0u8..6,
        extended in prop::collection::vec(any::<u8>(), 0..200),
        payload in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut metadata_item = extended;
        if let Some(size) = metadata_item.first_chunk_mut::<2>() {
            // Usually the correct size, so that the bytes after it are read.
            *size = 200u16.to_le_bytes();
        }
        let bytes = record(kind, identity, version, &metadata_item, &payload);
        check(&Schemas::new(), &bytes)?;
    }

    #[test]
    fn accepts_any_schema_in_a_recording(
        opcode in 32u8..34,
        schema in prop::collection::vec(any::<u8>(), 0..400),
        counts in (0u8..8, 0u8..8),
        properties in prop::collection::vec((0u8..64, any::<u8>(), 0u16..312, 0u16..40, 0u16..12, 0u16..12), 0..8),
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut info = schema;
        info.resize(0x70, 0);
        info[0x30..0x34].fill(0);
        info[0x64..0x68].copy_from_slice(&u32::from(counts.0).to_le_bytes());
        info[0x68..0x6c].copy_from_slice(&u32::from(counts.1).to_le_bytes());
        for (flags, name, in_type, out_type, count, length) in properties {
            info.extend(u32::from(flags).to_le_bytes());
            info.extend(u32::from(name).to_le_bytes());
            for field in [in_type, out_type, 0, 0, count, length, 0, 0] {
                info.extend(field.to_le_bytes());
            }
        }
        let metadata: [u8; 16] =
            onoff_etl::Guid::from_u128(0xbbccf6c1_6cd1_48c4_80ff_839482e37671).to_bytes_le();
        let mut identity = [0; 18];
        identity[..16].copy_from_slice(&metadata);
        identity[16] = opcode;
        let schema_record = record(2, identity, 0, &[], &info);
        let mut schemas = Schemas::new();
        let parsed = Record::parse(&schema_record).expect("a record");
        schemas.observe(&parsed);
        check(&schemas, &schema_record)?;

        let mut identity = [0; 18];
        identity[..16].copy_from_slice(&info[..16]);
        identity[16] = info[0x20];
        check(&schemas, &record(4, identity, info[0x22], &[], &payload))?;
    }

    #[test]
    fn accepts_any_text_as_manifest(text in "(<[a-z]{1,9}( [a-z]{1,9}=\"[a-zA-Z0-9:{}-]{0,12}\"){0,3}/?>|[ -~]){0,40}") {
        let _ = Schemas::new().add_manifest(&text);
    }
}
