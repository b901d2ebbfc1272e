//! Packet events with arbitrary payloads: each event is a packet, a fragment or a counted loss, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_network::{NetbootOptions, analyze};
use onoff_sources::{Limits, Options, files_from_bytes, read_capture};
use onoff_testkit::assemble::{EtlBuilder, EventHeader, Payload, Record, Session};

const CAPTURE_FILTER: &str = "2ed6006e-4729-4609-b423-3ee7bcd678ef";
const PACKET_MONITOR: &str = "4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac";

fuzz_target!(|bytes: &[u8]| {
    // Two bytes select the event, one is the payload length, and the payload follows.
    let mut trace = EtlBuilder::new(Session::windows_10(1));
    let (mut remaining, mut ticks, mut events) = (bytes, 7_000_000, 0_u64);
    while let [selector, keyword, length, tail @ ..] = remaining {
        let (payload, next) = tail.split_at(tail.len().min(usize::from(*length)));
        remaining = next;
        ticks += 1_000;
        events += 1;
        let (provider, id) =
            [(CAPTURE_FILTER, 1001), (CAPTURE_FILTER, 1003), (PACKET_MONITOR, 160), (PACKET_MONITOR, 170)]
                [usize::from(selector % 4)];
        let event = EventHeader {
            provider: provider.parse().expect("a GUID"),
            id,
            keyword: u64::from(*keyword) << 30 | u64::from(*keyword),
            thread: u32::from(selector / 64),
            ..EventHeader::default()
        };
        trace.push(0, &Record::manifest(event, ticks, Payload::wide().bytes(payload)));
    }
    let inputs = [("fuzz.etl".to_owned(), trace.finish())];
    let Ok(files) = files_from_bytes(inputs, &Limits::default()) else {
        return;
    };
    let Ok(capture) = read_capture(&files, &Options::default()) else {
        return;
    };
    assert!(capture.frames <= events, "an event has at most one packet");
    let _ = analyze(&capture, &NetbootOptions::default());
});
