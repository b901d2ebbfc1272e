//! The result of reading a network capture.

use std::net::IpAddr;

use hashbrown::HashMap;
use onoff_trace::Losses;

use crate::address::MacAddress;
use crate::connection::Connection;
use crate::dhcp::DhcpMessage;
use crate::frame::{RouterMessageKind, UnreachableReport};
use crate::lookup::Lookup;
use crate::path::{CapturePath, PacketMarks};
use crate::storage::RpcCall;
use crate::transfer::Transfer;

/// Everything extracted from a capture.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// Capture files.
    pub files: Vec<CaptureFile>,
    /// Time of the first frame, ns since 1970-01-01 UTC.
    pub start_unix_ns: Option<i64>,
    /// Time of the last frame, ns since the first.
    pub duration_ns: i64,
    pub frames: u64,
    /// Bytes of the frames on the wire, without preamble and checksum.
    pub wire_bytes: u64,
    /// DHCP messages in time order.
    pub dhcp: Vec<DhcpMessage>,
    /// Address probes by ARP, ICMP echo or neighbor solicitation, in time order.
    pub address_probes: Vec<AddressProbe>,
    /// Replies to probes of any sender, in time order.
    pub address_answers: Vec<AddressAnswer>,
    /// Packets that routers or hosts reported as undeliverable, in time order.
    pub undelivered: Vec<UndeliveredPacket>,
    /// Router solicitations and advertisements, in time order.
    pub router_messages: Vec<RouterMessage>,
    /// RPC calls over UDP to NFS services, in time order.
    pub rpc_calls: Vec<RpcCall>,
    /// Frames that are neither DHCP nor from or to the port of requests for files. Zero if the capture was filtered by
    /// port: transfers use other ports.
    pub frames_beyond_boot_ports: u64,
    /// Frames skipped as duplicates of another captured frame.
    pub duplicate_frames: u64,
    /// TFTP transfers by time of the request.
    pub transfers: Vec<Transfer>,
    /// TCP connections by start time.
    pub connections: Vec<Connection>,
    /// DNS lookups in time order.
    pub lookups: Vec<Lookup>,
    /// Stations that sent frames, by MAC address.
    pub stations: HashMap<MacAddress, Presence>,
    /// IP addresses that sent packets.
    pub addresses: HashMap<IpAddr, Presence>,
    /// The path to the place of a second capture of the same boot.
    pub path: Option<CapturePath>,
    /// Marks of packets, if they were requested.
    pub marks: Option<PacketMarks>,
    /// Snap length, bytes, if one was set.
    pub snap_length: Option<u32>,
    pub losses: Losses,
}

/// A file of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureFile {
    pub name: String,
    /// File size, bytes.
    pub bytes: u64,
    /// Container format: `pcap` or `pcapng`.
    pub container: &'static str,
    /// Number of frames.
    pub frames: u64,
}

/// First and last frame of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Time of the first frame, ns.
    pub first_ns: i64,
    /// Time of the last frame, ns.
    pub last_ns: i64,
    /// For an IP address: its station; `None` if the link layer has no address.
    pub station: Option<MacAddress>,
}

/// A reply that an address is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressAnswer {
    /// Time, ns.
    pub time_ns: i64,
    pub address: IpAddr,
    /// Time since the first unanswered probe by the receiving station, ns; `None` if no probe was captured.
    pub response_time_ns: Option<i64>,
    /// The station that sent the probe; `None` if no probe was captured.
    pub prober: Option<MacAddress>,
}

/// A report about an undeliverable packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndeliveredPacket {
    /// Time of the report, ns.
    pub time_ns: i64,
    pub packet: UnreachableReport,
}

/// A router solicitation or advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterMessage {
    /// Time, ns.
    pub time_ns: i64,
    pub kind: RouterMessageKind,
    pub sender: Option<MacAddress>,
}

/// A probe of whether an address is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressProbe {
    /// Time, ns.
    pub time_ns: i64,
    pub target: IpAddr,
    /// The station that sent the probe.
    pub prober: Option<MacAddress>,
}
