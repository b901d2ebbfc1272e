//! `onoff netboot` on synthetic captures of every outcome: whether a boot loaded, why it did not, and what the report
//! must not claim.
#![allow(clippy::unwrap_used)]

use crate::harness::Folder;
use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType, TcpFlags, outcomes};
use serde_json::Value;

fn report(bytes: &[u8]) -> (Value, String) {
    let folder = Folder::new();
    folder.file("boot.pcapng", bytes);
    let json = folder.answer("netboot boot.pcapng --format json");
    (serde_json::from_str(&json).unwrap(), folder.answer("netboot boot.pcapng"))
}

fn boot(capture: CaptureBuilder) -> Value {
    report(&capture.bytes()).0["boots"][0].clone()
}

fn finding(boot: &Value, rule: &str) -> Option<Value> {
    boot["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule).cloned()
}

#[test]
fn headline_has_outcome_reason_and_fix() {
    for case in outcomes() {
        let (report, text) = report(&case.bytes);
        let boot = &report["boots"][0];
        let outcome = &boot["outcome"];
        let actual = (outcome["verdict"].as_str().unwrap(), outcome["reason"].as_str().unwrap());
        assert_eq!(actual, (case.verdict, case.reason), "{}: {}", case.name, outcome["description"]);
        let headline = text.lines().next().unwrap();
        let expected = match case.verdict {
            "loaded" => "loaded in",
            "failed" => "failed after",
            _ => "outcome unknown",
        };
        assert!(headline.contains(expected), "{}: {headline}", case.name);
        let stops = boot["findings"].as_array().unwrap().iter().filter(|finding| finding["stops_boot"] == true).count();
        assert_eq!(stops, usize::from(case.verdict == "failed"), "{}", case.name);
        if case.verdict == "failed" {
            assert_eq!(boot["findings"][0]["rule"], case.reason, "{}", case.name);
            assert!(!outcome["advice"].as_str().unwrap().is_empty(), "{}", case.name);
            assert!(outcome["stage"].is_string(), "{}", case.name);
            // The picture is as certain as the first line.
            let folder = Folder::new();
            folder.file("boot.pcapng", &case.bytes);
            let picture = folder.answer("netboot boot.pcapng --format svg");
            let likely =
                if headline.contains("probably failed") { ", probably failed in the " } else { ", failed in the " };
            assert!(picture.contains(likely), "{}: {headline}", case.name);
        }
        // Cable advice needs retransmitted blocks.
        let files = boot["transfers"].as_array().unwrap().iter();
        let repeated = files.filter(|file| file["counts"]["repeated_data"] != 0).count();
        assert!(repeated > 0 || !text.contains("duplex"), "{}", case.name);
        assert_covered(case.name, boot);
    }
}

/// The reason of each failure, its code in OVMF's serial output (recorded separately), and its code in Intel's list of
/// option ROM messages for BIOS.
const CODES: [(&str, &str, &str); 12] = [
    ("no_dhcp_answer", "PXE-E18", "PXE-E51"),
    ("dhcp_refused", "PXE-E07", ""),
    ("no_boot_file", "PXE-E16", "PXE-E53"),
    ("boot_server_silent", "PXE-E16", "PXE-E55"),
    ("server_not_on_link", "PXE-E18", "PXE-E11"),
    ("server_unreachable", "PXE-E99", "PXE-E32"),
    ("request_unanswered", "PXE-E18", "PXE-E32"),
    ("options_ignored", "PXE-E99", ""),
    ("server_silent", "PXE-E18", "PXE-E35"),
    ("block_number_limit", "PXE-E18", "PXE-E35"),
    ("file_refused", "PXE-E23", "PXE-E36"),
    ("system_started", "", ""),
];

#[test]
fn codes_match_screen_messages() {
    let cases = outcomes();
    for (reason, uefi, _) in CODES {
        let case = cases.iter().find(|case| case.reason == reason).unwrap();
        let codes = report(&case.bytes).0["boots"][0]["outcome"]["codes"].clone();
        let code_names: Vec<&str> =
            codes.as_array().unwrap().iter().map(|code| code["code"].as_str().unwrap()).collect();
        assert_eq!(code_names.join(" "), uefi, "{reason}");
    }
    // The same request from a BIOS.
    let bios = DhcpFields {
        architecture: 0,
        vendor_class: "PXEClient:Arch:00000:UNDI:002001".into(),
        ..DhcpFields::default()
    };
    let request_again =
        |capture: CaptureBuilder| capture.wait_ms(4_000).request_again("boot.0", &[]).wait_ms(30_000).unrelated_frame();
    for (capture, reason) in [
        (
            request_again(request_again(CaptureBuilder::default().lease(&bios).request("boot.0", &[]))),
            "request_unanswered",
        ),
        (
            CaptureBuilder::default()
                .lease(&bios)
                .request("boot.0", &[])
                .error(false, 1, "not found")
                .wait_ms(9_000)
                .unrelated_frame(),
            "file_refused",
        ),
        (
            CaptureBuilder::default()
                .lease(&bios)
                .request("boot.0", &[])
                .icmp_unreachable(3)
                .wait_ms(9_000)
                .unrelated_frame(),
            "server_unreachable",
        ),
    ] {
        let outcome = boot(capture)["outcome"].clone();
        assert_eq!(outcome["reason"], reason);
        let expected = CODES.iter().find(|(name, ..)| *name == reason).unwrap().2;
        assert_eq!(outcome["codes"], serde_json::json!([{ "code": expected, "shown_by": "BIOS" }]), "{reason}");
    }
}

/// Checks that the stages cover the boot without gaps, and that the parts of a transfer sum to its duration.
fn assert_covered(name: &str, boot: &Value) {
    let ns = |value: &Value| value.as_i64().unwrap();
    let stages = boot["stages"].as_array().unwrap();
    let mut covered_until = ns(&boot["start_ns"]);
    for stage in stages {
        assert_eq!(ns(&stage["start_ns"]), covered_until, "{name}");
        covered_until = ns(&stage["end_ns"]);
    }
    assert_eq!(covered_until, ns(&boot["end_ns"]), "{name}");
    for file in boot["transfers"].as_array().unwrap() {
        let Some(costs) = file["costs"].as_object() else { continue };
        let sum: i64 = costs.values().map(ns).sum();
        assert_eq!(sum, ns(&file["duration_ns"]), "{name}");
    }
}

#[test]
fn counts_capture_defects() {
    let cases = outcomes();
    let report_of_case = |name: &str| report(&cases.iter().find(|case| case.name == name).unwrap().bytes);
    let (once, _) = report_of_case("complete, and no further traffic");
    let (twice, text) = report_of_case("every frame captured twice");
    let file = |report: &Value| report["boots"][0]["transfers"][0].clone();
    assert_eq!(file(&once)["counts"], file(&twice)["counts"]);
    let duplicates = twice["capture"]["duplicate_frames"].as_u64().unwrap();
    // The last frame, from another host, is duplicated too.
    assert_eq!(duplicates * 2, twice["capture"]["frames"].as_u64().unwrap());
    assert!(!text.contains("Nothing was lost"), "{text}");
    let (missed, text) = report_of_case("every tenth block missed");
    assert_eq!(file(&missed)["counts"]["missing_blocks"], 4);
    assert!(text.contains("4 blocks not in the capture") && !text.contains("Nothing was lost"), "{text}");
    assert_eq!(file(&missed)["model"], Value::Null);
    let (in_progress, text) = report_of_case("a transfer in flight at the start of the capture");
    assert_eq!(file(&in_progress)["started_before_capture"], true);
    assert_eq!(file(&in_progress)["duration_ns"], Value::Null);
    assert!(text.contains("A transfer had started before the capture"), "{text}");
}

#[test]
fn uploads_are_not_boots() {
    let folder = Folder::new();
    let capture = CaptureBuilder::default().upload("switch.cfg").wait_ms(5_000).unrelated_frame();
    folder.file("upload.pcapng", &capture.bytes());
    let (code, message) = folder.failure("netboot upload.pcapng");
    assert_eq!(code, 2);
    assert!(message.contains("1 of the transfers is an upload"), "{message}");
}

#[test]
fn answered_requests_are_not_unanswered() {
    let fields = DhcpFields::default();
    let retried_boot = |has_offer: bool| {
        let mut capture = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields);
        if has_offer {
            capture = capture.dhcp(DhcpMessageType::Offer, &fields);
        }
        boot(capture.wait_ms(4_000).lease(&fields).file("boot.efi", 40, &CaptureBuilder::uefi_program(0x8664)))
    };
    assert!(finding(&retried_boot(true), "dhcp_retries").is_none());
    let retries = finding(&retried_boot(false), "dhcp_retries").unwrap();
    assert!((retries["cost_ns"].as_i64().unwrap() - 4_000_000_000).abs() < 1_000_000, "{retries}");
}

#[test]
fn finds_slow_dhcp_behind_fast_proxy() {
    let fields = DhcpFields::default();
    let proxy = DhcpFields { has_address: false, vendor_class: "PXEClient".into(), ..fields.clone() };
    let nameless = DhcpFields { boot_file: None, ..fields.clone() };
    let capture = CaptureBuilder::default()
        .dhcp(DhcpMessageType::Discover, &fields)
        .wait_ms(1)
        .dhcp(DhcpMessageType::Offer, &proxy);
    let capture = capture
        .wait_ms(3_000)
        .dhcp(DhcpMessageType::Offer, &nameless)
        .wait_ms(2_500)
        .dhcp(DhcpMessageType::Request, &fields);
    let with_proxy = boot(capture.dhcp(DhcpMessageType::Ack, &nameless).file("boot.efi", 40, b""));
    let delay = finding(&with_proxy, "offer_delay").unwrap();
    assert!((delay["cost_ns"].as_i64().unwrap() - 3_000_000_000).abs() < 10_000_000, "{delay}");
    // The client waits with and without a proxy.
    assert!(!finding(&with_proxy, "choice_delay").unwrap()["advice"].as_str().unwrap().contains("ProxyDHCP"));
    let capture = CaptureBuilder::default()
        .dhcp(DhcpMessageType::Discover, &fields)
        .dhcp(DhcpMessageType::Offer, &fields)
        .wait_ms(3_000);
    let without_proxy = boot(
        capture.dhcp(DhcpMessageType::Request, &fields).dhcp(DhcpMessageType::Ack, &fields).file("boot.efi", 40, b""),
    );
    assert!(finding(&without_proxy, "offer_delay").is_none());
    assert!(!finding(&without_proxy, "choice_delay").unwrap()["advice"].as_str().unwrap().contains("ProxyDHCP"));
}

#[test]
fn menu_with_zero_timeout_is_ignored() {
    let menu = |seconds: u8| {
        let pxe = [&[9, 8, 0, 0, 5][..], b"Local", &[10, 5, seconds], b"Pick", &[255]].concat();
        let fields = DhcpFields { pxe_options: pxe, ..DhcpFields::default() };
        boot(CaptureBuilder::default().lease(&fields).wait_ms(5_000).file("boot.efi", 40, b""))
    };
    let has_menu = |boot: &Value| boot["stages"].as_array().unwrap().iter().any(|stage| stage["kind"] == "menu");
    assert!(has_menu(&menu(5)));
    assert!(!has_menu(&menu(0)));
}

#[test]
fn plain_bootp_is_complete() {
    let bootp_fields = DhcpFields { is_bootp: true, ..DhcpFields::default() };
    let capture = CaptureBuilder::default()
        .dhcp(DhcpMessageType::Discover, &bootp_fields)
        .wait_ms(3)
        .dhcp(DhcpMessageType::Ack, &bootp_fields);
    let (report, text) = report(&capture.file("boot.0", 40, b"").bytes());
    let kinds: Vec<&str> = report["boots"][0]["dhcp"][0]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["boot_request", "boot_reply"]);
    assert!(!text.contains("cut off"), "{text}");
}

fn outcome(boot: &Value) -> (&str, &str) {
    let outcome = &boot["outcome"];
    (outcome["verdict"].as_str().unwrap(), outcome["reason"].as_str().unwrap())
}

/// Captures a lease for HTTP boot.
fn http_lease() -> CaptureBuilder {
    CaptureBuilder::default().lease(&http_fields(0x1234_5678))
}

fn http_fields(transaction: u32) -> DhcpFields {
    DhcpFields {
        architecture: 16,
        vendor_class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("https://10.0.0.1/boot.efi".into()),
        transaction,
        ..DhcpFields::default()
    }
}

const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, reset: false };
const FIN: TcpFlags = TcpFlags { syn: false, ack: true, fin: true, reset: false };

/// Builds a TLS 1.2 or 1.3 record.
fn record(kind: u8, bytes: usize) -> Vec<u8> {
    [vec![kind, 3, 3, (bytes >> 8) as u8, bytes as u8], vec![7; bytes]].concat()
}

/// Adds a TLS handshake that ends with `last_bytes` from the client, at byte 70. The next byte of the server is also
/// 70.
fn handshake(capture: CaptureBuilder, last_bytes: &[u8]) -> CaptureBuilder {
    let hello = |kind: u8| [&[22, 3, 3, 0, 64, kind, 0, 0, 60][..], &[7; 60]].concat();
    capture
        .tcp_segment(true, (0, 0), TcpFlags { syn: true, ..TcpFlags::default() }, b"")
        .tcp_segment(false, (0, 1), TcpFlags { syn: true, ..ACK }, b"")
        .tcp_segment(true, (1, 1), ACK, &hello(1))
        .tcp_segment(false, (1, 70), ACK, &hello(2))
        .tcp_segment(true, (70, 70), ACK, last_bytes)
}

/// Adds a request over TLS and its response of 3 records of 1,000 bytes.
fn over_tls(capture: CaptureBuilder) -> CaptureBuilder {
    let mut capture = handshake(capture, &record(23, 195));
    for number in 0..3 {
        capture = capture.wait_ms(5).tcp_segment(false, (70 + number * 1_005, 270), ACK, &record(23, 1_000));
    }
    capture
}

fn close(capture: CaptureBuilder) -> CaptureBuilder {
    capture.tcp_segment(true, (270, 3_085), FIN, b"").tcp_segment(false, (3_085, 271), FIN, b"")
}

#[test]
fn https_download_counts_as_loaded() {
    let loaded = ("loaded", "system_started");
    let https = boot(close(over_tls(http_lease())).wait_ms(4_000).anonymous_os_lease());
    assert_eq!(outcome(&https), loaded, "{}", https["outcome"]["description"]);
    let stacks: Vec<&str> =
        https["dhcp"].as_array().unwrap().iter().map(|dhcp| dhcp["stack"].as_str().unwrap()).collect();
    assert_eq!(stacks, ["firmware", "operating_system"]);
    assert_eq!(https["stages"].as_array().unwrap().last().unwrap()["kind"], "operating_system");
    // The server closes the connection a minute later, after the client is gone. Tested with TLS 1.3 and TLS 1.2.
    for alert in [record(23, 19), record(21, 26)] {
        let capture = over_tls(http_lease()).wait_ms(4_000).anonymous_os_lease().wait_ms(60_000);
        let late =
            boot(capture.tcp_segment(false, (3_085, 270), ACK, &alert).tcp_segment(false, (3_109, 270), FIN, b""));
        assert_eq!(outcome(&late), loaded, "{}", late["outcome"]["description"]);
    }
    // A file with an unknown name.
    let request = b"GET /boot.efi HTTP/1.1\r\nHost: boot\r\nUser-Agent: AcmeFirmware/7\r\n\r\n";
    let sent = 1 + request.len() as u32;
    let capture = http_lease()
        .tcp_segment(true, (0, 0), TcpFlags { syn: true, ..TcpFlags::default() }, b"")
        .tcp_segment(false, (0, 1), TcpFlags { syn: true, ..ACK }, b"")
        .tcp_segment(true, (1, 1), ACK, request)
        .tcp_segment(
            false,
            (1, sent),
            ACK,
            &[&b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"[..], &[7; 900]].concat(),
        );
    assert_eq!(outcome(&boot(capture.wait_ms(4_000).anonymous_os_lease())), loaded);
}

#[test]
fn failed_tls_handshake_loads_nothing() {
    let boot_after = |capture: CaptureBuilder| boot(capture.wait_ms(9_000).anonymous_os_lease());
    // TLS 1.3 encrypts the alert that rejects a certificate, and the server's reply.
    let refused = handshake(http_lease(), &record(23, 19)).tcp_segment(false, (70, 94), ACK, &record(23, 19));
    let refused = boot_after(refused.tcp_segment(true, (94, 94), FIN, b""));
    assert_eq!(outcome(&refused), ("failed", "tls_failed"), "{}", refused["outcome"]["description"]);
    let silent = boot_after(handshake(http_lease(), &[]).tcp_segment(true, (70, 70), FIN, b""));
    assert_eq!(outcome(&silent), ("failed", "tls_failed"));
}

#[test]
fn repeated_firmware_request_is_not_a_system() {
    let back_to_firmware =
        close(over_tls(http_lease())).wait_ms(4_000).lease(&http_fields(9)).wait_ms(9_000).unrelated_frame();
    assert_eq!(outcome(&boot(back_to_firmware)), ("failed", "back_to_firmware"));
    // PXE gives up. Then the system on the disk sends requests without a vendor class, and downloads a file.
    let fields = DhcpFields::default();
    let mut unanswered = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields);
    for wait_ms in [4_000, 8_000, 16_000] {
        unanswered = unanswered.wait_ms(wait_ms).dhcp(DhcpMessageType::Discover, &fields);
    }
    let disk_boot =
        boot(close(over_tls(unanswered.wait_ms(40_000).anonymous_os_lease())).wait_ms(9_000).unrelated_frame());
    assert_eq!(outcome(&disk_boot), ("failed", "no_dhcp_answer"), "{}", disk_boot["outcome"]["description"]);
    assert_eq!(disk_boot["downloads"].as_array().unwrap().len(), 0);
}

#[test]
fn ipv6_request_of_system_is_not_firmware() {
    let loaded = |capture: CaptureBuilder| {
        boot(capture.dhcpv6_solicit(1).lease(&DhcpFields::default()).file("boot.efi", 40, b""))
    };
    let system = loaded(CaptureBuilder::default()).clone();
    assert_eq!(system["outcome"]["verdict"], "loaded");
    let leased = || CaptureBuilder::default().lease(&DhcpFields::default()).file("boot.efi", 40, b"").wait_ms(8_000);
    let system = boot(leased().dhcpv6_solicit_anonymous(1).wait_ms(9_000).unrelated_frame());
    assert_eq!(outcome(&system), ("loaded", "system_started"), "{}", system["outcome"]["description"]);
    // The stack below PXE sends a request without a vendor class, a second before PXE.
    let firmware =
        boot(leased().dhcpv6_solicit_anonymous(1).wait_ms(1_000).dhcpv6_solicit(2).wait_ms(9_000).unrelated_frame());
    assert_eq!(outcome(&firmware), ("failed", "back_to_firmware"), "{}", firmware["outcome"]["description"]);
}

#[test]
fn retransmission_from_other_port_is_one_transfer() {
    let options = [("blksize", "512"), ("tsize", "0")];
    let granted = [("blksize", "512"), ("tsize", "14851")];
    let leased = || CaptureBuilder::default().lease(&DhcpFields::default());
    let loaded_file = |case: &str, capture: CaptureBuilder| {
        let boot = boot(capture.blocks(1..30, b"").data(30, b"end").acknowledge(30).wait_ms(9_000).unrelated_frame());
        assert_eq!(outcome(&boot), ("loaded", "files_loaded"), "{case}: {}", boot["outcome"]["description"]);
        let files = boot["transfers"].as_array().unwrap();
        assert_eq!(files.len(), 1, "{case}");
        assert_eq!((&files[0]["outcome"], &files[0]["counts"]["blocks"]), (&"complete".into(), &30.into()), "{case}");
        files[0].clone()
    };
    let requested_twice = || {
        let capture = leased().request("boot.efi", &options).server_port(40_000).oack(&granted).wait_ms(4_000);
        capture.request_again("boot.efi", &options).server_port(40_001).oack(&granted)
    };
    let file = loaded_file("the first answer was lost", requested_twice().acknowledge(0));
    assert_eq!((&file["server"], &file["requests"]), (&"10.0.0.1:40001".into(), &2.into()));
    assert_eq!(file["timeout_count"], 1);
    // The port of the first reply continues, and is rejected.
    let stray =
        requested_twice().acknowledge(0).server_port(40_000).oack(&granted).error(true, 5, "Unknown transfer ID");
    let file = loaded_file("the first answer comes again", stray.server_port(40_001));
    assert_eq!((&file["server"], &file["error"]), (&"10.0.0.1:40001".into(), &Value::Null));
    // The first reply was late, not lost: the client accepts it and rejects the second.
    let late =
        requested_twice().server_port(40_000).acknowledge(0).server_port(40_001).error(true, 5, "Unknown transfer ID");
    let file = loaded_file("the first answer was late", late.server_port(40_000));
    assert_eq!((&file["server"], &file["error"]), (&"10.0.0.1:40000".into(), &Value::Null));
    // A server without options: its first block was lost.
    let block = leased().request("boot.efi", &[]).server_port(40_000).data(1, &[0xA5; 512]).wait_ms(4_000);
    let file = loaded_file("the first block was lost", block.request_again("boot.efi", &[]).server_port(40_001));
    assert_eq!((&file["requests"], &file["counts"]["repeated_data"]), (&2.into(), &1.into()));
    // The client accepts none of the replies.
    let unaccepted =
        requested_twice().wait_ms(4_000).request_again("boot.efi", &options).server_port(40_002).oack(&granted);
    let unaccepted = boot(unaccepted.wait_ms(9_000).unrelated_frame());
    assert_eq!(outcome(&unaccepted), ("failed", "options_unanswered"));
    assert_eq!(unaccepted["transfers"].as_array().unwrap().len(), 1);
}

#[test]
fn outcome_comes_from_last_completed_attempt() {
    let (fields, http) = (DhcpFields::default(), http_fields(0x99));
    let refused = || {
        let capture =
            CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields).dhcp(DhcpMessageType::Offer, &fields);
        capture.dhcp(DhcpMessageType::Request, &fields).dhcp(DhcpMessageType::Nak, &fields).wait_ms(20)
    };
    let unanswered = |fields: &DhcpFields| {
        let mut capture = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, fields);
        for wait_ms in [4_000, 8_000, 16_000] {
            capture = capture.wait_ms(wait_ms).dhcp(DhcpMessageType::Discover, fields);
        }
        capture.wait_ms(32_000)
    };
    let no_file = || {
        let capture = CaptureBuilder::default().lease(&fields).request("boot.efi", &[]);
        capture.error(false, 1, "File not found").wait_ms(20)
    };
    for (case, ended, reason) in [
        ("a NAK", refused(), "dhcp_refused"),
        ("four requests", unanswered(&fields), "no_dhcp_answer"),
        ("a missing file", no_file(), "file_refused"),
    ] {
        // HTTP boot starts immediately; the capture ends a second later.
        let start_http_boot =
            |capture: CaptureBuilder| capture.dhcp(DhcpMessageType::Discover, &http).wait_ms(1_000).unrelated_frame();
        let pending = boot(start_http_boot(ended.clone()));
        assert_eq!(outcome(&pending), ("failed", reason), "{case}: {}", pending["outcome"]["description"]);
        // The HTTP boot may still succeed.
        let capture = ended.lease(&http).http("/boot.efi", "200 OK", &[7; 900]).wait_ms(9_000).unrelated_frame();
        assert_eq!(boot(capture)["outcome"]["verdict"], "loaded", "{case}");
    }
    // An offer to the next attempt that is not accepted yet does not cancel the NAK.
    let offered =
        refused().dhcp(DhcpMessageType::Discover, &http).wait_ms(3).dhcp(DhcpMessageType::Offer, &http).wait_ms(500);
    assert_eq!(outcome(&boot(offered.unrelated_frame())), ("failed", "dhcp_refused"));
    // Neither does an unanswered request, a name lookup or an opened connection.
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    for capture in [
        no_file().lease(&http).request("boot.efi", &[]),
        no_file().lease(&http).dns_query("10.0.0.1", 1, None),
        no_file().lease(&http).tcp_segment(true, (0, 0), syn, b""),
        handshake(no_file().lease(&http), &[]),
    ] {
        assert_eq!(outcome(&boot(capture.wait_ms(1_000).unrelated_frame())), ("failed", "file_refused"));
    }
    // A loader that tries one file after another makes one attempt.
    let searching = CaptureBuilder::default().lease(&fields).file("boot.efi", 40, b"").request("a.cfg", &[]);
    let searching = searching.error(false, 1, "File not found").wait_ms(6_000).request("b.cfg", &[]).wait_ms(1_000);
    assert_eq!(outcome(&boot(searching.unrelated_frame())), ("unknown", "capture_ends"));
    // One pending request, or two parallel requests of one attempt, do not end the attempt.
    for capture in [
        CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields).wait_ms(1_000),
        CaptureBuilder::default().dhcpv6_solicit(1).wait_ms(5).dhcp(DhcpMessageType::Discover, &fields).wait_ms(1_000),
    ] {
        assert_eq!(outcome(&boot(capture.unrelated_frame())), ("unknown", "capture_ends"));
    }
    // A later attempt has an address, and its outcome is not in the capture.
    let later_attempt = boot(unanswered(&fields).lease(&http).wait_ms(1_000).unrelated_frame());
    assert_eq!(outcome(&later_attempt), ("failed", "no_dhcp_answer"));
    assert_eq!(later_attempt["outcome"]["certain"], false);
}

#[test]
fn repeated_requests_are_unanswered() {
    let leased = || CaptureBuilder::default().lease(&DhcpFields::default()).request("boot.efi", &[]).blocks(1..30, b"");
    let repeat = |capture: CaptureBuilder, waits_ms: &[u64], send: fn(CaptureBuilder) -> CaptureBuilder| {
        waits_ms.iter().fold(capture, |capture, &wait_ms| send(capture.wait_ms(wait_ms)))
    };
    const FIVE_WAITS_MS: [u64; 5] = [3_000, 5_000, 8_000, 12_000, 15_000];
    // The capture ends with the last retry, 43 s after the last block.
    let client = boot(repeat(leased(), &FIVE_WAITS_MS, |capture| capture.acknowledge(29)));
    assert_eq!(outcome(&client), ("failed", "server_silent"), "{}", client["outcome"]["description"]);
    let server = boot(repeat(leased().data(30, &[1; 512]), &FIVE_WAITS_MS, |capture| capture.data(30, &[1; 512])));
    assert_eq!(outcome(&server), ("failed", "client_silent"), "{}", server["outcome"]["description"]);
    // Both sides repeat: the block does not arrive.
    let both_sides = boot(repeat(leased().data(30, &[1; 512]), &FIVE_WAITS_MS, |capture| {
        capture.acknowledge(29).data(30, &[1; 512])
    }));
    assert_eq!(outcome(&both_sides), ("failed", "client_silent"));
    assert!(
        both_sides["outcome"]["advice"].as_str().unwrap().contains("drops the server's blocks"),
        "{}",
        both_sides["outcome"]
    );
    let repeated_request = CaptureBuilder::default().lease(&DhcpFields::default()).request("boot.efi", &[]);
    let repeated_request =
        boot(repeat(repeated_request, &FIVE_WAITS_MS, |capture| capture.request_again("boot.efi", &[])));
    assert_eq!(outcome(&repeated_request), ("failed", "request_unanswered"));
    // Also over HTTP: TCP retransmits the request.
    let request = b"GET /boot.efi HTTP/1.1\r\nHost: boot\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n";
    let capture = http_lease()
        .tcp_segment(true, (0, 0), TcpFlags { syn: true, ..TcpFlags::default() }, b"")
        .tcp_segment(false, (0, 1), TcpFlags { syn: true, ..ACK }, b"")
        .tcp_segment(true, (1, 1), ACK, request);
    let over_http = |waits_ms: &[u64]| {
        let capture = waits_ms.iter().fold(capture.clone(), |capture, &wait_ms| {
            capture.wait_ms(wait_ms).tcp_segment(true, (1, 1), ACK, request)
        });
        boot(capture.unrelated_frame())
    };
    assert_eq!(outcome(&over_http(&FIVE_WAITS_MS)), ("failed", "http_unanswered"));
    assert_eq!(outcome(&over_http(&[1_000, 2_000])), ("unknown", "capture_ends"));
    // The repeated request was finally answered, was sent only once, or was the third request and the transfer
    // continues.
    let answered =
        repeat(leased(), &FIVE_WAITS_MS, |capture| capture.acknowledge(29)).blocks(30..35, b"").wait_ms(1_000);
    let once = repeat(leased(), &[4_000], |capture| capture.acknowledge(29)).wait_ms(1_500);
    let slow = CaptureBuilder::default().lease(&DhcpFields::default()).request("boot.efi", &[]);
    let slow = repeat(slow, &[4_000, 4_000], |capture| capture.request_again("boot.efi", &[])).blocks(1..30, b"");
    for capture in [answered, once, slow.wait_ms(1_000)] {
        let boot = boot(capture.unrelated_frame());
        assert_eq!(outcome(&boot), ("unknown", "capture_ends"), "{}", boot["outcome"]["description"]);
    }
}
