//! Windows event logs and their exports from arbitrary bytes: the reader finishes without a panic, and counts what it passes
//! on.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut records = 0_u64;
    let mut count = |record: onoff_event_log::Record| {
        records += 1;
        let field_bytes: usize = record.fields.iter().map(|field| field.value.len()).sum();
        assert!(record.fields.len() <= 1024 && field_bytes <= 1 << 26);
        for field in &record.fields {
            let _ = (record.number(&field.name), record.signed(&field.name), record.time(&field.name));
        }
    };
    if let Ok(summary) = onoff_event_log::read(bytes, &mut |_| true, &mut count) {
        assert_eq!(summary.records, records);
    }
});
