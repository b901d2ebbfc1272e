//! Tests each piece of `onoff netboot` advice on a capture that needs it, a capture that does not, and a near miss.
#![allow(clippy::unwrap_used)]

use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType, TcpFlags, TftpTransfer};
use serde_json::Value;

use crate::harness::Folder;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn boot(builder: CaptureBuilder) -> Value {
    let folder = Folder::new();
    folder.file("boot.pcapng", &builder.bytes());
    let report: Value = serde_json::from_str(&folder.answer("netboot boot.pcapng --format json")).unwrap();
    report["boots"][0].clone()
}

fn lease() -> CaptureBuilder {
    CaptureBuilder::default().lease(&DhcpFields::default())
}

fn find_finding(boot: &Value, rule: &str) -> Option<Value> {
    boot["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule).cloned()
}

/// Returns the finding of a rule for a boot with a lease and this transfer.
fn transfer_finding(rule: &str, transfer: &TftpTransfer) -> Option<Value> {
    find_finding(&boot(lease().transfer(transfer)), rule)
}

/// Returns the cost of a finding in ms.
fn cost_ms(finding: &Value) -> f64 {
    finding["cost_ns"].as_f64().unwrap() / MS as f64
}

fn is_near(actual: f64, injected: f64) -> bool {
    (actual - injected).abs() <= injected * 0.02
}

fn advises(finding: &Value, words: &str) -> bool {
    finding["advice"].as_str().unwrap().contains(words)
}

#[test]
fn healthy_boot_has_no_advice() {
    let boot =
        boot(lease().transfer(&TftpTransfer { window: 16, ..TftpTransfer::default() }).wait_ms(3_000).os_lease());
    assert_eq!(boot["findings"].as_array().unwrap().len(), 0, "{}", boot["findings"]);
    assert_eq!(boot["outcome"]["reason"], "system_started");
}

#[test]
fn offer_delay_counts_from_its_request() {
    let fields = DhcpFields::default();
    let boot_after_offer = |capture: CaptureBuilder| {
        let capture = capture
            .dhcp(DhcpMessageType::Offer, &fields)
            .wait_ms(2)
            .dhcp(DhcpMessageType::Request, &fields)
            .dhcp(DhcpMessageType::Ack, &fields);
        boot(capture.file("boot.efi", 40, b""))
    };
    let late = boot_after_offer(CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields).wait_ms(800));
    assert!(is_near(cost_ms(&find_finding(&late, "offer_delay").unwrap()), 800.0));
    let quick = boot_after_offer(CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields).wait_ms(400));
    assert!(find_finding(&quick, "offer_delay").is_none());
    // The first request was lost; the second was answered immediately.
    let retried = CaptureBuilder::default()
        .dhcp(DhcpMessageType::Discover, &fields)
        .wait_ms(4_000)
        .dhcp(DhcpMessageType::Discover, &fields)
        .wait_ms(2);
    let retried = boot_after_offer(retried);
    assert!(find_finding(&retried, "offer_delay").is_none());
    assert!(is_near(cost_ms(&find_finding(&retried, "dhcp_retries").unwrap()), 4_000.0));
}

#[test]
fn waiting_for_dhcp_is_not_client_delay() {
    let fields = DhcpFields::default();
    let boot_with_delays = |offer_ms: u64, choice_ms: u64| {
        let proxy = DhcpFields { has_address: false, vendor_class: "PXEClient".into(), ..fields.clone() };
        let nameless = DhcpFields { boot_file: None, ..fields.clone() };
        let capture = CaptureBuilder::default()
            .dhcp(DhcpMessageType::Discover, &fields)
            .wait_ms(1)
            .dhcp(DhcpMessageType::Offer, &proxy);
        let capture = capture.wait_ms(offer_ms).dhcp(DhcpMessageType::Offer, &nameless).wait_ms(choice_ms);
        boot(
            capture
                .dhcp(DhcpMessageType::Request, &fields)
                .dhcp(DhcpMessageType::Ack, &nameless)
                .file("boot.efi", 40, b""),
        )
    };
    assert!(is_near(cost_ms(&find_finding(&boot_with_delays(10, 2_500), "choice_delay").unwrap()), 2_500.0));
    assert!(find_finding(&boot_with_delays(10, 900), "choice_delay").is_none());
    // 3 s after the proxy offer, 0.1 s after the offer with an address.
    assert!(find_finding(&boot_with_delays(3_000, 100), "choice_delay").is_none());
}

#[test]
fn failed_ip_version_costs_its_attempts() {
    let solicits = CaptureBuilder::default()
        .dhcpv6_solicit(1)
        .wait_ms(1_000)
        .dhcpv6_solicit(1)
        .wait_ms(2_000)
        .dhcpv6_solicit(1)
        .wait_ms(4_000);
    let capture = solicits.lease(&DhcpFields::default()).file("boot.efi", 40, &CaptureBuilder::uefi_program(0x8664));
    let boot_over_ipv4 = boot(capture);
    let order = find_finding(&boot_over_ipv4, "ip_order").unwrap();
    assert!(is_near(cost_ms(&order), 7_000.0), "{order}");
    assert!(advises(&order, "IPv4 before the one for IPv6"), "{order}");
    assert!(advises(&find_finding(&boot_over_ipv4, "dhcp_retries").unwrap(), "no DHCPv6 server responds here"));
    // Both IP versions at once, and IPv6 only after everything was loaded.
    let at_once = CaptureBuilder::default().dhcpv6_solicit(1).lease(&DhcpFields::default()).file("boot.efi", 40, b"");
    let afterwards = lease().file("boot.efi", 40, b"").wait_ms(3_000).os_lease().wait_ms(500).dhcpv6_solicit(7);
    for boot in [boot(at_once), boot(afterwards)] {
        assert!(find_finding(&boot, "ip_order").is_none());
    }
}

#[test]
fn distinguishes_fragments_from_jumbo_frames() {
    let with_fragments = boot(lease().fragmented_file("boot.efi", 30, 4_096));
    let fragmented = find_finding(&with_fragments, "block_fragmented").unwrap();
    assert!(
        fragmented["title"].as_str().unwrap().contains("29 blocks of boot.efi came in 87 fragments"),
        "{fragmented}"
    );
    assert!(advises(&fragmented, "at most 1468"));
    assert!(find_finding(&with_fragments, "offload_in_capture").is_none());
    // The packets are longer than a frame, so there were no fragments on this link.
    let jumbo = boot(lease().transfer(&TftpTransfer { block_size: 4_096, ..TftpTransfer::default() }));
    assert!(find_finding(&jumbo, "block_fragmented").is_none());
    assert!(find_finding(&jumbo, "offload_in_capture").is_some());
    let full_frames = boot(lease().transfer(&TftpTransfer::default()));
    assert!(
        find_finding(&full_frames, "block_fragmented").is_none()
            && find_finding(&full_frames, "offload_in_capture").is_none()
    );
}

#[test]
fn attributes_small_blocks() {
    let slow = TftpTransfer { block_size: 512, window: 1, server_response_ns: 300 * US, ..TftpTransfer::default() };
    let small_blocks = transfer_finding("block_small", &slow).unwrap();
    assert!(advises(&small_blocks, "have the client request blksize 1468"), "{small_blocks}");
    // 3,907 round trips of 0.4 ms become 1,363; the client's half may be per-block processing and grow with block size, and
    // turns may be 5 % off in both files.
    assert!(
        cost_ms(&small_blocks) > 3_907.0 * 0.4 - 1_363.0 * 1.1025 * (0.3 + 0.1 * 1468.0 / 512.0) - 50.0,
        "{small_blocks}"
    );
    assert!(transfer_finding("block_small", &TftpTransfer { block_size: 1468, ..slow.clone() }).is_none());
    // A short file gains too little.
    assert!(transfer_finding("block_small", &TftpTransfer { bytes: 100_000, ..slow.clone() }).is_none());
    // The client requested full frames; the server did not grant them.
    let mut refused = lease().request("boot.wim", &[("blksize", "1468")]);
    for block in 1..3_000 {
        refused = refused.wait_ms(1).data(block, &[1; 512]).acknowledge(block);
    }
    let refused = find_finding(&boot(refused.data(3_000, b"end").acknowledge(3_000)), "block_small").unwrap();
    assert!(advises(&refused, "let the server grant larger blocks"), "{refused}");
}

#[test]
fn advises_larger_window_only_if_both_estimates_gain() {
    let slow_server = TftpTransfer {
        window: 1,
        server_response_ns: 500 * US,
        client_response_ns: 50 * US,
        ..TftpTransfer::default()
    };
    let small = transfer_finding("window_small", &slow_server).unwrap();
    // 1,363 round trips with 0.5 ms at the server become 86 of up to 1.04 ms; then the wire limits the blocks. The client
    // may need 50 µs for each block. Turns may be 5 % off.
    let minimum_ms = 1_363.0 * 0.55 - (86.0 * 1.037 + 1_277.0 * 0.0123) * 1.05 - 1_363.0 * 0.05 * 1.1025;
    assert!(cost_ms(&small) > minimum_ms * 0.99 && cost_ms(&small) < minimum_ms * 1.01, "{small}");
    // With the same round trips, the time at the client may be per-block processing, which a window does not reduce.
    let slow_client = TftpTransfer { server_response_ns: 50 * US, client_response_ns: 500 * US, ..slow_server.clone() };
    assert!(transfer_finding("window_small", &slow_client).is_none());
    // The window is already 16.
    assert!(transfer_finding("window_small", &TftpTransfer { window: 16, ..slow_server }).is_none());
}

#[test]
fn window_refusal_needs_server_reply() {
    let requested = [("blksize", "1468"), ("windowsize", "16")];
    let refused = boot(
        lease()
            .request("boot.efi", &requested)
            .oack(&[("blksize", "1468")])
            .acknowledge(0)
            .data(1, b"all of it")
            .acknowledge(1),
    );
    let finding = find_finding(&refused, "window_refused").unwrap();
    assert!(
        finding["title"].as_str().unwrap().contains("requested windows of 16 blocks and 10.0.0.1 granted none"),
        "{finding}"
    );
    let granted =
        lease().request("boot.efi", &requested).oack(&requested).acknowledge(0).data(1, b"all of it").acknowledge(1);
    assert!(find_finding(&boot(granted), "window_refused").is_none());
    // No server answered, or the server refused the file itself.
    let silent = lease().request("boot.efi", &requested).wait_ms(4_000).request_again("boot.efi", &requested);
    let silent = silent.wait_ms(4_000).request_again("boot.efi", &requested).wait_ms(9_000).unrelated_frame();
    let missing =
        lease().request("boot.efi", &requested).error(false, 1, "File not found").wait_ms(9_000).unrelated_frame();
    for capture in [silent, missing] {
        assert!(find_finding(&boot(capture), "window_refused").is_none());
    }
}

#[test]
fn cable_advice_needs_retransmissions() {
    let lost =
        transfer_finding("retransmissions", &TftpTransfer { lost_blocks: vec![80, 800], ..TftpTransfer::default() })
            .unwrap();
    assert!(advises(&lost, "cable"), "{lost}");
    assert!(is_near(cost_ms(&lost), 2_000.0), "{lost}");
    assert!(transfer_finding("retransmissions", &TftpTransfer::default()).is_none());
    // The server was silent for 3 s and the client repeated its acknowledgment: no block was resent.
    let capture = lease().request("boot.efi", &[]).blocks(1..30, b"").wait_ms(3_000).acknowledge(29);
    let silent =
        find_finding(&boot(capture.blocks(30..60, b"").data(60, b"end").acknowledge(60)), "retransmissions").unwrap();
    assert!(!advises(&silent, "cable") && advises(&silent, "the server did not respond"), "{silent}");
    // A capture with every packet duplicated shows no loss.
    let twice = CaptureBuilder::default().duplicate_frames(2).lease(&DhcpFields::default()).file("boot.efi", 400, b"");
    assert!(find_finding(&boot(twice), "retransmissions").is_none());
}

#[test]
fn distinguishes_sorcerers_apprentice_from_double_capture() {
    let doubled = TftpTransfer { window: 1, duplicated_from: Some(30), bytes: 200_000, ..TftpTransfer::default() };
    let finding = transfer_finding("sorcerers_apprentice", &doubled).unwrap();
    assert!(finding["title"].as_str().unwrap().contains("from block 30, 108 consecutive blocks"), "{finding}");
    assert!(transfer_finding("sorcerers_apprentice", &TftpTransfer { duplicated_from: None, ..doubled }).is_none());
    let twice = CaptureBuilder::default().duplicate_frames(2).lease(&DhcpFields::default()).file("boot.efi", 400, b"");
    assert!(find_finding(&boot(twice), "sorcerers_apprentice").is_none());
}

#[test]
fn client_delay_excludes_round_trip() {
    let slow = TftpTransfer { window: 1, client_response_ns: 5 * MS, ..TftpTransfer::default() };
    let slow_client_finding = |arp_reply_ns: u64, transfer: &TftpTransfer| {
        find_finding(&boot(lease().arp_for_client(arp_reply_ns).transfer(transfer)), "slow_client")
    };
    // The client answers ARP in 0.2 ms, so at most that much of its 5 ms is the network.
    let finding = slow_client_finding(200 * US, &slow).unwrap();
    assert!(is_near(cost_ms(&finding), 1_363.0 * 4.8), "{finding}");
    // The network may account for all of the time: the shortest round trip is the only bound, or the ARP reply took as
    // long.
    assert!(transfer_finding("slow_client", &slow).is_none());
    assert!(slow_client_finding(5 * MS, &slow).is_none());
    // 5 ms for a window of 16 is 0.3 ms per block.
    assert!(slow_client_finding(200 * US, &TftpTransfer { window: 16, ..slow.clone() }).is_none());
    // A server that takes as long does not make the client slow.
    assert!(slow_client_finding(200 * US, &TftpTransfer { server_response_ns: 5 * MS, ..slow }).is_none());
}

#[test]
fn far_end_bounds_round_trip() {
    let side_and_bound = |capture: CaptureBuilder, transfer: &TftpTransfer| {
        let boot = boot(capture.transfer(transfer));
        let side = boot["capture_side"].as_str().unwrap().to_owned();
        (side, boot["max_round_trip_ns"].as_u64().map(|ns| ns as f64 / MS as f64))
    };
    let assert_within = |actual: Option<f64>, min: f64, max: f64| {
        assert!(actual.is_some_and(|ms| (min..=max).contains(&ms)), "{actual:?} is not within {min} and {max} ms");
    };
    let turns = |server_turn_ns: u64, client_turn_ns: u64| TftpTransfer {
        window: 1,
        bytes: 100_000,
        server_response_ns: server_turn_ns,
        client_response_ns: client_turn_ns,
        ..TftpTransfer::default()
    };
    // Captured at the client, 10 ms from the server: the client's own reply in 0.367 ms does not show the path.
    let (side, bound) = side_and_bound(lease().arp_for_client(367 * US), &turns(10_200 * US, 400 * US));
    assert_eq!(side, "client");
    assert_within(bound, 10.0, 10.7);
    // The same path captured at the server, where the client's reply shows it.
    let (side, bound) = side_and_bound(lease().arp_for_client(10_100 * US), &turns(60 * US, 30 * MS));
    assert_eq!(side, "server");
    assert_within(bound, 10.0, 10.3);
    // At the client, with a slow server: the server's ARP and ICMP replies show the path.
    let slow = turns(60 * MS, 400 * US);
    assert_within(side_and_bound(lease().arp_for_server(10_100 * US), &slow).1, 10.0, 10.7);
    assert_within(side_and_bound(lease().ping(true, 10_100 * US), &slow).1, 10.0, 10.7);
    assert_within(side_and_bound(lease(), &slow).1, 60.0, 61.0);
    // At a slow client: its round trips are longer than the server's, which include the path.
    let (side, bound) = side_and_bound(lease().arp_for_client(367 * US), &turns(10_200 * US, 20 * MS));
    assert_eq!(side, "client");
    assert_within(bound, 10.0, 10.7);
    // In the middle, 5 ms from either end: neither end alone shows the path.
    let (side, bound) = side_and_bound(lease(), &turns(5_100 * US, 5_200 * US));
    assert_eq!(side, "unknown");
    assert_within(bound, 10.0, 10.4);
    // A third host near the client does not show the path to the server.
    let (_, bound) = side_and_bound(lease().arp_for_client_from_third_station(300 * US), &turns(60 * US, 30 * MS));
    assert_within(bound, 30.0, 30.2);
    // The request is repeated: the reply comes 10.1 ms after the first request and 0.1 ms after the second.
    let capture = lease().arp_request([10, 0, 0, 1].into()).wait_ms(10);
    assert_within(side_and_bound(capture.arp_for_server(50 * US), &slow).1, 10.0, 10.7);
}

#[test]
fn tcp_handshakes_bound_round_trip() {
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let (syn, syn_ack) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { syn: true, ..ack });
    let request = b"GET /boot.efi HTTP/1.1\r\nHost: boot\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n";
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nboot";
    let boot_with_distances = |to_server_ms: u64, to_client_ms: u64| {
        let capture = over_http().tcp_segment(true, (0, 0), syn, b"").wait_ms(to_server_ms).tcp_segment(
            false,
            (0, 1),
            syn_ack,
            b"",
        );
        let capture =
            capture.wait_ms(to_client_ms).tcp_segment(true, (1, 1), ack, b"").tcp_segment(true, (1, 1), ack, request);
        let boot = boot(capture.wait_ms(80).tcp_segment(false, (1, 1 + request.len() as u32), ack, answer));
        (boot["capture_side"].clone(), boot["max_round_trip_ns"].as_f64().unwrap() / MS as f64)
    };
    for (to_server_ms, to_client_ms, expected_side) in [(10, 0, "client"), (0, 10, "server"), (5, 5, "unknown")] {
        let (side, ms) = boot_with_distances(to_server_ms, to_client_ms);
        assert_eq!(side, expected_side);
        assert!((10.0..10.2).contains(&ms), "{ms}");
    }
}

#[test]
fn missing_files_matter_if_server_is_slow() {
    let refusals = |wait_ms: u64| {
        let mut capture = lease().file("boot.efi", 40, &CaptureBuilder::uefi_program(0x8664));
        for name in ["grub/a.lst", "grub/b.lst", "grub/c.lst"] {
            capture = capture.request(name, &[]).wait_ms(wait_ms).error(false, 1, "File not found");
        }
        boot(capture.file("vmlinuz", 60, b"").wait_ms(1_000).os_lease())
    };
    let slow = find_finding(&refusals(60), "wrong_file").unwrap();
    assert!(is_near(cost_ms(&slow), 180.0), "{slow}");
    assert!(find_finding(&refusals(1), "wrong_file").is_none());
    // If it caused the boot to fail, it is reported once.
    let failed = lease().request("boot.efi", &[]).wait_ms(500).error(false, 1, "File not found");
    let failed = boot(failed.wait_ms(9_000).unrelated_frame());
    assert!(find_finding(&failed, "wrong_file").is_none() && find_finding(&failed, "file_refused").is_some());
}

fn over_http() -> CaptureBuilder {
    CaptureBuilder::default().lease(&DhcpFields {
        architecture: 16,
        vendor_class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("http://10.0.0.1/boot.efi".into()),
        ..DhcpFields::default()
    })
}

/// Simulates a download of ten segments of 1,000 bytes, with `insert` applied after the third segment.
fn download(insert: impl Fn(CaptureBuilder, u32) -> CaptureBuilder) -> Value {
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let (syn, syn_ack) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { syn: true, ..ack });
    let request = b"GET /boot.efi HTTP/1.1\r\nHost: boot\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n";
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n";
    let (client_sequence, mut server_sequence) = (1 + request.len() as u32, 1 + head.len() as u32);
    let mut capture = over_http()
        .tcp_segment(true, (0, 0), syn, b"")
        .tcp_segment(false, (0, 1), syn_ack, b"")
        .tcp_segment(true, (1, 1), ack, request)
        .tcp_segment(false, (1, client_sequence), ack, head);
    for number in 0..10 {
        capture = capture.tcp_segment(false, (server_sequence, client_sequence), ack, &[7; 1_000]);
        server_sequence += 1_000;
        if number == 2 {
            capture = insert(capture, server_sequence);
        }
    }
    boot(capture.tcp_segment(true, (client_sequence, server_sequence), ack, b"").wait_ms(1_000).os_lease())
}

#[test]
fn http_downloads_with_and_without_problems() {
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let healthy = download(|capture, _| capture);
    assert_eq!(healthy["findings"].as_array().unwrap().len(), 0, "{}", healthy["findings"]);
    // The client closes its window for 300 ms, and for 30 ms.
    let closed = |ms: u64| {
        download(move |capture, sequence| {
            capture
                .receive_window_open(false)
                .tcp_segment(true, (200, sequence), ack, b"")
                .wait_ms(ms)
                .receive_window_open(true)
                .tcp_segment(true, (200, sequence), ack, b"")
        })
    };
    assert!(is_near(cost_ms(&find_finding(&closed(300), "http_zero_window").unwrap()), 300.0));
    assert!(find_finding(&closed(30), "http_zero_window").is_none());
    // A retransmitted segment is a loss, a frame captured twice is not.
    let retransmitted =
        download(|capture, sequence| capture.tcp_segment(false, (sequence - 1_000, 100), ack, &[7; 1_000]));
    let repeated = find_finding(&retransmitted, "http_retransmissions").unwrap();
    assert!(advises(&repeated, "cable"), "{repeated}");
    let twice = over_http().duplicate_frames(2).http("/boot.efi", "200 OK", &[7; 900]);
    assert!(find_finding(&boot(twice), "http_retransmissions").is_none());
}

#[test]
fn harmless_http_error() {
    let loads = |status: &str| {
        let capture = over_http().http("/boot.cfg", status, b"text").http("/boot.efi", "200 OK", &[7; 900]);
        boot(capture.wait_ms(1_000).os_lease())
    };
    let missing = find_finding(&loads("404 Not Found"), "http_error").unwrap();
    assert_eq!(missing["stops_boot"], false);
    assert!(missing["title"].as_str().unwrap().contains("404"), "{missing}");
    assert!(find_finding(&loads("200 OK"), "http_error").is_none());
    // If it caused the boot to fail, it is the outcome, reported once.
    let failed = boot(over_http().http("/boot.efi", "404 Not Found", b"no").wait_ms(9_000).unrelated_frame());
    let errors = failed["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == "http_error");
    let stops: Vec<bool> = errors.map(|finding| finding["stops_boot"].as_bool().unwrap()).collect();
    assert_eq!(stops, [true]);
}
