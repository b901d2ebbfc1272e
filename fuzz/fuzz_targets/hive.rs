//! Reads arbitrary bytes as a registry hive and its log: terminates and never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_hive::Hive;

fuzz_target!(|bytes: &[u8]| {
    // The first two bytes give the length of the log in the rest.
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let (log, hive) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let most = bytes.len() as u64 / 8;
    if let Ok(hive) = Hive::read(hive.to_vec(), &[log]) {
        assert!(hive.survey().keys <= most);
        for key in hive.root().subkeys() {
            for value in key.values() {
                let _ = (value.number(), value.text(), value.texts());
            }
        }
    }
});
