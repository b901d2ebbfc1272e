//! A capture for each outcome of a network boot, with the expected verdict.

use std::net::Ipv4Addr;

use super::TcpFlags;
use super::capture_builder::{CaptureBuilder, DhcpFields, DhcpMessageType};

/// A capture with its expected verdict.
#[derive(Clone, Debug)]
pub struct OutcomeSample {
    pub name: &'static str,
    /// Expected verdict: `loaded`, `failed` or `unknown`.
    pub verdict: &'static str,
    /// Expected reason code.
    pub reason: &'static str,
    /// The capture as pcapng.
    pub bytes: Vec<u8>,
}

/// Longer than any client or server waits, ms.
const LONG_MS: u64 = 30_000;

/// Returns one capture per outcome, and some captures that merely resemble an outcome.
#[must_use]
pub fn outcomes() -> Vec<OutcomeSample> {
    let mut samples = address_outcomes();
    samples.extend(file_outcomes());
    samples.extend(other_outcomes());
    samples
}

fn sample(name: &'static str, verdict: &'static str, reason: &'static str, builder: CaptureBuilder) -> OutcomeSample {
    OutcomeSample { name, verdict, reason, bytes: builder.bytes() }
}

fn with_lease() -> CaptureBuilder {
    CaptureBuilder::default().lease(&DhcpFields::default())
}

/// Adds later traffic of another machine: the capture continues without the client.
fn with_later_traffic(builder: CaptureBuilder) -> CaptureBuilder {
    builder.wait_ms(LONG_MS).unrelated_frame()
}

fn address_outcomes() -> Vec<OutcomeSample> {
    let fields = DhcpFields::default();
    let without_file = DhcpFields { boot_file: None, ..fields.clone() };
    let unanswered_discovers = || {
        let builder = CaptureBuilder::default()
            .dhcp(DhcpMessageType::Discover, &fields)
            .wait_ms(4_000)
            .dhcp(DhcpMessageType::Discover, &fields);
        builder.wait_ms(8_000).dhcp(DhcpMessageType::Discover, &fields)
    };
    let boot_server = DhcpFields { uses_boot_server_port: true, transaction: 0x99, ..fields.clone() };
    vec![
        sample("no DHCP answer", "failed", "no_dhcp_answer", with_later_traffic(unanswered_discovers())),
        sample(
            "a DISCOVER at the end of the capture",
            "unknown",
            "capture_ends",
            CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields),
        ),
        sample(
            "the server refuses the request",
            "failed",
            "dhcp_refused",
            with_later_traffic(
                CaptureBuilder::default()
                    .dhcp(DhcpMessageType::Discover, &fields)
                    .dhcp(DhcpMessageType::Offer, &fields)
                    .dhcp(DhcpMessageType::Request, &fields)
                    .dhcp(DhcpMessageType::Nak, &fields),
            ),
        ),
        sample(
            "the address is in use",
            "failed",
            "address_in_use",
            with_later_traffic(
                with_lease().dhcp(DhcpMessageType::Decline, &DhcpFields { transaction: 5, ..fields.clone() }),
            ),
        ),
        sample(
            "offers without a file",
            "failed",
            "no_boot_file",
            with_later_traffic(
                CaptureBuilder::default()
                    .dhcp(DhcpMessageType::Discover, &without_file)
                    .dhcp(DhcpMessageType::Offer, &without_file)
                    .wait_ms(4_000)
                    .dhcp(DhcpMessageType::Discover, &without_file)
                    .dhcp(DhcpMessageType::Offer, &without_file),
            ),
        ),
        sample(
            "an address without a file",
            "failed",
            "no_boot_file",
            with_later_traffic(CaptureBuilder::default().lease(&without_file)),
        ),
        sample(
            "the boot server does not answer",
            "failed",
            "boot_server_silent",
            with_later_traffic(
                with_lease()
                    .dhcp(DhcpMessageType::Request, &boot_server)
                    .wait_ms(2_000)
                    .dhcp(DhcpMessageType::Request, &boot_server)
                    .wait_ms(4_000)
                    .dhcp(DhcpMessageType::Request, &boot_server),
            ),
        ),
        sample("a lease at the end of the capture", "unknown", "capture_ends", with_lease()),
        sample("a lease and no request", "unknown", "no_request", with_later_traffic(with_lease())),
        sample(
            "the server is not on the link",
            "failed",
            "server_not_on_link",
            with_later_traffic({
                let absent_server = Ipv4Addr::new(10, 0, 0, 200);
                let builder =
                    CaptureBuilder::default().lease(&DhcpFields { boot_server: absent_server, ..fields.clone() });
                builder
                    .arp_request(absent_server)
                    .wait_ms(1_000)
                    .arp_request(absent_server)
                    .wait_ms(1_000)
                    .arp_request(absent_server)
            }),
        ),
        sample(
            "the router is not on the link",
            "failed",
            "server_not_on_link",
            with_later_traffic({
                let router = Ipv4Addr::new(10, 0, 0, 254);
                let remote_server = DhcpFields { boot_server: Ipv4Addr::new(10, 9, 0, 1), ..fields.clone() };
                CaptureBuilder::default().lease(&remote_server).arp_request(router).wait_ms(1_000).arp_request(router)
            }),
        ),
        sample(
            "the client only probes its own address",
            "unknown",
            "no_request",
            with_later_traffic({
                let client_address = Ipv4Addr::new(10, 0, 0, 50);
                with_lease().arp_request(client_address).wait_ms(1_000).arp_request(client_address)
            }),
        ),
        sample(
            "the request for the address is not answered",
            "failed",
            "no_dhcp_answer",
            with_later_traffic({
                let builder = CaptureBuilder::default()
                    .dhcp(DhcpMessageType::Discover, &fields)
                    .dhcp(DhcpMessageType::Offer, &fields);
                builder.dhcp(DhcpMessageType::Request, &fields).wait_ms(4_000).dhcp(DhcpMessageType::Request, &fields)
            }),
        ),
        sample(
            "the client accepts no offer",
            "failed",
            "no_boot_file",
            with_later_traffic({
                let builder = CaptureBuilder::default()
                    .dhcp(DhcpMessageType::Discover, &fields)
                    .dhcp(DhcpMessageType::Offer, &fields);
                builder.wait_ms(4_000).dhcp(DhcpMessageType::Discover, &fields).dhcp(DhcpMessageType::Offer, &fields)
            }),
        ),
        sample(
            "plain BOOTP loads",
            "loaded",
            "files_loaded",
            with_later_traffic({
                let bootp_fields = DhcpFields { is_bootp: true, ..fields.clone() };
                let builder = CaptureBuilder::default()
                    .dhcp(DhcpMessageType::Discover, &bootp_fields)
                    .wait_ms(3)
                    .dhcp(DhcpMessageType::Ack, &bootp_fields);
                builder.wait_ms(10).file("boot.0", 40, b"")
            }),
        ),
    ]
}

fn file_outcomes() -> Vec<OutcomeSample> {
    let options = [("tsize", "0"), ("blksize", "1468")];
    let x64 = CaptureBuilder::uefi_program(0x8664);
    vec![
        sample("complete, and Windows requests an address", "loaded", "system_started", {
            with_lease().file("boot.efi", 40, &x64).file("boot.wim", 90, b"").wait_ms(4_000).os_lease()
        }),
        sample(
            "complete, and no further traffic",
            "loaded",
            "files_loaded",
            with_later_traffic(with_lease().file("boot.efi", 40, &x64)),
        ),
        sample("complete, after a size query", "loaded", "files_loaded", {
            let builder =
                with_lease().request("boot.efi", &options).oack(&[("tsize", "20000")]).error(true, 0, "User aborted");
            with_later_traffic(builder.file("boot.efi", 40, &x64))
        }),
        sample("a loader tries optional files", "loaded", "files_loaded", {
            let builder =
                with_lease().file("boot.efi", 40, &x64).request("grub/fs.lst", &[]).error(false, 1, "File not found");
            with_later_traffic(builder.file("vmlinuz", 60, b"").request("more.cfg", &[]).error(
                false,
                1,
                "File not found",
            ))
        }),
        sample("the file does not exist", "failed", "file_refused", {
            with_later_traffic(with_lease().request("boot.efi", &options).error(false, 1, "File not found"))
        }),
        sample("the loader's configuration does not exist", "failed", "file_refused", {
            let builder =
                with_lease().file("boot.efi", 40, &x64).request("grub.cfg", &[]).error(false, 1, "File not found");
            with_later_traffic(builder)
        }),
        sample("nothing listens on port 69", "failed", "server_unreachable", {
            with_later_traffic(with_lease().request("boot.efi", &options).icmp_unreachable(3))
        }),
        sample("a filter forbids the request", "failed", "server_unreachable", {
            with_later_traffic(with_lease().request("boot.efi", &options).icmp_unreachable(13))
        }),
        sample("the request is not answered", "failed", "request_unanswered", {
            let builder = with_lease().request("boot.efi", &options).wait_ms(4_000).request_again("boot.efi", &options);
            with_later_traffic(builder.wait_ms(4_000).request_again("boot.efi", &options))
        }),
        sample(
            "a request at the end of the capture",
            "unknown",
            "capture_ends",
            with_lease().request("boot.efi", &options),
        ),
        sample("the options are not answered", "failed", "options_unanswered", {
            let granted = [("tsize", "20000"), ("blksize", "1468")];
            let builder = with_lease().request("boot.efi", &options).oack(&granted).wait_ms(1_000).oack(&granted);
            with_later_traffic(builder.wait_ms(1_000).oack(&granted))
        }),
        sample("the client refuses the options", "failed", "options_refused", {
            let builder = with_lease().request("boot.efi", &[("blksize", "1468")]).oack(&[("blksize", "8192")]);
            with_later_traffic(builder.error(true, 8, "Option negotiation failed"))
        }),
        sample("the server supports no options", "failed", "options_ignored", {
            let builder = with_lease().request("boot.efi", &options).data(1, &[7; 512]);
            with_later_traffic(builder.error(true, 4, "User aborted download"))
        }),
        sample("the server supports no options, and the client loads without them", "loaded", "files_loaded", {
            let builder =
                with_lease().request("boot.efi", &options).data(1, &[7; 512]).error(true, 4, "User aborted download");
            with_later_traffic(builder.file("boot.efi", 40, &x64))
        }),
        sample("the server stops responding", "failed", "server_silent", {
            let builder = with_lease().request("boot.efi", &[]).blocks(1..30, &x64);
            with_later_traffic(builder.wait_ms(4_000).acknowledge(29).wait_ms(4_000).acknowledge(29))
        }),
        sample("the client stops responding", "failed", "client_silent", {
            let builder = with_lease().request("boot.efi", &[]).blocks(1..30, &x64).data(30, &[1; 512]);
            with_later_traffic(builder.wait_ms(1_000).data(30, &[1; 512]).wait_ms(2_000).data(30, &[1; 512]))
        }),
        sample("the capture ends within a file", "unknown", "capture_ends", {
            with_lease().request("boot.efi", &[]).blocks(1..30, &x64)
        }),
        sample("the server announces no size and stops responding", "failed", "server_silent", {
            let builder = with_lease().request("boot.efi", &options).oack(&[("tsize", "0")]).acknowledge(0);
            let builder = builder.blocks(1..30, &x64).wait_ms(4_000).acknowledge(29);
            with_later_traffic(builder.wait_ms(4_000).acknowledge(29))
        }),
        sample("the server announces no size and sends the whole file", "loaded", "files_loaded", {
            let builder = with_lease().request("boot.efi", &options).oack(&[("tsize", "0")]).acknowledge(0);
            with_later_traffic(builder.blocks(1..30, &x64).data(30, b"end").acknowledge(30))
        }),
        sample("the block number does not roll over", "failed", "block_number_limit", {
            let mut builder = with_lease().request("boot.efi", &[]);
            for block in 1..=65_535 {
                builder = builder.data(block, &[7; 512]).acknowledge(block);
            }
            with_later_traffic(builder.wait_ms(4_000).acknowledge(65_535).wait_ms(4_000).acknowledge(65_535))
        }),
        sample("the file is too large", "failed", "file_too_large", {
            let builder = with_lease().request("boot.efi", &[]).blocks(1..30, &x64);
            with_later_traffic(builder.error(true, 3, "Disk full or allocation exceeded"))
        }),
        sample("the client aborts after learning the size", "failed", "file_too_large", {
            let builder = with_lease().request("boot.efi", &options).oack(&[("tsize", "7516192768")]);
            with_later_traffic(builder.error(true, 0, "User aborted"))
        }),
        sample("the client aborts", "failed", "client_aborted", {
            with_later_traffic(with_lease().request("boot.efi", &[]).blocks(1..30, &x64).error(true, 0, "User aborted"))
        }),
    ]
}

/// Returns an HTTP boot over TLS: ClientHello, ServerHello, then `last_payload` from the client, which may close the
/// connection.
fn handshake_with(last_payload: &[u8], closes: bool) -> CaptureBuilder {
    let fields = DhcpFields {
        architecture: 16,
        vendor_class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("https://10.0.0.1/boot.efi".into()),
        ..DhcpFields::default()
    };
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let (syn, syn_ack) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { syn: true, ..ack });
    let hello = |kind: u8| [&[22, 3, 3, 0, 64, kind, 0, 0, 60][..], &[7; 60]].concat();
    let builder = CaptureBuilder::default()
        .lease(&fields)
        .tcp_segment(true, (0, 0), syn, b"")
        .tcp_segment(false, (0, 1), syn_ack, b"")
        .tcp_segment(true, (1, 1), ack, &hello(1))
        .tcp_segment(false, (1, 70), ack, &hello(2))
        .tcp_segment(true, (70, 70), ack, last_payload);
    let end = 70 + last_payload.len() as u32;
    if closes { builder.tcp_segment(true, (end, 70), TcpFlags { fin: true, ..ack }, b"") } else { builder }
}

fn other_outcomes() -> Vec<OutcomeSample> {
    let x64 = CaptureBuilder::uefi_program(0x8664);
    let fields = DhcpFields::default();
    let bios =
        DhcpFields { architecture: 0, vendor_class: "PXEClient:Arch:00000:UNDI:002001".into(), ..fields.clone() };
    let http_fields = DhcpFields {
        architecture: 16,
        vendor_class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("http://10.0.0.1/boot.efi".into()),
        ..fields.clone()
    };
    let http_by_name = DhcpFields { boot_file: Some("http://boot.lan/boot.efi".into()), ..http_fields.clone() };
    let handshake = |payload: &[u8]| handshake_with(payload, true);
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    let with_transaction = |number: u32| DhcpFields { transaction: number, ..DhcpFields::default() };
    let mut boot_loop = CaptureBuilder::default();
    for number in 0..4 {
        boot_loop = boot_loop.lease(&with_transaction(number)).file("boot.efi", 40, &x64).wait_ms(20_000);
    }
    vec![
        sample("a program for ARM64 on x64", "failed", "wrong_architecture", {
            with_later_traffic(with_lease().file("boot.efi", 40, &CaptureBuilder::uefi_program(0xAA64)))
        }),
        sample("a UEFI program on BIOS", "failed", "wrong_architecture", {
            with_later_traffic(CaptureBuilder::default().lease(&bios).file("boot.efi", 40, &x64))
        }),
        sample("a BIOS program on BIOS", "loaded", "files_loaded", {
            with_later_traffic(
                CaptureBuilder::default()
                    .lease(&DhcpFields { boot_file: Some("boot.0".into()), ..bios })
                    .file("boot.0", 40, b""),
            )
        }),
        sample("the same program four times", "failed", "loop", with_later_traffic(boot_loop)),
        sample("the program returns to the firmware", "failed", "back_to_firmware", {
            let builder = with_lease()
                .file("boot.efi", 40, &x64)
                .wait_ms(2_000)
                .dhcp(DhcpMessageType::Discover, &with_transaction(9));
            with_later_traffic(builder.wait_ms(4_000).dhcp(DhcpMessageType::Discover, &with_transaction(9)))
        }),
        sample("a transfer in flight at the start of the capture", "unknown", "capture_begins", {
            with_later_traffic(CaptureBuilder::default().blocks(1000..1100, b"").data(1100, b"end").acknowledge(1100))
        }),
        sample("HTTP: not found", "failed", "http_error", {
            with_later_traffic(CaptureBuilder::default().lease(&http_fields).http("/boot.efi", "404 Not Found", b"no"))
        }),
        sample("HTTP: complete", "loaded", "files_loaded", {
            with_later_traffic(CaptureBuilder::default().lease(&http_fields).http("/boot.efi", "200 OK", &[7; 900]))
        }),
        sample("HTTP: connection not accepted", "failed", "http_unanswered", {
            let builder =
                CaptureBuilder::default().lease(&http_fields).tcp_segment(true, (0, 0), syn, b"").wait_ms(1_000);
            with_later_traffic(builder.tcp_segment(true, (0, 0), syn, b"").wait_ms(2_000).tcp_segment(
                true,
                (0, 0),
                syn,
                b"",
            ))
        }),
        sample("HTTP: the server's name does not exist", "failed", "name_not_resolved", {
            with_later_traffic(CaptureBuilder::default().lease(&http_by_name).dns_query("boot.lan", 1, Some((3, 0))))
        }),
        sample("HTTP: no name server answers", "failed", "name_not_resolved", {
            let builder = CaptureBuilder::default().lease(&http_by_name).dns_query("boot.lan", 1, None).wait_ms(2_000);
            with_later_traffic(builder.dns_query("boot.lan", 1, None))
        }),
        sample("HTTP: the name has only an IPv4 address", "loaded", "files_loaded", {
            let builder = CaptureBuilder::default().lease(&http_by_name).dns_query("boot.lan", 1, Some((0, 0)));
            with_later_traffic(builder.dns_query("boot.lan", 2, Some((0, 1))).http("/boot.efi", "200 OK", &[7; 900]))
        }),
        sample("a lookup unrelated to the boot", "unknown", "no_request", {
            with_later_traffic(with_lease().dns_query("time.example", 1, Some((3, 0))))
        }),
        sample("HTTPS: the client rejects the certificate", "failed", "tls_failed", {
            with_later_traffic(handshake(&[21, 3, 3, 0, 2, 2, 48]))
        }),
        sample(
            "HTTPS: the handshake ends without an alert",
            "failed",
            "tls_failed",
            with_later_traffic(handshake(&[])),
        ),
        sample("HTTPS: a handshake and data", "loaded", "files_loaded", {
            let ack = TcpFlags { ack: true, ..TcpFlags::default() };
            let data = [23, 3, 3, 0, 200].into_iter().chain([7; 200]).collect::<Vec<u8>>();
            let builder = handshake_with(&data, false);
            with_later_traffic(builder.tcp_segment(false, (1_001, 300), ack, &data))
        }),
        sample("every frame captured twice", "loaded", "files_loaded", {
            with_later_traffic(CaptureBuilder::default().duplicate_frames(2).lease(&fields).file("boot.efi", 40, &x64))
        }),
        sample("every tenth block missed", "loaded", "files_loaded", {
            with_later_traffic(with_lease().miss_every(10).file("boot.efi", 45, &x64))
        }),
    ]
}
