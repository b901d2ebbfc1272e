//! Decodes the headers of a captured frame, from the link to the transport layer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use etherparse::{
    LaxIpv4Slice, LaxIpv6Slice, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, UdpSlice, ip_number,
};
use onoff_netboot::frame::{
    Datagram, FragmentKey, Frame, Packet, RouterMessageKind, Segment, UnreachableReason, UnreachableReport,
};

use super::container::RawFrame;
use super::fault::Fault;
use super::{ipv6, link};

const UDP_HEADER: u32 = 8;
const ICMP_ECHO: u8 = 8;
const ICMP_ECHO_REPLY: u8 = 0;
const ICMP_UNREACHABLE: u8 = 3;
const ICMPV6_UNREACHABLE: u8 = 1;
const ICMPV6_TOO_BIG: u8 = 2;
const ICMP_TIME_EXCEEDED: u8 = 11;
const ICMPV6_TIME_EXCEEDED: u8 = 3;
/// Code of a time-exceeded message: not all fragments arrived in time.
const REASSEMBLY_TIME: u8 = 1;
const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const ICMPV6_ECHO: u8 = 128;
const ICMPV6_ECHO_REPLY: u8 = 129;
/// Size of an ICMP header before the quoted packet.
const ICMP_HEADER: usize = 8;
const ARP_REQUEST: u16 = 1;
const ARP_REPLY: u16 = 2;
/// UDP port of VXLAN.
const VXLAN: u16 = 4789;
const IP_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;

pub(super) fn decode<'a>(time_ns: i64, raw: &RawFrame<'a>) -> Result<Frame<'a>, Fault> {
    let link_frame = link::open(raw.link, raw.bytes)?;
    let sliced = LaxSlicedPacket::from_ether_type(link_frame.kind, link_frame.payload);
    let mut identification = None;
    let packet = match &sliced.net {
        Some(LaxNetSlice::Ipv4(packet)) => {
            identification = Some(packet.header().identification()).filter(|&number| number != 0);
            ipv4_packet(packet)?
        }
        Some(LaxNetSlice::Ipv6(packet)) => ipv6_packet(packet)?,
        Some(LaxNetSlice::Arp(arp)) => {
            let target: Option<[u8; 4]> = arp.target_protocol_addr().try_into().ok();
            let sender: Option<[u8; 4]> = arp.sender_protocol_addr().try_into().ok();
            match (arp.operation().0, target, sender) {
                (ARP_REQUEST, Some(target), _) => Packet::AddressProbe { target: IpAddr::V4(Ipv4Addr::from(target)) },
                (ARP_REPLY, _, Some(sender)) => Packet::AddressAnswer { address: IpAddr::V4(Ipv4Addr::from(sender)) },
                _ => Packet::Other,
            }
        }
        // An IP packet with an invalid header, unless the frame was truncated within it.
        None if sliced.stop_err.is_some() && raw.bytes.len() == raw.wire_bytes as usize => {
            return Err(Fault::Malformed);
        }
        None => Packet::Other,
    };
    Ok(Frame {
        time_ns,
        wire_bytes: raw.wire_bytes,
        source: link_frame.source,
        destination: link_frame.destination,
        identification,
        packet,
    })
}

/// Endpoints of a packet and the size of its payload according to its header.
#[derive(Clone, Copy)]
struct Endpoints {
    source: IpAddr,
    destination: IpAddr,
    payload_bytes: u32,
}

fn ipv4_packet<'a>(packet: &LaxIpv4Slice<'a>) -> Result<Packet<'a>, Fault> {
    let header = packet.header();
    let header_len = u32::from(header.ihl()) * 4;
    let endpoints = Endpoints {
        source: IpAddr::V4(header.source_addr()),
        destination: IpAddr::V4(header.destination_addr()),
        payload_bytes: u32::from(header.total_len()).saturating_sub(header_len),
    };
    let fragment = header.is_fragmenting_payload().then(|| {
        let offset = header.fragments_offset().value().saturating_mul(8);
        (u32::from(header.identification()), offset)
    });
    let payload = packet.payload().payload;
    let number = packet.payload_ip_number();
    if number == ip_number::ICMP {
        return Ok(match *payload {
            [ICMP_ECHO, ..] => Packet::AddressProbe { target: endpoints.destination },
            [ICMP_ECHO_REPLY, ..] => Packet::AddressAnswer { address: endpoints.source },
            [ICMP_UNREACHABLE, code, ..] => {
                // RFC 792 and RFC 1812.
                let reason = match code {
                    3 => UnreachableReason::Port,
                    1 | 7 | 8 => UnreachableReason::Host,
                    0 | 6 => UnreachableReason::Network,
                    4 => UnreachableReason::TooLarge,
                    9 | 10 | 13 => UnreachableReason::Prohibited,
                    _ => UnreachableReason::Other,
                };
                unreachable_packet(endpoints, reason, payload)
            }
            [ICMP_TIME_EXCEEDED, REASSEMBLY_TIME, ..] => {
                unreachable_packet(endpoints, UnreachableReason::Reassembly, payload)
            }
            _ => Packet::Other,
        });
    }
    transport(endpoints, fragment, number.0, payload)
}

fn ipv6_packet<'a>(packet: &LaxIpv6Slice<'a>) -> Result<Packet<'a>, Fault> {
    let header = packet.header();
    let extensions = packet.extensions().slice().len() as u32;
    let endpoints = Endpoints {
        source: IpAddr::V6(header.source_addr()),
        destination: IpAddr::V6(header.destination_addr()),
        payload_bytes: u32::from(header.payload_length()).saturating_sub(extensions),
    };
    let payload = packet.payload();
    if payload.ip_number == ip_number::IPV6_ICMP {
        let message = payload.payload;
        if let Some(target) = ipv6::solicited_address(message) {
            return Ok(Packet::AddressProbe { target });
        }
        if let Some(address) = ipv6::advertised_address(message) {
            return Ok(Packet::AddressAnswer { address });
        }
        return Ok(match *message {
            [ICMPV6_UNREACHABLE, code, ..] => {
                // RFC 4443.
                let reason = match code {
                    4 => UnreachableReason::Port,
                    3 => UnreachableReason::Host,
                    0 => UnreachableReason::Network,
                    1 | 5 => UnreachableReason::Prohibited,
                    _ => UnreachableReason::Other,
                };
                unreachable_packet(endpoints, reason, message)
            }
            [ICMPV6_ECHO, ..] => Packet::AddressProbe { target: endpoints.destination },
            [ICMPV6_ECHO_REPLY, ..] => Packet::AddressAnswer { address: endpoints.source },
            [ICMPV6_TOO_BIG, ..] => unreachable_packet(endpoints, UnreachableReason::TooLarge, message),
            [ICMPV6_TIME_EXCEEDED, REASSEMBLY_TIME, ..] => {
                unreachable_packet(endpoints, UnreachableReason::Reassembly, message)
            }
            [ROUTER_SOLICITATION, ..] => Packet::Router(RouterMessageKind::Solicitation),
            [ROUTER_ADVERTISEMENT, ..] => Packet::Router(RouterMessageKind::Advertisement),
            _ => Packet::Other,
        });
    }
    let fragment = ipv6::fragment(packet);
    transport(endpoints, fragment, payload.ip_number.0, payload.payload)
}

/// Reads the packet quoted in an ICMP message: the addresses, and the ports if present.
fn unreachable_packet<'a>(endpoints: Endpoints, reason: UnreachableReason, message: &[u8]) -> Packet<'a> {
    let quoted = message.get(ICMP_HEADER..).unwrap_or_default();
    let addresses = match quoted.first().map(|byte| byte >> 4) {
        Some(4) => quoted.first_chunk::<20>().map(|header| {
            let address = |offset: usize| {
                header[offset..].first_chunk::<4>().map_or(endpoints.source, |bytes| IpAddr::from(*bytes))
            };
            (address(12), address(16), usize::from(header[0] & 15) * 4)
        }),
        Some(6) => quoted.first_chunk::<40>().map(|header| {
            let address = |offset: usize| {
                header[offset..].first_chunk::<16>().map_or(endpoints.source, |bytes| IpAddr::from(*bytes))
            };
            (address(8), address(24), 40)
        }),
        _ => None,
    };
    let Some((source, destination, header_len)) = addresses else { return Packet::Other };
    let port = |offset: usize| {
        let bytes = quoted.get(header_len + offset..).and_then(|rest| rest.first_chunk::<2>());
        bytes.map_or(0, |bytes| u16::from_be_bytes(*bytes))
    };
    Packet::Unreachable(UnreachableReport {
        reporter: endpoints.source,
        reason,
        source: SocketAddr::new(source, port(0)),
        destination: SocketAddr::new(destination, port(2)),
    })
}

fn transport<'a>(
    endpoints: Endpoints,
    fragment: Option<(u32, u16)>,
    number: u8,
    payload: &'a [u8],
) -> Result<Packet<'a>, Fault> {
    let key = fragment.map(|(identification, _)| FragmentKey {
        source: endpoints.source,
        destination: endpoints.destination,
        identification,
    });
    if let (Some(key), Some((_, offset @ 1..))) = (key, fragment) {
        return Ok(Packet::LaterFragment { of: key, offset, bytes: endpoints.payload_bytes });
    }
    match number {
        _ if number == ip_number::UDP.0 => match udp(endpoints, key, payload) {
            Packet::Udp(datagram) if is_vxlan(&datagram) => Err(Fault::Encapsulated),
            packet => Ok(packet),
        },
        _ if number == ip_number::TCP.0 && key.is_none() => Ok(tcp(endpoints, payload)),
        IP_IN_IP | IPV6_IN_IP | GRE => Err(Fault::Encapsulated),
        _ => Ok(Packet::Other),
    }
}

/// True if a datagram contains an encapsulated frame (RFC 7348, section 5). The port is not sufficient, because any
/// client may use it.
fn is_vxlan(datagram: &Datagram<'_>) -> bool {
    datagram.destination.port() == VXLAN && matches!(datagram.payload, [0x08, 0, 0, 0, _, _, _, 0, ..])
}

fn udp<'a>(endpoints: Endpoints, key: Option<FragmentKey>, payload: &'a [u8]) -> Packet<'a> {
    let Ok(datagram) = UdpSlice::from_slice_lax(payload) else { return Packet::Other };
    // The length is zero for packets captured before segmentation, which are larger than any packet on the wire.
    let length = match u32::from(datagram.length()) {
        0 => endpoints.payload_bytes,
        length => length,
    };
    Packet::Udp(Datagram {
        source: SocketAddr::new(endpoints.source, datagram.source_port()),
        destination: SocketAddr::new(endpoints.destination, datagram.destination_port()),
        payload: datagram.payload(),
        payload_bytes: length.saturating_sub(UDP_HEADER),
        fragment: key.map(|key| (key, endpoints.payload_bytes)),
    })
}

fn tcp<'a>(endpoints: Endpoints, payload: &'a [u8]) -> Packet<'a> {
    let Ok(segment) = TcpSlice::from_slice(payload) else { return Packet::Other };
    let header_len = u32::from(segment.data_offset()) * 4;
    let window_shift = segment.syn().then(|| {
        segment.to_header().options_iterator().find_map(|option| match option {
            Ok(TcpOptionElement::WindowScale(shift)) => Some(shift),
            _ => None,
        })
    });
    let payload_bytes = endpoints.payload_bytes.saturating_sub(header_len);
    let captured = payload.get(header_len as usize..).unwrap_or_default();
    let payload = captured.get(..payload_bytes as usize).unwrap_or(captured);
    Packet::Tcp(Segment {
        source: SocketAddr::new(endpoints.source, segment.source_port()),
        destination: SocketAddr::new(endpoints.destination, segment.destination_port()),
        sequence: segment.sequence_number(),
        acknowledgment: segment.acknowledgment_number(),
        syn: segment.syn(),
        ack: segment.ack(),
        fin: segment.fin(),
        reset: segment.rst(),
        window: segment.window_size(),
        window_shift: window_shift.flatten(),
        payload,
        payload_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vxlan_port_of_client_is_not_encapsulation() {
        let datagram = |port: u16, payload| Datagram {
            source: ([10, 0, 0, 1], 40_000).into(),
            destination: ([10, 0, 0, 2], port).into(),
            payload,
            payload_bytes: 12,
            fragment: None,
        };
        let carried = [0x08, 0, 0, 0, 0, 0, 77, 0, 2, 0, 0, 0];
        assert!(is_vxlan(&datagram(VXLAN, &carried)));
        assert!(!is_vxlan(&datagram(69, &carried)));
        // A file block sent to a client that happens to use the port.
        assert!(!is_vxlan(&datagram(VXLAN, &[0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])));
        assert!(!is_vxlan(&datagram(VXLAN, &carried[..4])));
    }
}
