//! Parses DHCPv4 messages (RFC 2131, 2132) with PXE options (RFC 4578).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::address::MacAddress;
use crate::dhcp::{DhcpKind, DhcpMessage, PxeOptions, machine_id};
use crate::frame::Datagram;
use crate::tftp::decode_name;

/// Ports of servers, clients and PXE boot servers.
pub const PORTS: [u16; 3] = [67, 68, 4011];

const MAGIC: [u8; 4] = [99, 130, 83, 99];
const OPTIONS_OFFSET: usize = 240;
/// Minimum size: up to the client's hardware address.
const MIN_LEN: usize = 34;

/// Parses a datagram. Returns `None` if it is not a DHCP message.
#[must_use]
pub fn parse(time_ns: i64, datagram: &Datagram<'_>) -> Option<DhcpMessage> {
    let bytes = datagram.payload;
    let is_truncated = (bytes.len() as u64) < u64::from(datagram.payload_bytes);
    let head: &[u8; MIN_LEN] = bytes.first_chunk()?;
    let is_request = match head[0] {
        1 => true,
        2 => false,
        _ => return None,
    };
    let is_plain_bootp = bytes.len() >= OPTIONS_OFFSET && bytes[OPTIONS_OFFSET - 4..OPTIONS_OFFSET] != MAGIC;
    if is_plain_bootp && (head[1], head[2]) != (1, 6) {
        // This is not BOOTP, but another protocol on the same port.
        return None;
    }
    let address_at = |offset: usize| {
        let part: [u8; 4] = head.get(offset..offset + 4)?.try_into().ok()?;
        let address = Ipv4Addr::from(part);
        (!address.is_unspecified()).then_some(IpAddr::V4(address))
    };
    let ethernet = head[1] == 1 && head[2] == 6;
    let mac = [head[28], head[29], head[30], head[31], head[32], head[33]];
    let mut message = DhcpMessage {
        time_ns,
        kind: if is_request { DhcpKind::UnknownRequest } else { DhcpKind::UnknownResponse },
        source: datagram.source,
        destination: datagram.destination,
        bytes: datagram.payload_bytes,
        transaction: u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
        client_mac: ethernet.then_some(MacAddress(mac)).filter(|mac| !mac.is_group_or_zero()),
        seconds: u32::from(u16::from_be_bytes([head[8], head[9]])),
        // The address assigned by a server, or in a request the client's current address.
        address: address_at(16).or_else(|| address_at(12)),
        server: None,
        boot_server: address_at(20).map(|server| server.to_string()),
        boot_file: None,
        vendor_class: String::new(),
        user_class: String::new(),
        architecture: None,
        machine_id: None,
        relay: address_at(24),
        pxe: PxeOptions::default(),
        truncated: is_truncated,
        malformed: false,
    };
    let mut parsed = ParsedOptions::default();
    // With another magic number, vendor-specific fields follow instead of options.
    let mut complete = is_plain_bootp || parsed.read_options(bytes.get(OPTIONS_OFFSET..).unwrap_or_default());
    // The name fields may contain options instead.
    if parsed.overload & 1 != 0 {
        complete &= parsed.read_options(bytes.get(108..236).unwrap_or_default());
    } else if let Some(file) = terminated_text(bytes.get(108..236)) {
        message.boot_file = Some(file);
    }
    if parsed.overload & 2 != 0 {
        complete &= parsed.read_options(bytes.get(44..108).unwrap_or_default());
    }
    message.malformed = !complete && !is_truncated;
    // An end option before the truncation means that nothing is missing.
    message.truncated = is_truncated && !complete;
    parsed.apply_to(&mut message);
    Some(message)
}

/// Reads only the client's MAC address, without parsing options. Returns `None` if the datagram is not a DHCP message
/// or has no MAC address.
#[must_use]
pub fn client_mac(datagram: &Datagram<'_>) -> Option<MacAddress> {
    let head: &[u8; MIN_LEN] = datagram.payload.first_chunk()?;
    if !matches!(head[..3], [1 | 2, 1, 6]) {
        return None;
    }
    Some(MacAddress([head[28], head[29], head[30], head[31], head[32], head[33]])).filter(|mac| !mac.is_group_or_zero())
}

fn terminated_text(bytes: Option<&[u8]>) -> Option<String> {
    let bytes = bytes?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let text = decode_name(bytes.get(..end)?);
    (!text.is_empty()).then_some(text)
}

#[derive(Debug, Default)]
struct ParsedOptions {
    kind: Option<u8>,
    server: Option<Ipv4Addr>,
    requested_address: Option<Ipv4Addr>,
    server_name: Option<String>,
    boot_file: Option<String>,
    vendor_class: String,
    user_class: String,
    architecture: Option<u16>,
    machine_id: Option<String>,
    vendor_options: Vec<u8>,
    overload: u8,
}

impl ParsedOptions {
    /// Parses options. Returns true if they end with an end option.
    fn read_options(&mut self, mut rest: &[u8]) -> bool {
        while let Some((&code, after)) = rest.split_first() {
            match code {
                0 => rest = after,
                255 => return true,
                _ => {
                    let Some((&length, after)) = after.split_first() else { return false };
                    let Some((data, after)) = after.split_at_checked(usize::from(length)) else { return false };
                    self.read_option(code, data);
                    rest = after;
                }
            }
        }
        false
    }

    fn read_option(&mut self, code: u8, data: &[u8]) {
        match (code, data) {
            (53, [kind]) => self.kind = Some(*kind),
            (50, &[a, b, c, d]) => self.requested_address = Some(Ipv4Addr::new(a, b, c, d)),
            (54, &[a, b, c, d]) => self.server = Some(Ipv4Addr::new(a, b, c, d)),
            (52, [overload]) => self.overload = *overload,
            (60, _) => self.vendor_class = decode_name(data),
            (66, _) => self.server_name = terminated_text(Some(data)),
            (67, _) => self.boot_file = terminated_text(Some(data)),
            // RFC 3004 prescribes length prefixes, but most clients send plain text.
            (77, [length, rest @ ..]) if usize::from(*length) == rest.len() => self.user_class = decode_name(rest),
            (77, _) => self.user_class = decode_name(data),
            (93, &[high, low, ..]) => self.architecture = Some(u16::from_be_bytes([high, low])),
            (97, _) => self.machine_id = machine_id(data),
            // Long options are split (RFC 3396).
            (43, _) if self.vendor_options.len() < 4096 => self.vendor_options.extend_from_slice(data),
            _ => {}
        }
    }

    fn apply_to(self, message: &mut DhcpMessage) {
        message.kind = match self.kind {
            Some(1) => DhcpKind::Discover,
            Some(2) => DhcpKind::Offer,
            Some(3) => DhcpKind::Request,
            Some(4) => DhcpKind::Decline,
            Some(5) => DhcpKind::Ack,
            Some(6) => DhcpKind::Nak,
            Some(7) => DhcpKind::Release,
            Some(8) => DhcpKind::Inform,
            Some(_) => DhcpKind::Other,
            // The message is complete and has no type option: plain BOOTP.
            None if !message.truncated && !message.malformed => match message.kind {
                DhcpKind::UnknownRequest => DhcpKind::BootRequest,
                _ => DhcpKind::BootReply,
            },
            None => message.kind,
        };
        message.server = self.server.map(IpAddr::V4);
        message.address = message.address.or(self.requested_address.map(IpAddr::V4));
        message.boot_server = self.server_name.or(message.boot_server.take());
        message.boot_file = self.boot_file.or(message.boot_file.take());
        message.vendor_class = self.vendor_class;
        message.user_class = self.user_class;
        message.architecture = self.architecture;
        message.machine_id = self.machine_id;
        if message.vendor_class.starts_with("PXEClient") && !message.kind.is_from_client() {
            message.pxe = pxe_options(&self.vendor_options);
        }
    }
}

fn pxe_options(mut rest: &[u8]) -> PxeOptions {
    let mut pxe = PxeOptions::default();
    while let Some((&code, after)) = rest.split_first() {
        if code == 255 {
            break;
        }
        if code == 0 {
            rest = after;
            continue;
        }
        let Some((&length, after)) = after.split_first() else { break };
        let Some((data, after)) = after.split_at_checked(usize::from(length)) else { break };
        rest = after;
        pxe.present = true;
        match (code, data) {
            (6, [control]) => pxe.discovery_control = Some(*control),
            (8, _) => pxe.boot_servers = boot_servers(data),
            (9, _) => pxe.menu = menu(data),
            (10, [timeout, prompt @ ..]) => {
                pxe.prompt_timeout_s = Some(*timeout);
                pxe.prompt = terminated_text(Some(prompt));
            }
            _ => {}
        }
    }
    pxe
}

fn boot_servers(mut rest: &[u8]) -> u32 {
    let mut servers = 0;
    while let [_, _, count, after @ ..] = rest {
        servers += u32::from(*count);
        rest = after.get(usize::from(*count) * 4..).unwrap_or_default();
    }
    servers
}

fn menu(mut rest: &[u8]) -> Vec<String> {
    let mut entries = Vec::new();
    while let [_, _, length, after @ ..] = rest {
        let length = usize::from(*length).min(after.len());
        let (entry, after) = after.split_at(length);
        entries.push(decode_name(entry));
        rest = after;
    }
    entries
}

/// True if a port is a DHCP port.
#[must_use]
pub fn is_dhcp(source: SocketAddr, destination: SocketAddr) -> bool {
    source.is_ipv4() && (PORTS.contains(&source.port()) || PORTS.contains(&destination.port()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(kind: u8, options: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; OPTIONS_OFFSET];
        bytes[0] = if matches!(kind, 2 | 5 | 6) { 2 } else { 1 };
        (bytes[1], bytes[2]) = (1, 6);
        bytes[4..8].copy_from_slice(&0x8550_4B50_u32.to_be_bytes());
        bytes[9] = 4;
        bytes[28..34].copy_from_slice(&[0x52, 0x54, 0, 0x77, 0, 1]);
        bytes[OPTIONS_OFFSET - 4..].copy_from_slice(&MAGIC);
        bytes.extend([53, 1, kind]);
        bytes.extend(options);
        bytes.push(255);
        bytes
    }

    fn parse_bytes(bytes: &[u8], full_len: usize) -> Option<DhcpMessage> {
        let datagram = Datagram {
            source: "0.0.0.0:68".parse().unwrap(),
            destination: "255.255.255.255:67".parse().unwrap(),
            payload: bytes,
            payload_bytes: full_len as u32,
            fragment: None,
        };
        parse(7, &datagram)
    }

    #[test]
    fn parses_firmware_discover() {
        let mut options = vec![60, 32];
        options.extend(b"PXEClient:Arch:00007:UNDI:003016");
        options.extend([93, 2, 0, 7, 97, 17, 0]);
        options.extend([0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 8, 9, 10, 11, 12, 13, 14, 15]);
        let bytes = encode(1, &options);
        let message = parse_bytes(&bytes, bytes.len()).unwrap();
        assert_eq!(message.kind, DhcpKind::Discover);
        assert_eq!(message.transaction, 0x8550_4B50);
        assert_eq!(message.client_mac.unwrap().to_string(), "52:54:00:77:00:01");
        assert_eq!(message.vendor_class, "PXEClient:Arch:00007:UNDI:003016");
        assert_eq!((message.architecture, message.seconds), (Some(7), 4));
        assert_eq!(message.machine_id.as_deref(), Some("00112233-4455-6677-0809-0a0b0c0d0e0f"));
        assert!(!message.truncated && !message.malformed);
    }

    #[test]
    fn parses_offer_with_pxe_menu() {
        let mut options = vec![60, 9];
        options.extend(b"PXEClient");
        let menu = b"\x06\x01\x0b\x08\x07\x80\x00\x01\x0a\x00\x00\x01\x09\x0e\x00\x00\x05Local\x80\x00\x03WDS\x0a\x05\x08Pick\xff";
        options.extend([43, menu.len() as u8]);
        options.extend(menu);
        options.extend([54, 4, 10, 0, 0, 1, 67, 5]);
        options.extend(b"a.efi");
        let mut bytes = encode(2, &options);
        bytes[20..24].copy_from_slice(&[10, 0, 0, 2]);
        let message = parse_bytes(&bytes, bytes.len()).unwrap();
        assert_eq!(message.kind, DhcpKind::Offer);
        assert_eq!(message.address, None);
        assert_eq!(message.server, Some("10.0.0.1".parse().unwrap()));
        assert_eq!(message.boot_server.as_deref(), Some("10.0.0.2"));
        assert_eq!(message.boot_file.as_deref(), Some("a.efi"));
        assert_eq!(
            message.pxe,
            PxeOptions {
                present: true,
                discovery_control: Some(11),
                boot_servers: 1,
                menu: vec!["Local".into(), "WDS".into()],
                prompt: Some("Pick".into()),
                prompt_timeout_s: Some(8),
            }
        );
    }

    #[test]
    fn reports_truncated_and_malformed_messages() {
        let bytes = encode(1, &[60, 3, b'a', b'b', b'c']);
        let message = parse_bytes(&bytes[..54], bytes.len()).unwrap();
        assert_eq!((message.kind, message.truncated, message.malformed), (DhcpKind::UnknownRequest, true, false));
        assert!(message.client_mac.is_some());
        // Truncated in the padding after the end option: nothing is missing.
        assert!(!parse_bytes(&bytes, bytes.len() + 60).unwrap().truncated);
        let malformed = encode(1, &[60, 200, b'a']);
        let message = parse_bytes(&malformed, malformed.len()).unwrap();
        assert_eq!((message.kind, message.truncated, message.malformed), (DhcpKind::Discover, false, true));
        assert_eq!(parse_bytes(&bytes[..20], bytes.len()), None);
        let mut without_magic = bytes;
        without_magic[OPTIONS_OFFSET - 1] = 0;
        // Without the magic number it is plain BOOTP, or another protocol if the hardware type is not Ethernet.
        let plain = parse_bytes(&without_magic, without_magic.len()).unwrap();
        assert_eq!((plain.kind, plain.truncated, plain.malformed), (DhcpKind::BootRequest, false, false));
        without_magic[1] = 7;
        assert_eq!(parse_bytes(&without_magic, without_magic.len()), None);
    }

    proptest! {
        #[test]
        fn accepts_any_options(options in proptest::collection::vec(any::<u8>(), 0..300), cut in 0_usize..600) {
            let bytes = encode(2, &options);
            let cut = &bytes[..cut.min(bytes.len())];
            let message = parse_bytes(cut, bytes.len());
            // `station` agrees with the full parser.
            let datagram = Datagram {
                source: "0.0.0.0:68".parse().unwrap(),
                destination: "255.255.255.255:67".parse().unwrap(),
                payload: cut,
                payload_bytes: bytes.len() as u32,
                fragment: None,
            };
            prop_assert_eq!(client_mac(&datagram), message.and_then(|message| message.client_mac));
            let _ = pxe_options(&options);
        }
    }
}
