//! Tests who is blamed for the time of a boot, and the findings about a slow server and a far network.

use onoff_network::report::NetworkBoot;
use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType, TftpTransfer};

use crate::support::{boot, ended, lease, unanswered};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn turns(server_response_ns: u64, client_response_ns: u64) -> TftpTransfer {
    TftpTransfer { window: 1, server_response_ns, client_response_ns, ..TftpTransfer::default() }
}

fn has_finding(boot: &NetworkBoot, rule: &str) -> bool {
    boot.findings.iter().any(|finding| finding.rule == rule)
}

#[track_caller]
fn assert_parts_sum(boot: &NetworkBoot) {
    let blame = &boot.blame;
    let sum: i64 = [&blame.client, &blame.server, &blame.network, &blame.timeouts].iter().map(|part| part.ns).sum();
    assert_eq!(sum, boot.duration_ns);
}

#[test]
fn slow_server_is_blamed() {
    // Both ends reply to ARP at once, so the network is near.
    let near = || lease().arp_for_client(200 * US).arp_for_server(60 * US);
    let slow = boot(near().transfer(&turns(5 * MS, 400 * US)));
    assert_parts_sum(&slow);
    // 1,363 turns of 5 ms.
    assert!(slow.blame.server.share_percent > 75.0, "{:?}", slow.blame);
    assert!(has_finding(&slow, "slow_server"), "{:?}", slow.findings);
    // Fast answers.
    let fast = boot(near().transfer(&turns(50 * US, 400 * US)));
    assert!(!has_finding(&fast, "slow_server"));
    // Near the client, the same turns are the network's.
    let far = boot(lease().arp_for_client(367 * US).arp_for_server(4_900 * US).transfer(&turns(5 * MS, 400 * US)));
    assert!(!has_finding(&far, "slow_server"), "{:?}", far.findings);
    // No packet separates the server from the network.
    let unknown = boot(lease().transfer(&turns(5 * MS, 400 * US)));
    assert!(!has_finding(&unknown, "slow_server") && !has_finding(&unknown, "far_network"));
}

#[test]
fn far_network_is_blamed() {
    let far = boot(lease().arp_for_client(10_100 * US).transfer(&turns(60 * US, 10_400 * US)));
    assert_parts_sum(&far);
    assert!(far.blame.network.share_percent > 75.0, "{:?}", far.blame);
    assert!(far.blame.network.measure.contains("round trips of 10.1 ms"), "{:?}", far.blame);
    assert!(has_finding(&far, "far_network"));
    // A slow client on a near network.
    let near = boot(lease().arp_for_client(200 * US).transfer(&turns(60 * US, 10_400 * US)));
    assert!(near.blame.client.share_percent > 75.0, "{:?}", near.blame);
    assert!(!has_finding(&near, "far_network"));
    // The client's own reply at its port passes no network.
    let own_reply = boot(lease().arp_for_client(367 * US).transfer(&turns(10_200 * US, 400 * US)));
    assert_eq!(own_reply.blame.round_trip_ns, None, "{:?}", own_reply.blame);
    assert!(!has_finding(&own_reply, "far_network"));
    // Few round trips cost little.
    let windows = TftpTransfer { window: 64, bytes: 200_000, ..turns(60 * US, 10_400 * US) };
    assert!(!has_finding(&boot(lease().arp_for_client(10_100 * US).transfer(&windows)), "far_network"));
}

#[test]
fn waiting_without_answers_is_blamed_on_timeouts() {
    let waited = boot(ended(unanswered(CaptureBuilder::default(), &DhcpFields::default())));
    assert_parts_sum(&waited);
    assert!(waited.blame.timeouts.share_percent > 99.0, "{:?}", waited.blame);
    let fields = DhcpFields::default();
    let late = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields).wait_ms(4_000);
    let late = boot(ended(late.lease(&fields).file("boot.efi", 40, b"")));
    assert_parts_sum(&late);
    assert!((3_900_000_000..4_100_000_000).contains(&late.blame.timeouts.ns), "{:?}", late.blame);
    let prompt = boot(ended(lease().file("boot.efi", 40, b"")));
    assert_parts_sum(&prompt);
    assert_eq!(prompt.blame.timeouts.ns, 0);
}

#[test]
fn repeated_blocks_explain_the_rest_of_the_network() {
    let rounds = |asks_again: bool| {
        let mut builder = lease().arp_for_client(200 * US).request("boot.efi", &[]);
        for block in 1..200 {
            builder = builder.wait_ms(1).data(block, &[1; 512]).wait_ms(1);
            // The client asks for the block that it has, at once; this is neither a turn nor a timeout.
            if asks_again {
                builder = builder.wait_ms(9).acknowledge(block - 1).data(block, &[1; 512]).wait_ms(1);
            }
            builder = builder.acknowledge(block);
        }
        let boot = boot(ended(builder.wait_ms(1).data(200, b"end").acknowledge(200)));
        assert_parts_sum(&boot);
        boot.blame
    };
    let repeated = rounds(true);
    assert!(repeated.network.ns > 1_800_000_000, "{repeated:?}");
    assert!(repeated.network.measure.ends_with(" s with 199 blocks sent again"), "{repeated:?}");
    let once = rounds(false);
    assert!(!once.network.measure.contains("again") && !once.network.measure.contains("explains"), "{once:?}");
    // The silence before a repeated block is a timeout.
    let lost = TftpTransfer {
        window: 4,
        lost_blocks: vec![4, 8],
        timeout_ns: 2_000 * MS,
        bytes: 200_000,
        ..turns(60 * US, 400 * US)
    };
    let lost = boot(lease().arp_for_client(200 * US).transfer(&lost)).blame;
    assert!(lost.timeouts.ns > 3_900_000_000 && !lost.network.measure.contains("again"), "{lost:?}");
}

#[test]
fn sorcerers_apprentice_leads() {
    let doubled = TftpTransfer { duplicated_from: Some(30), bytes: 200_000, ..turns(5 * MS, 400 * US) };
    let doubled = boot(lease().arp_for_client(200 * US).transfer(&doubled));
    assert_eq!(doubled.findings.first().map(|finding| finding.rule), Some("sorcerers_apprentice"));
    assert!(doubled.findings.iter().all(|finding| !finding.advice.contains("cable")), "{:?}", doubled.findings);
    let single = boot(lease().transfer(&TftpTransfer { bytes: 200_000, ..turns(50 * US, 400 * US) }));
    assert!(!has_finding(&single, "sorcerers_apprentice"));
}

#[test]
fn timeouts_are_not_packets() {
    // The request was repeated, and no block was sent twice.
    let late = lease().request("boot.efi", &[]).wait_ms(4_000).request_again("boot.efi", &[]);
    let late = boot(ended(late.blocks(1..40, b"").data(40, b"end").acknowledge(40)));
    let finding = late.findings.iter().find(|finding| finding.rule == "retransmissions").unwrap();
    assert!(finding.title.starts_with("1 timeout of half a second or more took 4.00 s"), "{finding:?}");
    assert!(!finding.advice.contains("cable") && !finding.advice.contains("window"), "{finding:?}");
}
