//! Reading terminates on any input, with consistent results.

use onoff_firmware::read;
use proptest::prelude::*;

/// Bytes that are likely to contain tables and records.
fn table_like_bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"FBPT".to_vec()),
        Just(b"S3PT".to_vec()),
        Just(b"FPDT".to_vec()),
        (0..200_u32).prop_map(|length| length.to_le_bytes().to_vec()),
        (prop_oneof![0..4_u16, 0x1010..0x1016_u16, 0x2001..0x2005_u16, any::<u16>()], 0..60_u8)
            .prop_map(|(number, length)| [&number.to_le_bytes()[..], &[length, 1]].concat()),
        prop::collection::vec(any::<u8>(), 0..64),
        (0..48_usize).prop_map(|length| vec![0; length]),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn accepts_any_bytes(bytes in prop_oneof![table_like_bytes(), prop::collection::vec(any::<u8>(), 0..512)]) {
        let contents = read(&bytes);
        let mut last_end = 0;
        for table in &contents.tables {
            prop_assert!(table.offset >= last_end || table.records.is_empty());
            let mut position = table.offset;
            for record in &table.records {
                prop_assert!(record.offset >= position);
                position = record.offset + u64::from(record.length);
                prop_assert!(position <= bytes.len() as u64);
            }
            last_end = position;
        }
        for issue in contents.issues.iter().chain(contents.tables.iter().flat_map(|table| &table.issues)) {
            prop_assert!(issue.offset <= bytes.len() as u64);
            prop_assert!(!issue.kind.to_string().is_empty());
        }
    }
}
