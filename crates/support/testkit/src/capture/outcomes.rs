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

/// One capture per outcome, and some that merely resemble an outcome.
#[must_use]
pub fn outcomes() -> Vec<OutcomeSample> {
    let mut all = addresses();
    all.extend(files());
    all.extend(others());
    all
}

fn sample(name: &'static str, verdict: &'static str, reason: &'static str, builder: CaptureBuilder) -> OutcomeSample {
    OutcomeSample { name, verdict, reason, bytes: builder.bytes() }
}

fn with_lease() -> CaptureBuilder {
    CaptureBuilder::default().lease(&DhcpFields::default())
}

/// The capture continues without the client.
fn continued(builder: CaptureBuilder) -> CaptureBuilder {
    builder.wait_ms(LONG_MS).unrelated_frame()
}

fn addresses() -> Vec<OutcomeSample> {
    let fields = DhcpFields::default();
    let nameless = DhcpFields { boot_file: None, ..fields.clone() };
    let unanswered_discovers = || {
        let builder = CaptureBuilder::default()
            .dhcp(DhcpMessageType::Discover, &fields)
            .wait_ms(4_000)
            .dhcp(DhcpMessageType::Discover, &fields);
        builder.wait_ms(8_000).dhcp(DhcpMessageType::Discover, &fields)
    };
    let boot_server = DhcpFields { uses_boot_server_port: true, transaction: 0x99, ..fields.clone() };
    vec![
        sample("no DHCP answer", "failed", "no_dhcp_answer", continued(unanswered_discovers())),
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
            continued(
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
            continued(with_lease().dhcp(DhcpMessageType::Decline, &DhcpFields { transaction: 5, ..fields.clone() })),
        ),
        sample(
            "offers without a file",
            "failed",
            "no_boot_file",
            continued(
                CaptureBuilder::default()
                    .dhcp(DhcpMessageType::Discover, &nameless)
                    .dhcp(DhcpMessageType::Offer, &nameless)
                    .wait_ms(4_000)
                    .dhcp(DhcpMessageType::Discover, &nameless)
                    .dhcp(DhcpMessageType::Offer, &nameless),
            ),
        ),
        sample(
            "an address without a file",
            "failed",
            "no_boot_file",
            continued(CaptureBuilder::default().lease(&nameless)),
        ),
        sample(
            "the boot server does not answer",
            "failed",
            "boot_server_silent",
            continued(
                with_lease()
                    .dhcp(DhcpMessageType::Request, &boot_server)
                    .wait_ms(2_000)
                    .dhcp(DhcpMessageType::Request, &boot_server)
                    .wait_ms(4_000)
                    .dhcp(DhcpMessageType::Request, &boot_server),
            ),
        ),
        sample("a lease at the end of the capture", "unknown", "capture_ends", with_lease()),
        sample("a lease and no request", "unknown", "no_request", continued(with_lease())),
        sample(
            "the server is not on the link",
            "failed",
            "server_not_on_link",
            continued({
                let away = Ipv4Addr::new(10, 0, 0, 200);
                let builder = CaptureBuilder::default().lease(&DhcpFields { boot_server: away, ..fields.clone() });
                builder.arp_request(away).wait_ms(1_000).arp_request(away).wait_ms(1_000).arp_request(away)
            }),
        ),
        sample(
            "the router is not on the link",
            "failed",
            "server_not_on_link",
            continued({
                let router = Ipv4Addr::new(10, 0, 0, 254);
                let far = DhcpFields { boot_server: Ipv4Addr::new(10, 9, 0, 1), ..fields.clone() };
                CaptureBuilder::default().lease(&far).arp_request(router).wait_ms(1_000).arp_request(router)
            }),
        ),
        sample(
            "the client only probes its own address",
            "unknown",
            "no_request",
            continued({
                let own = Ipv4Addr::new(10, 0, 0, 50);
                with_lease().arp_request(own).wait_ms(1_000).arp_request(own)
            }),
        ),
        sample(
            "the request for the address is not answered",
            "failed",
            "no_dhcp_answer",
            continued({
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
            continued({
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
            continued({
                let plain = DhcpFields { is_bootp: true, ..fields.clone() };
                let builder = CaptureBuilder::default()
                    .dhcp(DhcpMessageType::Discover, &plain)
                    .wait_ms(3)
                    .dhcp(DhcpMessageType::Ack, &plain);
                builder.wait_ms(10).file("boot.0", 40, b"")
            }),
        ),
    ]
}

fn files() -> Vec<OutcomeSample> {
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
            continued(with_lease().file("boot.efi", 40, &x64)),
        ),
        sample("complete, after a size query", "loaded", "files_loaded", {
            let builder =
                with_lease().request("boot.efi", &options).oack(&[("tsize", "20000")]).error(true, 0, "User aborted");
            continued(builder.file("boot.efi", 40, &x64))
        }),
        sample("a loader tries optional files", "loaded", "files_loaded", {
            let builder =
                with_lease().file("boot.efi", 40, &x64).request("grub/fs.lst", &[]).error(false, 1, "File not found");
            continued(builder.file("vmlinuz", 60, b"").request("more.cfg", &[]).error(false, 1, "File not found"))
        }),
        sample("the file does not exist", "failed", "file_refused", {
            continued(with_lease().request("boot.efi", &options).error(false, 1, "File not found"))
        }),
        sample("the loader's configuration does not exist", "failed", "file_refused", {
            let builder =
                with_lease().file("boot.efi", 40, &x64).request("grub.cfg", &[]).error(false, 1, "File not found");
            continued(builder)
        }),
        sample("nothing listens on port 69", "failed", "server_unreachable", {
            continued(with_lease().request("boot.efi", &options).icmp_unreachable(3))
        }),
        sample("a filter forbids the request", "failed", "server_unreachable", {
            continued(with_lease().request("boot.efi", &options).icmp_unreachable(13))
        }),
        sample("the request is not answered", "failed", "request_unanswered", {
            let builder = with_lease().request("boot.efi", &options).wait_ms(4_000).request_again("boot.efi", &options);
            continued(builder.wait_ms(4_000).request_again("boot.efi", &options))
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
            continued(builder.wait_ms(1_000).oack(&granted))
        }),
        sample("the client refuses the options", "failed", "options_refused", {
            let builder = with_lease().request("boot.efi", &[("blksize", "1468")]).oack(&[("blksize", "8192")]);
            continued(builder.error(true, 8, "Option negotiation failed"))
        }),
        sample("the server supports no options", "failed", "options_ignored", {
            let builder = with_lease().request("boot.efi", &options).data(1, &[7; 512]);
            continued(builder.error(true, 4, "User aborted download"))
        }),
        sample("the server supports no options, and the client loads without them", "loaded", "files_loaded", {
            let builder =
                with_lease().request("boot.efi", &options).data(1, &[7; 512]).error(true, 4, "User aborted download");
            continued(builder.file("boot.efi", 40, &x64))
        }),
        sample("the server stops responding", "failed", "server_silent", {
            let builder = with_lease().request("boot.efi", &[]).blocks(1..30, &x64);
            continued(builder.wait_ms(4_000).acknowledge(29).wait_ms(4_000).acknowledge(29))
        }),
        sample("the client stops responding", "failed", "client_silent", {
            let builder = with_lease().request("boot.efi", &[]).blocks(1..30, &x64).data(30, &[1; 512]);
            continued(builder.wait_ms(1_000).data(30, &[1; 512]).wait_ms(2_000).data(30, &[1; 512]))
        }),
        sample("the capture ends within a file", "unknown", "capture_ends", {
            with_lease().request("boot.efi", &[]).blocks(1..30, &x64)
        }),
        sample("the server announces no size and stops responding", "failed", "server_silent", {
            let builder = with_lease().request("boot.efi", &options).oack(&[("tsize", "0")]).acknowledge(0);
            let builder = builder.blocks(1..30, &x64).wait_ms(4_000).acknowledge(29);
            continued(builder.wait_ms(4_000).acknowledge(29))
        }),
        sample("the server announces no size and sends the whole file", "loaded", "files_loaded", {
            let builder = with_lease().request("boot.efi", &options).oack(&[("tsize", "0")]).acknowledge(0);
            continued(builder.blocks(1..30, &x64).data(30, b"end").acknowledge(30))
        }),
        sample("the block number does not roll over", "failed", "block_number_limit", {
            let mut builder = with_lease().request("boot.efi", &[]);
            for block in 1..=65_535 {
                builder = builder.data(block, &[7; 512]).acknowledge(block);
            }
            continued(builder.wait_ms(4_000).acknowledge(65_535).wait_ms(4_000).acknowledge(65_535))
        }),
        sample("the file is too large", "failed", "file_too_large", {
            let builder = with_lease().request("boot.efi", &[]).blocks(1..30, &x64);
            continued(builder.error(true, 3, "Disk full or allocation exceeded"))
        }),
        sample("the client aborts after learning the size", "failed", "file_too_large", {
            let builder = with_lease().request("boot.efi", &options).oack(&[("tsize", "7516192768")]);
            continued(builder.error(true, 0, "User aborted"))
        }),
        sample("the client aborts", "failed", "client_aborted", {
            continued(with_lease().request("boot.efi", &[]).blocks(1..30, &x64).error(true, 0, "User aborted"))
        }),
    ]
}

/// HTTP boot over TLS: ClientHello, ServerHello, then `last` from the client, which may close the connection.
fn handshake_with(last: &[u8], closes: bool) -> CaptureBuilder {
    let fields = DhcpFields {
        architecture: 16,
        vendor_class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("https://10.0.0.1/boot.efi".into()),
        ..DhcpFields::default()
    };
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let (syn, both) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { syn: true, ..ack });
    let hello = |kind: u8| [&[22, 3, 3, 0, 64, kind, 0, 0, 60][..], &[7; 60]].concat();
    let builder = CaptureBuilder::default()
        .lease(&fields)
        .tcp_segment(true, (0, 0), syn, b"")
        .tcp_segment(false, (0, 1), both, b"")
        .tcp_segment(true, (1, 1), ack, &hello(1))
        .tcp_segment(false, (1, 70), ack, &hello(2))
        .tcp_segment(true, (70, 70), ack, last);
    let end = 70 + last.len() as u32;
    if closes { builder.tcp_segment(true, (end, 70), TcpFlags { fin: true, ..ack }, b"") } else { builder }
}

fn others() -> Vec<OutcomeSample> {
    let x64 = CaptureBuilder::uefi_program(0x8664);
    let fields = DhcpFields::default();
    let bios =
        DhcpFields { architecture: 0, vendor_class: "PXEClient:Arch:00000:UNDI:002001".into(), ..fields.clone() };
    let over_http = DhcpFields {
        architecture: 16,
        vendor_class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("http://10.0.0.1/boot.efi".into()),
        ..fields.clone()
    };
    let by_name = DhcpFields { boot_file: Some("http://boot.lan/boot.efi".into()), ..over_http.clone() };
    let handshake = |last: &[u8]| handshake_with(last, true);
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    let again = |number: u32| DhcpFields { transaction: number, ..DhcpFields::default() };
    let mut loops = CaptureBuilder::default();
    for number in 0..4 {
        loops = loops.lease(&again(number)).file("boot.efi", 40, &x64).wait_ms(20_000);
    }
    vec![
        sample("a program for ARM64 on x64", "failed", "wrong_architecture", {
            continued(with_lease().file("boot.efi", 40, &CaptureBuilder::uefi_program(0xAA64)))
        }),
        sample("a UEFI program on BIOS", "failed", "wrong_architecture", {
            continued(CaptureBuilder::default().lease(&bios).file("boot.efi", 40, &x64))
        }),
        sample("a BIOS program on BIOS", "loaded", "files_loaded", {
            continued(
                CaptureBuilder::default()
                    .lease(&DhcpFields { boot_file: Some("boot.0".into()), ..bios })
                    .file("boot.0", 40, b""),
            )
        }),
        sample("the same program four times", "failed", "loop", continued(loops)),
        sample("the program returns to the firmware", "failed", "back_to_firmware", {
            let builder =
                with_lease().file("boot.efi", 40, &x64).wait_ms(2_000).dhcp(DhcpMessageType::Discover, &again(9));
            continued(builder.wait_ms(4_000).dhcp(DhcpMessageType::Discover, &again(9)))
        }),
        sample("a transfer in flight at the start of the capture", "unknown", "capture_begins", {
            continued(CaptureBuilder::default().blocks(1000..1100, b"").data(1100, b"end").acknowledge(1100))
        }),
        sample("HTTP: not found", "failed", "http_error", {
            continued(CaptureBuilder::default().lease(&over_http).http("/boot.efi", "404 Not Found", b"no"))
        }),
        sample("HTTP: complete", "loaded", "files_loaded", {
            continued(CaptureBuilder::default().lease(&over_http).http("/boot.efi", "200 OK", &[7; 900]))
        }),
        sample("HTTP: connection not accepted", "failed", "http_unanswered", {
            let builder =
                CaptureBuilder::default().lease(&over_http).tcp_segment(true, (0, 0), syn, b"").wait_ms(1_000);
            continued(builder.tcp_segment(true, (0, 0), syn, b"").wait_ms(2_000).tcp_segment(true, (0, 0), syn, b""))
        }),
        sample("HTTP: the server's name does not exist", "failed", "name_not_resolved", {
            continued(CaptureBuilder::default().lease(&by_name).dns_query("boot.lan", 1, Some((3, 0))))
        }),
        sample("HTTP: no name server answers", "failed", "name_not_resolved", {
            let builder = CaptureBuilder::default().lease(&by_name).dns_query("boot.lan", 1, None).wait_ms(2_000);
            continued(builder.dns_query("boot.lan", 1, None))
        }),
        sample("HTTP: the name has only an IPv4 address", "loaded", "files_loaded", {
            let builder = CaptureBuilder::default().lease(&by_name).dns_query("boot.lan", 1, Some((0, 0)));
            continued(builder.dns_query("boot.lan", 2, Some((0, 1))).http("/boot.efi", "200 OK", &[7; 900]))
        }),
        sample("a lookup unrelated to the boot", "unknown", "no_request", {
            continued(with_lease().dns_query("time.example", 1, Some((3, 0))))
        }),
        sample("HTTPS: the client rejects the certificate", "failed", "tls_failed", {
            continued(handshake(&[21, 3, 3, 0, 2, 2, 48]))
        }),
        sample("HTTPS: the handshake ends without an alert", "failed", "tls_failed", continued(handshake(&[]))),
        sample("HTTPS: a handshake and data", "loaded", "files_loaded", {
            let ack = TcpFlags { ack: true, ..TcpFlags::default() };
            let data = [23, 3, 3, 0, 200].into_iter().chain([7; 200]).collect::<Vec<u8>>();
            let builder = handshake_with(&data, false);
            continued(builder.tcp_segment(false, (1_001, 300), ack, &data))
        }),
        sample("every frame captured twice", "loaded", "files_loaded", {
            continued(CaptureBuilder::default().duplicate_frames(2).lease(&fields).file("boot.efi", 40, &x64))
        }),
        sample("every tenth block missed", "loaded", "files_loaded", {
            continued(with_lease().miss_every(10).file("boot.efi", 45, &x64))
        }),
    ]
}
