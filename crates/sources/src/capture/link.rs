//! Link layers: from the captured bytes to the stations and the packet inside.

use etherparse::EtherType;
use onoff_netboot::MacAddress;

use super::decode::Fault;

// Numbers of the registry of link types.
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

/// A frame without its link header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened<'a> {
    pub(super) source: Option<MacAddress>,
    pub(super) destination: Option<MacAddress>,
    pub(super) kind: EtherType,
    pub(super) payload: &'a [u8],
}

pub(super) fn open(link: i32, bytes: &[u8]) -> Result<Opened<'_>, Fault> {
    match link {
        ETHERNET => {
            let (head, payload) = split::<14>(bytes)?;
            Ok(Opened {
                destination: Some(mac(&head[..6])),
                source: Some(mac(&head[6..12])),
                kind: kind(&head[12..]),
                payload,
            })
        }
        LINUX_COOKED => {
            let (head, payload) = split::<16>(bytes)?;
            // Length of the address at 4, the sender's address from 6.
            let source = (head[4..6] == [0, 6]).then(|| mac(&head[6..12]));
            Ok(cooked(source, kind(&head[14..]), payload))
        }
        LINUX_COOKED_2 => {
            let (head, payload) = split::<20>(bytes)?;
            let source = (head[11] == 6).then(|| mac(&head[12..18]));
            Ok(cooked(source, kind(&head[..2]), payload))
        }
        NULL | LOOP => {
            let (family, payload) = split::<4>(bytes)?;
            let family = family.iter().copied().max().unwrap_or(0);
            // Four bytes in the recorder's own order hold a small number: 2, or one of the systems' numbers for IPv6.
            match family {
                2 => Ok(plain(EtherType::IPV4, payload)),
                10 | 24 | 28 | 30 => Ok(plain(EtherType::IPV6, payload)),
                _ => Err(Fault::Malformed),
            }
        }
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => match bytes.first().map(|byte| byte >> 4) {
            Some(4) => Ok(plain(EtherType::IPV4, bytes)),
            Some(6) => Ok(plain(EtherType::IPV6, bytes)),
            _ => Err(Fault::Malformed),
        },
        _ => Err(Fault::UnknownLink),
    }
}

fn split<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Fault> {
    bytes.split_first_chunk::<N>().ok_or(Fault::Malformed)
}

fn cooked(source: Option<MacAddress>, kind: EtherType, payload: &[u8]) -> Opened<'_> {
    Opened { source: source.filter(|mac| !mac.is_group_or_zero()), destination: None, kind, payload }
}

fn plain(kind: EtherType, payload: &[u8]) -> Opened<'_> {
    Opened { source: None, destination: None, kind, payload }
}

fn mac(bytes: &[u8]) -> MacAddress {
    MacAddress(bytes.try_into().unwrap_or_default())
}

fn kind(bytes: &[u8]) -> EtherType {
    EtherType(u16::from_be_bytes(bytes.try_into().unwrap_or_default()))
}
