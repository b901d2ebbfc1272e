//! A frame, as far as a network boot is concerned.

use std::net::{IpAddr, SocketAddr};

use onoff_trace::named;
use serde::Serialize;

use crate::address::MacAddress;

/// A frame of the capture, its headers decoded.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When it was captured, ns since the capture's first frame.
    pub time_ns: i64,
    /// Bytes it had on the wire, without preamble and checksum.
    pub wire_bytes: u32,
    /// Who sent it, where the link tells.
    pub source: Option<MacAddress>,
    /// Whom it was sent to, where the link tells.
    pub destination: Option<MacAddress>,
    /// Identification of the IP packet; `None` with IPv6, and where the sender leaves it zero.
    pub identification: Option<u16>,
    /// What it carries.
    pub packet: Packet<'a>,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug)]
pub enum Packet<'a> {
    /// A UDP datagram, or the first fragment of one.
    Udp(Datagram<'a>),
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A fragment of a datagram other than the first.
    LaterFragment {
        /// Which datagram.
        of: FragmentKey,
        /// Its place in the datagram, bytes.
        offset: u16,
        /// Bytes of the datagram that it carries.
        bytes: u32,
    },
    /// A question whether an address is in use: ARP, ICMP echo, or a neighbor solicitation.
    AddressProbe {
        /// The address asked about.
        target: IpAddr,
    },
    /// An answer that an address is in use: ARP, ICMP echo reply, or a neighbor advertisement.
    AddressAnswer {
        /// The address.
        address: IpAddr,
    },
    /// A router or host says that a packet could not be delivered (ICMP).
    Unreachable(Undelivered),
    /// Something else.
    Other,
}

/// What ICMP says about a packet that could not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// Who says so.
    pub by: IpAddr,
    /// Why.
    pub reason: UndeliveredReason,
    /// Sender of the packet; the port is zero when it was not quoted.
    pub source: SocketAddr,
    /// Receiver of the packet.
    pub destination: SocketAddr,
}

named! {
    /// Why a packet could not be delivered (RFC 792, RFC 1812, RFC 4443).
    #[derive(Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum UndeliveredReason {
        /// Nothing listens on the port.
        Port = "port unreachable",
        /// The host does not answer on its network.
        Host = "host unreachable",
        /// No route leads to the network.
        Network = "network unreachable",
        /// A filter forbids it.
        Prohibited = "administratively prohibited",
        /// The packet is too large for the next link and must not be fragmented.
        TooLarge = "packet too large",
        /// Another reason.
        Other = "unreachable",
    }
}

/// Tells the datagram that a fragment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FragmentKey {
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// Identification field.
    pub identification: u32,
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// Payload, as far as it was captured and lies in this fragment.
    pub payload: &'a [u8],
    /// Bytes of the whole payload, by the datagram's own length.
    pub payload_bytes: u32,
    /// Which datagram, when this is its first fragment, and the bytes of IP payload that this fragment carries.
    pub fragment: Option<(FragmentKey, u32)>,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// Sequence number of the first byte.
    pub sequence: u32,
    /// Next sequence number the sender expects.
    pub acknowledgment: u32,
    /// Opens a connection.
    pub syn: bool,
    /// Acknowledges.
    pub ack: bool,
    /// Ends a direction.
    pub fin: bool,
    /// Breaks the connection.
    pub reset: bool,
    /// Receive window as written, before scaling.
    pub window: u16,
    /// Shift of later windows; in segments that open a connection.
    pub window_shift: Option<u8>,
    /// Payload, as far as it was captured.
    pub payload: &'a [u8],
    /// Bytes of the whole payload, by the packet's own length.
    pub payload_bytes: u32,
}
