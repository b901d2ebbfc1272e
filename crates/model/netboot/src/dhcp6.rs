//! Parses DHCPv6 messages (RFC 8415) with network boot options (RFC 5970).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::address::MacAddress;
use crate::dhcp::{DhcpKind, DhcpMessage, PxeOptions};
use crate::frame::Datagram;
use crate::tftp::decode_name;

/// Ports of clients and servers.
pub const PORTS: [u16; 2] = [546, 547];

const RELAY_FORWARD: u8 = 12;
const RELAY_REPLY: u8 = 13;
/// Maximum number of nested relays.
const MAX_RELAYS: usize = 4;

/// True if a port is a DHCPv6 port.
#[must_use]
pub fn is_dhcp(source: SocketAddr, destination: SocketAddr) -> bool {
    source.is_ipv6() && (PORTS.contains(&source.port()) || PORTS.contains(&destination.port()))
}

/// Parses a datagram. Returns `None` if it is not a DHCPv6 message. `client_mac` is the client's MAC address from the
/// link layer, used if the message has none and was not relayed.
#[must_use]
pub fn parse(time_ns: i64, datagram: &Datagram<'_>, client_mac: Option<MacAddress>) -> Option<DhcpMessage> {
    let is_truncated = (datagram.payload.len() as u64) < u64::from(datagram.payload_bytes);
    let (bytes, relay) = unwrap_relays(datagram.payload)?;
    let (head, options) = bytes.split_first_chunk::<4>()?;
    let kind = match head[0] {
        1 => DhcpKind::Solicit,
        2 => DhcpKind::Advertise,
        3 => DhcpKind::Request6,
        4..=6 => DhcpKind::Extend,
        7 => DhcpKind::Reply,
        8 => DhcpKind::Release,
        9 => DhcpKind::Decline,
        10 => DhcpKind::Reconfigure,
        11 => DhcpKind::InformationRequest,
        _ => return None,
    };
    let mut message = DhcpMessage {
        time_ns,
        kind,
        source: datagram.source,
        destination: datagram.destination,
        bytes: datagram.payload_bytes,
        transaction: u32::from_be_bytes([0, head[1], head[2], head[3]]),
        client_mac: client_mac.filter(|_| relay.is_none()),
        seconds: 0,
        address: None,
        server: None,
        boot_server: None,
        boot_file: None,
        vendor_class: String::new(),
        user_class: String::new(),
        architecture: None,
        machine_id: None,
        relay,
        pxe: PxeOptions::default(),
        truncated: false,
        malformed: false,
    };
    if !kind.is_from_client() {
        message.server = Some(datagram.source.ip());
    }
    let mut rest = options;
    while !rest.is_empty() {
        let Some((code, data, after)) = split_option(rest) else { break };
        apply_option(&mut message, code, data);
        rest = after;
    }
    message.truncated = is_truncated;
    message.malformed = !rest.is_empty() && !is_truncated;
    Some(message)
}

/// Unwraps relayed messages. Returns the inner message and the outermost relay's address.
fn unwrap_relays(mut bytes: &[u8]) -> Option<(&[u8], Option<IpAddr>)> {
    let mut relay = None;
    for _ in 0..MAX_RELAYS {
        let kind = *bytes.first()?;
        if kind != RELAY_FORWARD && kind != RELAY_REPLY {
            return Some((bytes, relay));
        }
        let link: [u8; 16] = bytes.get(2..18)?.try_into().ok()?;
        relay = relay.or(Some(IpAddr::V6(Ipv6Addr::from(link))));
        let mut rest = bytes.get(34..)?;
        bytes = loop {
            let (code, data, after) = split_option(rest)?;
            if code == 9 {
                break data;
            }
            rest = after;
        };
    }
    None
}

fn split_option(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    let code = u16::from_be_bytes([head[0], head[1]]);
    let length = u16::from_be_bytes([head[2], head[3]]);
    let (data, rest) = rest.split_at_checked(usize::from(length))?;
    Some((code, data, rest))
}

fn apply_option(message: &mut DhcpMessage, code: u16, data: &[u8]) {
    match (code, data) {
        (1, _) => {
            if message.client_mac.is_none() {
                message.client_mac = duid_mac(data);
            }
            // A DUID based on the machine's UUID.
            if let [0, 4, id @ ..] = data
                && id.len() == 16
            {
                let mut bytes = vec![0];
                bytes.extend_from_slice(id);
                message.machine_id = crate::dhcp::machine_id(&bytes);
            }
        }
        // An identity association: id and two times, then options.
        (3, _) => message.address = message.address.or_else(|| first_address(data.get(12..)?)),
        (4, _) => message.address = message.address.or_else(|| first_address(data.get(4..)?)),
        // Elapsed time, in hundredths of a second.
        (8, &[high, low]) => message.seconds = u32::from(u16::from_be_bytes([high, low])) / 100,
        (15, [_, _, text @ ..]) => message.user_class = decode_name(text),
        // An enterprise number, then length-prefixed strings.
        (16, [_, _, _, _, _, _, text @ ..]) => message.vendor_class = decode_name(text),
        (59, _) => {
            let url = decode_name(data);
            message.boot_server = url_host(&url);
            message.boot_file = Some(url);
        }
        (61, &[high, low, ..]) => message.architecture = Some(u16::from_be_bytes([high, low])),
        _ => {}
    }
}

fn first_address(mut rest: &[u8]) -> Option<IpAddr> {
    loop {
        let (code, data, after) = split_option(rest)?;
        if code == 5 {
            let address: [u8; 16] = *data.first_chunk()?;
            return Some(IpAddr::V6(Ipv6Addr::from(address)));
        }
        rest = after;
    }
}

/// Returns the Ethernet address in a link-layer DUID (types 1 and 3).
fn duid_mac(data: &[u8]) -> Option<MacAddress> {
    let mac = match data {
        [0, 1, 0, 1, _, _, _, _, mac @ ..] | [0, 3, 0, 1, mac @ ..] => mac,
        _ => return None,
    };
    Some(MacAddress(mac.try_into().ok()?))
}

/// Returns the host of a URL such as `tftp://[fd77::1]/file`.
fn url_host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let host = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => rest.split(['/', ':']).next()?,
    };
    (!host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(bytes: &mut Vec<u8>, code: u16, data: &[u8]) {
        bytes.extend(code.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    }

    fn parsed(bytes: &[u8]) -> Option<DhcpMessage> {
        let datagram = Datagram {
            source: "[fe80::1]:547".parse().unwrap(),
            destination: "[fe80::2]:546".parse().unwrap(),
            payload: bytes,
            payload_bytes: bytes.len() as u32,
            fragment: None,
        };
        parse(7, &datagram, None)
    }

    fn reply() -> Vec<u8> {
        let mut bytes = vec![7, 0x6B, 0x1D, 0x08];
        put(&mut bytes, 1, &[0, 1, 0, 1, 0x31, 0xD9, 0xB7, 0x2F, 0x52, 0x54, 0, 0x77, 0, 1]);
        let mut address = vec![0; 24];
        address[..16].copy_from_slice(&"fd77::64".parse::<Ipv6Addr>().unwrap().octets());
        let mut association = vec![0; 12];
        put(&mut association, 5, &address);
        put(&mut bytes, 3, &association);
        put(&mut bytes, 59, b"tftp://[fd77::1]/grubnetx64.efi");
        put(&mut bytes, 61, &[0, 7]);
        bytes
    }

    #[test]
    fn parses_reply_with_boot_file() {
        let found = parsed(&reply()).unwrap();
        assert_eq!(found.kind, DhcpKind::Reply);
        assert_eq!(found.transaction, 0x6B_1D08);
        assert_eq!(found.client_mac.unwrap().to_string(), "52:54:00:77:00:01");
        assert_eq!(found.address, Some("fd77::64".parse().unwrap()));
        assert_eq!(found.boot_server.as_deref(), Some("fd77::1"));
        assert_eq!(found.boot_file.as_deref(), Some("tftp://[fd77::1]/grubnetx64.efi"));
        assert_eq!(found.architecture, Some(7));
    }

    #[test]
    fn unwraps_relayed_messages() {
        let mut bytes = vec![RELAY_REPLY, 0];
        bytes.extend("fd00::9".parse::<Ipv6Addr>().unwrap().octets());
        bytes.extend([0; 16]);
        put(&mut bytes, 18, b"if0");
        put(&mut bytes, 9, &reply());
        let found = parsed(&bytes).unwrap();
        assert_eq!(found.relay, Some("fd00::9".parse().unwrap()));
        assert_eq!(found.kind, DhcpKind::Reply);
        let endless = [RELAY_FORWARD; 400];
        assert_eq!(parsed(&endless), None);
    }

    proptest! {
        #[test]
        fn accepts_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0_u8..14) {
            let mut message = vec![kind];
            message.extend(bytes);
            let _ = parsed(&message);
        }
    }
}
