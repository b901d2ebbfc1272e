//! Tests network captures with known contents in every container and link layer, intact and damaged.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;

use onoff_netboot::Capture;
use onoff_netboot::connection::Protocol;
use onoff_netboot::transfer::{DuplicatedRun, Outcome};
use onoff_sources::{Error, Limits, Options, files_from_bytes, read_capture};
use onoff_testkit::capture::{
    CaptureWriter, Container, Link, TcpFlags, TftpServer, TftpTransfer, arp_request, fragments, tcp, udp,
};
use proptest::prelude::*;

const START_NS: u64 = 1_700_000_000_000_000_000;
const CLIENT: [u8; 6] = [0x52, 0x54, 0, 0x77, 0, 1];
const SERVER: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn read(files: &[&[u8]]) -> Result<Capture, Error> {
    let contents = files.iter().enumerate().map(|(index, bytes)| (format!("{index}.pcap"), bytes.to_vec()));
    let files = files_from_bytes(contents, &Limits::default())?;
    read_capture(&files, &Options::default())
}

fn transfer() -> TftpTransfer {
    TftpTransfer {
        client: "10.0.0.2:1789".parse().unwrap(),
        client_mac: CLIENT,
        server: "10.0.0.1:40000".parse().unwrap(),
        file: "boot.wim".into(),
        bytes: 100_000,
        block_size: 1000,
        window: 4,
        server_response_ns: 50_000,
        client_response_ns: 700_000,
        gap_ns: 20_000,
        lost_blocks: Vec::new(),
        timeout_ns: 1_000_000_000,
        duplicated_from: None,
        number_after_rollover: 0,
    }
}

fn simulate(transfer: &TftpTransfer, container: Container, link: Link, snap_length: usize) -> (CaptureWriter, u64) {
    let mut writer = container.writer(link.number(), snap_length);
    let server = TftpServer { link, mac: SERVER };
    let end = server.write_transfer(transfer, START_NS, &mut writer);
    (writer, end)
}

fn losses(capture: &Capture) -> Vec<&'static str> {
    capture.losses.iter().map(|loss| loss.counter).collect()
}

#[test]
fn reads_same_transfer_from_every_container_and_link() {
    let mut ipv6 = transfer();
    ipv6.client = "[fd00::2]:1789".parse().unwrap();
    ipv6.server = "[fd00::1]:40000".parse().unwrap();
    for transfer in [transfer(), ipv6] {
        for container in Container::ALL {
            for link in Link::ALL {
                // The second snapshot length keeps only the headers and the start of TFTP packets.
                for snap_length in [262_144, 120] {
                    let (writer, end) = simulate(&transfer, container, link, snap_length);
                    let case = format!("{container:?} {link:?} {snap_length}");
                    let capture = read(&[&writer.bytes]).unwrap();
                    let [actual] = capture.transfers.as_slice() else {
                        panic!("{case}: {} transfers", capture.transfers.len());
                    };
                    assert_eq!(actual.outcome, Outcome::Complete, "{case}");
                    assert_eq!(actual.file, "boot.wim", "{case}");
                    assert_eq!(actual.counts.bytes, 100_000, "{case}");
                    assert_eq!(actual.counts.blocks, 101, "{case}");
                    assert_eq!(actual.counts.acknowledgments, 27, "{case}");
                    assert_eq!(actual.granted.as_ref().unwrap().window, Some(4), "{case}");
                    // A tick of 2^-20 s is not exactly a microsecond.
                    let duration_ns = actual.complete_ns.unwrap() - actual.request_ns;
                    assert!((duration_ns - (end - START_NS) as i64).abs() <= 2_000, "{case}: {duration_ns}");
                    let turnaround_ns = actual.client_turnaround.median_ns.unwrap();
                    assert!((turnaround_ns - 700_000).abs() <= 3_000, "{case}: {turnaround_ns}");
                    let has_mac = matches!(link, Link::Ethernet | Link::Vlan | Link::LinuxCooked | Link::LinuxCookedV2);
                    assert_eq!(actual.client_mac.is_some(), has_mac, "{case}");
                    let expected: &[&str] = if snap_length == 120 { &["frames_truncated"] } else { &[] };
                    assert_eq!(losses(&capture), expected, "{case}");
                    assert_eq!(capture.snap_length, (snap_length == 120).then_some(120), "{case}");
                }
            }
        }
    }
}

#[test]
fn block_numbers_wrap_to_zero_and_one() {
    for (number_after_wrap, wraps) in [(0, 2), (1, 2)] {
        let transfer = TftpTransfer {
            bytes: 64 * 140_000 + 7,
            block_size: 64,
            window: 16,
            number_after_rollover: number_after_wrap,
            ..transfer()
        };
        let (writer, _) = simulate(&transfer, Container::Pcap, Link::Ethernet, 96);
        let capture = read(&[&writer.bytes]).unwrap();
        let actual = &capture.transfers[0];
        assert_eq!(actual.counts.blocks, 140_001);
        assert_eq!(actual.counts.bytes, transfer.bytes);
        assert_eq!(actual.wraps, wraps);
        assert_eq!(actual.number_after_wrap, Some(number_after_wrap));
        assert_eq!(actual.outcome, Outcome::Complete);
    }
}

#[test]
fn measures_time_lost_to_timeouts() {
    let transfer = TftpTransfer { lost_blocks: vec![8, 40, 96], ..transfer() };
    let (writer, _) = simulate(&transfer, Container::Pcapng, Link::Ethernet, 65_536);
    let actual = read(&[&writer.bytes]).unwrap().transfers.remove(0);
    assert_eq!(actual.timeout_count, 3);
    assert_eq!(actual.timeout_ns, 3 * 1_000_000_000);
    assert_eq!(actual.counts.repeated_data, 3);
    assert_eq!(actual.counts.rollbacks, 3);
    let blocks: Vec<u64> = actual.timeouts.iter().map(|timeout| timeout.block).collect();
    assert_eq!(blocks, [8, 40, 96]);
    assert!(actual.timeouts.iter().all(|timeout| timeout.by_client));
    // Turnaround times are from the other windows.
    assert_eq!(actual.client_turnaround.median_ns, Some(700_000));
    assert_eq!(actual.client_turnaround.pauses, 0);
}

#[test]
fn detects_sorcerers_apprentice_bug() {
    let transfer = TftpTransfer { window: 1, duplicated_from: Some(30), ..transfer() };
    let (writer, _) = simulate(&transfer, Container::Pcap, Link::Ethernet, 65_536);
    let actual = read(&[&writer.bytes]).unwrap().transfers.remove(0);
    let run = DuplicatedRun { first_block: 30, blocks: 72 };
    assert_eq!(actual.duplicated_run, Some(run));
    assert_eq!(actual.counts.repeated_data, 72);
    assert_eq!(actual.counts.repeated_acknowledgments, 72);
}

#[test]
fn separates_concurrent_clients() {
    let mut frames: Vec<(u64, Vec<u8>)> = Vec::new();
    for client in 0..40_u8 {
        let transfer = TftpTransfer {
            client: format!("10.0.1.{client}:1789").parse().unwrap(),
            client_mac: [0x52, 0x54, 0, 0x77, 0, client],
            server: format!("10.0.0.1:{}", 40_000 + u16::from(client)).parse().unwrap(),
            bytes: 10_000 * (u64::from(client) + 1),
            ..transfer()
        };
        let (writer, _) = simulate(&transfer, Container::Pcap, Link::Ethernet, 65_536);
        // Collect the frames, to be mixed by time.
        let mut unread = &writer.bytes[24..];
        while unread.len() >= 16 {
            let number = |offset: usize| u32::from_le_bytes(unread[offset..offset + 4].try_into().unwrap());
            let time = u64::from(number(0)) * 1_000_000_000 + u64::from(number(4)) * 1000;
            let end = 16 + number(8) as usize;
            frames.push((time + u64::from(client) * 7_000, unread[16..end].to_vec()));
            unread = &unread[end..];
        }
    }
    frames.sort();
    let mut writer = Container::Pcapng.writer(1, 65_536);
    for (time, frame) in &frames {
        writer.write_frame(*time, frame);
    }
    let capture = read(&[&writer.bytes]).unwrap();
    assert_eq!(capture.transfers.len(), 40);
    for actual in &capture.transfers {
        let client = actual.client_mac.unwrap().0[5];
        assert_eq!(actual.counts.bytes, 10_000 * (u64::from(client) + 1));
        assert_eq!(actual.outcome, Outcome::Complete);
        assert_eq!(actual.counts.repeated_data, 0);
    }
    assert!(capture.losses.is_empty());
}

#[test]
fn assigns_fragments_to_their_block() {
    for (client, server) in [("10.0.0.2:1789", "10.0.0.1:40000"), ("[fd00::2]:1789", "[fd00::1]:40000")] {
        let client: SocketAddr = client.parse().unwrap();
        let server: SocketAddr = server.parse().unwrap();
        let mut writer = Container::Pcap.writer(1, 65_536);
        let mut now = START_NS;
        let mut write_frame = |frame: Vec<u8>| {
            now += 10_000;
            writer.write_frame(now, &Link::Ethernet.wrap(SERVER, CLIENT, &frame));
        };
        let request = b"\0\x01boot.wim\0octet\0blksize\x004096\0";
        write_frame(udp(client, SocketAddr::new(server.ip(), 69), request));
        write_frame(udp(server, client, b"\0\x06blksize\x004096\0"));
        write_frame(udp(client, server, &[0, 4, 0, 0]));
        for block in 1..=3_u16 {
            let bytes = if block == 3 { 2000 } else { 4096 };
            let payload = [&[0, 3, 0, block as u8][..], &vec![1; bytes]].concat();
            let mut parts = fragments(server, client, &payload, block, 1480);
            if block == 2 {
                // Some systems send the last fragment first.
                parts.reverse();
            }
            parts.into_iter().for_each(&mut write_frame);
            write_frame(udp(client, server, &[0, 4, 0, block as u8]));
        }
        let capture = read(&[&writer.bytes]).unwrap();
        let actual = &capture.transfers[0];
        assert_eq!(actual.outcome, Outcome::Complete);
        assert_eq!(actual.counts.bytes, 2 * 4096 + 2000);
        assert_eq!(actual.counts.fragmented, 3);
        assert_eq!(actual.counts.later_fragments, 2 + 2 + 1);
        assert!(capture.losses.is_empty(), "{:?}", capture.losses);
        // The client responds to the last fragment, not the first.
        assert_eq!(actual.client_turnaround.longest_ns, Some(10_000));
    }
}

#[test]
fn measures_http_download_with_zero_window() {
    let client: SocketAddr = "10.0.0.2:50000".parse().unwrap();
    let server: SocketAddr = "10.0.0.1:80".parse().unwrap();
    let mut writer = Container::Pcap.writer(1, 65_536);
    let mut write_packet = |ms: u64, packet: Vec<u8>| {
        writer.write_frame(START_NS + ms * 1_000_000, &Link::Ethernet.wrap(SERVER, CLIENT, &packet));
    };
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    let syn_ack = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let upstream = (client, server);
    let downstream = (server, client);
    let get = b"GET /grub.efi HTTP/1.1\r\nHost: boot.lan\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n";
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n";
    // Sequence numbers that wrap around in the middle.
    let first_sequence = u32::MAX - 1_500;
    let body = first_sequence.wrapping_add(1 + head.len() as u32);
    write_packet(0, tcp(upstream, (100, 0), syn, 8192, b""));
    write_packet(2, tcp(downstream, (first_sequence, 101), syn_ack, 8192, b""));
    write_packet(3, tcp(upstream, (101, first_sequence.wrapping_add(1)), ack, 8192, b""));
    write_packet(4, tcp(upstream, (101, first_sequence.wrapping_add(1)), ack, 8192, get));
    write_packet(
        10,
        tcp(downstream, (first_sequence.wrapping_add(1), 200), ack, 8192, &[&head[..], &[7; 1000]].concat()),
    );
    write_packet(12, tcp(downstream, (body.wrapping_add(1000), 200), ack, 8192, &[7; 1000]));
    write_packet(13, tcp(upstream, (200, body.wrapping_add(2000)), ack, 0, b""));
    write_packet(63, tcp(upstream, (200, body.wrapping_add(2000)), ack, 8192, b""));
    // A retransmission, then the remaining data.
    write_packet(64, tcp(downstream, (body.wrapping_add(1000), 200), ack, 8192, &[7; 1000]));
    write_packet(65, tcp(downstream, (body.wrapping_add(2000), 200), ack, 8192, &[7; 1000]));
    let capture = read(&[&writer.bytes]).unwrap();
    let [connection] = capture.connections.as_slice() else {
        panic!("{} connections", capture.connections.len());
    };
    assert_eq!(connection.protocol, Protocol::Http);
    assert_eq!((connection.opened_ns, connection.accepted_ns), (Some(0), Some(2_000_000)));
    assert_eq!((connection.zero_windows, connection.zero_window_ns), (1, 50_000_000));
    assert_eq!((connection.retransmitted_segments, connection.data_segments), (1, 4));
    let [request] = connection.requests.as_slice() else {
        panic!("{} requests", connection.requests.len());
    };
    assert_eq!((request.target.as_str(), request.host.as_str()), ("/grub.efi", "boot.lan"));
    assert_eq!((request.status, request.announced_bytes, request.body_bytes), (Some(200), Some(3000), 3000));
    assert_eq!(request.sent_ns, 4_000_000);
    assert_eq!(request.first_byte_ns, Some(10_000_000));
    assert_eq!(request.last_byte_ns, Some(65_000_000));
    assert!(request.complete);
}

#[test]
fn reads_address_probes_and_dropped_frames() {
    let mut writer = Container::PcapngBigEndian.writer(1, 65_536);
    writer.write_frame(START_NS, &arp_request(SERVER, [10, 0, 0, 1].into(), [10, 0, 0, 2].into()));
    writer.write_dropped_count(17).write_dropped_count(20);
    let capture = read(&[&writer.bytes]).unwrap();
    assert_eq!(capture.address_probes.len(), 1);
    assert_eq!(capture.address_probes[0].target.to_string(), "10.0.0.2");
    // The second block contains the total.
    assert_eq!(capture.losses.count("frames_dropped_by_recorder"), 20);
}

#[test]
fn orders_capture_files_and_reports_overlaps() {
    let (writer, _) = simulate(&transfer(), Container::Pcap, Link::Ethernet, 65_536);
    let header = &writer.bytes[..24];
    // Split after the first 40 frames.
    let mut offset = 24;
    for _ in 0..40 {
        let length = u32::from_le_bytes(writer.bytes[offset + 8..offset + 12].try_into().unwrap());
        offset += 16 + length as usize;
    }
    let first_file = &writer.bytes[..offset];
    let second_file = [header, &writer.bytes[offset..]].concat();
    let full_capture = read(&[&writer.bytes]).unwrap();
    let split_capture = read(&[&second_file, first_file]).unwrap();
    assert!(split_capture.losses.is_empty());
    assert_eq!(split_capture.transfers[0].counts, full_capture.transfers[0].counts);
    assert_eq!(split_capture.files[0].name, "1.pcap");
    let duplicate_capture = read(&[&writer.bytes, &writer.bytes]).unwrap();
    assert_eq!(duplicate_capture.losses.count("files_overlap"), 1);
}

#[test]
fn reports_transfer_started_before_the_capture() {
    let (writer, _) = simulate(&transfer(), Container::Pcap, Link::Ethernet, 65_536);
    // Drop the first two frames, which are the request and its response.
    let mut offset = 24;
    for _ in 0..2 {
        let length = u32::from_le_bytes(writer.bytes[offset + 8..offset + 12].try_into().unwrap());
        offset += 16 + length as usize;
    }
    let late_capture = [&writer.bytes[..24], &writer.bytes[offset..]].concat();
    let capture = read(&[&late_capture]).unwrap();
    let [actual] = capture.transfers.as_slice() else {
        panic!("{} transfers", capture.transfers.len());
    };
    // The first window identifies the transfer, and the remaining blocks are tracked.
    assert!(actual.started_before_capture && actual.file.is_empty());
    assert_eq!((actual.outcome, actual.counts.blocks, actual.counts.missing_blocks), (Outcome::Complete, 97, 0));
    assert_eq!(capture.losses.count("transfers_without_begin"), 1);
    let full_capture = read(&[&writer.bytes]).unwrap();
    assert_eq!(full_capture.losses.count("transfers_without_begin"), 0);
}

#[test]
fn reports_backward_time() {
    let mut writer = Container::Pcap.writer(1, 65_536);
    let server = TftpServer { link: Link::Ethernet, mac: SERVER };
    server.write_transfer(&transfer(), START_NS, &mut writer);
    server.write_transfer(&transfer(), START_NS - 3_600_000_000_000, &mut writer);
    let capture = read(&[&writer.bytes]).unwrap();
    assert_eq!(capture.losses.count("time_went_backwards"), 1);
    assert_eq!(capture.transfers.len(), 2);
}

#[test]
fn reads_truncated_captures_up_to_the_end() {
    for container in Container::ALL {
        let (writer, _) = simulate(&transfer(), container, Link::Ethernet, 65_536);
        let full_capture = read(&[&writer.bytes]).unwrap();
        let mut last_frames = 0;
        for length in (0..writer.bytes.len()).step_by(331) {
            match read(&[&writer.bytes[..length]]) {
                Ok(capture) => {
                    assert!(capture.frames >= last_frames && capture.frames <= full_capture.frames);
                    last_frames = capture.frames;
                    let counters: Vec<&str> = losses(&capture);
                    assert!(
                        counters.is_empty() || counters == ["capture_truncated"],
                        "{container:?} {length}: {counters:?}"
                    );
                }
                Err(error) => assert!(length < 28, "{container:?} {length}: {error}"),
            }
        }
    }
}

#[test]
fn skips_damaged_block() {
    let (mut writer, _) = simulate(&transfer(), Container::Pcapng, Link::Ethernet, 65_536);
    // The captured length in the third frame's block exceeds the block.
    let mut offset = 28 + 32;
    for _ in 0..2 {
        offset += u32::from_le_bytes(writer.bytes[offset + 4..offset + 8].try_into().unwrap()) as usize;
    }
    writer.bytes[offset + 20..offset + 24].copy_from_slice(&60_000_u32.to_le_bytes());
    let capture = read(&[&writer.bytes]).unwrap();
    assert_eq!(losses(&capture), ["blocks_skipped"]);
    assert_eq!(capture.transfers[0].counts.blocks, 101);
}

#[test]
fn rejects_files_that_are_not_captures() {
    let Err(Error::NotARecording { .. }) = read(&[b"GET / HTTP/1.1\r\n"]) else {
        panic!("text is not a capture");
    };
    let Err(Error::CaptureHeader { bytes: 9, .. }) = read(&[b"\xD4\xC3\xB2\xA1\x02\0\x04\0\0"]) else {
        panic!("a truncated header is an error");
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn corrupted_bytes_do_not_panic(
        kind in 0_usize..4,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let transfer = TftpTransfer { bytes: 9_000, ..transfer() };
        let (mut writer, _) = simulate(&transfer, Container::ALL[kind], Link::Ethernet, 200);
        for (index, value) in flips {
            let position = index.index(writer.bytes.len());
            writer.bytes[position] = value;
        }
        let _ = read(&[&writer.bytes]);
    }
}
