//! Network captures from arbitrary bytes: reading and reporting succeed or fail, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_network::{NetbootOptions, analyze};
use onoff_sources::{Limits, Options, RecordingKind, files_from_bytes, read_capture};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { unpacked_bytes: 1 << 22, ..Limits::default() };
    // Half of the inputs get a valid file header, so that they pass the first check.
    let bytes = match bytes.split_first() {
        Some((0, frames)) => [PCAP, frames].concat(),
        Some((1, frames)) => [PCAP_NANOSECONDS_RAW, frames].concat(),
        _ => bytes.to_vec(),
    };
    let inputs = [("fuzz.pcap".to_owned(), bytes)];
    let Ok(files) = files_from_bytes(inputs, &limits) else {
        return;
    };
    if files.kind() != RecordingKind::NetworkCapture {
        return;
    }
    let Ok(capture) = read_capture(&files, &Options::default()) else {
        return;
    };
    let frames: u64 = capture.files.iter().map(|file| file.frames).sum();
    assert!(capture.frames <= frames, "frames come from files");
    for transfer in &capture.transfers {
        let counts = &transfer.counts;
        assert_eq!(counts.blocks + counts.repeated_data, counts.data_packets);
    }
    let Ok(report) = analyze(&capture, &NetbootOptions::default()) else {
        return;
    };
    for boot in &report.boots {
        for pair in boot.stages.windows(2) {
            assert!(pair[0].end_ns <= pair[1].start_ns, "stages overlap");
        }
    }
    let mut text = Vec::new();
    let options = onoff_report::text::netboot::NetbootTextOptions { top: 100, what_if: Default::default() };
    onoff_report::text::netboot::write(&report, &options, &mut text).expect("text");
    onoff_report::svg::netboot::write(&report, &mut text).expect("a picture");
    onoff_sections::section::csv::write(&[onoff_sections::csv::netboot::rows(&report)], &mut text).expect("rows");
    onoff_sections::json::document::write(&[], &report, &mut text).expect("a document");
});

/// Header of a pcap file with Ethernet frames and microseconds.
const PCAP: &[u8] = &[0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
/// Header of a pcap file with IP packets and nanoseconds.
const PCAP_NANOSECONDS_RAW: &[u8] =
    &[0x4D, 0x3C, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
