//! TFTP transfers, from the request to the last acknowledgment.

mod duplicated_run;
mod missed_requests;
mod table;
mod tracker;

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

use crate::address::MacAddress;
use crate::tftp::{Options, ProgramMachine};
use crate::turnaround::Turnaround;
use crate::window::WindowChange;

pub use duplicated_run::DuplicatedRun;
pub use table::TransferTable;

/// Minimum interval before a retransmission that counts as a timeout, ns.
pub const TIMEOUT_NS: i64 = 500_000_000;

/// A TFTP transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The client; its port identifies the transfer.
    pub client: SocketAddr,
    /// The client's MAC address, if the link layer has one.
    pub client_mac: Option<MacAddress>,
    /// The server. The port is 69 until the server answers from another port. If it answers from several ports, this is
    /// the port that the client accepted.
    pub server: SocketAddr,
    /// True if the client sends the file.
    pub write: bool,
    /// Requested file name.
    pub file: String,
    /// Time of the first request, ns.
    pub request_ns: i64,
    /// Number of requests, including retransmissions.
    pub requests: u64,
    /// Answers from another address than the requested one, which the client did not accept.
    pub foreign_answers: Option<ForeignAnswers>,
    /// Requested options.
    pub requested: Options,
    /// Granted options; `None` if the server answered without any.
    pub granted: Option<Options>,
    /// Time of the first answer to the request, ns.
    pub answer_ns: Option<i64>,
    /// Time of the first block, ns.
    pub first_data_ns: Option<i64>,
    /// Time of the first acknowledgment, ns: if options were granted, their acknowledgment before the first block.
    pub first_acknowledgment_ns: Option<i64>,
    /// Time of the acknowledgment of the last block, ns.
    pub complete_ns: Option<i64>,
    /// Time of the last packet, ns.
    pub last_ns: i64,
    /// True if the transfer started before the capture: name, request and options are unknown.
    pub started_before_capture: bool,
    /// True if only blocks of the server were captured, without requests and acknowledgments.
    pub server_only: bool,
    /// True if a short block, which ends a file, was captured.
    pub has_last_block: bool,
    /// Time of the last packet that was not a retransmission, ns.
    pub last_new_ns: i64,
    /// Kind of the last packet that was not a retransmission.
    pub last_new_packet: PacketKind,
    /// Retransmissions of the client after the last new packet.
    pub client_retransmissions: u64,
    /// Retransmissions of the server after the last new packet.
    pub server_retransmissions: u64,
    /// Highest acknowledged block; `None` without an acknowledgment.
    pub acknowledged: Option<u64>,
    /// Highest block seen or acknowledged, from 1; 0 if none.
    pub highest_block: u64,
    /// Target machine, if the file is a UEFI program and its first block was captured.
    pub program: Option<ProgramMachine>,
    /// How the transfer ended.
    pub outcome: Outcome,
    /// The ERROR packet, if any.
    pub error: Option<ErrorPacket>,
    pub counts: TransferCounts,
    /// Window size over time.
    pub windows: Vec<WindowChange>,
    /// Window changes beyond the limit.
    pub windows_skipped: u64,
    /// Mean number of blocks per acknowledgment.
    pub mean_window: Option<f64>,
    /// Maximum number of blocks per acknowledgment.
    pub max_window: u32,
    /// Time from an acknowledgment to the next block.
    pub server_turnaround: Turnaround,
    /// Time from the last block of a window to its acknowledgment.
    pub client_turnaround: Turnaround,
    /// The receiver's turnaround times by window size, in ascending order.
    pub turnarounds_by_window: Vec<WindowTurnaround>,
    /// Time between the blocks of a window.
    pub gap: Turnaround,
    /// Time from the first to the last fragment, summed over all blocks, ns.
    pub fragments_ns: i64,
    /// Timeouts, up to a limit.
    pub timeouts: Vec<Timeout>,
    /// Number of all timeouts.
    pub timeout_count: u64,
    /// Total duration of all timeouts, ns.
    pub timeout_ns: i64,
    /// The longest run of blocks that were each sent and acknowledged twice.
    pub duplicated_run: Option<DuplicatedRun>,
    /// Number of block number wraps.
    pub wraps: u32,
    /// The block number that followed 65,535, once reached: 0, or 1 with some servers.
    pub number_after_wrap: Option<u16>,
}

/// Answers from another address than the requested one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignAnswers {
    pub address: IpAddr,
    pub packets: u64,
}

/// Turnaround times of the receiver for one window size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowTurnaround {
    /// Blocks since the previous acknowledgment.
    pub blocks: u32,
    /// Time from the last block to the acknowledgment.
    pub turn: Turnaround,
    /// How much the receiver's pace varied within the transfer: standard deviation of the means of consecutive batches of
    /// turns, percent of their mean; `None` for few turns.
    pub variation_percent: Option<f64>,
}

/// Kind of a TFTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PacketKind {
    /// The client's request.
    Request,
    /// The server's OACK.
    OptionAcknowledgment,
    /// A block.
    Data,
    /// An acknowledgment.
    Acknowledgment,
    /// An error from either end.
    Error,
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The last block was acknowledged.
    Complete,
    /// The client only requested the file size and then stopped.
    SizeProbe,
    /// The server answered with an error.
    Refused,
    /// The client aborted the transfer.
    Aborted,
    /// The capture has no end of the transfer.
    Unfinished,
}

/// An ERROR packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorPacket {
    /// Time, ns.
    pub time_ns: i64,
    /// True if the client sent it.
    pub from_client: bool,
    /// Error code (RFC 1350); 8: options refused.
    pub code: u16,
    /// Text, as far as it was captured.
    pub text: String,
}

/// Packet and byte counts of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferCounts {
    /// DATA packets, including retransmissions.
    pub data_packets: u64,
    /// Distinct blocks.
    pub blocks: u64,
    /// Bytes of the distinct blocks; the file size if the transfer is complete.
    pub bytes: u64,
    /// Acknowledged blocks that are not in the capture.
    pub missing_blocks: u64,
    /// Retransmitted DATA packets.
    pub repeated_data: u64,
    /// Bytes of the retransmitted DATA packets.
    pub repeated_bytes: u64,
    /// ACK packets.
    pub acknowledgments: u64,
    /// ACK packets with the same block as the previous ACK.
    pub repeated_acknowledgments: u64,
    /// ACK packets for a block before the last one sent: the receiver requests the rest of a window again.
    pub rollbacks: u64,
    /// OACK packets beyond the first.
    pub repeated_option_acknowledgments: u64,
    /// Frames of both directions, including fragments.
    pub frames: u64,
    /// Bytes of those frames on the wire, without preamble, checksum and interframe gap.
    pub wire_bytes: u64,
    /// DATA packets sent as IP fragments.
    pub fragmented: u64,
    /// DATA packets of which all fragments were captured.
    pub reassembled: u64,
    /// Fragments of those packets other than the first.
    pub later_fragments: u64,
    /// Frames larger than an Ethernet frame with 1,500 bytes of payload.
    pub oversized_frames: u64,
}

/// A silence that ended with a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeout {
    /// Time of the last packet before the silence, ns.
    pub start_ns: i64,
    /// Time of the retransmission, ns.
    pub end_ns: i64,
    /// True if the client retransmitted first, false if the server did.
    pub by_client: bool,
    /// Highest block at that time.
    pub block: u64,
}
