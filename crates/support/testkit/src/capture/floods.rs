//! Traffic beside a boot, by the million frames: what following a boot must not pay for.

use std::net::{Ipv4Addr, SocketAddr};

use super::{Container, DhcpFields, Link, Scene, TcpFlags, Wrote, ethernet, tcp};

/// Frames of one boot of [`Flood::Boots`].
const FRAMES_OF_A_BOOT: usize = 10;
/// Frames of one connection of [`Flood::Connections`].
const FRAMES_OF_A_CONNECTION: usize = 10;
/// Servers that connections go to.
const SERVERS: u32 = 251;

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// TCP connections of other machines to a port, opened, used and closed.
    Connections(u16),
    /// SYNs from ever other addresses that nobody answers.
    Syns,
    /// Boots of one client, one after the other.
    Boots,
}

impl Flood {
    /// A pcapng capture of about `frames` frames of it; but for [`Flood::Boots`], with the boot of one client in its
    /// middle.
    #[must_use]
    pub fn capture(self, frames: usize) -> Vec<u8> {
        match self {
            Self::Connections(port) => beside_a_boot(frames / FRAMES_OF_A_CONNECTION, |number, at_ns, capture| {
                connection(number, port, at_ns, capture);
            }),
            Self::Syns => beside_a_boot(frames, |number, at_ns, capture| {
                let client =
                    SocketAddr::new(Ipv4Addr::from(0x0B00_0000 + number).into(), 1024 + (number % 60_000) as u16);
                let server = SocketAddr::new([10, 9, 0, 1].into(), 443);
                let syn = TcpFlags { syn: true, ..TcpFlags::default() };
                capture.frame(at_ns, &other(&tcp((client, server), (number, 0), syn, 8192, b"")));
            }),
            Self::Boots => {
                let mut scene = Scene::default();
                for number in 0..frames / FRAMES_OF_A_BOOT {
                    let fields = DhcpFields { transaction: number as u32 + 1, ..DhcpFields::default() };
                    // Four messages, a request, two blocks with their acknowledgments, and the system's own question.
                    scene = scene.lease(&fields).file("boot.efi", 2, b"").asks_as_system(number as u32);
                }
                scene.bytes()
            }
        }
    }
}

fn beside_a_boot(count: usize, one: impl Fn(u32, u64, &mut Wrote)) -> Vec<u8> {
    const APART_NS: u64 = 20_000;
    let boot = Scene::default().lease(&DhcpFields::default()).file("boot.efi", 40, &Scene::program(0x8664)).frames();
    let start_ns = super::SCENE_START_NS;
    let mut capture = Container::Pcapng.begin(Link::Ethernet.number(), 262_144);
    let from_ns = start_ns + (count as u64 / 2) * APART_NS;
    let mut boot = boot.iter().map(|(at_ns, frame)| (at_ns - start_ns + from_ns, frame)).peekable();
    for number in 0..count as u32 {
        let at_ns = start_ns + u64::from(number) * APART_NS;
        while let Some((boot_ns, frame)) = boot.next_if(|(boot_ns, _)| *boot_ns <= at_ns) {
            capture.frame(boot_ns, frame);
        }
        one(number, at_ns, &mut capture);
    }
    for (boot_ns, frame) in boot {
        capture.frame(boot_ns, frame);
    }
    capture.bytes
}

fn other(packet: &[u8]) -> Vec<u8> {
    ethernet([2, 9, 9, 9, 9, 9], [2, 8, 8, 8, 8, 8], 0x0800, packet)
}

/// Opened, a question and an answer in parts, closed.
fn connection(number: u32, port: u16, at_ns: u64, capture: &mut Wrote) {
    let client: SocketAddr = (Ipv4Addr::from(0x0B00_0000 + number), 40_000).into();
    let server: SocketAddr = (Ipv4Addr::from(0x0C00_0001 + number % SERVERS), port).into();
    let (up, down) = ((client, server), (server, client));
    let (syn, ack) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { ack: true, ..TcpFlags::default() });
    let (both, end) = (TcpFlags { syn: true, ..ack }, TcpFlags { fin: true, ..ack });
    let text = &[0x17, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20][..];
    let length = text.len() as u32;
    let segments = [
        (up, (0, 0), syn, &b""[..]),
        (down, (0, 1), both, b""),
        (up, (1, 1), ack, b""),
        (up, (1, 1), ack, text),
        (down, (1, 1 + length), ack, text),
        (down, (1 + length, 1 + length), ack, text),
        (up, (1 + length, 1 + 2 * length), ack, b""),
        (down, (1 + 2 * length, 1 + length), end, b""),
        (up, (1 + length, 2 + 2 * length), end, b""),
        (down, (2 + 2 * length, 2 + length), ack, b""),
    ];
    for (step, (ends, numbers, flags, payload)) in segments.into_iter().enumerate() {
        capture.frame(at_ns + step as u64 * 1_000, &other(&tcp(ends, numbers, flags, 8192, payload)));
    }
}
