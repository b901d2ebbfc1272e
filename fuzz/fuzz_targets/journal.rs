//! systemd journal files from arbitrary bytes: reading succeeds or fails, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_journal::{JournalFile, read};

fuzz_target!(|bytes: &[u8]| {
    // The record separator splits the input into files. Splitting a file at that byte only damages it.
    let files: Vec<JournalFile<'_>> = bytes
        .split(|&byte| byte == 0x1e)
        .take(4)
        .chain([bytes])
        .filter_map(|file| JournalFile::open(file).ok())
        .collect();
    let mut entries = 0;
    let losses = read(&files, |entry| {
        entries += 1;
        entry.fields().for_each(drop);
    });
    let max_entries = 2 * bytes.len() as u64 / 64;
    assert!(entries <= max_entries && losses.recovered_entries <= max_entries, "an entry has at least 64 bytes");
});
