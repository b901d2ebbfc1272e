//! What following a capture leaves.

use std::net::IpAddr;

use hashbrown::HashMap;
use onoff_trace::Losses;

use crate::address::MacAddress;
use crate::connection::Connection;
use crate::dhcp::DhcpMessage;
use crate::frame::Undelivered;
use crate::lookup::Lookup;
use crate::transfer::Transfer;

/// A capture, followed to its end.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The files it was read from.
    pub files: Vec<CaptureFile>,
    /// Time of the first frame, ns since 1970-01-01 UTC.
    pub start_unix_ns: Option<i64>,
    /// Time of the last frame, ns since the first.
    pub duration_ns: i64,
    /// Frames.
    pub frames: u64,
    /// Bytes of the frames on the wire, without preamble and checksum.
    pub wire_bytes: u64,
    /// DHCP messages, by time.
    pub dhcp: Vec<DhcpMessage>,
    /// Questions whether an address is in use that a message's address was the answer to, by time.
    pub address_probes: Vec<AddressProbe>,
    /// Answers to such questions, and to those of clients, by time.
    pub address_answers: Vec<AddressAnswer>,
    /// Packets that could not be delivered, as routers and hosts say, by time.
    pub undelivered: Vec<UndeliveredPacket>,
    /// Frames left out because the capture holds the same frame twice.
    pub duplicate_frames: u64,
    /// Transfers by TFTP, by time of the request.
    pub transfers: Vec<Transfer>,
    /// TCP connections, by start.
    pub connections: Vec<Connection>,
    /// Names looked up, by time.
    pub lookups: Vec<Lookup>,
    /// Stations seen, by their address on the link.
    pub stations: HashMap<MacAddress, Seen>,
    /// Addresses seen to send.
    pub addresses: HashMap<IpAddr, Seen>,
    /// Captured part of frames, bytes, when a limit was set.
    pub snap_length: Option<u32>,
    /// What was lost.
    pub losses: Losses,
}

/// A file of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureFile {
    /// Name.
    pub name: String,
    /// Bytes as stored.
    pub bytes: u64,
    /// Container: `pcap` or `pcapng`.
    pub container: &'static str,
    /// Frames in it.
    pub frames: u64,
}

/// When something was seen to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// First frame, ns.
    pub first_ns: i64,
    /// Last frame, ns.
    pub last_ns: i64,
    /// The station, for an address; `None` where the link does not tell.
    pub station: Option<MacAddress>,
}

/// An address answered that it is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressAnswer {
    /// Time, ns.
    pub time_ns: i64,
    /// The address.
    pub address: IpAddr,
    /// Time since the first question of the station answered that had no answer yet, ns; `None` when none was captured.
    pub after_ns: Option<i64>,
    /// The station that asked; `None` when no question was captured.
    pub asked_by: Option<MacAddress>,
}

/// A packet that could not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndeliveredPacket {
    /// Time of the report, ns.
    pub time_ns: i64,
    /// What it says.
    pub packet: Undelivered,
}

/// Somebody asked whether an address is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressProbe {
    /// Time, ns.
    pub time_ns: i64,
    /// The address.
    pub target: IpAddr,
    /// The station that asked.
    pub by: Option<MacAddress>,
}
