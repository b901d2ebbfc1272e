//! Builds frames and packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Ethernet,
    /// Ethernet with two nested VLAN tags.
    Vlan,
    /// Linux cooked capture (SLL).
    LinuxCooked,
    /// Linux cooked capture, version 2 (SLL2).
    LinuxCookedV2,
    /// BSD loopback.
    BsdLoopback,
    Raw,
}

impl Link {
    pub const ALL: [Link; 6] =
        [Self::Ethernet, Self::Vlan, Self::LinuxCooked, Self::LinuxCookedV2, Self::BsdLoopback, Self::Raw];

    /// Returns the LINKTYPE number.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::Ethernet | Self::Vlan => 1,
            Self::LinuxCooked => 113,
            Self::LinuxCookedV2 => 276,
            Self::BsdLoopback => 0,
            Self::Raw => 101,
        }
    }

    /// Wraps an IP packet in a frame.
    #[must_use]
    pub fn wrap(self, source: [u8; 6], destination: [u8; 6], packet: &[u8]) -> Vec<u8> {
        let ipv6 = packet[0] >> 4 == 6;
        let kind: u16 = if ipv6 { 0x86DD } else { 0x0800 };
        let mut frame = Vec::with_capacity(packet.len() + 22);
        match self {
            Self::Ethernet => return ethernet(source, destination, kind, packet),
            Self::Vlan => {
                let mut tagged = 0x0064_u16.to_be_bytes().to_vec();
                tagged.extend(0x8100_u16.to_be_bytes());
                tagged.extend(0x0007_u16.to_be_bytes());
                tagged.extend(kind.to_be_bytes());
                tagged.extend(packet);
                return ethernet(source, destination, 0x88A8, &tagged);
            }
            Self::LinuxCooked => {
                frame.extend([0, 0, 0, 1, 0, 6]);
                frame.extend(source);
                frame.extend([0, 0]);
                frame.extend(kind.to_be_bytes());
            }
            Self::LinuxCookedV2 => {
                frame.extend(kind.to_be_bytes());
                frame.extend([0, 0, 0, 0, 0, 2, 0, 1, 0, 6]);
                frame.extend(source);
                frame.extend([0, 0]);
            }
            Self::BsdLoopback => frame.extend(if ipv6 { [30, 0, 0, 0] } else { [2, 0, 0, 0] }),
            Self::Raw => {}
        }
        frame.extend(packet);
        frame
    }
}

/// Returns an Ethernet frame without a checksum.
#[must_use]
pub fn ethernet(source: [u8; 6], destination: [u8; 6], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.extend(destination);
    frame.extend(source);
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Returns an IPv4 packet without a checksum; `fragment` is identification, offset in bytes, and whether more fragments
/// follow.
#[must_use]
pub fn ipv4(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    payload: &[u8],
    fragment: Option<(u16, u16, bool)>,
) -> Vec<u8> {
    let (identification, offset, more_fragments) = fragment.unwrap_or((0, 0, false));
    let mut packet = Vec::with_capacity(payload.len() + 20);
    packet.extend([0x45, 0]);
    packet.extend(((payload.len() + 20) as u16).to_be_bytes());
    packet.extend(identification.to_be_bytes());
    packet.extend(((offset / 8) | if more_fragments { 0x2000 } else { 0 }).to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(payload);
    packet
}

/// Returns an IPv6 packet; `fragment` as for IPv4.
#[must_use]
pub fn ipv6(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: u8,
    payload: &[u8],
    fragment: Option<(u32, u16, bool)>,
) -> Vec<u8> {
    let extension = if fragment.is_some() { 8 } else { 0 };
    let mut packet = Vec::with_capacity(payload.len() + 48);
    packet.extend([0x60, 0, 0, 0]);
    packet.extend(((payload.len() + extension) as u16).to_be_bytes());
    packet.extend([if fragment.is_some() { 44 } else { protocol }, 64]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    if let Some((identification, offset, more_fragments)) = fragment {
        packet.extend([protocol, 0]);
        packet.extend(((offset & !7) | u16::from(more_fragments)).to_be_bytes());
        packet.extend(identification.to_be_bytes());
    }
    packet.extend(payload);
    packet
}

#[must_use]
pub fn udp(source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> Vec<u8> {
    ip(source.ip(), destination.ip(), 17, &datagram(source, destination, payload))
}

fn datagram(source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::with_capacity(payload.len() + 8);
    datagram.extend(source.port().to_be_bytes());
    datagram.extend(destination.port().to_be_bytes());
    datagram.extend(((payload.len() + 8) as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    datagram
}

fn ip(source: IpAddr, destination: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => ipv4(source, destination, protocol, payload, None),
        (IpAddr::V6(source), IpAddr::V6(destination)) => ipv6(source, destination, protocol, payload, None),
        _ => panic!("source and destination are of different address families"),
    }
}

/// Returns a UDP datagram as IP fragments of at most `bytes` bytes of payload each, a multiple of 8.
#[must_use]
pub fn fragments(
    source: SocketAddr,
    destination: SocketAddr,
    payload: &[u8],
    identification: u16,
    bytes: usize,
) -> Vec<Vec<u8>> {
    let datagram = datagram(source, destination, payload);
    let chunks: Vec<&[u8]> = datagram.chunks(bytes).collect();
    let last_index = chunks.len() - 1;
    chunks
        .into_iter()
        .enumerate()
        .map(|(index, chunk)| {
            let offset = (index * bytes) as u16;
            match (source.ip(), destination.ip()) {
                (IpAddr::V4(source), IpAddr::V4(destination)) => {
                    let fragment = Some((identification, offset, index < last_index));
                    ipv4(source, destination, 17, chunk, fragment)
                }
                (IpAddr::V6(source), IpAddr::V6(destination)) => {
                    let fragment = Some((identification.into(), offset, index < last_index));
                    ipv6(source, destination, 17, chunk, fragment)
                }
                _ => panic!("source and destination are of different address families"),
            }
        })
        .collect()
}

/// Flags of a TCP segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpFlags {
    pub syn: bool,
    pub ack: bool,
    pub fin: bool,
    pub reset: bool,
}

#[must_use]
pub fn tcp(
    (source, destination): (SocketAddr, SocketAddr),
    (sequence, acknowledgment): (u32, u32),
    flags: TcpFlags,
    window: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut segment = Vec::with_capacity(payload.len() + 20);
    segment.extend(source.port().to_be_bytes());
    segment.extend(destination.port().to_be_bytes());
    segment.extend(sequence.to_be_bytes());
    segment.extend(acknowledgment.to_be_bytes());
    let bits =
        u8::from(flags.fin) | (u8::from(flags.syn) << 1) | (u8::from(flags.reset) << 2) | (u8::from(flags.ack) << 4);
    segment.extend([0x50, bits]);
    segment.extend(window.to_be_bytes());
    segment.extend([0; 4]);
    segment.extend(payload);
    ip(source.ip(), destination.ip(), 6, &segment)
}

/// Returns an Ethernet frame with an ARP request.
#[must_use]
pub fn arp_request(source: [u8; 6], sender: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    arp(1, (source, sender), ([0; 6], target), [0xFF; 6])
}

/// Returns an Ethernet frame with an ARP reply: `source` has the address `sender`.
#[must_use]
pub fn arp_reply(source: [u8; 6], sender: Ipv4Addr, requester: ([u8; 6], Ipv4Addr)) -> Vec<u8> {
    arp(2, (source, sender), requester, requester.0)
}

fn arp(operation: u8, sender: ([u8; 6], Ipv4Addr), target: ([u8; 6], Ipv4Addr), destination: [u8; 6]) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, operation];
    for (station, address) in [sender, target] {
        packet.extend(station);
        packet.extend(address.octets());
    }
    ethernet(sender.0, destination, 0x0806, &packet)
}
