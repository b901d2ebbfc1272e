//! Reads arbitrary bytes as systemd journal files: succeeds or returns an error, and never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_journal::{JournalFile, read};

fuzz_target!(|bytes: &[u8]| {
    // Files are separated by the record separator; a file split there is damaged, which is fine.
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
    let most = 2 * bytes.len() as u64 / 64;
    assert!(entries <= most && losses.entries_recovered <= most, "an entry has 64 bytes at least");
});
