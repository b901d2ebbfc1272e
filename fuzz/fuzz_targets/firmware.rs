//! The `firmware` reader on arbitrary bytes: it finishes without a panic, and its records are inside the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_firmware::{MAX_RECORDS, RecordContent, read};

fuzz_target!(|bytes: &[u8]| {
    let contents = read(bytes);
    let mut records = contents.tables.len();
    let mut total_length = 0;
    for table in &contents.tables {
        let mut previous_end = table.offset;
        for record in &table.records {
            assert!(record.offset >= previous_end, "records do not overlap");
            assert!(record.length >= 4, "a record includes its header");
            previous_end = record.offset + u64::from(record.length);
            assert!(previous_end <= bytes.len() as u64, "a record is inside the input");
            total_length += u64::from(record.length);
            if let RecordContent::Other(payload) = &record.content {
                assert_eq!(payload.len() + 4, usize::from(record.length), "the whole record is returned");
            }
        }
        records += table.records.len();
    }
    assert!(records <= MAX_RECORDS);
    assert!(total_length <= bytes.len() as u64, "no byte is read twice");
    let issues = contents.tables.iter().flat_map(|table| &table.issues);
    for issue in contents.issues.iter().chain(issues) {
        assert!(issue.offset <= bytes.len() as u64);
        assert!(!issue.kind.to_string().is_empty());
    }
    // Reading a complete table again gives the same result.
    if let [table] = &contents.tables[..]
        && contents.issues.is_empty()
    {
        let second_contents = read(bytes);
        assert_eq!(second_contents.tables[0], *table);
    }
});
