//! Decodes link layers: MAC addresses and the packet inside.

use etherparse::EtherType;
use onoff_netboot::MacAddress;

use super::fault::Fault;

// Numbers from the link-layer header types registry.
const NULL: i32 = 0;
const ETHERNET: i32 = 1;
const RAW_BSD: i32 = 12;
const RAW_OPENBSD: i32 = 14;
const RAW: i32 = 101;
const LOOP: i32 = 108;
const LINUX_COOKED: i32 = 113;
const IPV4: i32 = 228;
const IPV6: i32 = 229;
const LINUX_COOKED_2: i32 = 276;
const PPP: i32 = 9;
const PPP_SERIAL: i32 = 50;
const PPP_OVER_ETHERNET: i32 = 51;
const WIRELESS: i32 = 105;
const RADIOTAP: i32 = 127;

// EtherTypes with a further header before the packet.
const PPPOE_SESSION: u16 = 0x8864;
const MPLS: [u16; 2] = [0x8847, 0x8848];
const VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];
/// Maximum value of the EtherType field that is a length, followed by LLC.
const MAX_LENGTH: u16 = 1500;
/// Maximum number of nested headers.
const MAX_DEPTH: usize = 8;

/// A frame without its link header.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkFrame<'a> {
    pub(super) source: Option<MacAddress>,
    pub(super) destination: Option<MacAddress>,
    pub(super) kind: EtherType,
    pub(super) payload: &'a [u8],
}

pub(super) fn open(link: i32, bytes: &[u8]) -> Result<LinkFrame<'_>, Fault> {
    match link {
        ETHERNET => {
            let (header, payload) = split::<14>(bytes)?;
            let (kind, payload) = skip_inner_headers(ether_type(&header[12..]), payload)?;
            Ok(LinkFrame { destination: Some(mac(&header[..6])), source: Some(mac(&header[6..12])), kind, payload })
        }
        PPP | PPP_SERIAL => {
            // With or without the address and control fields of HDLC.
            let payload = bytes.strip_prefix(&[0xFF, 0x03]).unwrap_or(bytes);
            let (kind, payload) = ppp(payload)?;
            Ok(without_addresses(kind, payload))
        }
        PPP_OVER_ETHERNET => {
            let (kind, payload) = skip_inner_headers(EtherType(PPPOE_SESSION), bytes)?;
            Ok(without_addresses(kind, payload))
        }
        WIRELESS => wireless(bytes),
        RADIOTAP => {
            let (header, _) = split::<4>(bytes)?;
            let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
            wireless(bytes.get(length..).ok_or(Fault::Malformed)?)
        }
        LINUX_COOKED => {
            let (header, payload) = split::<16>(bytes)?;
            // Address length at offset 4, sender address at offset 6.
            let source = (header[4..6] == [0, 6]).then(|| mac(&header[6..12]));
            Ok(cooked(source, ether_type(&header[14..]), payload))
        }
        LINUX_COOKED_2 => {
            let (header, payload) = split::<20>(bytes)?;
            let source = (header[11] == 6).then(|| mac(&header[12..18]));
            Ok(cooked(source, ether_type(&header[..2]), payload))
        }
        NULL | LOOP => {
            let (family, payload) = split::<4>(bytes)?;
            let family = family.iter().copied().max().unwrap_or(0);
            // Four bytes in the recorder's byte order with a small number: 2 for IPv4, or the number of IPv6, which
            // depends on the operating system.
            match family {
                2 => Ok(without_addresses(EtherType::IPV4, payload)),
                10 | 24 | 28 | 30 => Ok(without_addresses(EtherType::IPV6, payload)),
                _ => Err(Fault::Malformed),
            }
        }
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => match bytes.first().map(|byte| byte >> 4) {
            Some(4) => Ok(without_addresses(EtherType::IPV4, bytes)),
            Some(6) => Ok(without_addresses(EtherType::IPV6, bytes)),
            _ => Err(Fault::Malformed),
        },
        _ => Err(Fault::UnknownLink),
    }
}

/// Returns the EtherType and payload after VLAN tags, PPPoE, MPLS labels and LLC/SNAP.
fn skip_inner_headers(mut kind: EtherType, mut payload: &[u8]) -> Result<(EtherType, &[u8]), Fault> {
    for _ in 0..MAX_DEPTH {
        match kind.0 {
            number if VLAN.contains(&number) => {
                let (tag, rest) = split::<4>(payload)?;
                (kind, payload) = (EtherType(u16::from_be_bytes([tag[2], tag[3]])), rest);
            }
            PPPOE_SESSION => {
                let (_, rest) = split::<6>(payload)?;
                (kind, payload) = ppp(rest)?;
            }
            number if MPLS.contains(&number) => {
                let (label, rest) = split::<4>(payload)?;
                payload = rest;
                // The lowest bit of the third byte marks the last label. The type of the packet that follows is only in
                // its first four bits.
                if label[2] & 1 == 1 {
                    kind = match payload.first().map(|byte| byte >> 4) {
                        Some(4) => EtherType::IPV4,
                        Some(6) => EtherType::IPV6,
                        _ => return Err(Fault::Encapsulated),
                    };
                }
            }
            0..=MAX_LENGTH => match llc(payload) {
                Some(content) => (kind, payload) = content,
                // Spanning tree etc. contains no packet. 0xFFFF is reserved and means "none" here.
                None => return Ok((EtherType(0xFFFF), payload)),
            },
            _ => return Ok((kind, payload)),
        }
    }
    Err(Fault::Encapsulated)
}

/// Returns the EtherType and payload of LLC with SNAP.
fn llc(payload: &[u8]) -> Option<(EtherType, &[u8])> {
    let (header, rest) = payload.split_first_chunk::<8>()?;
    (header[..6] == [0xAA, 0xAA, 0x03, 0, 0, 0]).then(|| (ether_type(&header[6..]), rest))
}

fn ppp(payload: &[u8]) -> Result<(EtherType, &[u8]), Fault> {
    // The protocol may be compressed to one byte, which is odd.
    let (number, rest) = match payload {
        [low, rest @ ..] if low & 1 == 1 => (u16::from(*low), rest),
        [high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]), rest),
        _ => return Err(Fault::Malformed),
    };
    Ok(match number {
        0x0021 => (EtherType::IPV4, rest),
        0x0057 => (EtherType::IPV6, rest),
        // Link negotiation.
        0x8000.. => (EtherType(0xFFFF), rest),
        _ => return Err(Fault::Encapsulated),
    })
}

/// Decodes a wireless (802.11) frame. Only unencrypted data frames contain LLC.
fn wireless(bytes: &[u8]) -> Result<LinkFrame<'_>, Fault> {
    const DATA: u8 = 2;
    let control: &[u8; 2] = bytes.first_chunk().ok_or(Fault::Malformed)?;
    let no_packet = LinkFrame { source: None, destination: None, kind: EtherType(0xFFFF), payload: &[] };
    let (kind, subtype) = ((control[0] >> 2) & 3, control[0] >> 4);
    // Skip management and control frames, and data frames without data.
    if kind != DATA || subtype & 4 != 0 {
        return Ok(no_packet);
    }
    let (to_network, from_network) = (control[1] & 1 != 0, control[1] & 2 != 0);
    if control[1] & 0x40 != 0 {
        return Err(Fault::Encapsulated);
    }
    let address = |offset: usize| bytes.get(offset..offset + 6).map(mac);
    let (destination, source, mut length) = match (to_network, from_network) {
        (false, false) => (address(4), address(10), 24),
        (true, false) => (address(16), address(10), 24),
        (false, true) => (address(4), address(16), 24),
        (true, true) => (address(16), address(24), 30),
    };
    // Skip the quality-of-service field.
    if subtype & 8 != 0 {
        length += 2;
    }
    let payload = bytes.get(length..).ok_or(Fault::Malformed)?;
    let Some((kind, payload)) = llc(payload) else { return Ok(no_packet) };
    Ok(LinkFrame { source, destination, kind, payload })
}

fn split<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Fault> {
    bytes.split_first_chunk::<N>().ok_or(Fault::Malformed)
}

fn cooked(source: Option<MacAddress>, kind: EtherType, payload: &[u8]) -> LinkFrame<'_> {
    LinkFrame { source: source.filter(|mac| !mac.is_group_or_zero()), destination: None, kind, payload }
}

fn without_addresses(kind: EtherType, payload: &[u8]) -> LinkFrame<'_> {
    LinkFrame { source: None, destination: None, kind, payload }
}

fn mac(bytes: &[u8]) -> MacAddress {
    MacAddress(bytes.try_into().unwrap_or_default())
}

fn ether_type(bytes: &[u8]) -> EtherType {
    EtherType(u16::from_be_bytes(bytes.try_into().unwrap_or_default()))
}
