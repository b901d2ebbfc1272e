//! Reads arbitrary bytes with the `firmware` reader: it terminates and never panics, and its results are within the input and add up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_firmware::{Content, MAX_RECORDS, read};

fuzz_target!(|bytes: &[u8]| {
    let contents = read(bytes);
    let mut records = contents.tables.len();
    let mut accounted = 0;
    for table in &contents.tables {
        let mut at = table.offset;
        for record in &table.records {
            assert!(record.offset >= at, "records follow each other");
            assert!(record.length >= 4, "a record holds its header");
            at = record.offset + u64::from(record.length);
            assert!(at <= bytes.len() as u64, "a record is inside the input");
            accounted += u64::from(record.length);
            if let Content::Other(rest) = &record.content {
                assert_eq!(rest.len() + 4, usize::from(record.length), "nothing of it is lost");
            }
        }
        records += table.records.len();
    }
    assert!(records <= MAX_RECORDS);
    assert!(accounted <= bytes.len() as u64, "no byte is read twice");
    let issues = contents.tables.iter().flat_map(|table| &table.issues);
    for issue in contents.issues.iter().chain(issues) {
        assert!(issue.offset <= bytes.len() as u64);
        assert!(!issue.kind.to_string().is_empty());
    }
    // A complete table in the input gives the same result when read alone.
    if let [table] = &contents.tables[..]
        && contents.issues.is_empty()
    {
        let again = read(bytes);
        assert_eq!(again.tables[0], *table);
    }
});
