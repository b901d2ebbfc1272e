//! Tests captures of one boot at the client's port and at the server's port, with planted clocks, delays and losses.

use onoff_netboot::path::CapturePath;
use onoff_network::report::{CaptureSide, NetbootReport};
use onoff_network::{NetbootOptions, analyze};
use onoff_sources::{Limits, Options, files_from_bytes, read_capture};
use onoff_testkit::capture::TwoPlaces;

const MS: i64 = 1_000_000;

fn report(files: [(&str, Vec<u8>); 2]) -> NetbootReport {
    let files = files_from_bytes(files.map(|(name, bytes)| (name.to_owned(), bytes)), &Limits::default()).unwrap();
    analyze(&read_capture(&files, &Options::default()).unwrap(), &NetbootOptions::default()).unwrap()
}

fn path(scenario: &TwoPlaces) -> CapturePath {
    let (client, server) = scenario.captures();
    report([("client.pcapng", client), ("server.pcapng", server)]).path.unwrap()
}

#[track_caller]
fn assert_near(actual: i64, expected: i64, tolerance: i64) {
    assert!((actual - expected).abs() <= tolerance, "{actual}, expected {expected}");
}

#[test]
fn finds_round_trip_clocks_and_losses() {
    let scenario = TwoPlaces {
        jitter_ns: MS,
        clock_offset_ns: -3_600_000 * MS,
        clock_drift_ppm: 35.0,
        lost_blocks: vec![17, 300, 301, 1_999],
        lost_acknowledgments: vec![44, 900],
        ..TwoPlaces::default()
    };
    let path = path(&scenario);
    assert_eq!((path.client.as_str(), path.client_capture.as_str()), ("10.0.0.50", "client.pcapng"));
    assert_near(path.shortest_round_trip_ns, 4 * MS, 200_000);
    assert_near(path.median_round_trip_ns, 5 * MS, 200_000);
    // Microseconds per second: the offset at the first frame, and the drift since.
    assert_near(path.clock_offset_ns, -3_600_000 * MS, 200_000);
    assert!((path.clock_drift_ppm.unwrap() - 35.0).abs() < 8.0, "{path:?}");
    assert_eq!((path.to_client.lost, path.to_client.not_captured), (4, 0), "{path:?}");
    assert_eq!((path.to_server.lost, path.to_server.not_captured), (2, 0), "{path:?}");
    // 2,000 blocks, 4 sent again because they were lost, 2 because their acknowledgment was. Whether the last ones arrived
    // is beyond the end of the captures.
    assert!((2_004..=2_006).contains(&path.to_client.packets), "{path:?}");
    assert!((2_001..=2_003).contains(&path.to_server.packets), "{path:?}");
    assert!((path.to_client.lost_percent - 4.0 * 100.0 / path.to_client.packets as f64).abs() < 1e-9);
}

#[test]
fn order_of_files_and_asymmetric_delays_do_not_matter() {
    let scenario =
        TwoPlaces { to_server_ns: MS, to_client_ns: 9 * MS, clock_offset_ns: 50 * MS, ..TwoPlaces::default() };
    let (client, server) = scenario.captures();
    let report = report([("a-server.pcapng", server), ("b-client.pcapng", client)]);
    let path = report.path.unwrap();
    assert_eq!((path.client_capture.as_str(), path.server_capture.as_str()), ("b-client.pcapng", "a-server.pcapng"));
    assert_near(path.shortest_round_trip_ns, 10 * MS, 1_000);
    // Only the sum of both directions can be measured: the offset is wrong by half of their difference.
    assert_near(path.clock_offset_ns, 46 * MS, 1_000);
    assert_eq!((path.to_client.lost, path.to_server.lost), (0, 0));
}

#[test]
fn network_is_separated_from_server() {
    let (client, server) = TwoPlaces::default().captures();
    let report = report([("client.pcapng", client), ("server.pcapng", server)]);
    let boot = &report.boots[0];
    assert_eq!((report.boots.len(), boot.capture_side), (1, CaptureSide::Client));
    let blame = &boot.blame;
    assert_near(blame.round_trip_ns.unwrap(), 4 * MS, 1_000);
    // 2,000 blocks: 4 ms on the path, 0.2 ms at each end.
    assert_near(blame.network.ns, 8_000 * MS, 200 * MS);
    assert_near(blame.server.ns, 400 * MS, 100 * MS);
    assert!(blame.network.measure.contains("measured by the two captures"), "{}", blame.network.measure);
    assert!(boot.findings.iter().any(|finding| finding.rule == "far_network"));
    assert!(!boot.findings.iter().any(|finding| finding.rule == "slow_server"));
}

/// A block that arrived, because its acknowledgment and the next block followed, was not lost.
#[test]
fn frames_missed_by_a_capture_are_no_losses() {
    let path = path(&TwoPlaces { uncaptured_blocks: vec![5, 6, 1_000], ..TwoPlaces::default() });
    assert_eq!((path.to_client.lost, path.to_client.not_captured), (0, 3));
}

#[test]
fn captures_of_different_boots_or_of_one_place_have_no_path() {
    let (client, _) = TwoPlaces::default().captures();
    // Another boot with other packets; the same packets with other pauses; the same capture twice.
    let (_, other) = TwoPlaces { first_number: 77, ..TwoPlaces::default() }.captures();
    let (_, paused) = TwoPlaces { lost_blocks: vec![], response_ns: 900_000, ..TwoPlaces::default() }.captures();
    for second in [other, paused, client.clone()] {
        let report = report([("client.pcapng", client.clone()), ("server.pcapng", second)]);
        assert_eq!(report.path, None);
    }
    // Parts of one capture.
    let (_, server) = TwoPlaces { clock_offset_ns: 3_600_000 * MS, first_number: 9, ..TwoPlaces::default() }.captures();
    let report = report([("boot_1.pcapng", client), ("boot_2.pcapng", server)]);
    assert_eq!((report.path, report.boots.is_empty()), (None, false));
}

/// The capture at the client starts late and ends early: packets outside of it are not lost.
#[test]
fn packets_outside_the_common_time_are_not_lost() {
    let (client, server) = TwoPlaces { lost_blocks: vec![1_000], ..TwoPlaces::default() }.captures();
    let frames = onoff_testkit::capture::read_frames(&client);
    let mut writer = onoff_testkit::capture::Container::Pcapng.writer(1, 262_144);
    for (unix_ns, frame) in &frames[frames.len() / 4..frames.len() * 3 / 4] {
        writer.write_frame(*unix_ns, frame);
    }
    let path = report([("client.pcapng", writer.bytes), ("server.pcapng", server)]).path.unwrap();
    assert_eq!((path.to_client.lost, path.to_client.not_captured), (1, 0), "{path:?}");
    assert_eq!((path.to_server.lost, path.to_server.not_captured), (0, 0), "{path:?}");
}
