//! Tracks one transfer packet by packet.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::duplicated_run::DuplicatedRunFinder;
use super::{ErrorPacket, Outcome, PacketKind, TIMEOUT_NS, Timeout, Transfer, TransferCounts, WindowTurnaround};
use crate::address::MacAddress;
use crate::block_numbers::BlockNumbers;
use crate::histogram::DurationHistogram;
use crate::limits::{MAX_ANSWER_PORTS, MAX_TIMEOUTS, MAX_WINDOW_SIZES};
use crate::tftp::{Message, Options, ProgramMachine, Request};
use crate::turnaround::Turnaround;
use crate::window::WindowHistory;

/// Block size without the option.
const DEFAULT_BLOCK_SIZE: u32 = 512;
/// Size of the header of a DATA packet, bytes.
const DATA_HEADER: u32 = 4;
/// Error code for a packet from an unknown port (RFC 1350, section 5).
const UNKNOWN_PORT: u16 = 5;
/// Largest frame, without checksum, with 1,500 bytes of payload and a VLAN tag.
const MAX_STANDARD_FRAME_SIZE: u32 = 1518;

/// Metadata of a captured packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) time_ns: i64,
    pub(super) wire_bytes: u32,
    pub(super) from_client: bool,
    pub(super) payload_bytes: u32,
    pub(super) fragmented: bool,
}

/// The end that sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    Server,
}

/// Kind of the last packet, for turnaround times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreviousPacket {
    Request,
    Data,
    Acknowledgment,
}

/// A transfer in progress.
#[derive(Clone, Debug)]
pub(super) struct TransferTracker {
    pub(super) client: SocketAddr,
    pub(super) client_mac: Option<MacAddress>,
    pub(super) server: SocketAddr,
    /// Ports from which the server answered. A request that is retransmitted because its response was lost or late is
    /// answered from another port (RFC 1350, section 4); the client accepts one of them.
    answer_ports: Vec<u16>,
    /// True once the client has accepted a response: packets from other ports are then not part of the transfer.
    is_accepted: bool,
    write: bool,
    file: String,
    request_ns: i64,
    requests: u64,
    asked: Options,
    granted: Option<Options>,
    answer_ns: Option<i64>,
    first_data_ns: Option<i64>,
    first_acknowledgment_ns: Option<i64>,
    complete_ns: Option<i64>,
    pub(super) last_ns: i64,
    last: PreviousPacket,
    error: Option<ErrorPacket>,
    counts: TransferCounts,
    blocks: BlockNumbers,
    /// The last block, once a short one has been seen.
    end: Option<u64>,
    /// The highest full-size block. Another block follows it, whatever size was announced.
    last_full_block: u64,
    acknowledged: Option<u64>,
    windows: WindowHistory,
    after_acknowledgment: DurationHistogram,
    after_data: DurationHistogram,
    between_data: DurationHistogram,
    fragments_ns: i64,
    timeouts: Vec<Timeout>,
    timeout_count: u64,
    timeout_ns: i64,
    doubled: DuplicatedRunFinder,
    is_under_way: bool,
    /// Largest block seen, bytes: the block size of a transfer whose options were not captured.
    seen_block_size: u32,
    last_new_ns: i64,
    last_new_packet: PacketKind,
    client_repeats: u64,
    server_repeats: u64,
    program: Option<ProgramMachine>,
    /// Blocks since the last acknowledgment.
    in_window: u32,
    turns_by_window: BTreeMap<u32, DurationHistogram>,
    /// The block before the first captured one: 0, except for transfers that started before the capture.
    before_first: u64,
}

impl TransferTracker {
    /// A transfer without a captured request, detected by an acknowledged block.
    pub(super) fn without_request(
        arrival: &Arrival,
        ends: (SocketAddr, SocketAddr),
        client_mac: Option<MacAddress>,
    ) -> Self {
        let request = Request { file: String::new(), options: Options::default() };
        let mut open = Self::new(arrival, ends, client_mac, request, false);
        open.is_under_way = true;
        open.is_accepted = true;
        open.requests = 0;
        open.counts = TransferCounts::default();
        open
    }

    pub(super) fn new(
        arrival: &Arrival,
        (client, server): (SocketAddr, SocketAddr),
        client_mac: Option<MacAddress>,
        request: Request,
        write: bool,
    ) -> Self {
        let mut open = Self {
            client,
            client_mac,
            server,
            answer_ports: Vec::new(),
            is_accepted: false,
            write,
            file: request.file,
            request_ns: arrival.time_ns,
            requests: 1,
            asked: request.options,
            granted: None,
            answer_ns: None,
            first_data_ns: None,
            first_acknowledgment_ns: None,
            complete_ns: None,
            last_ns: arrival.time_ns,
            last: PreviousPacket::Request,
            error: None,
            counts: TransferCounts::default(),
            blocks: BlockNumbers::default(),
            end: None,
            last_full_block: 0,
            acknowledged: None,
            windows: WindowHistory::default(),
            after_acknowledgment: DurationHistogram::default(),
            after_data: DurationHistogram::default(),
            between_data: DurationHistogram::default(),
            fragments_ns: 0,
            timeouts: Vec::new(),
            timeout_count: 0,
            timeout_ns: 0,
            doubled: DuplicatedRunFinder::default(),
            is_under_way: false,
            seen_block_size: 0,
            last_new_ns: arrival.time_ns,
            last_new_packet: PacketKind::Request,
            client_repeats: 0,
            server_repeats: 0,
            program: None,
            in_window: 0,
            turns_by_window: BTreeMap::new(),
            before_first: 0,
        };
        open.count_frame(arrival.wire_bytes);
        open
    }

    /// True if `request` is a retransmission of the first request.
    pub(super) fn is_retransmission_of(&self, request: &Request, write: bool) -> bool {
        // A block that was never acknowledged was lost, and the repeated request makes the server send it again.
        let accepted_ns = if self.write { self.first_data_ns } else { self.first_acknowledgment_ns };
        accepted_ns.is_none()
            && self.error.is_none()
            && self.write == write
            && self.file == request.file
            && self.asked == request.options
    }

    pub(super) fn on_repeated_request(&mut self, arrival: &Arrival) {
        self.requests += 1;
        self.count_frame(arrival.wire_bytes);
        self.end_silence(arrival, true);
        self.last = PreviousPacket::Request;
        self.count_retransmission(arrival, PacketKind::Request, false);
    }

    /// Counts retransmissions since the last new packet.
    fn count_retransmission(&mut self, arrival: &Arrival, packet: PacketKind, is_new: bool) {
        match (is_new, arrival.from_client) {
            (true, _) => {
                (self.last_new_ns, self.last_new_packet) = (arrival.time_ns, packet);
                (self.client_repeats, self.server_repeats) = (0, 0);
            }
            (false, true) => self.client_repeats += 1,
            (false, false) => self.server_repeats += 1,
        }
    }

    /// Processes a fragment of a block other than the first.
    pub(super) fn later_fragment(&mut self, time_ns: i64, wire_bytes: u32) {
        self.count_frame(wire_bytes);
        self.counts.later_fragments += 1;
        if self.last == PreviousPacket::Data {
            // The block is complete with its last fragment.
            let later_ns = time_ns.saturating_sub(self.last_ns).max(0);
            self.last_ns = self.last_ns.saturating_add(later_ns);
            if self.complete_ns.is_none() {
                self.fragments_ns = self.fragments_ns.saturating_add(later_ns);
            }
        }
    }

    pub(super) fn on_message(&mut self, arrival: &Arrival, message: Message) {
        self.count_frame(arrival.wire_bytes);
        if !arrival.from_client {
            self.answer_ns = self.answer_ns.or(Some(arrival.time_ns));
        }
        match message {
            Message::OptionAcknowledgment(options) => {
                let again = self.granted.is_some();
                self.counts.repeated_option_acknowledgments += u64::from(again);
                if !self.is_accepted || !again {
                    self.granted = Some(options);
                }
                self.end_silence(arrival, again);
                self.last = PreviousPacket::Request;
                self.count_retransmission(arrival, PacketKind::OptionAcknowledgment, !again);
            }
            Message::Data { block, program } => {
                if block == 1 && self.first_data_ns.is_none() {
                    self.program = program;
                }
                self.data(arrival, block);
            }
            Message::Acknowledgment { block, next_window } => {
                self.acknowledgment(arrival, block, next_window);
            }
            Message::Error { code, text } => {
                self.error.get_or_insert(ErrorPacket {
                    time_ns: arrival.time_ns,
                    from_client: arrival.from_client,
                    code,
                    text,
                });
                self.end_silence(arrival, false);
                self.count_retransmission(arrival, PacketKind::Error, true);
            }
            Message::ReadRequest(_) | Message::WriteRequest(_) => {}
        }
    }

    fn data(&mut self, arrival: &Arrival, number: u16) {
        let (position, new) = self.blocks.record(number);
        if self.first_data_ns.is_none() && self.is_under_way {
            self.before_first = position.saturating_sub(1);
        }
        self.doubled.data(position);
        let bytes = arrival.payload_bytes.saturating_sub(DATA_HEADER);
        self.seen_block_size = self.seen_block_size.max(bytes);
        self.in_window = self.in_window.saturating_add(1);
        self.count_retransmission(arrival, PacketKind::Data, new);
        self.counts.data_packets += 1;
        self.counts.fragmented += u64::from(arrival.fragmented);
        if new {
            self.counts.blocks += 1;
            self.counts.bytes += u64::from(bytes);
        } else {
            self.counts.repeated_data += 1;
            self.counts.repeated_bytes += u64::from(bytes);
        }
        self.first_data_ns = self.first_data_ns.or(Some(arrival.time_ns));
        if bytes < self.block_size() {
            self.end = Some(self.end.map_or(position, |end| end.max(position)));
        } else {
            self.last_full_block = self.last_full_block.max(position);
        }
        let waited = arrival.time_ns.saturating_sub(self.last_ns);
        // Packets after the end, late or out of order, do not count for turnaround times.
        let is_finished = self.complete_ns.is_some();
        if !self.end_silence(arrival, !new) && !is_finished {
            match self.last {
                PreviousPacket::Acknowledgment => self.after_acknowledgment.add(waited),
                PreviousPacket::Data => self.between_data.add(waited),
                PreviousPacket::Request => {}
            }
        }
        self.last = PreviousPacket::Data;
    }

    fn acknowledgment(&mut self, arrival: &Arrival, number: u16, next_window: Option<u8>) {
        let position = self.blocks.position(number);
        let before = self.acknowledged;
        let again = before == Some(position);
        self.doubled.acknowledgment(position);
        self.counts.acknowledgments += 1;
        self.first_acknowledgment_ns = self.first_acknowledgment_ns.or(Some(arrival.time_ns));
        self.counts.repeated_acknowledgments += u64::from(again);
        let rollback = !again && position < self.blocks.highest();
        self.counts.rollbacks += u64::from(rollback);
        let advanced = position.saturating_sub(before.unwrap_or(0));
        // The last block may be missing from the capture; the announced size then identifies it.
        let announced = self.granted.as_ref().and_then(|granted| granted.file_bytes).filter(|_| !self.write);
        let last = announced.map(|bytes| bytes / u64::from(self.block_size().max(1)) + 1);
        // Some servers always announce 0; a full block there shows that the file continues.
        let last = last.filter(|&last| self.last_full_block < last);
        let ends = self.end.is_some_and(|end| position >= end) || last.is_some_and(|last| position >= last);
        let short = advanced < u64::from(self.window()) && !ends && next_window.is_none();
        let waited = arrival.time_ns.saturating_sub(self.last_ns);
        let timeout = self.end_silence(arrival, again || rollback || (short && advanced > 0));
        if !timeout && self.last == PreviousPacket::Data && !again && self.complete_ns.is_none() {
            self.after_data.add(waited);
            let room = self.turns_by_window.len() < MAX_WINDOW_SIZES;
            if let Some(turns) = self.turns_by_window.get_mut(&self.in_window) {
                turns.add(waited);
            } else if room {
                self.turns_by_window.entry(self.in_window).or_default().add(waited);
            }
        }
        self.in_window = 0;
        self.count_retransmission(arrival, PacketKind::Acknowledgment, before.is_none_or(|before| position > before));
        if advanced > 0 {
            self.windows.record(arrival.time_ns, advanced, next_window);
        }
        self.acknowledged = Some(before.map_or(position, |before| before.max(position)));
        if ends {
            self.complete_ns = self.complete_ns.or(Some(arrival.time_ns));
        }
        self.last = PreviousPacket::Acknowledgment;
    }

    /// Records the time of a packet. Returns true if the silence before it was a time-out. `is_retransmission` tells
    /// whether the packet is a retransmission.
    fn end_silence(&mut self, arrival: &Arrival, is_retransmission: bool) -> bool {
        let start_ns = self.last_ns;
        self.last_ns = arrival.time_ns;
        let waited = arrival.time_ns.saturating_sub(start_ns);
        if !is_retransmission || waited < TIMEOUT_NS || self.complete_ns.is_some() {
            return false;
        }
        self.timeout_count += 1;
        self.timeout_ns = self.timeout_ns.saturating_add(waited);
        if self.timeouts.len() < MAX_TIMEOUTS {
            self.timeouts.push(Timeout {
                start_ns,
                end_ns: arrival.time_ns,
                by_client: arrival.from_client,
                block: self.blocks.highest(),
            });
        }
        true
    }

    fn count_frame(&mut self, wire_bytes: u32) {
        self.counts.frames += 1;
        self.counts.wire_bytes += u64::from(wire_bytes);
        self.counts.oversized_frames += u64::from(wire_bytes > MAX_STANDARD_FRAME_SIZE);
    }

    fn block_size(&self) -> u32 {
        if self.is_under_way {
            return self.seen_block_size;
        }
        self.granted.as_ref().and_then(|granted| granted.block_size).unwrap_or(DEFAULT_BLOCK_SIZE)
    }

    fn window(&self) -> u32 {
        self.granted.as_ref().and_then(|granted| granted.window).unwrap_or(1)
    }

    /// True if only retransmissions can follow.
    pub(super) fn is_finished(&self) -> bool {
        self.complete_ns.is_some() || self.error.is_some()
    }

    /// True if `address` may be the server. Until the client has accepted a response, any port of the server's address
    /// matches.
    pub(super) fn is_server(&self, address: SocketAddr) -> bool {
        let port = address.port();
        let is_known = port == self.server.port() || self.answer_ports.contains(&port);
        self.server.ip() == address.ip() && (is_known || !self.is_accepted)
    }

    /// True if a packet from or to this server port belongs to the transfer. Of several responses to one request, the
    /// client accepts one and refuses the others.
    pub(super) fn accepts(&mut self, sender: Sender, port: u16, message: &Message) -> bool {
        if self.is_accepted {
            return port == self.server.port();
        }
        match (sender, message) {
            (Sender::Server, _) => {
                if !self.answer_ports.contains(&port) && self.answer_ports.len() < MAX_ANSWER_PORTS {
                    self.answer_ports.push(port);
                }
            }
            (Sender::Client, Message::Error { code: UNKNOWN_PORT, .. }) if self.answer_ports.len() > 1 => return false,
            (Sender::Client, _) => self.is_accepted = true,
        }
        self.server.set_port(port);
        true
    }

    fn outcome(&self) -> Outcome {
        if self.complete_ns.is_some() {
            return Outcome::Complete;
        }
        match &self.error {
            Some(error) if error.from_client => {
                let nothing_taken = self.acknowledged.unwrap_or(0) == 0;
                if nothing_taken && self.asked.file_bytes == Some(0) { Outcome::SizeProbe } else { Outcome::Aborted }
            }
            Some(_) => Outcome::Refused,
            None => Outcome::Unfinished,
        }
    }

    /// Highest block that was sent, including blocks that were acknowledged but not captured.
    fn highest(&self) -> u64 {
        self.blocks.highest().max(self.acknowledged.unwrap_or(0))
    }

    pub(super) fn finish(mut self) -> Transfer {
        let outcome = self.outcome();
        let highest_block = self.highest();
        let settled = self.acknowledged.unwrap_or(0).saturating_sub(self.before_first);
        self.counts.missing_blocks = if self.write { 0 } else { settled.saturating_sub(self.counts.blocks) };
        let turns_by_window = std::mem::take(&mut self.turns_by_window)
            .into_iter()
            .map(|(blocks, turns)| WindowTurnaround { blocks, turn: Turnaround::from_histogram(&turns) })
            .collect();
        let window_mean = self.windows.mean();
        let max_window = self.windows.largest();
        let (windows, windows_skipped) = self.windows.into_changes();
        let sender_turn = Turnaround::from_histogram(&self.after_acknowledgment);
        let receiver_turn = Turnaround::from_histogram(&self.after_data);
        let (server_turn, client_turn) =
            if self.write { (receiver_turn, sender_turn) } else { (sender_turn, receiver_turn) };
        Transfer {
            client: self.client,
            client_mac: self.client_mac,
            server: self.server,
            write: self.write,
            file: self.file,
            request_ns: self.request_ns,
            requests: self.requests,
            requested: self.asked,
            granted: self.granted,
            answer_ns: self.answer_ns,
            first_data_ns: self.first_data_ns,
            first_acknowledgment_ns: self.first_acknowledgment_ns,
            complete_ns: self.complete_ns,
            last_ns: self.last_ns,
            started_before_capture: self.is_under_way,
            last_new_ns: self.last_new_ns,
            last_new_packet: self.last_new_packet,
            client_retransmissions: self.client_repeats,
            server_retransmissions: self.server_repeats,
            acknowledged: self.acknowledged,
            highest_block,
            program: self.program,
            outcome,
            error: self.error,
            counts: self.counts,
            windows,
            windows_skipped,
            mean_window: window_mean,
            max_window,
            server_turnaround: server_turn,
            client_turnaround: client_turn,
            turnarounds_by_window: turns_by_window,
            gap: Turnaround::from_histogram(&self.between_data),
            fragments_ns: self.fragments_ns,
            timeouts: self.timeouts,
            timeout_count: self.timeout_count,
            timeout_ns: self.timeout_ns,
            duplicated_run: self.doubled.longest(),
            wraps: self.blocks.wraps(),
            number_after_wrap: self.blocks.number_after_wrap(),
        }
    }
}
