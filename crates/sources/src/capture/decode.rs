//! A captured frame's headers, from the link to the transport.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use etherparse::{
    LaxIpv4Slice, LaxIpv6Slice, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, UdpSlice, ip_number,
};
use onoff_netboot::frame::{Datagram, FragmentKey, Frame, Packet, Segment};
use onoff_netboot::losses;
use onoff_trace::losses::Counter;

use super::container::RawFrame;
use super::{ipv6, link};

const UDP_HEADER: u32 = 8;
const ICMP_ECHO: u8 = 8;
const ARP_REQUEST: u16 = 1;

/// Why a frame is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Its headers contradict themselves.
    Malformed,
    /// Its link type is not read.
    UnknownLink,
}

impl Fault {
    pub(super) fn counter(self) -> &'static Counter {
        match self {
            Self::Malformed => &losses::FRAMES_MALFORMED,
            Self::UnknownLink => &losses::LINK_UNKNOWN,
        }
    }
}

pub(super) fn decode<'a>(time_ns: i64, raw: &RawFrame<'a>) -> Result<Frame<'a>, Fault> {
    let opened = link::open(raw.link, raw.bytes)?;
    let sliced = LaxSlicedPacket::from_ether_type(opened.kind, opened.payload);
    let packet = match &sliced.net {
        Some(LaxNetSlice::Ipv4(packet)) => ipv4_packet(packet),
        Some(LaxNetSlice::Ipv6(packet)) => ipv6_packet(packet),
        Some(LaxNetSlice::Arp(arp)) => {
            let target: Option<[u8; 4]> = arp.target_protocol_addr().try_into().ok();
            match target {
                Some(target) if arp.operation().0 == ARP_REQUEST => {
                    Packet::AddressProbe { target: IpAddr::V4(Ipv4Addr::from(target)) }
                }
                _ => Packet::Other,
            }
        }
        // An IP packet whose header cannot be read, unless the frame was cut inside it.
        None if sliced.stop_err.is_some() && raw.bytes.len() == raw.wire_bytes as usize => {
            return Err(Fault::Malformed);
        }
        None => Packet::Other,
    };
    Ok(Frame { time_ns, wire_bytes: raw.wire_bytes, source: opened.source, destination: opened.destination, packet })
}

/// The two ends of a packet and the bytes it carries, by its own length.
#[derive(Clone, Copy)]
struct Between {
    source: IpAddr,
    destination: IpAddr,
    payload_bytes: u32,
}

fn ipv4_packet<'a>(packet: &LaxIpv4Slice<'a>) -> Packet<'a> {
    let header = packet.header();
    let head = u32::from(header.ihl()) * 4;
    let between = Between {
        source: IpAddr::V4(header.source_addr()),
        destination: IpAddr::V4(header.destination_addr()),
        payload_bytes: u32::from(header.total_len()).saturating_sub(head),
    };
    let fragment = header.is_fragmenting_payload().then(|| {
        let offset = header.fragments_offset().value().saturating_mul(8);
        (u32::from(header.identification()), offset)
    });
    let payload = packet.payload().payload;
    let number = packet.payload_ip_number();
    if number == ip_number::ICMP && payload.first() == Some(&ICMP_ECHO) {
        return Packet::AddressProbe { target: between.destination };
    }
    transport(between, fragment, number.0, payload)
}

fn ipv6_packet<'a>(packet: &LaxIpv6Slice<'a>) -> Packet<'a> {
    let header = packet.header();
    let extensions = packet.extensions().slice().len() as u32;
    let between = Between {
        source: IpAddr::V6(header.source_addr()),
        destination: IpAddr::V6(header.destination_addr()),
        payload_bytes: u32::from(header.payload_length()).saturating_sub(extensions),
    };
    let payload = packet.payload();
    if payload.ip_number == ip_number::IPV6_ICMP
        && let Some(target) = ipv6::solicited(payload.payload)
    {
        return Packet::AddressProbe { target };
    }
    let fragment = ipv6::fragment(packet);
    transport(between, fragment, payload.ip_number.0, payload.payload)
}

fn transport<'a>(between: Between, fragment: Option<(u32, u16)>, number: u8, payload: &'a [u8]) -> Packet<'a> {
    let key = fragment.map(|(identification, _)| FragmentKey {
        source: between.source,
        destination: between.destination,
        identification,
    });
    if let (Some(of), Some((_, 1..))) = (key, fragment) {
        return Packet::LaterFragment { of, bytes: between.payload_bytes };
    }
    if number == ip_number::UDP.0 {
        udp(between, key, payload)
    } else if number == ip_number::TCP.0 && key.is_none() {
        tcp(between, payload)
    } else {
        Packet::Other
    }
}

fn udp<'a>(between: Between, key: Option<FragmentKey>, payload: &'a [u8]) -> Packet<'a> {
    let Ok(datagram) = UdpSlice::from_slice_lax(payload) else {
        return Packet::Other;
    };
    // Zero where a packet larger than any on the wire was captured before it was cut up.
    let length = match u32::from(datagram.length()) {
        0 => between.payload_bytes,
        length => length,
    };
    Packet::Udp(Datagram {
        source: SocketAddr::new(between.source, datagram.source_port()),
        destination: SocketAddr::new(between.destination, datagram.destination_port()),
        payload: datagram.payload(),
        payload_bytes: length.saturating_sub(UDP_HEADER),
        fragment: key.map(|key| (key, between.payload_bytes)),
    })
}

fn tcp<'a>(between: Between, payload: &'a [u8]) -> Packet<'a> {
    let Ok(segment) = TcpSlice::from_slice(payload) else {
        return Packet::Other;
    };
    let head = u32::from(segment.data_offset()) * 4;
    let window_shift = segment.syn().then(|| {
        segment.to_header().options_iterator().find_map(|option| match option {
            Ok(TcpOptionElement::WindowScale(shift)) => Some(shift),
            _ => None,
        })
    });
    let payload_bytes = between.payload_bytes.saturating_sub(head);
    let captured = payload.get(head as usize..).unwrap_or_default();
    let captured = captured.get(..payload_bytes as usize).unwrap_or(captured);
    Packet::Tcp(Segment {
        source: SocketAddr::new(between.source, segment.source_port()),
        destination: SocketAddr::new(between.destination, segment.destination_port()),
        sequence: segment.sequence_number(),
        acknowledgment: segment.acknowledgment_number(),
        syn: segment.syn(),
        ack: segment.ack(),
        fin: segment.fin(),
        reset: segment.rst(),
        window: segment.window_size(),
        window_shift: window_shift.flatten(),
        payload: captured,
        payload_bytes,
    })
}
