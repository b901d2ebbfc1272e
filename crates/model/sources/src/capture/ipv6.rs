//! IPv6 features that network boots need in addition to the header: fragments and neighbor discovery.

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

/// Returns the identification and byte offset of a fragment; `None` for other packets.
///
/// Walks the headers without the library's iterator, which requires all headers to be complete and to have valid
/// lengths.
pub(super) fn fragment(packet: &LaxIpv6Slice<'_>) -> Option<(u32, u16)> {
    find_fragment(packet.header().next_header().0, packet.extensions().slice())
}

fn find_fragment(mut kind: u8, mut headers: &[u8]) -> Option<(u32, u16)> {
    loop {
        let header: &[u8; 8] = headers.first_chunk()?;
        let length = match kind {
            FRAGMENT => {
                let offset_and_flags = u16::from_be_bytes([header[2], header[3]]);
                let identification = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
                // The lowest bit means "more fragments". Packets that are not fragmented may contain this header too.
                return (offset_and_flags & !6 != 0).then_some((identification, offset_and_flags & !7));
            }
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HOST_IDENTITY | SHIM => (usize::from(header[1]) + 1) * 8,
            AUTHENTICATION => (usize::from(header[1]) + 2) * 4,
            _ => return None,
        };
        kind = header[0];
        headers = headers.get(length..)?;
    }
}

/// ICMPv6 type of messages that announce an address.
const NEIGHBOR_ADVERTISEMENT: u8 = 136;

/// Returns the address announced by an ICMPv6 message.
pub(super) fn advertised_address(message: &[u8]) -> Option<IpAddr> {
    target_address(message, NEIGHBOR_ADVERTISEMENT)
}

/// Returns the address requested by an ICMPv6 message.
pub(super) fn solicited_address(message: &[u8]) -> Option<IpAddr> {
    target_address(message, NEIGHBOR_SOLICITATION)
}

fn target_address(message: &[u8], kind: u8) -> Option<IpAddr> {
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
        assert_eq!(find_fragment(HOP_BY_HOP, &headers), Some((7, 1480)));
        // Not fragmented, despite the header.
        assert_eq!(find_fragment(FRAGMENT, &[17, 0, 0, 0, 0, 0, 0, 7]), None);
        for length in 0..headers.len() {
            assert_eq!(find_fragment(HOP_BY_HOP, &headers[..length]), None);
        }
        // A header length beyond the end of the packet.
        assert_eq!(find_fragment(DESTINATION, &[FRAGMENT, 255, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(find_fragment(17, &headers), None);
    }
}
