//! A decoded frame of a capture.

use std::net::{IpAddr, SocketAddr};

use onoff_trace::named;
use serde::Serialize;

use crate::address::MacAddress;

/// A frame with decoded headers.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Capture time, ns since the first frame.
    pub time_ns: i64,
    /// Size on the wire, bytes, without preamble and checksum.
    pub wire_bytes: u32,
    /// Sender, if the link layer has addresses.
    pub source: Option<MacAddress>,
    /// Receiver, if the link layer has addresses.
    pub destination: Option<MacAddress>,
    /// Identification of the IP packet; `None` with IPv6, and if the sender writes zero.
    pub identification: Option<u16>,
    pub packet: Packet<'a>,
}

/// Content of a frame.
#[derive(Clone, Copy, Debug)]
pub enum Packet<'a> {
    /// A UDP datagram, or the first fragment of one.
    Udp(Datagram<'a>),
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A fragment other than the first.
    LaterFragment {
        /// The datagram it belongs to.
        of: FragmentKey,
        /// Offset in the datagram, bytes.
        offset: u16,
        /// Number of datagram bytes in this fragment.
        bytes: u32,
    },
    /// An address probe: ARP, ICMP echo, or neighbor solicitation.
    AddressProbe {
        /// The probed address.
        target: IpAddr,
    },
    /// A reply that an address is in use: ARP, ICMP echo reply, or neighbor advertisement.
    AddressAnswer { address: IpAddr },
    /// An ICMP report that a packet could not be delivered.
    Unreachable(UnreachableReport),
    /// A router solicitation or advertisement (RFC 4861).
    Router(RouterMessageKind),
    /// Anything else.
    Other,
}

/// Kind of a router discovery message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterMessageKind {
    Solicitation,
    Advertisement,
}

/// An ICMP report about a packet that could not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreachableReport {
    /// Sender of the report.
    pub reporter: IpAddr,
    pub reason: UnreachableReason,
    /// Sender of the packet; the port is zero if it was not quoted.
    pub source: SocketAddr,
    /// Receiver of the packet.
    pub destination: SocketAddr,
}

named! {
    /// Why a packet could not be delivered (RFC 792, RFC 1812, RFC 4443).
    #[derive(Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum UnreachableReason {
        /// No process listens on the port.
        Port = "port unreachable",
        /// The host is down or does not exist.
        Host = "host unreachable",
        /// No route to the network.
        Network = "network unreachable",
        /// Blocked by a filter.
        Prohibited = "administratively prohibited",
        /// The packet is too large for the next link and must not be fragmented.
        TooLarge = "packet too large",
        /// Fragments of the packet did not arrive in time.
        Reassembly = "fragment reassembly time exceeded",
        /// Another reason.
        Other = "unreachable",
    }
}

/// Identifies the datagram of a fragment.
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
    /// Payload, as far as it was captured and is in this fragment.
    pub payload: &'a [u8],
    /// Size of the whole payload, bytes, from the datagram's length field.
    pub payload_bytes: u32,
    /// For a first fragment: the datagram, and the bytes of IP payload in this fragment.
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
    pub syn: bool,
    pub ack: bool,
    pub fin: bool,
    pub reset: bool,
    /// Receive window field, before scaling.
    pub window: u16,
    /// Window scale of later segments, from a SYN.
    pub window_shift: Option<u8>,
    /// Payload, as far as it was captured.
    pub payload: &'a [u8],
    /// Size of the whole payload, bytes, from the packet's length field.
    pub payload_bytes: u32,
}
