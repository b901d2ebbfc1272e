//! IPv6 features needed for network boots beyond the header: fragments and neighbor discovery.

use std::net::{IpAddr, Ipv6Addr};

use etherparse::LaxIpv6Slice;

// Extension header numbers.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM: u8 = 140;

/// ICMPv6 type of messages that request an address.
const NEIGHBOR_SOLICITATION: u8 = 135;

/// Identification and byte offset of a fragment; `None` for a packet that is not one.
///
/// Walks the headers without the library's iterator, which requires all of them to be complete and their lengths to be
/// valid.
pub(super) fn fragment(packet: &LaxIpv6Slice<'_>) -> Option<(u32, u16)> {
    walk(packet.header().next_header().0, packet.extensions().slice())
}

fn walk(mut kind: u8, mut rest: &[u8]) -> Option<(u32, u16)> {
    loop {
        let head: &[u8; 8] = rest.first_chunk()?;
        let length = match kind {
            FRAGMENT => {
                let place = u16::from_be_bytes([head[2], head[3]]);
                let identification = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
                // The lowest bit means "more fragments". A packet that is not fragmented may contain this header too.
                return (place & !6 != 0).then_some((identification, place & !7));
            }
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HOST_IDENTITY | SHIM => (usize::from(head[1]) + 1) * 8,
            AUTHENTICATION => (usize::from(head[1]) + 2) * 4,
            _ => return None,
        };
        kind = head[0];
        rest = rest.get(length..)?;
    }
}

/// ICMPv6 type of messages that announce an address.
const NEIGHBOR_ADVERTISEMENT: u8 = 136;

/// The address announced by an ICMPv6 message.
pub(super) fn advertised(message: &[u8]) -> Option<IpAddr> {
    target(message, NEIGHBOR_ADVERTISEMENT)
}

/// The address requested by an ICMPv6 message.
pub(super) fn solicited(message: &[u8]) -> Option<IpAddr> {
    target(message, NEIGHBOR_SOLICITATION)
}

fn target(message: &[u8], kind: u8) -> Option<IpAddr> {
    if *message.first()? != kind {
        return None;
    }
    let target: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    Some(IpAddr::V6(Ipv6Addr::from(target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_fragment_header_within_bounds() {
        let headers = [&[FRAGMENT, 0, 1, 4, 0, 0, 0, 0][..], &[17, 0, 0x05, 0xC9, 0, 0, 0, 7]].concat();
        assert_eq!(walk(HOP_BY_HOP, &headers), Some((7, 1480)));
        // Not fragmented, despite the header.
        assert_eq!(walk(FRAGMENT, &[17, 0, 0, 0, 0, 0, 0, 7]), None);
        for length in 0..headers.len() {
            assert_eq!(walk(HOP_BY_HOP, &headers[..length]), None);
        }
        // A header length beyond the end of the packet.
        assert_eq!(walk(DESTINATION, &[FRAGMENT, 255, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(walk(17, &headers), None);
    }
}
