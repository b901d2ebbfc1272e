//! Tests each outcome on the captures of the test kit, and failures within a transfer or download.

use onoff_network::report::{Reason, Verdict};
use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType, outcomes};

use crate::support::{ACK, RESET, SYN, SYN_ACK, analyze_bytes, assert_outcome, boot, ended, http_fields, lease};

#[test]
fn every_outcome_is_recognized() {
    for case in outcomes() {
        let report = analyze_bytes(case.bytes).unwrap();
        let outcome = &report.boots[0].outcome;
        let actual = (outcome.verdict.as_str(), outcome.reason.as_str());
        assert_eq!(actual, (case.verdict, case.reason), "{}: {}", case.name, outcome.description);
    }
}

/// Builds a transfer of `blocks` acknowledged blocks of 512 bytes.
fn long_transfer(blocks: u64) -> CaptureBuilder {
    (1..=blocks)
        .fold(lease().request("boot.wim", &[]), |capture, block| capture.data(block, &[7; 512]).acknowledge(block))
}

#[test]
fn block_number_limit_is_one_rule() {
    let size = "32 MiB = 65,536 blocks of 512";
    let larger = "blksize 1468 allows 91.8 MiB";
    let repeat = |capture: CaptureBuilder, block: u64| {
        (0..4).fold(capture, |capture, _| capture.wait_ms(4_000).acknowledge(block))
    };
    for last in [65_533, 65_534, 65_535, 65_536, 65_537] {
        let stopped = boot(ended(repeat(long_transfer(last), last)));
        assert_outcome(&stopped, Verdict::Failed, Reason::BlockNumberLimit, &[size, larger]);
    }
    // The server continues with block 1, the client waits for block 0.
    let disagreement = long_transfer(65_535).data(1, &[7; 512]).wait_ms(3_000).acknowledge(65_535);
    let disagreement = boot(ended(disagreement.data(1, &[7; 512]).wait_ms(3_000).acknowledge(65_535)));
    assert_outcome(&disagreement, Verdict::Failed, Reason::BlockNumberLimit, &[size, "block number 1 after 65,535"]);
    // The client aborts there.
    let aborted = boot(ended(long_transfer(65_535).error(true, 4, "Illegal TFTP operation")));
    assert_outcome(&aborted, Verdict::Failed, Reason::BlockNumberLimit, &[size]);
    // Elsewhere, and past the limit, the server is silent.
    for last in [40_000, 65_531, 65_560] {
        let stopped = boot(ended(repeat(long_transfer(last), last)));
        assert_outcome(&stopped, Verdict::Failed, Reason::ServerSilent, &["repeated 4 times in 16.0 s"]);
    }
    // Blocks that fill a frame cannot be larger.
    let full = [("blksize", "1468")];
    let full = (1..=65_535).fold(lease().request("boot.wim", &full).oack(&full).acknowledge(0), |capture, block| {
        capture.data(block, &[7; 1_468]).acknowledge(block)
    });
    let full = boot(ended(repeat(full, 65_535)));
    assert_outcome(&full, Verdict::Failed, Reason::BlockNumberLimit, &["91.8 MiB = 65,536 blocks of 1468", "HTTP"]);
    assert!(!full.outcome.advice.contains("larger blocks"), "{}", full.outcome.advice);
    // The file ends there.
    let complete = boot(ended(long_transfer(65_535).data(65_536, b"end").acknowledge(65_536)));
    assert_outcome(&complete, Verdict::Loaded, Reason::FilesLoaded, &[]);
}

#[test]
fn icmp_within_a_transfer_is_named() {
    let started = || lease().request("boot.efi", &[]).blocks(1..30, b"");
    // The service was restarted: its port is closed.
    let restarted = boot(ended(started().icmp_within_transfer(false, 3, 3)));
    assert_outcome(&restarted, Verdict::Failed, Reason::ServerUnreachable, &["ICMP port unreachable", "restarted"]);
    assert!(restarted.outcome.codes.iter().any(|code| code.code == "PXE-E99"));
    // The capture ends shortly after the report.
    let at_end = boot(started().icmp_within_transfer(false, 3, 3).wait_ms(300).unrelated_frame());
    assert_outcome(&at_end, Verdict::Failed, Reason::ServerUnreachable, &[]);
    let gone = boot(ended(started().data(30, &[7; 512]).icmp_within_transfer(true, 3, 3)));
    assert_outcome(&gone, Verdict::Failed, Reason::ClientUnreachable, &["client's port"]);
    // A path with smaller packets.
    let too_large = boot(ended(started().data(30, &[7; 512]).icmp_within_transfer(true, 3, 4)));
    assert_outcome(&too_large, Verdict::Failed, Reason::FragmentsLost, &["1468"]);
    // The report is about a late repetition, and the transfer continued.
    let late = started().icmp_within_transfer(true, 3, 3).blocks(30..40, b"").data(40, b"end").acknowledge(40);
    assert_outcome(&boot(ended(late)), Verdict::Loaded, Reason::FilesLoaded, &[]);
}

#[test]
fn reset_download_is_named() {
    let request = b"GET /boot.efi HTTP/1.1\r\nHost: boot\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n";
    let sent = 1 + request.len() as u32;
    let opened = || {
        CaptureBuilder::default()
            .lease(&http_fields(7))
            .tcp_segment(true, (0, 0), SYN, b"")
            .tcp_segment(false, (0, 1), SYN_ACK, b"")
            .tcp_segment(true, (1, 1), ACK, request)
    };
    let partial = [&b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"[..], &[7; 900]].concat();
    let answered = || opened().tcp_segment(false, (1, sent), ACK, &partial);
    let end = 1 + partial.len() as u32;
    let reset = boot(answered().tcp_segment(false, (end, sent), RESET, b"").wait_ms(500).unrelated_frame());
    assert_outcome(
        &reset,
        Verdict::Failed,
        Reason::ConnectionReset,
        &["10.0.0.1:80 reset the connection", "900 of 9000 bytes"],
    );
    let before = boot(ended(opened().tcp_segment(false, (1, sent), RESET, b"")));
    assert_outcome(&before, Verdict::Failed, Reason::ConnectionReset, &["before the first byte"]);
    // A client that has everything may reset the connection.
    let whole = [&b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"[..], &[7; 900]].concat();
    let complete = opened().tcp_segment(false, (1, sent), ACK, &whole);
    let complete = boot(ended(complete.tcp_segment(true, (sent, 1 + whole.len() as u32), RESET, b"")));
    assert_outcome(&complete, Verdict::Loaded, Reason::FilesLoaded, &[]);
    // A refused connection was never open.
    let refused = CaptureBuilder::default().lease(&http_fields(7)).tcp_segment(true, (0, 0), SYN, b"");
    let refused = boot(ended(refused.tcp_segment(false, (0, 1), RESET, b"")));
    assert_outcome(&refused, Verdict::Failed, Reason::HttpUnanswered, &["refused the connection (TCP reset)"]);
}

#[test]
fn refused_connection_of_a_loader_stops_the_boot() {
    let loaded = || lease().file("ipxe.efi", 40, b"");
    let refused = |capture: CaptureBuilder| {
        capture.tcp_port(80).tcp_segment(true, (0, 0), SYN, b"").tcp_segment(false, (0, 1), RESET, b"")
    };
    assert_outcome(&boot(ended(refused(loaded()))), Verdict::Failed, Reason::HttpUnanswered, &["refused"]);
    // A system that was started opens connections, too.
    let system = refused(loaded().wait_ms(4_000).os_lease());
    assert_outcome(&boot(ended(system)), Verdict::Loaded, Reason::SystemStarted, &[]);
}

#[test]
fn lost_fragments_are_named() {
    let size = [("blksize", "8192")];
    let requested = || lease().request("boot.wim", &size).oack(&size).acknowledge(0);
    let stopped = (0..4).fold(requested(), |capture, _| capture.first_fragment(1, 8_192).wait_ms(2_000));
    assert_outcome(&boot(ended(stopped)), Verdict::Failed, Reason::FragmentsLost, &["8192 bytes", "at most 1468"]);
    // Whole blocks, and then silence of the client.
    let whole = lease().fragmented_file("boot.efi", 30, 8_192);
    assert_outcome(&boot(ended(whole)), Verdict::Loaded, Reason::FilesLoaded, &[]);
    // A filter of the capture drops fragments that the client received: a transfer completes without them.
    let filtered = (1..30_u16)
        .fold(requested(), |capture, block| capture.first_fragment(block, 8_192).acknowledge(block.into()))
        .data(30, b"end")
        .acknowledge(30);
    let next = filtered.request("initrd.img", &size).oack(&size).acknowledge(0);
    let next = (0..4).fold(next, |capture, _| capture.first_fragment(1, 8_192).wait_ms(2_000));
    assert_outcome(&boot(ended(next)), Verdict::Failed, Reason::ClientSilent, &[]);
    // The client reports that fragments are missing.
    let reported = boot(ended(requested().first_fragment(1, 8_192).icmp_within_transfer(true, 11, 1)));
    assert_outcome(&reported, Verdict::Failed, Reason::FragmentsLost, &["reassembly time exceeded"]);
}

#[test]
fn refused_options_are_listed() {
    let options = [("tsize", "0"), ("blksize", "65464")];
    let refused = boot(ended(lease().request("boot.efi", &options).error(false, 8, "blksize not supported")));
    assert_outcome(&refused, Verdict::Failed, Reason::OptionsRefused, &["blksize 65464", "blksize 1468"]);
    let granted = lease().request("boot.efi", &[("blksize", "1468")]).oack(&[("blksize", "8192")]);
    let granted = boot(ended(granted.error(true, 8, "Option negotiation failed")));
    assert_outcome(
        &granted,
        Verdict::Failed,
        Reason::OptionsRefused,
        &["it requested blksize 1468, and the server granted blksize 8192"],
    );
    let missing = boot(ended(lease().request("boot.efi", &options).error(false, 1, "File not found")));
    assert_outcome(&missing, Verdict::Failed, Reason::FileRefused, &["File not found"]);
}

#[test]
fn wrong_architecture_over_http_is_found() {
    let arm64 = CaptureBuilder::uefi_program(0xAA64);
    let served = |program: &[u8]| {
        boot(ended(CaptureBuilder::default().lease(&http_fields(7)).http("/boot.efi", "200 OK", program)))
    };
    let named = DhcpFields { boot_file: Some("http://boot/boot.efi".into()), ..http_fields(7) };
    let wrong = boot(ended(CaptureBuilder::default().lease(&named).http("/boot.efi", "200 OK", &arm64)));
    assert_outcome(&wrong, Verdict::Failed, Reason::WrongArchitecture, &["ARM64", "x64 UEFI, HTTP boot"]);
    assert_outcome(&served(&CaptureBuilder::uefi_program(0x8664)), Verdict::Loaded, Reason::FilesLoaded, &[]);
}

#[test]
fn boot_file_of_the_other_server_is_named() {
    let with_file = DhcpFields { server: [10, 0, 0, 2].into(), ..DhcpFields::default() };
    let without = DhcpFields { boot_file: None, vendor_class: String::new(), ..DhcpFields::default() };
    let client = DhcpFields::default();
    let offers = |first: &DhcpFields, second: &DhcpFields| {
        let capture = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &client).wait_ms(2);
        capture.dhcp(DhcpMessageType::Offer, first).dhcp(DhcpMessageType::Offer, second).wait_ms(900)
    };
    let chosen = offers(&without, &with_file).dhcp(DhcpMessageType::Request, &client).wait_ms(2);
    let chosen = boot(ended(chosen.dhcp(DhcpMessageType::Ack, &without)));
    assert_outcome(
        &chosen,
        Verdict::Failed,
        Reason::NoBootFile,
        &["from 10.0.0.1, which names no boot file", "10.0.0.2 names boot.efi"],
    );
    // A ProxyDHCP server names the file for any lease.
    let proxy = DhcpFields { has_address: false, vendor_class: "PXEClient".into(), ..with_file.clone() };
    let proxied = offers(&without, &proxy).dhcp(DhcpMessageType::Request, &client).wait_ms(2);
    let proxied = boot(ended(proxied.dhcp(DhcpMessageType::Ack, &without)));
    assert_outcome(&proxied, Verdict::Unknown, Reason::NoRequest, &[]);
    // The client accepts no offer of a file without the class.
    let unclassed = DhcpFields { vendor_class: String::new(), ..with_file };
    let again = offers(&unclassed, &unclassed).wait_ms(3_000).dhcp(DhcpMessageType::Discover, &client);
    let again = boot(ended(again.dhcp(DhcpMessageType::Offer, &unclassed)));
    assert_outcome(&again, Verdict::Failed, Reason::NoBootFile, &["names the file boot.efi", "class PXEClient"]);
}

#[test]
fn unanswered_router_solicitations_are_named() {
    let solicits = |capture: CaptureBuilder| {
        [1_000, 2_000, 4_000].into_iter().fold(capture, |capture, wait_ms| capture.dhcpv6_solicit(1).wait_ms(wait_ms))
    };
    let without = solicits(CaptureBuilder::default().router_message(true).wait_ms(100).router_message(true));
    let without = boot(ended(without));
    assert_outcome(&without, Verdict::Failed, Reason::NoDhcpAnswer, &["2 router solicitations", "advertisements"]);
    let with_router = CaptureBuilder::default().router_message(true).router_message(false);
    let with_router = boot(ended(solicits(with_router)));
    assert!(!with_router.outcome.description.contains("router"), "{}", with_router.outcome.description);
    let single = boot(ended(solicits(CaptureBuilder::default().router_message(true))));
    assert_outcome(
        &single,
        Verdict::Failed,
        Reason::NoDhcpAnswer,
        &["no router answered 1 router solicitation either"],
    );
    let no_solicitation = boot(ended(solicits(CaptureBuilder::default())));
    assert!(!no_solicitation.outcome.description.contains("router"));
}
