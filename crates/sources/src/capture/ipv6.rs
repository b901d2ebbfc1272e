//! What a network boot needs of IPv6 beyond its header: fragments, and questions for addresses.

use std::net::{IpAddr, Ipv6Addr};

use etherparse::{Ipv6ExtensionSlice, LaxIpv6Slice};

/// Kind of ICMPv6 messages that ask for an address.
const NEIGHBOUR_SOLICITATION: u8 = 135;

/// Identification, offset in bytes, and whether more follow, of a packet that is a fragment.
pub(super) fn fragment(packet: &LaxIpv6Slice<'_>) -> Option<(u32, u16)> {
    packet
        .extensions()
        .clone()
        .into_iter()
        .find_map(|header| match header {
            Ipv6ExtensionSlice::Fragment(fragment) if fragment.is_fragmenting_payload() => {
                let offset = fragment.fragment_offset().value().saturating_mul(8);
                Some((fragment.identification(), offset))
            }
            _ => None,
        })
}

/// The address that an ICMPv6 message asks for.
pub(super) fn solicited(message: &[u8]) -> Option<IpAddr> {
    if *message.first()? != NEIGHBOUR_SOLICITATION {
        return None;
    }
    let target: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    Some(IpAddr::V6(Ipv6Addr::from(target)))
}
