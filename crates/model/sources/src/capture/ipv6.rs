//! What a network boot needs of IPv6 beyond its header: fragments, and questions for addresses.

use std::net::{IpAddr, Ipv6Addr};

use etherparse::LaxIpv6Slice;

// Numbers of extension headers.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM: u8 = 140;

/// Kind of ICMPv6 messages that ask for an address.
const NEIGHBOR_SOLICITATION: u8 = 135;

/// Identification and offset in bytes of a packet that is a fragment.
///
/// The headers are walked here: the library's own iterator takes for granted that all of them are whole, which those of
/// a packet that was cut, or that lies about their lengths, are not.
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
                // The lowest bit says that more follow; a packet that is whole may carry the header, too.
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

/// Kind of ICMPv6 messages that say who has an address.
const NEIGHBOR_ADVERTISEMENT: u8 = 136;

/// The address that an ICMPv6 message says is in use.
pub(super) fn advertised(message: &[u8]) -> Option<IpAddr> {
    target(message, NEIGHBOR_ADVERTISEMENT)
}

/// The address that an ICMPv6 message asks for.
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
    fn fragments_are_found_behind_other_headers_and_never_past_the_end() {
        let headers = [&[FRAGMENT, 0, 1, 4, 0, 0, 0, 0][..], &[17, 0, 0x05, 0xC9, 0, 0, 0, 7]].concat();
        assert_eq!(walk(HOP_BY_HOP, &headers), Some((7, 1480)));
        // Whole, in spite of the header.
        assert_eq!(walk(FRAGMENT, &[17, 0, 0, 0, 0, 0, 0, 7]), None);
        for length in 0..headers.len() {
            assert_eq!(walk(HOP_BY_HOP, &headers[..length]), None);
        }
        // A header that says it is longer than the packet.
        assert_eq!(walk(DESTINATION, &[FRAGMENT, 255, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(walk(17, &headers), None);
    }
}
