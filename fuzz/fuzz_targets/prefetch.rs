//! Reads arbitrary bytes with the readers for `\Windows\Prefetch`: they terminate and never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_prefetch::{read_layout, read_plan, read_ready_boot, read_superfetch};

fuzz_target!(|bytes: &[u8]| {
    match read_plan(bytes) {
        Ok(plan) => {
            assert!(plan.last_runs_unix_ns.len() <= 8);
            assert!(plan.executable.chars().count() <= 30);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(boot) = read_ready_boot(bytes) {
        assert!(boot.reads.iter().filter_map(|read| read.file).all(|file| (file as usize) < boot.files.len()));
    }
    let _ = read_superfetch(bytes);
    if let Some(layout) = read_layout(bytes) {
        assert!(layout.files.iter().all(|file| !file.is_empty()));
    }
});
