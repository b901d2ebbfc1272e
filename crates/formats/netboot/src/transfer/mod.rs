//! TFTP transfers: from the read request to the last acknowledgment.

mod doubled;
mod follow;
mod table;
mod unbegun;

use std::net::SocketAddr;

use serde::Serialize;

use crate::address::MacAddress;
use crate::tftp::{Options, ProgramMachine};
use crate::turnaround::Turnaround;
use crate::window::WindowChange;

pub use doubled::DoubledRun;
pub use table::Transfers;

/// Silence of this length that a retransmission ends is a time-out, ns.
pub const TIMEOUT_NS: i64 = 500_000_000;

/// A transfer, followed to its end.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The client; its port tells transfers apart.
    pub client: SocketAddr,
    /// The client's station address, where the link tells.
    pub client_mac: Option<MacAddress>,
    /// The server; its port is 69 until it has answered from another. Of several answers to a request, each from its
    /// own port, that of the one that the client took.
    pub server: SocketAddr,
    /// Whether the client sends the file.
    pub write: bool,
    /// Name of the file, as asked for.
    pub file: String,
    /// Time of the first request, ns.
    pub request_ns: i64,
    /// Requests, repeated ones included.
    pub requests: u64,
    /// Options asked for.
    pub asked: Options,
    /// Options granted; `None` when the server answered without any.
    pub granted: Option<Options>,
    /// Time of the first answer to the request, ns.
    pub answer_ns: Option<i64>,
    /// Time of the first block, ns.
    pub first_data_ns: Option<i64>,
    /// First acknowledgment: of the granted options, before any block, where there were some.
    pub first_acknowledgment_ns: Option<i64>,
    /// Time of the acknowledgment of the last block, ns.
    pub complete_ns: Option<i64>,
    /// Time of the last packet, ns.
    pub last_ns: i64,
    /// Whether it was under way when the capture began: name, request and options are unknown.
    pub under_way: bool,
    /// Time of the last packet that was no repetition, ns.
    pub last_new_ns: i64,
    /// What it was, and so which end sent it.
    pub last_new_packet: LastPacket,
    /// Packets of the client after it, which repeat earlier ones.
    pub client_repeats: u64,
    /// Packets of the server after it, which repeat earlier ones.
    pub server_repeats: u64,
    /// Highest block that the client acknowledged; `None` without an acknowledgment.
    pub acknowledged: Option<u64>,
    /// Highest block seen or acknowledged, from 1; 0 when none was.
    pub highest_block: u64,
    /// Which processor it is for, when it is a UEFI program and its first block was captured.
    pub program: Option<ProgramMachine>,
    /// How it ended.
    pub outcome: Outcome,
    /// The ERROR packet, if there was one.
    pub error: Option<ErrorPacket>,
    /// What was sent.
    pub counts: Counts,
    /// Windows over time.
    pub windows: Vec<WindowChange>,
    /// Changes of the window that were not kept.
    pub windows_left_out: u64,
    /// Blocks per acknowledgment, on average.
    pub window_mean: Option<f64>,
    /// Most blocks of one acknowledgment.
    pub window_largest: u32,
    /// From an acknowledgment to the first block after it.
    pub server_turn: Turnaround,
    /// From the last block before an acknowledgment to it.
    pub client_turn: Turnaround,
    /// The receiver's turns, by the blocks that came since its acknowledgment before, fewest blocks first.
    pub turns_by_window: Vec<WindowTurn>,
    /// Between blocks of one window.
    pub gap: Turnaround,
    /// From the first fragment of each block to its last, all blocks together, ns.
    pub fragments_ns: i64,
    /// Silences that a retransmission ended, the first of them one by one.
    pub timeouts: Vec<Timeout>,
    /// How many there were.
    pub timeout_count: u64,
    /// What they took, ns.
    pub timeout_ns: i64,
    /// The longest run of blocks that were each sent and acknowledged twice.
    pub doubled: Option<DoubledRun>,
    /// How often the block number began anew.
    pub wraps: u32,
    /// The block number after 65,535, once that was reached: 0, or with some servers 1.
    pub after_last_number: Option<u16>,
}

/// The receiver's turns after windows of one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowTurn {
    /// Blocks that came since the acknowledgment before.
    pub blocks: u32,
    /// From the last of them to the acknowledgment.
    pub turn: Turnaround,
}

/// A packet of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LastPacket {
    /// The client's request.
    Request,
    /// The server's OACK.
    OptionAcknowledgment,
    /// A block.
    Data,
    /// An acknowledgment.
    Acknowledgment,
    /// An error, of either side.
    Error,
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The last block was acknowledged.
    Complete,
    /// The client asked for the file's size only, and broke off when it knew it.
    SizeProbe,
    /// The server answered with an error.
    Refused,
    /// The client broke off.
    Aborted,
    /// No more was captured.
    Unfinished,
}

/// An ERROR packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorPacket {
    /// Time, ns.
    pub time_ns: i64,
    /// Whether the client sent it.
    pub from_client: bool,
    /// Code of RFC 1350; 8 refuses options.
    pub code: u16,
    /// Text, as far as it was captured.
    pub text: String,
}

/// Packets and bytes of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// DATA packets, repeated ones included.
    pub data_packets: u64,
    /// Blocks, each counted once.
    pub blocks: u64,
    /// Bytes of those blocks: the file's, if all of it came.
    pub bytes: u64,
    /// Blocks that were acknowledged but are not in the capture.
    pub missing_blocks: u64,
    /// DATA packets whose block had been sent before.
    pub repeated_data: u64,
    /// Bytes of those.
    pub repeated_bytes: u64,
    /// ACK packets.
    pub acknowledgments: u64,
    /// ACK packets that repeat the one before.
    pub repeated_acknowledgments: u64,
    /// ACK packets for a block before the last one sent: the receiver asks for the rest of a window again.
    pub rollbacks: u64,
    /// OACK packets beyond the first.
    pub repeated_option_acknowledgments: u64,
    /// Frames of both directions, fragments included.
    pub frames: u64,
    /// Bytes of those frames on the wire, without preamble, checksum and gap.
    pub wire_bytes: u64,
    /// DATA packets that IP sent in fragments.
    pub fragmented: u64,
    /// Fragments beyond the first of those.
    pub later_fragments: u64,
    /// Frames larger than an Ethernet frame of 1,500 bytes payload can be.
    pub oversized_frames: u64,
}

/// A silence that a retransmission ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeout {
    /// Last packet before it, ns.
    pub start_ns: i64,
    /// The packet that ended it, ns.
    pub end_ns: i64,
    /// Whether the client lost patience first; otherwise the server.
    pub by_client: bool,
    /// The block the transfer had come to.
    pub block: u64,
}
