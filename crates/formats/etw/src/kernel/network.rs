//! Groups 0x06 and 0x08: TCP and UDP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{KernelPayload, parse_from_record};

/// Protocol of a [`NetworkTransfer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkProtocol {
    /// Group 0x06.
    Tcp,
    /// Group 0x08.
    Udp,
}

/// Operation of a [`NetworkTransfer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkOperation {
    Send,
    Receive,
    /// Outgoing connection.
    Connect,
    Disconnect,
    Retransmit,
    /// Incoming connection.
    Accept,
    /// Repeated connection attempt.
    Reconnect,
    /// Received data was copied to the program.
    Copy,
}

/// An operation on a socket. Types 0x0A to 0x10 and 0x12 of either group for IPv4, plus 0x10 for IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkTransfer {
    pub protocol: NetworkProtocol,
    pub operation: NetworkOperation,
    pub process_id: u32,
    /// Number of data bytes.
    pub size: u32,
    /// Address and port of the remote machine.
    pub destination: (IpAddr, u16),
    /// Address and port of this machine.
    pub source: (IpAddr, u16),
}

impl NetworkTransfer {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        let protocol = match payload.hook >> 8 {
            0x06 => NetworkProtocol::Tcp,
            0x08 => NetworkProtocol::Udp,
            _ => return None,
        };
        let kind = payload.hook & 0xff;
        let is_ipv6 = (0x1a..0x2a).contains(&kind);
        let operation = match if is_ipv6 { kind - 0x10 } else { kind } {
            0x0a => NetworkOperation::Send,
            0x0b => NetworkOperation::Receive,
            0x0c => NetworkOperation::Connect,
            0x0d => NetworkOperation::Disconnect,
            0x0e => NetworkOperation::Retransmit,
            0x0f => NetworkOperation::Accept,
            0x10 => NetworkOperation::Reconnect,
            0x12 => NetworkOperation::Copy,
            _ => return None,
        };
        let mut fields = payload.fields;
        let process_id = fields.u32()?;
        let size = fields.u32()?;
        let mut address = || -> Option<IpAddr> {
            Some(if is_ipv6 {
                Ipv6Addr::from(*fields.array::<16>()?).into()
            } else {
                Ipv4Addr::from(*fields.array::<4>()?).into()
            })
        };
        let (destination, source) = (address()?, address()?);
        let mut port = || fields.array().copied().map(u16::from_be_bytes);
        Some(Self {
            protocol,
            operation,
            process_id,
            size,
            destination: (destination, port()?),
            source: (source, port()?),
        })
    }
}
parse_from_record!(NetworkTransfer);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports_are_in_network_order() {
        let mut bytes: Vec<u8> = [4u32, 100].iter().flat_map(|v| v.to_le_bytes()).collect();
        bytes.extend([10, 0, 0, 1, 127, 0, 0, 1, 0, 80, 0x1f, 0x90]);
        let sent = NetworkTransfer::read(KernelPayload::new(0x060a, 2, &bytes, 8)).unwrap();
        assert_eq!((sent.protocol, sent.operation), (NetworkProtocol::Tcp, NetworkOperation::Send));
        assert_eq!(sent.destination, (IpAddr::from([10, 0, 0, 1]), 80));
        assert_eq!(sent.source, (IpAddr::from([127, 0, 0, 1]), 8080));
        assert!(NetworkTransfer::read(KernelPayload::new(0x061a, 2, &bytes, 8)).is_none());
        assert!(NetworkTransfer::read(KernelPayload::new(0x0611, 2, &bytes, 8)).is_none());
    }
}
