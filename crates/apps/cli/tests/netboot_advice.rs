//! `onoff netboot`: each piece of advice on a capture that calls for it, on one that does not, and on one that only looks like it.
#![allow(clippy::unwrap_used)]

use onoff_testkit::capture::{Dhcp, DhcpFields, Scene, TcpFlags, TftpTransfer};
use serde_json::Value;

use crate::running::Folder;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn boot(scene: Scene) -> Value {
    let folder = Folder::new();
    folder.file("boot.pcapng", &scene.bytes());
    let report: Value = serde_json::from_str(&folder.answer("netboot boot.pcapng --format json")).unwrap();
    report["boots"][0].clone()
}

fn begun() -> Scene {
    Scene::default().lease(&DhcpFields::default())
}

fn found(boot: &Value, rule: &str) -> Option<Value> {
    boot["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule).cloned()
}

/// What a rule finds in a boot of a lease and this transfer.
fn of_transfer(rule: &str, transfer: &TftpTransfer) -> Option<Value> {
    found(&boot(begun().transfer(transfer)), rule)
}

/// Cost of a finding, in ms.
fn cost_ms(finding: &Value) -> f64 {
    finding["cost_ns"].as_f64().unwrap() / MS as f64
}

fn near(found: f64, planted: f64) -> bool {
    (found - planted).abs() <= planted * 0.02
}

fn says(finding: &Value, words: &str) -> bool {
    finding["advice"].as_str().unwrap().contains(words)
}

#[test]
fn nothing_is_advised_where_nothing_is_wrong() {
    let boot = boot(begun().transfer(&TftpTransfer { window: 16, ..TftpTransfer::default() }).wait_ms(3_000).system());
    assert_eq!(boot["findings"].as_array().unwrap().len(), 0, "{}", boot["findings"]);
    assert_eq!(boot["outcome"]["reason"], "system_started");
}

#[test]
fn an_offer_is_late_from_the_question_it_answers() {
    let fields = DhcpFields::default();
    let offered = |scene: Scene| {
        let scene = scene.dhcp(Dhcp::Offer, &fields).wait_ms(2).dhcp(Dhcp::Request, &fields).dhcp(Dhcp::Ack, &fields);
        boot(scene.file("boot.efi", 40, b""))
    };
    let late = offered(Scene::default().dhcp(Dhcp::Discover, &fields).wait_ms(800));
    assert!(near(cost_ms(&found(&late, "offer_delay").unwrap()), 800.0));
    let quick = offered(Scene::default().dhcp(Dhcp::Discover, &fields).wait_ms(400));
    assert!(found(&quick, "offer_delay").is_none());
    // The first question was lost; the second was answered at once.
    let again = Scene::default().dhcp(Dhcp::Discover, &fields).wait_ms(4_000).dhcp(Dhcp::Discover, &fields).wait_ms(2);
    let again = offered(again);
    assert!(found(&again, "offer_delay").is_none());
    assert!(near(cost_ms(&found(&again, "dhcp_retries").unwrap()), 4_000.0));
}

#[test]
fn a_client_that_waits_for_the_address_server_does_not_dawdle() {
    let fields = DhcpFields::default();
    let chosen = |offer_ms: u64, choice_ms: u64| {
        let proxy = DhcpFields { address: false, class: "PXEClient".into(), ..fields.clone() };
        let nameless = DhcpFields { boot_file: None, ..fields.clone() };
        let scene = Scene::default().dhcp(Dhcp::Discover, &fields).wait_ms(1).dhcp(Dhcp::Offer, &proxy);
        let scene = scene.wait_ms(offer_ms).dhcp(Dhcp::Offer, &nameless).wait_ms(choice_ms);
        boot(scene.dhcp(Dhcp::Request, &fields).dhcp(Dhcp::Ack, &nameless).file("boot.efi", 40, b""))
    };
    assert!(near(cost_ms(&found(&chosen(10, 2_500), "choice_delay").unwrap()), 2_500.0));
    assert!(found(&chosen(10, 900), "choice_delay").is_none());
    // 3 s after the proxy's offer, 0.1 s after the one with an address.
    assert!(found(&chosen(3_000, 100), "choice_delay").is_none());
}

#[test]
fn the_other_ip_version_cost_what_it_was_tried_for() {
    let solicits = Scene::default().solicit(1).wait_ms(1_000).solicit(1).wait_ms(2_000).solicit(1).wait_ms(4_000);
    let scene = solicits.lease(&DhcpFields::default()).file("boot.efi", 40, &Scene::program(0x8664));
    let both = boot(scene);
    let order = found(&both, "ip_order").unwrap();
    assert!(near(cost_ms(&order), 7_000.0), "{order}");
    assert!(says(&order, "IPv4 before the one for IPv6"), "{order}");
    assert!(says(&found(&both, "dhcp_retries").unwrap(), "no DHCPv6 server responds here"));
    // Asked both at once; and asked IPv6 only when all was loaded.
    let at_once = Scene::default().solicit(1).lease(&DhcpFields::default()).file("boot.efi", 40, b"");
    let afterwards = begun().file("boot.efi", 40, b"").wait_ms(3_000).system().wait_ms(500).solicit(7);
    for boot in [boot(at_once), boot(afterwards)] {
        assert!(found(&boot, "ip_order").is_none());
    }
}

#[test]
fn fragments_and_jumbo_frames_are_two_things() {
    let cut = boot(begun().fragmented_file("boot.efi", 30, 4_096));
    let fragmented = found(&cut, "block_fragmented").unwrap();
    assert!(
        fragmented["what"].as_str().unwrap().contains("29 blocks of boot.efi came in 87 fragments"),
        "{fragmented}"
    );
    assert!(says(&fragmented, "at most 1468"));
    assert!(found(&cut, "offload_in_capture").is_none());
    // Whole packets longer than a frame: no fragment of them was on this link.
    let jumbo = boot(begun().transfer(&TftpTransfer { block_size: 4_096, ..TftpTransfer::default() }));
    assert!(found(&jumbo, "block_fragmented").is_none());
    assert!(found(&jumbo, "offload_in_capture").is_some());
    let whole = boot(begun().transfer(&TftpTransfer::default()));
    assert!(found(&whole, "block_fragmented").is_none() && found(&whole, "offload_in_capture").is_none());
}

#[test]
fn small_blocks_are_whose_they_are() {
    let slow = TftpTransfer { block_size: 512, window: 1, server_turn_ns: 300 * US, ..TftpTransfer::default() };
    let own = of_transfer("block_small", &slow).unwrap();
    assert!(says(&own, "have the client request blksize 1468"), "{own}");
    // 3,907 turns of 0.4 ms become 1,363, whose client's half may be a block's handling and grow with it.
    assert!(cost_ms(&own) > 3_907.0 * 0.4 - 1_363.0 * (0.3 + 0.1 * 1468.0 / 512.0) - 50.0, "{own}");
    assert!(of_transfer("block_small", &TftpTransfer { block_size: 1468, ..slow.clone() }).is_none());
    // A short file gains nothing worth a change.
    assert!(of_transfer("block_small", &TftpTransfer { bytes: 100_000, ..slow.clone() }).is_none());
    // The client asked for whole frames: that it got none is the server's.
    let mut refused = begun().request("boot.wim", &[("blksize", "1468")]);
    for block in 1..3_000 {
        refused = refused.wait_ms(1).data(block, &[1; 512]).acknowledge(block);
    }
    let refused = found(&boot(refused.data(3_000, b"end").acknowledge(3_000)), "block_small").unwrap();
    assert!(says(&refused, "let the server grant larger blocks"), "{refused}");
}

#[test]
fn a_larger_window_is_advised_only_where_both_readings_of_the_turn_gain() {
    let slow_server =
        TftpTransfer { window: 1, server_turn_ns: 500 * US, client_turn_ns: 50 * US, ..TftpTransfer::default() };
    let small = of_transfer("window_small", &slow_server).unwrap();
    // 1,363 turns of the server's 0.5 ms become 86, and blocks then follow as the wire lets them.
    let least = 1_277.0 * (0.5 - 0.0123);
    assert!(cost_ms(&small) > least * 0.95 && cost_ms(&small) < least * 1.05, "{small}");
    // The same turns with the time on the client's side: it may be each block's handling, which no window makes shorter.
    let slow_client = TftpTransfer { server_turn_ns: 50 * US, client_turn_ns: 500 * US, ..slow_server.clone() };
    assert!(of_transfer("window_small", &slow_client).is_none());
    // Windows of 16 as they are.
    assert!(of_transfer("window_small", &TftpTransfer { window: 16, ..slow_server }).is_none());
}

#[test]
fn a_window_is_refused_only_by_a_server_that_answers() {
    let asked = [("blksize", "1468"), ("windowsize", "16")];
    let refused = boot(
        begun()
            .request("boot.efi", &asked)
            .grant(&[("blksize", "1468")])
            .acknowledge(0)
            .data(1, b"all of it")
            .acknowledge(1),
    );
    let finding = found(&refused, "window_refused").unwrap();
    assert!(
        finding["what"].as_str().unwrap().contains("requested windows of 16 blocks and 10.0.0.1 granted none"),
        "{finding}"
    );
    let granted = begun().request("boot.efi", &asked).grant(&asked).acknowledge(0).data(1, b"all of it").acknowledge(1);
    assert!(found(&boot(granted), "window_refused").is_none());
    // Nobody answered; and the server refused the file itself.
    let silent = begun().request("boot.efi", &asked).wait_ms(4_000).request_again("boot.efi", &asked);
    let silent = silent.wait_ms(4_000).request_again("boot.efi", &asked).wait_ms(9_000).someone_else();
    let missing = begun().request("boot.efi", &asked).error(false, 1, "File not found").wait_ms(9_000).someone_else();
    for scene in [silent, missing] {
        assert!(found(&boot(scene), "window_refused").is_none());
    }
}

#[test]
fn a_cable_is_suspected_only_where_blocks_came_again() {
    let lost =
        of_transfer("retransmissions", &TftpTransfer { lost: vec![80, 800], ..TftpTransfer::default() }).unwrap();
    assert!(says(&lost, "cable"), "{lost}");
    assert!(near(cost_ms(&lost), 2_000.0), "{lost}");
    assert!(of_transfer("retransmissions", &TftpTransfer::default()).is_none());
    // The server was silent for 3 s and the client said again what it has: no block came twice.
    let scene = begun().request("boot.efi", &[]).blocks(1..30, b"").wait_ms(3_000).acknowledge(29);
    let silent = found(&boot(scene.blocks(30..60, b"").data(60, b"end").acknowledge(60)), "retransmissions").unwrap();
    assert!(!says(&silent, "cable") && says(&silent, "the server did not respond"), "{silent}");
    // A capture that holds everything twice shows no loss.
    let twice = Scene::default().captured(2).lease(&DhcpFields::default()).file("boot.efi", 400, b"");
    assert!(found(&boot(twice), "retransmissions").is_none());
}

#[test]
fn everything_sent_twice_is_the_apprentice_and_everything_captured_twice_is_not() {
    let doubled = TftpTransfer { window: 1, doubled_from: Some(30), bytes: 200_000, ..TftpTransfer::default() };
    let finding = of_transfer("sorcerers_apprentice", &doubled).unwrap();
    assert!(finding["what"].as_str().unwrap().contains("from block 30, 108 consecutive blocks"), "{finding}");
    assert!(of_transfer("sorcerers_apprentice", &TftpTransfer { doubled_from: None, ..doubled }).is_none());
    let twice = Scene::default().captured(2).lease(&DhcpFields::default()).file("boot.efi", 400, b"");
    assert!(found(&boot(twice), "sorcerers_apprentice").is_none());
}

#[test]
fn a_client_is_slow_per_block_and_net_of_the_round_trip() {
    let slow = TftpTransfer { window: 1, client_turn_ns: 5 * MS, ..TftpTransfer::default() };
    let with = |answer_ns: u64, transfer: &TftpTransfer| {
        found(&boot(begun().client_found_after(answer_ns).transfer(transfer)), "slow_client")
    };
    // The client answers a question for its station in 0.2 ms: no more of its 5 ms is the network.
    let finding = with(200 * US, &slow).unwrap();
    assert!(near(cost_ms(&finding), 1_363.0 * 4.8), "{finding}");
    // The network's round trip may be all of it: the shortest turn is the only bound, or the question took as long.
    assert!(of_transfer("slow_client", &slow).is_none());
    assert!(with(5 * MS, &slow).is_none());
    // 5 ms for a window of 16 are 0.3 ms a block.
    assert!(with(200 * US, &TftpTransfer { window: 16, ..slow.clone() }).is_none());
    // A server that takes as long makes no slow client.
    assert!(with(200 * US, &TftpTransfer { server_turn_ns: 5 * MS, ..slow }).is_none());
}

#[test]
fn the_round_trip_is_bounded_by_the_far_end() {
    let of = |scene: Scene, transfer: &TftpTransfer| {
        let boot = boot(scene.transfer(transfer));
        let side = boot["capture_side"].as_str().unwrap().to_owned();
        (side, boot["round_trip_at_most_ns"].as_u64().map(|ns| ns as f64 / MS as f64))
    };
    let between = |found: Option<f64>, least: f64, most: f64| {
        assert!(found.is_some_and(|ms| (least..=most).contains(&ms)), "{found:?} is not within {least} and {most} ms");
    };
    let turns = |server_turn_ns: u64, client_turn_ns: u64| TftpTransfer {
        window: 1,
        bytes: 100_000,
        server_turn_ns,
        client_turn_ns,
        ..TftpTransfer::default()
    };
    // 10 ms apart, captured at the client: that the client answers in 0.367 ms says nothing about the way.
    let (side, found) = of(begun().client_found_after(367 * US), &turns(10_200 * US, 400 * US));
    assert_eq!(side, "client");
    between(found, 10.0, 10.7);
    // The same way captured at the server, where the client's answer shows it.
    let (side, found) = of(begun().client_found_after(10_100 * US), &turns(60 * US, 30 * MS));
    assert_eq!(side, "server");
    between(found, 10.0, 10.3);
    // At the client, of a server that thinks long: the server's answers by ARP and by ICMP show the way.
    let slow = turns(60 * MS, 400 * US);
    between(of(begun().server_found_after(10_100 * US), &slow).1, 10.0, 10.7);
    between(of(begun().ping(true, 10_100 * US), &slow).1, 10.0, 10.7);
    between(of(begun(), &slow).1, 60.0, 61.0);
    // At the client, which is slow itself: its turns are longer than the server's with the way in them.
    let (side, found) = of(begun().client_found_after(367 * US), &turns(10_200 * US, 20 * MS));
    assert_eq!(side, "client");
    between(found, 10.0, 10.7);
    // In the middle, 5 ms from either end: no end alone shows the way.
    let (side, found) = of(begun(), &turns(5_100 * US, 5_200 * US));
    assert_eq!(side, "unknown");
    between(found, 10.0, 10.4);
    // A third station that is near the client shows nothing of the way to the server.
    let (_, found) = of(begun().client_found_by_another_after(300 * US), &turns(60 * US, 30 * MS));
    between(found, 30.0, 30.2);
    // The question was asked twice: the answer, 10.1 ms after the first, comes 0.1 ms after the second.
    let scene = begun().looks_for([10, 0, 0, 1].into()).wait_ms(10);
    between(of(scene.server_found_after(50 * US), &slow).1, 10.0, 10.7);
}

#[test]
fn handshakes_of_tcp_bound_the_round_trip() {
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let (syn, both) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { syn: true, ..ack });
    let request = b"GET /boot.efi HTTP/1.1\r\nHost: boot\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n";
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nboot";
    let far = |to_server_ms: u64, to_client_ms: u64| {
        let scene = over_http().segment(true, (0, 0), syn, b"").wait_ms(to_server_ms).segment(false, (0, 1), both, b"");
        let scene = scene.wait_ms(to_client_ms).segment(true, (1, 1), ack, b"").segment(true, (1, 1), ack, request);
        let boot = boot(scene.wait_ms(80).segment(false, (1, 1 + request.len() as u32), ack, answer));
        (boot["capture_side"].clone(), boot["round_trip_at_most_ns"].as_f64().unwrap() / MS as f64)
    };
    for (at, side) in [((10, 0), "client"), ((0, 10), "server"), ((5, 5), "unknown")] {
        let (found, ms) = far(at.0, at.1);
        assert_eq!(found, side);
        assert!((10.0..10.2).contains(&ms), "{ms}");
    }
}

#[test]
fn files_that_are_not_there_matter_when_the_server_thinks_about_it() {
    let refusals = |wait_ms: u64| {
        let mut scene = begun().file("boot.efi", 40, &Scene::program(0x8664));
        for name in ["grub/a.lst", "grub/b.lst", "grub/c.lst"] {
            scene = scene.request(name, &[]).wait_ms(wait_ms).error(false, 1, "File not found");
        }
        boot(scene.file("vmlinuz", 60, b"").wait_ms(1_000).system())
    };
    let slow = found(&refusals(60), "wrong_file").unwrap();
    assert!(near(cost_ms(&slow), 180.0), "{slow}");
    assert!(found(&refusals(1), "wrong_file").is_none());
    // Where the boot failed of it, it is said once.
    let failed = begun().request("boot.efi", &[]).wait_ms(500).error(false, 1, "File not found");
    let failed = boot(failed.wait_ms(9_000).someone_else());
    assert!(found(&failed, "wrong_file").is_none() && found(&failed, "file_refused").is_some());
}

fn over_http() -> Scene {
    Scene::default().lease(&DhcpFields {
        architecture: 16,
        class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("http://10.0.0.1/boot.efi".into()),
        ..DhcpFields::default()
    })
}

/// A download of ten segments of 1,000 bytes; `between` comes after the third.
fn download(between: impl Fn(Scene, u32) -> Scene) -> Value {
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let (syn, both) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { syn: true, ..ack });
    let request = b"GET /boot.efi HTTP/1.1\r\nHost: boot\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n";
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n";
    let (sent, mut at) = (1 + request.len() as u32, 1 + head.len() as u32);
    let mut scene = over_http()
        .segment(true, (0, 0), syn, b"")
        .segment(false, (0, 1), both, b"")
        .segment(true, (1, 1), ack, request)
        .segment(false, (1, sent), ack, head);
    for number in 0..10 {
        scene = scene.segment(false, (at, sent), ack, &[7; 1_000]);
        at += 1_000;
        if number == 2 {
            scene = between(scene, at);
        }
    }
    boot(scene.segment(true, (sent, at), ack, b"").wait_ms(1_000).system())
}

#[test]
fn downloads_over_http_that_go_well_and_that_do_not() {
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let well = download(|scene, _| scene);
    assert_eq!(well["findings"].as_array().unwrap().len(), 0, "{}", well["findings"]);
    // The client closes its window for 300 ms, and for 30 ms.
    let closed = |ms: u64| {
        download(move |scene, at| {
            scene.receives(false).segment(true, (200, at), ack, b"").wait_ms(ms).receives(true).segment(
                true,
                (200, at),
                ack,
                b"",
            )
        })
    };
    assert!(near(cost_ms(&found(&closed(300), "http_zero_window").unwrap()), 300.0));
    assert!(found(&closed(30), "http_zero_window").is_none());
    // A segment comes again; or its frame is in the capture twice, which is no loss.
    let again = download(|scene, at| scene.segment(false, (at - 1_000, 100), ack, &[7; 1_000]));
    let repeated = found(&again, "http_retransmissions").unwrap();
    assert!(says(&repeated, "cable"), "{repeated}");
    let twice = over_http().captured(2).http("/boot.efi", "200 OK", &[7; 900]);
    assert!(found(&boot(twice), "http_retransmissions").is_none());
}

#[test]
fn an_error_of_the_http_server_that_stopped_nothing() {
    let loads = |status: &str| {
        let scene = over_http().http("/boot.cfg", status, b"text").http("/boot.efi", "200 OK", &[7; 900]);
        boot(scene.wait_ms(1_000).system())
    };
    let missing = found(&loads("404 Not Found"), "http_error").unwrap();
    assert_eq!(missing["stops_boot"], false);
    assert!(missing["what"].as_str().unwrap().contains("404"), "{missing}");
    assert!(found(&loads("200 OK"), "http_error").is_none());
    // The boot failed of it: then it is the outcome, said once.
    let failed = boot(over_http().http("/boot.efi", "404 Not Found", b"no").wait_ms(9_000).someone_else());
    let errors = failed["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == "http_error");
    let stops: Vec<bool> = errors.map(|finding| finding["stops_boot"].as_bool().unwrap()).collect();
    assert_eq!(stops, [true]);
}
