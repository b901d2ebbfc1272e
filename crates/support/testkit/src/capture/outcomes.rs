//! A made capture for each way a network boot comes out, with what must be said of it.

use std::net::Ipv4Addr;

use super::TcpFlags;
use super::scene::{Dhcp, DhcpFields, Scene};

/// A capture with its truth.
#[derive(Clone, Debug)]
pub struct MadeOutcome {
    pub name: &'static str,
    /// `loaded`, `failed` or `unknown`.
    pub verdict: &'static str,
    /// The reason's stable name.
    pub reason: &'static str,
    /// The capture file, pcapng.
    pub bytes: Vec<u8>,
}

/// The longest a client or server is waited for, and more, ms.
const LONG_MS: u64 = 30_000;

/// One capture for each outcome, and for those that look like one and are none.
#[must_use]
pub fn outcomes() -> Vec<MadeOutcome> {
    let mut all = addresses();
    all.extend(files());
    all.extend(others());
    all
}

fn made(name: &'static str, verdict: &'static str, reason: &'static str, scene: Scene) -> MadeOutcome {
    MadeOutcome { name, verdict, reason, bytes: scene.bytes() }
}

fn begun() -> Scene {
    Scene::default().lease(&DhcpFields::default())
}

/// The capture goes on without the client.
fn goes_on(scene: Scene) -> Scene {
    scene.wait_ms(LONG_MS).someone_else()
}

fn addresses() -> Vec<MadeOutcome> {
    let fields = DhcpFields::default();
    let nameless = DhcpFields { boot_file: None, ..fields.clone() };
    let questions = || {
        let scene = Scene::default().dhcp(Dhcp::Discover, &fields).wait_ms(4_000).dhcp(Dhcp::Discover, &fields);
        scene.wait_ms(8_000).dhcp(Dhcp::Discover, &fields)
    };
    let boot_server = DhcpFields { boot_server_port: true, transaction: 0x99, ..fields.clone() };
    vec![
        made("nobody answers for an address", "failed", "no_dhcp_answer", goes_on(questions())),
        made("one question at the end", "unknown", "capture_ends", Scene::default().dhcp(Dhcp::Discover, &fields)),
        made(
            "the server takes its offer back",
            "failed",
            "dhcp_refused",
            goes_on(
                Scene::default()
                    .dhcp(Dhcp::Discover, &fields)
                    .dhcp(Dhcp::Offer, &fields)
                    .dhcp(Dhcp::Request, &fields)
                    .dhcp(Dhcp::Nak, &fields),
            ),
        ),
        made(
            "the address is in use",
            "failed",
            "address_in_use",
            goes_on(begun().dhcp(Dhcp::Decline, &DhcpFields { transaction: 5, ..fields.clone() })),
        ),
        made(
            "offers without a file",
            "failed",
            "no_boot_file",
            goes_on(
                Scene::default()
                    .dhcp(Dhcp::Discover, &nameless)
                    .dhcp(Dhcp::Offer, &nameless)
                    .wait_ms(4_000)
                    .dhcp(Dhcp::Discover, &nameless)
                    .dhcp(Dhcp::Offer, &nameless),
            ),
        ),
        made("an address without a file", "failed", "no_boot_file", goes_on(Scene::default().lease(&nameless))),
        made(
            "the boot server is silent",
            "failed",
            "boot_server_silent",
            goes_on(
                begun()
                    .dhcp(Dhcp::Request, &boot_server)
                    .wait_ms(2_000)
                    .dhcp(Dhcp::Request, &boot_server)
                    .wait_ms(4_000)
                    .dhcp(Dhcp::Request, &boot_server),
            ),
        ),
        made("a lease, and the capture ends", "unknown", "capture_ends", begun()),
        made("a lease, and no request is seen", "unknown", "no_request", goes_on(begun())),
        made(
            "the server is not on the link",
            "failed",
            "server_not_on_link",
            goes_on({
                let away = Ipv4Addr::new(10, 0, 0, 200);
                let scene = Scene::default().lease(&DhcpFields { boot_server: away, ..fields.clone() });
                scene.looks_for(away).wait_ms(1_000).looks_for(away).wait_ms(1_000).looks_for(away)
            }),
        ),
        made(
            "the router is not on the link",
            "failed",
            "server_not_on_link",
            goes_on({
                let router = Ipv4Addr::new(10, 0, 0, 254);
                let far = DhcpFields { boot_server: Ipv4Addr::new(10, 9, 0, 1), ..fields.clone() };
                Scene::default().lease(&far).looks_for(router).wait_ms(1_000).looks_for(router)
            }),
        ),
        made(
            "the client only asks whether its own address is free",
            "unknown",
            "no_request",
            goes_on({
                let own = Ipv4Addr::new(10, 0, 0, 50);
                begun().looks_for(own).wait_ms(1_000).looks_for(own)
            }),
        ),
        made(
            "the request for the address is not answered",
            "failed",
            "no_dhcp_answer",
            goes_on({
                let scene = Scene::default().dhcp(Dhcp::Discover, &fields).dhcp(Dhcp::Offer, &fields);
                scene.dhcp(Dhcp::Request, &fields).wait_ms(4_000).dhcp(Dhcp::Request, &fields)
            }),
        ),
        made(
            "the client takes none of the offers",
            "failed",
            "no_boot_file",
            goes_on({
                let scene = Scene::default().dhcp(Dhcp::Discover, &fields).dhcp(Dhcp::Offer, &fields);
                scene.wait_ms(4_000).dhcp(Dhcp::Discover, &fields).dhcp(Dhcp::Offer, &fields)
            }),
        ),
        made(
            "plain BOOTP loads",
            "loaded",
            "files_loaded",
            goes_on({
                let plain = DhcpFields { plain: true, ..fields.clone() };
                let scene = Scene::default().dhcp(Dhcp::Discover, &plain).wait_ms(3).dhcp(Dhcp::Ack, &plain);
                scene.wait_ms(10).file("boot.0", 40, b"")
            }),
        ),
    ]
}

fn files() -> Vec<MadeOutcome> {
    let options = [("tsize", "0"), ("blksize", "1468")];
    let x64 = Scene::program(0x8664);
    vec![
        made("whole, and Windows speaks", "loaded", "system_started", {
            begun().file("boot.efi", 40, &x64).file("boot.wim", 90, b"").wait_ms(4_000).system()
        }),
        made("whole, and silence", "loaded", "files_loaded", goes_on(begun().file("boot.efi", 40, &x64))),
        made("whole, after a question for its size", "loaded", "files_loaded", {
            let scene =
                begun().request("boot.efi", &options).grant(&[("tsize", "20000")]).error(true, 0, "User aborted");
            goes_on(scene.file("boot.efi", 40, &x64))
        }),
        made("a loader looks for files that need not be there", "loaded", "files_loaded", {
            let scene =
                begun().file("boot.efi", 40, &x64).request("grub/fs.lst", &[]).error(false, 1, "File not found");
            goes_on(scene.file("vmlinuz", 60, b"").request("more.cfg", &[]).error(false, 1, "File not found"))
        }),
        made("the file is not there", "failed", "file_refused", {
            goes_on(begun().request("boot.efi", &options).error(false, 1, "File not found"))
        }),
        made("the loader's configuration is not there", "failed", "file_refused", {
            let scene = begun().file("boot.efi", 40, &x64).request("grub.cfg", &[]).error(false, 1, "File not found");
            goes_on(scene)
        }),
        made("nothing listens on port 69", "failed", "server_unreachable", {
            goes_on(begun().request("boot.efi", &options).unreachable(3))
        }),
        made("a filter forbids the request", "failed", "server_unreachable", {
            goes_on(begun().request("boot.efi", &options).unreachable(13))
        }),
        made("the request is not answered", "failed", "request_unanswered", {
            let scene = begun().request("boot.efi", &options).wait_ms(4_000).request_again("boot.efi", &options);
            goes_on(scene.wait_ms(4_000).request_again("boot.efi", &options))
        }),
        made("one request at the end", "unknown", "capture_ends", begun().request("boot.efi", &options)),
        made("the options are not answered", "failed", "options_unanswered", {
            let granted = [("tsize", "20000"), ("blksize", "1468")];
            let scene = begun().request("boot.efi", &options).grant(&granted).wait_ms(1_000).grant(&granted);
            goes_on(scene.wait_ms(1_000).grant(&granted))
        }),
        made("the client refuses the options", "failed", "options_refused", {
            let scene = begun().request("boot.efi", &[("blksize", "1468")]).grant(&[("blksize", "8192")]);
            goes_on(scene.error(true, 8, "Option negotiation failed"))
        }),
        made("the server knows no options", "failed", "options_ignored", {
            let scene = begun().request("boot.efi", &options).data(1, &[7; 512]);
            goes_on(scene.error(true, 4, "User aborted download"))
        }),
        made("the server knows no options, and the client loads without them", "loaded", "files_loaded", {
            let scene =
                begun().request("boot.efi", &options).data(1, &[7; 512]).error(true, 4, "User aborted download");
            goes_on(scene.file("boot.efi", 40, &x64))
        }),
        made("the server falls silent", "failed", "server_silent", {
            let scene = begun().request("boot.efi", &[]).blocks(1..30, &x64);
            goes_on(scene.wait_ms(4_000).acknowledge(29).wait_ms(4_000).acknowledge(29))
        }),
        made("the client falls silent", "failed", "client_silent", {
            let scene = begun().request("boot.efi", &[]).blocks(1..30, &x64).data(30, &[1; 512]);
            goes_on(scene.wait_ms(1_000).data(30, &[1; 512]).wait_ms(2_000).data(30, &[1; 512]))
        }),
        made("the capture ends within a file", "unknown", "capture_ends", {
            begun().request("boot.efi", &[]).blocks(1..30, &x64)
        }),
        made("the server announces no size, and falls silent", "failed", "server_silent", {
            let scene = begun().request("boot.efi", &options).grant(&[("tsize", "0")]).acknowledge(0);
            let scene = scene.blocks(1..30, &x64).wait_ms(4_000).acknowledge(29);
            goes_on(scene.wait_ms(4_000).acknowledge(29))
        }),
        made("the server announces no size, and the file comes whole", "loaded", "files_loaded", {
            let scene = begun().request("boot.efi", &options).grant(&[("tsize", "0")]).acknowledge(0);
            goes_on(scene.blocks(1..30, &x64).data(30, b"end").acknowledge(30))
        }),
        made("the block number does not roll over", "failed", "block_number_limit", {
            let mut scene = begun().request("boot.efi", &[]);
            for block in 1..=65_535 {
                scene = scene.data(block, &[7; 512]).acknowledge(block);
            }
            goes_on(scene.wait_ms(4_000).acknowledge(65_535).wait_ms(4_000).acknowledge(65_535))
        }),
        made("the file is too large", "failed", "file_too_large", {
            let scene = begun().request("boot.efi", &[]).blocks(1..30, &x64);
            goes_on(scene.error(true, 3, "Disk full or allocation exceeded"))
        }),
        made("the client learns the size and gives up", "failed", "file_too_large", {
            let scene = begun().request("boot.efi", &options).grant(&[("tsize", "7516192768")]);
            goes_on(scene.error(true, 0, "User aborted"))
        }),
        made("the client breaks off", "failed", "client_aborted", {
            goes_on(begun().request("boot.efi", &[]).blocks(1..30, &x64).error(true, 0, "User aborted"))
        }),
    ]
}

/// HTTP boot over TLS: the client's first message, the server's, and `last` by the client, which then closes.
fn handshake_with(last: &[u8], closes: bool) -> Scene {
    let fields = DhcpFields {
        architecture: 16,
        class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("https://10.0.0.1/boot.efi".into()),
        ..DhcpFields::default()
    };
    let ack = TcpFlags { ack: true, ..TcpFlags::default() };
    let (syn, both) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { syn: true, ..ack });
    let hello = |kind: u8| [&[22, 3, 3, 0, 64, kind, 0, 0, 60][..], &[7; 60]].concat();
    let scene = Scene::default()
        .lease(&fields)
        .segment(true, (0, 0), syn, b"")
        .segment(false, (0, 1), both, b"")
        .segment(true, (1, 1), ack, &hello(1))
        .segment(false, (1, 70), ack, &hello(2))
        .segment(true, (70, 70), ack, last);
    let end = 70 + last.len() as u32;
    if closes { scene.segment(true, (end, 70), TcpFlags { fin: true, ..ack }, b"") } else { scene }
}

fn others() -> Vec<MadeOutcome> {
    let x64 = Scene::program(0x8664);
    let fields = DhcpFields::default();
    let bios = DhcpFields { architecture: 0, class: "PXEClient:Arch:00000:UNDI:002001".into(), ..fields.clone() };
    let over_http = DhcpFields {
        architecture: 16,
        class: "HTTPClient:Arch:00016:UNDI:003001".into(),
        boot_file: Some("http://10.0.0.1/boot.efi".into()),
        ..fields.clone()
    };
    let by_name = DhcpFields { boot_file: Some("http://boot.lan/boot.efi".into()), ..over_http.clone() };
    let handshake = |last: &[u8]| handshake_with(last, true);
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    let again = |number: u32| DhcpFields { transaction: number, ..DhcpFields::default() };
    let mut loops = Scene::default();
    for number in 0..4 {
        loops = loops.lease(&again(number)).file("boot.efi", 40, &x64).wait_ms(20_000);
    }
    vec![
        made("a program for ARM64 on x64", "failed", "wrong_architecture", {
            goes_on(begun().file("boot.efi", 40, &Scene::program(0xAA64)))
        }),
        made("a UEFI program on BIOS", "failed", "wrong_architecture", {
            goes_on(Scene::default().lease(&bios).file("boot.efi", 40, &x64))
        }),
        made("a BIOS program on BIOS", "loaded", "files_loaded", {
            goes_on(
                Scene::default()
                    .lease(&DhcpFields { boot_file: Some("boot.0".into()), ..bios })
                    .file("boot.0", 40, b""),
            )
        }),
        made("the same program four times", "failed", "loop", goes_on(loops)),
        made("the program gives control back", "failed", "back_to_firmware", {
            let scene = begun().file("boot.efi", 40, &x64).wait_ms(2_000).dhcp(Dhcp::Discover, &again(9));
            goes_on(scene.wait_ms(4_000).dhcp(Dhcp::Discover, &again(9)))
        }),
        made("a file under way at the start", "unknown", "capture_begins", {
            goes_on(Scene::default().blocks(1000..1100, b"").data(1100, b"end").acknowledge(1100))
        }),
        made("HTTP: not found", "failed", "http_error", {
            goes_on(Scene::default().lease(&over_http).http("/boot.efi", "404 Not Found", b"no"))
        }),
        made("HTTP: whole", "loaded", "files_loaded", {
            goes_on(Scene::default().lease(&over_http).http("/boot.efi", "200 OK", &[7; 900]))
        }),
        made("HTTP: nobody accepts", "failed", "http_unanswered", {
            let scene = Scene::default().lease(&over_http).segment(true, (0, 0), syn, b"").wait_ms(1_000);
            goes_on(scene.segment(true, (0, 0), syn, b"").wait_ms(2_000).segment(true, (0, 0), syn, b""))
        }),
        made("HTTP: the server's name is not known", "failed", "name_not_resolved", {
            goes_on(Scene::default().lease(&by_name).looks_up("boot.lan", 1, Some((3, 0))))
        }),
        made("HTTP: no name server answers", "failed", "name_not_resolved", {
            let scene = Scene::default().lease(&by_name).looks_up("boot.lan", 1, None).wait_ms(2_000);
            goes_on(scene.looks_up("boot.lan", 1, None))
        }),
        made("HTTP: the name has no IPv6 address, and an IPv4 one", "loaded", "files_loaded", {
            let scene = Scene::default().lease(&by_name).looks_up("boot.lan", 1, Some((0, 0)));
            goes_on(scene.looks_up("boot.lan", 2, Some((0, 1))).http("/boot.efi", "200 OK", &[7; 900]))
        }),
        made("a name that the boot has nothing to do with", "unknown", "no_request", {
            goes_on(begun().looks_up("time.example", 1, Some((3, 0))))
        }),
        made("HTTPS: the client refuses the certificate", "failed", "tls_failed", {
            goes_on(handshake(&[21, 3, 3, 0, 2, 2, 48]))
        }),
        made("HTTPS: the handshake ends without a word", "failed", "tls_failed", goes_on(handshake(&[]))),
        made("HTTPS: a handshake, and data", "loaded", "files_loaded", {
            let ack = TcpFlags { ack: true, ..TcpFlags::default() };
            let data = [23, 3, 3, 0, 200].into_iter().chain([7; 200]).collect::<Vec<u8>>();
            let scene = handshake_with(&data, false);
            goes_on(scene.segment(false, (1_001, 300), ack, &data))
        }),
        made("every frame captured twice", "loaded", "files_loaded", {
            goes_on(Scene::default().captured(2).lease(&fields).file("boot.efi", 40, &x64))
        }),
        made("every tenth block missed", "loaded", "files_loaded", {
            goes_on(begun().misses(10).file("boot.efi", 45, &x64))
        }),
    ]
}
