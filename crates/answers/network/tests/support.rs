//! Reads synthetic captures.

use onoff_network::report::{NetbootReport, NetworkBoot, Reason, Verdict};
use onoff_network::{NetbootOptions, NoNetboot, analyze};
use onoff_sources::{Limits, Options, files_from_bytes, read_capture};
use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType, TcpFlags};

pub fn analyze_bytes(bytes: Vec<u8>) -> Result<NetbootReport, NoNetboot> {
    let files = files_from_bytes([("boot.pcapng".to_owned(), bytes)], &Limits::default()).unwrap();
    analyze(&read_capture(&files, &Options::default()).unwrap(), &NetbootOptions::default())
}

pub fn boots(capture: CaptureBuilder) -> Vec<NetworkBoot> {
    analyze_bytes(capture.bytes()).unwrap().boots
}

/// Returns the only boot of a capture.
pub fn boot(capture: CaptureBuilder) -> NetworkBoot {
    let mut boots = boots(capture);
    assert_eq!(boots.len(), 1);
    boots.remove(0)
}

/// Adds later traffic of another machine: the capture continues without the client.
pub fn ended(capture: CaptureBuilder) -> CaptureBuilder {
    capture.wait_ms(30_000).unrelated_frame()
}

/// Asserts verdict, reason, and words of the description and advice.
#[track_caller]
pub fn assert_outcome(boot: &NetworkBoot, verdict: Verdict, reason: Reason, words: &[&str]) {
    let outcome = &boot.outcome;
    assert_eq!((outcome.verdict, outcome.reason), (verdict, reason), "{}", outcome.description);
    let text = format!("{}. {}", outcome.description, outcome.advice);
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}

pub fn lease() -> CaptureBuilder {
    CaptureBuilder::default().lease(&DhcpFields::default())
}

pub fn http_fields(transaction: u32) -> DhcpFields {
    DhcpFields {
        architecture: 16,
        vendor_class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("http://10.0.0.1/boot.efi".into()),
        transaction,
        ..DhcpFields::default()
    }
}

/// Adds four DISCOVER messages without an answer, until the client gives up.
pub fn unanswered(capture: CaptureBuilder, fields: &DhcpFields) -> CaptureBuilder {
    [4_000, 8_000, 16_000, 32_000]
        .into_iter()
        .fold(capture, |capture, wait_ms| capture.dhcp(DhcpMessageType::Discover, fields).wait_ms(wait_ms))
}

pub const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, reset: false };
pub const SYN_ACK: TcpFlags = TcpFlags { syn: true, ack: true, fin: false, reset: false };
pub const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, reset: false };
pub const RESET: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, reset: true };

/// Opens a TCP connection to a port of the server.
pub fn connect(capture: CaptureBuilder, port: u16) -> CaptureBuilder {
    capture.tcp_port(port).tcp_segment(true, (0, 0), SYN, b"").tcp_segment(false, (0, 1), SYN_ACK, b"").tcp_segment(
        true,
        (1, 1),
        ACK,
        b"",
    )
}
