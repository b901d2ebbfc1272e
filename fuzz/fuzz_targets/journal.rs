//! Files of the systemd journal, given any bytes: they are read or refused, and never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_journal::{JournalFile, read};

fuzz_target!(|bytes: &[u8]| {
    // Files are apart by the record separator; one that is cut there is damaged, which is as good.
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
