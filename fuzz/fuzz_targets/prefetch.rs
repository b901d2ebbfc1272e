//! The readers of prefetch plans and of `Layout.ini`, given any bytes: they read to an end, and never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_prefetch::{read_layout, read_plan};

fuzz_target!(|bytes: &[u8]| {
    match read_plan(bytes) {
        Ok(plan) => {
            assert!(plan.last_runs_unix_ns.len() <= 8);
            assert!(plan.executable.chars().count() <= 30);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(layout) = read_layout(bytes) {
        assert!(layout.files.iter().all(|file| !file.is_empty()));
    }
});
