//! Firmware times in all supported formats (serial logs, coreboot timestamps, Slim Bootloader tables, acpidump, XML,
//! tables) from arbitrary bytes: reading and reporting succeed or fail, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_firmware_times::{FirmwareOptions, analyze};
use onoff_sources::{Limits, open_firmware_bytes};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { unpacked_bytes: 1 << 22, ..Limits::default() };
    let Ok(recording) = open_firmware_bytes("fuzz.bin", bytes, &limits) else {
        return;
    };
    assert!(
        recording.boots.iter().filter(|boot| boot.read).count() <= recording.inputs.len(),
        "at most one boot per log"
    );
    let report = match analyze(&recording, &FirmwareOptions::default()) {
        Ok(report) => report,
        Err(empty) => empty.into_report(recording.inputs),
    };
    for stage in &report.stages {
        assert!(stage.duration_ns >= 0, "a stage ends after it starts");
    }
    let mut text = Vec::new();
    onoff_report::text::firmware::write(&report, 100, &mut text).expect("text");
    onoff_sections::section::csv::write(&[onoff_sections::csv::firmware::measurements(&report)], &mut text)
        .expect("rows");
});
