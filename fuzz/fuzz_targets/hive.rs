//! Registry hives and logs from arbitrary bytes: the reader finishes without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_hive::Hive;

fuzz_target!(|bytes: &[u8]| {
    // The first two bytes are the length of the log.
    let Some((length, remaining)) = bytes.split_first_chunk::<2>() else { return };
    let (log, hive) = remaining.split_at(usize::from(u16::from_le_bytes(*length)).min(remaining.len()));
    let max_keys = bytes.len() as u64 / 8;
    if let Ok(hive) = Hive::read(hive.to_vec(), &[log]) {
        assert!(hive.survey().keys <= max_keys);
        for key in hive.root().subkeys() {
            for value in key.values() {
                let _ = (value.number(), value.string(), value.strings());
            }
        }
    }
});
