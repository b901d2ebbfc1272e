//! Captures of a million frames of unrelated traffic, for checking that it does not slow down following a boot.

use std::net::{Ipv4Addr, SocketAddr};

use super::{CaptureBuilder, CaptureWriter, Container, DhcpFields, Link, TcpFlags, ethernet, tcp};

/// Frames per boot of [`Flood::Boots`].
const FRAMES_PER_BOOT: usize = 10;
/// Frames per connection of [`Flood::Connections`].
const FRAMES_PER_CONNECTION: usize = 10;
/// Number of servers.
const SERVERS: u32 = 251;

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// TCP connections of other machines to this port, opened, used and closed.
    Connections(u16),
    /// Unanswered SYNs, each from a different address.
    Syns,
    /// Consecutive boots of one client.
    Boots,
}

impl Flood {
    /// Returns a pcapng capture of about `frames` frames. Except for [`Flood::Boots`], it contains one client's boot in
    /// its middle.
    #[must_use]
    pub fn capture(self, frames: usize) -> Vec<u8> {
        match self {
            Self::Connections(port) => surround_boot(frames / FRAMES_PER_CONNECTION, |number, time_ns, capture| {
                connection(number, port, time_ns, capture);
            }),
            Self::Syns => surround_boot(frames, |number, time_ns, capture| {
                let client =
                    SocketAddr::new(Ipv4Addr::from(0x0B00_0000 + number).into(), 1024 + (number % 60_000) as u16);
                let server = SocketAddr::new([10, 9, 0, 1].into(), 443);
                let syn = TcpFlags { syn: true, ..TcpFlags::default() };
                capture.write_frame(time_ns, &unrelated_frame(&tcp((client, server), (number, 0), syn, 8192, b"")));
            }),
            Self::Boots => {
                let mut builder = CaptureBuilder::default();
                for number in 0..frames / FRAMES_PER_BOOT {
                    let fields = DhcpFields { transaction: number as u32 + 1, ..DhcpFields::default() };
                    // Four DHCP messages, a request, two blocks and acknowledgments, and the operating system's
                    // DISCOVER.
                    builder = builder.lease(&fields).file("boot.efi", 2, b"").os_discover(number as u32);
                }
                builder.bytes()
            }
        }
    }
}

fn surround_boot(count: usize, write_frames: impl Fn(u32, u64, &mut CaptureWriter)) -> Vec<u8> {
    const INTERVAL_NS: u64 = 20_000;
    let boot = CaptureBuilder::default()
        .lease(&DhcpFields::default())
        .file("boot.efi", 40, &CaptureBuilder::uefi_program(0x8664))
        .frames();
    let start_ns = super::CAPTURE_START_NS;
    let mut capture = Container::Pcapng.writer(Link::Ethernet.number(), 262_144);
    let boot_start_ns = start_ns + (count as u64 / 2) * INTERVAL_NS;
    let mut boot = boot.iter().map(|(time_ns, frame)| (time_ns - start_ns + boot_start_ns, frame)).peekable();
    for number in 0..count as u32 {
        let time_ns = start_ns + u64::from(number) * INTERVAL_NS;
        while let Some((boot_ns, frame)) = boot.next_if(|(boot_ns, _)| *boot_ns <= time_ns) {
            capture.write_frame(boot_ns, frame);
        }
        write_frames(number, time_ns, &mut capture);
    }
    for (boot_ns, frame) in boot {
        capture.write_frame(boot_ns, frame);
    }
    capture.bytes
}

fn unrelated_frame(packet: &[u8]) -> Vec<u8> {
    ethernet([2, 9, 9, 9, 9, 9], [2, 8, 8, 8, 8, 8], 0x0800, packet)
}

/// Opens a connection, sends a request and a response in two segments, and closes it.
fn connection(number: u32, port: u16, time_ns: u64, capture: &mut CaptureWriter) {
    let client: SocketAddr = (Ipv4Addr::from(0x0B00_0000 + number), 40_000).into();
    let server: SocketAddr = (Ipv4Addr::from(0x0C00_0001 + number % SERVERS), port).into();
    let (to_server, to_client) = ((client, server), (server, client));
    let (syn, ack) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { ack: true, ..TcpFlags::default() });
    let (syn_ack, fin_ack) = (TcpFlags { syn: true, ..ack }, TcpFlags { fin: true, ..ack });
    let record = &[0x17, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20][..];
    let length = record.len() as u32;
    let segments = [
        (to_server, (0, 0), syn, &b""[..]),
        (to_client, (0, 1), syn_ack, b""),
        (to_server, (1, 1), ack, b""),
        (to_server, (1, 1), ack, record),
        (to_client, (1, 1 + length), ack, record),
        (to_client, (1 + length, 1 + length), ack, record),
        (to_server, (1 + length, 1 + 2 * length), ack, b""),
        (to_client, (1 + 2 * length, 1 + length), fin_ack, b""),
        (to_server, (1 + length, 2 + 2 * length), fin_ack, b""),
        (to_client, (2 + 2 * length, 2 + length), ack, b""),
    ];
    for (step, (endpoints, numbers, flags, payload)) in segments.into_iter().enumerate() {
        capture.write_frame(
            time_ns + step as u64 * 1_000,
            &unrelated_frame(&tcp(endpoints, numbers, flags, 8192, payload)),
        );
    }
}
