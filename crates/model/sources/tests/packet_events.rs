//! Tests packets in event trace logs: the result must be the same as from a capture file with these packets.
#![allow(clippy::unwrap_used)]

use onoff_netboot::Capture;
use onoff_sources::{Error, Limits, Options, files_from_bytes, read_capture};
use onoff_testkit::assemble::{EtlBuilder, EventHeader, Payload, Record, Session};
use onoff_testkit::capture::{PacketLog, event_trace, outcomes, read_frames};
use proptest::prelude::*;

fn read(name: &str, bytes: &[u8]) -> Result<Capture, Error> {
    let files = files_from_bytes([(name.to_owned(), bytes.to_vec())], &Limits::default())?;
    read_capture(&files, &Options::default())
}

/// Returns the debug text of a capture without container-specific parts.
fn summary(mut capture: Capture) -> String {
    capture.files.clear();
    let stations: std::collections::BTreeMap<_, _> =
        capture.stations.drain().map(|(mac, station)| (mac.to_string(), station)).collect();
    let addresses: std::collections::BTreeMap<_, _> = capture.addresses.drain().collect();
    capture.losses = onoff_trace::Losses::new();
    format!("{stations:?} {addresses:?} {capture:?}")
}

fn losses(capture: &Capture) -> Vec<&'static str> {
    capture.losses.iter().map(|loss| loss.counter).collect()
}

#[test]
fn every_outcome_is_the_same_as_from_a_capture() {
    for case in outcomes() {
        let plain = summary(read("a.pcapng", &case.bytes).unwrap());
        let frames = read_frames(&case.bytes);
        for log in [PacketLog::Whole, PacketLog::Fragments(50), PacketLog::Switch, PacketLog::Monitor(60_000)] {
            let trace = read("a.etl", &event_trace(&frames, log)).unwrap();
            assert_eq!(trace.files[0].container, "etl");
            assert_eq!(summary(trace), plain, "{}, {log:?}", case.name);
        }
    }
}

#[test]
fn real_capture_is_the_same_from_events() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    // The packets of the other captures are truncated to 96 bytes, and the capture filter does not record the original
    // sizes.
    let name = "spicy-tftp_rrq.pcap";
    let bytes = std::fs::read(samples.join(name)).unwrap();
    let frames = read_frames(&bytes);
    let plain = read(name, &bytes).unwrap();
    assert_eq!(plain.transfers.len(), 1);
    let plain = summary(Capture { snap_length: None, ..plain });
    for log in [PacketLog::Fragments(200), PacketLog::Monitor(60_000)] {
        assert_eq!(summary(read("a.etl", &event_trace(&frames, log)).unwrap()), plain, "{log:?}");
    }
}

#[test]
fn counts_truncated_and_lost_packets() {
    let case = outcomes().swap_remove(0);
    let frames = read_frames(&case.bytes);
    let truncated = read("a.etl", &event_trace(&frames, PacketLog::Monitor(60))).unwrap();
    assert_eq!((truncated.frames, truncated.snap_length), (frames.len() as u64, Some(60)));
    assert!(losses(&truncated).contains(&"frames_truncated"));

    // A last fragment without a first fragment, a first fragment without a last one, and a packet dropped by Windows.
    let filter = uuid::uuid!("2ed6006e-4729-4609-b423-3ee7bcd678ef");
    let monitor = uuid::uuid!("4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac");
    let mut trace = EtlBuilder::new(Session::windows_10(1));
    let mut ticks = 7_000_000;
    let mut event = |provider, id, keyword, payload: Payload| {
        ticks += 1_000;
        let event = EventHeader { provider, id, keyword, process: 4, thread: 8, ..EventHeader::default() };
        trace.push(0, &Record::manifest(event, ticks, payload));
    };
    let fragment = |bytes: &[u8]| Payload::wide().u32(1).u32(1).u32(bytes.len() as u32).bytes(bytes);
    event(filter, 1001, 0x8000_0000, fragment(b"end"));
    event(filter, 1001, 0xC000_0000, fragment(&frames[0].1));
    event(filter, 1001, 0xC000_0000, Payload::wide().u32(1).u32(1).u32(4_000_000_000));
    event(filter, 1003, 0xC000_0000, Payload::wide().u32(1).u32(1).u32(1).u32(1));
    event(monitor, 170, 0x10, Payload::wide());
    event(monitor, 160, 0x10, Payload::wide().u64(0));
    event(filter, 1001, 0x4000_0000, fragment(b"first"));
    let capture = read("a.etl", &trace.finish()).unwrap();
    let count = |name: &str| capture.losses.iter().find(|loss| loss.counter == name).map_or(0, |loss| loss.count);
    assert_eq!(capture.frames, 1);
    assert_eq!(count("frames_incomplete"), 2);
    assert_eq!(count("packets_dropped_by_windows"), 1);
    assert_eq!(count("frames_malformed"), 3);
}

#[test]
fn rejects_recording_without_packets_with_advice() {
    let error = read("boot.etl", &event_trace(&[], PacketLog::Whole)).unwrap_err();
    assert!(error.to_string().starts_with("boot.etl: no packets ("), "{error}");
    assert!(error.to_string().contains("pktmon start"), "{error}");
}

proptest! {
    #[test]
    fn arbitrary_payloads_do_not_panic(
        payload in proptest::collection::vec(any::<u8>(), 0..120),
        id in prop_oneof![Just(1001_u16), Just(1003), Just(160), Just(170)],
        keyword in any::<u64>(),
    ) {
        let provider = match id {
            160 | 170 => uuid::uuid!("4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac"),
            _ => uuid::uuid!("2ed6006e-4729-4609-b423-3ee7bcd678ef"),
        };
        let mut trace = EtlBuilder::new(Session::windows_10(1));
        let event = EventHeader { provider, id, keyword, ..EventHeader::default() };
        trace.push(0, &Record::manifest(event, 7_000_000, Payload::wide().bytes(&payload)));
        if let Ok(capture) = read("a.etl", &trace.finish()) {
            prop_assert!(capture.frames <= 1);
        }
    }
}
