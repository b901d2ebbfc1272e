//! Tracks one transfer packet by packet.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::duplicated_run::DuplicatedRunFinder;
use super::{
    ErrorPacket, ForeignAnswers, Outcome, PacketKind, TIMEOUT_NS, Timeout, Transfer, TransferCounts, WindowTurnaround,
};
use crate::address::MacAddress;
use crate::block_numbers::BlockNumbers;
use crate::histogram::DurationHistogram;
use crate::limits::{MAX_ANSWER_PORTS, MAX_TIMEOUTS, MAX_WINDOW_SIZES};
use crate::tftp::{Message, Options, ProgramMachine, Request};
use crate::turnaround::Turnaround;
use crate::variation::TurnBatches;
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

/// The receiver's turnaround times for one window size.
#[derive(Clone, Debug, Default)]
struct WindowTurns {
    durations: DurationHistogram,
    batches: TurnBatches,
}

/// Kind of the last packet, for turnaround times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreviousPacket {
    Request,
    Data,
    Acknowledgment,
}

/// Packets to the client from an address that it did not request. Most clients drop them: RFC 1350 lets a server change
/// its port, not its address.
#[derive(Clone, Debug)]
struct ForeignAnswer {
    server: SocketAddr,
    packets: u64,
    /// The first packet, which belongs to the transfer if the client accepts it.
    first: (Arrival, Message),
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
    /// Answers from another address than the one that was requested.
    foreign: Option<ForeignAnswer>,
    /// True once the client has accepted a response: packets from other ports are then not part of the transfer.
    is_accepted: bool,
    write: bool,
    file: String,
    request_ns: i64,
    requests: u64,
    requested: Options,
    granted: Option<Options>,
    answer_ns: Option<i64>,
    first_data_ns: Option<i64>,
    first_acknowledgment_ns: Option<i64>,
    complete_ns: Option<i64>,
    pub(super) last_ns: i64,
    previous: PreviousPacket,
    error: Option<ErrorPacket>,
    counts: TransferCounts,
    blocks: BlockNumbers,
    /// The last block of the file, once a block shorter than the block size has been seen.
    last_block: Option<u64>,
    /// The highest full-size block. Another block follows it, whatever size was announced.
    last_full_block: u64,
    acknowledged: Option<u64>,
    windows: WindowHistory,
    sender_turnarounds: DurationHistogram,
    receiver_turnarounds: DurationHistogram,
    block_gaps: DurationHistogram,
    fragments_ns: i64,
    timeouts: Vec<Timeout>,
    timeout_count: u64,
    timeout_ns: i64,
    duplicated_runs: DuplicatedRunFinder,
    started_before_capture: bool,
    /// Largest block seen, bytes: the block size of a transfer whose options were not captured.
    seen_block_size: u32,
    last_new_ns: i64,
    last_new_packet: PacketKind,
    client_retransmissions: u64,
    server_retransmissions: u64,
    program: Option<ProgramMachine>,
    /// Blocks since the last acknowledgment.
    blocks_in_window: u32,
    turnarounds_by_window: BTreeMap<u32, WindowTurns>,
    /// Number of blocks before the first captured one: 0 unless the transfer started before the capture.
    blocks_before_capture: u64,
}

impl TransferTracker {
    /// Starts tracking a transfer without a captured request, detected by an acknowledged block.
    pub(super) fn without_request(
        arrival: &Arrival,
        endpoints: (SocketAddr, SocketAddr),
        client_mac: Option<MacAddress>,
    ) -> Self {
        let request = Request { file: String::new(), options: Options::default() };
        let mut tracker = Self::new(arrival, endpoints, client_mac, request, false);
        tracker.started_before_capture = true;
        tracker.is_accepted = true;
        tracker.requests = 0;
        tracker.counts = TransferCounts::default();
        tracker
    }

    pub(super) fn new(
        arrival: &Arrival,
        (client, server): (SocketAddr, SocketAddr),
        client_mac: Option<MacAddress>,
        request: Request,
        write: bool,
    ) -> Self {
        let mut tracker = Self {
            client,
            client_mac,
            server,
            answer_ports: Vec::new(),
            foreign: None,
            is_accepted: false,
            write,
            file: request.file,
            request_ns: arrival.time_ns,
            requests: 1,
            requested: request.options,
            granted: None,
            answer_ns: None,
            first_data_ns: None,
            first_acknowledgment_ns: None,
            complete_ns: None,
            last_ns: arrival.time_ns,
            previous: PreviousPacket::Request,
            error: None,
            counts: TransferCounts::default(),
            blocks: BlockNumbers::default(),
            last_block: None,
            last_full_block: 0,
            acknowledged: None,
            windows: WindowHistory::default(),
            sender_turnarounds: DurationHistogram::default(),
            receiver_turnarounds: DurationHistogram::default(),
            block_gaps: DurationHistogram::default(),
            fragments_ns: 0,
            timeouts: Vec::new(),
            timeout_count: 0,
            timeout_ns: 0,
            duplicated_runs: DuplicatedRunFinder::default(),
            started_before_capture: false,
            seen_block_size: 0,
            last_new_ns: arrival.time_ns,
            last_new_packet: PacketKind::Request,
            client_retransmissions: 0,
            server_retransmissions: 0,
            program: None,
            blocks_in_window: 0,
            turnarounds_by_window: BTreeMap::new(),
            blocks_before_capture: 0,
        };
        tracker.count_frame(arrival.wire_bytes);
        tracker
    }

    /// True if `request` is a retransmission of the first request.
    pub(super) fn is_retransmission_of(&self, request: &Request, write: bool) -> bool {
        // A block that was never acknowledged was lost, and the repeated request makes the server send it again.
        let accepted_ns = if self.write { self.first_data_ns } else { self.first_acknowledgment_ns };
        accepted_ns.is_none()
            && self.error.is_none()
            && self.write == write
            && self.file == request.file
            && self.requested == request.options
    }

    pub(super) fn on_repeated_request(&mut self, arrival: &Arrival) {
        self.requests += 1;
        self.count_frame(arrival.wire_bytes);
        self.end_silence(arrival, true);
        self.previous = PreviousPacket::Request;
        self.count_retransmission(arrival, PacketKind::Request, false);
    }

    /// Counts retransmissions since the last new packet.
    fn count_retransmission(&mut self, arrival: &Arrival, packet: PacketKind, is_new: bool) {
        match (is_new, arrival.from_client) {
            (true, _) => {
                (self.last_new_ns, self.last_new_packet) = (arrival.time_ns, packet);
                (self.client_retransmissions, self.server_retransmissions) = (0, 0);
            }
            (false, true) => self.client_retransmissions += 1,
            (false, false) => self.server_retransmissions += 1,
        }
    }

    /// Processes a fragment of a block other than the first.
    pub(super) fn later_fragment(&mut self, time_ns: i64, wire_bytes: u32) {
        self.count_frame(wire_bytes);
        self.counts.later_fragments += 1;
        if self.previous == PreviousPacket::Data {
            // The block is complete with its last fragment.
            let delay_ns = time_ns.saturating_sub(self.last_ns).max(0);
            self.last_ns = self.last_ns.saturating_add(delay_ns);
            if self.complete_ns.is_none() {
                self.fragments_ns = self.fragments_ns.saturating_add(delay_ns);
            }
        }
    }

    /// Counts a block of which all fragments were captured.
    pub(super) fn on_reassembled(&mut self) {
        self.counts.reassembled += 1;
    }

    pub(super) fn on_message(&mut self, arrival: &Arrival, message: Message) {
        self.count_frame(arrival.wire_bytes);
        if !arrival.from_client {
            self.answer_ns = self.answer_ns.or(Some(arrival.time_ns));
        }
        match message {
            Message::OptionAcknowledgment(options) => {
                let is_repeated = self.granted.is_some();
                self.counts.repeated_option_acknowledgments += u64::from(is_repeated);
                if !self.is_accepted || !is_repeated {
                    self.granted = Some(options);
                }
                self.end_silence(arrival, is_repeated);
                self.previous = PreviousPacket::Request;
                self.count_retransmission(arrival, PacketKind::OptionAcknowledgment, !is_repeated);
            }
            Message::Data { block, program } => {
                if block == 1 && self.first_data_ns.is_none() {
                    self.program = program;
                }
                self.on_data(arrival, block);
            }
            Message::Acknowledgment { block, next_window } => {
                self.on_acknowledgment(arrival, block, next_window);
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

    fn on_data(&mut self, arrival: &Arrival, number: u16) {
        let (position, is_new) = self.blocks.record(number);
        if self.first_data_ns.is_none() && self.started_before_capture {
            self.blocks_before_capture = position.saturating_sub(1);
        }
        self.duplicated_runs.on_data(position);
        let bytes = arrival.payload_bytes.saturating_sub(DATA_HEADER);
        self.seen_block_size = self.seen_block_size.max(bytes);
        self.blocks_in_window = self.blocks_in_window.saturating_add(1);
        self.count_retransmission(arrival, PacketKind::Data, is_new);
        self.counts.data_packets += 1;
        self.counts.fragmented += u64::from(arrival.fragmented);
        if is_new {
            self.counts.blocks += 1;
            self.counts.bytes += u64::from(bytes);
        } else {
            self.counts.repeated_data += 1;
            self.counts.repeated_bytes += u64::from(bytes);
        }
        self.first_data_ns = self.first_data_ns.or(Some(arrival.time_ns));
        if bytes < self.block_size() {
            self.last_block = Some(self.last_block.map_or(position, |end| end.max(position)));
        } else {
            self.last_full_block = self.last_full_block.max(position);
        }
        let waited_ns = arrival.time_ns.saturating_sub(self.last_ns);
        // Packets after the end, late or out of order, do not count for turnaround times.
        let is_finished = self.complete_ns.is_some();
        if !self.end_silence(arrival, !is_new) && !is_finished {
            match self.previous {
                PreviousPacket::Acknowledgment => self.sender_turnarounds.add(waited_ns),
                PreviousPacket::Data => self.block_gaps.add(waited_ns),
                PreviousPacket::Request => {}
            }
        }
        self.previous = PreviousPacket::Data;
    }

    fn on_acknowledgment(&mut self, arrival: &Arrival, number: u16, next_window: Option<u8>) {
        let position = self.blocks.position(number);
        let old_acknowledged = self.acknowledged;
        let is_repeated = old_acknowledged == Some(position);
        self.duplicated_runs.on_acknowledgment(position);
        self.counts.acknowledgments += 1;
        self.first_acknowledgment_ns = self.first_acknowledgment_ns.or(Some(arrival.time_ns));
        self.counts.repeated_acknowledgments += u64::from(is_repeated);
        let is_rollback = !is_repeated && position < self.blocks.highest();
        self.counts.rollbacks += u64::from(is_rollback);
        let advanced = position.saturating_sub(old_acknowledged.unwrap_or(0));
        // The last block may be missing from the capture; the announced size then identifies it.
        let announced_bytes = self.granted.as_ref().and_then(|granted| granted.file_bytes).filter(|_| !self.write);
        let computed_last = announced_bytes.map(|bytes| bytes / u64::from(self.block_size().max(1)) + 1);
        // Some servers always announce 0; a full block there shows that the file continues.
        let announced_last = computed_last.filter(|&last| self.last_full_block < last);
        let is_end =
            self.last_block.is_some_and(|end| position >= end) || announced_last.is_some_and(|last| position >= last);
        let is_short = advanced < u64::from(self.window()) && !is_end && next_window.is_none();
        let waited_ns = arrival.time_ns.saturating_sub(self.last_ns);
        let is_timeout = self.end_silence(arrival, is_repeated || is_rollback || (is_short && advanced > 0));
        if !is_timeout && self.previous == PreviousPacket::Data && !is_repeated && self.complete_ns.is_none() {
            self.receiver_turnarounds.add(waited_ns);
            let has_room = self.turnarounds_by_window.len() < MAX_WINDOW_SIZES;
            if has_room || self.turnarounds_by_window.contains_key(&self.blocks_in_window) {
                let turns = self.turnarounds_by_window.entry(self.blocks_in_window).or_default();
                turns.durations.add(waited_ns);
                turns.batches.add(waited_ns);
            }
        }
        self.blocks_in_window = 0;
        self.count_retransmission(
            arrival,
            PacketKind::Acknowledgment,
            old_acknowledged.is_none_or(|old_position| position > old_position),
        );
        if advanced > 0 {
            self.windows.record(arrival.time_ns, advanced, next_window);
        }
        self.acknowledged = Some(old_acknowledged.map_or(position, |old_position| old_position.max(position)));
        if is_end {
            self.complete_ns = self.complete_ns.or(Some(arrival.time_ns));
        }
        self.previous = PreviousPacket::Acknowledgment;
    }

    /// Records the time of a packet. Returns true if the silence before it was a timeout.
    fn end_silence(&mut self, arrival: &Arrival, is_retransmission: bool) -> bool {
        let start_ns = self.last_ns;
        self.last_ns = arrival.time_ns;
        let waited_ns = arrival.time_ns.saturating_sub(start_ns);
        if !is_retransmission || waited_ns < TIMEOUT_NS || self.complete_ns.is_some() {
            return false;
        }
        self.timeout_count += 1;
        self.timeout_ns = self.timeout_ns.saturating_add(waited_ns);
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
        if self.started_before_capture {
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

    /// Processes a packet between the client and an address that it did not request. Returns true if the client accepts
    /// the answers of that address, so that the packet belongs to the transfer.
    pub(super) fn accepts_foreign(&mut self, arrival: &Arrival, other: SocketAddr, message: &Message) -> bool {
        if self.is_accepted || self.answer_ns.is_some() || self.write || other.ip() == self.server.ip() {
            return false;
        }
        if arrival.from_client {
            let accepted = self
                .foreign
                .take_if(|answer| answer.server == other && matches!(message, Message::Acknowledgment { .. }));
            let Some(answer) = accepted else { return false };
            self.server = other;
            let (arrival, message) = answer.first;
            self.on_message(&arrival, message);
            self.is_accepted = true;
            return true;
        }
        let is_first_answer = matches!(
            message,
            Message::OptionAcknowledgment(_) | Message::Data { block: 1, .. } | Message::Error { .. }
        );
        match &mut self.foreign {
            Some(answer) => answer.packets += u64::from(answer.server.ip() == other.ip()),
            None if is_first_answer => {
                self.foreign = Some(ForeignAnswer { server: other, packets: 1, first: (*arrival, message.clone()) });
            }
            None => {}
        }
        false
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
                let nothing_acknowledged = self.acknowledged.unwrap_or(0) == 0;
                if nothing_acknowledged && self.requested.file_bytes == Some(0) {
                    Outcome::SizeProbe
                } else {
                    Outcome::Aborted
                }
            }
            Some(_) => Outcome::Refused,
            None => Outcome::Unfinished,
        }
    }

    /// Returns the highest block that was sent, including blocks that were acknowledged but not captured.
    fn highest(&self) -> u64 {
        self.blocks.highest().max(self.acknowledged.unwrap_or(0))
    }

    pub(super) fn finish(mut self) -> Transfer {
        let outcome = self.outcome();
        let highest_block = self.highest();
        let acknowledged_blocks = self.acknowledged.unwrap_or(0).saturating_sub(self.blocks_before_capture);
        self.counts.missing_blocks =
            if self.write { 0 } else { acknowledged_blocks.saturating_sub(self.counts.blocks) };
        let turnarounds_by_window = std::mem::take(&mut self.turnarounds_by_window)
            .into_iter()
            .map(|(blocks, turns)| WindowTurnaround {
                blocks,
                turn: Turnaround::from_histogram(&turns.durations),
                variation_percent: turns.batches.percent(),
            })
            .collect();
        let mean_window = self.windows.mean();
        let max_window = self.windows.largest();
        let (windows, windows_skipped) = self.windows.into_changes();
        let sender_turnaround = Turnaround::from_histogram(&self.sender_turnarounds);
        let receiver_turnaround = Turnaround::from_histogram(&self.receiver_turnarounds);
        let (server_turnaround, client_turnaround) = if self.write {
            (receiver_turnaround, sender_turnaround)
        } else {
            (sender_turnaround, receiver_turnaround)
        };
        Transfer {
            client: self.client,
            client_mac: self.client_mac,
            server: self.server,
            write: self.write,
            file: self.file,
            request_ns: self.request_ns,
            requests: self.requests,
            foreign_answers: self
                .foreign
                .map(|answer| ForeignAnswers { address: answer.server.ip(), packets: answer.packets }),
            requested: self.requested,
            granted: self.granted,
            answer_ns: self.answer_ns,
            first_data_ns: self.first_data_ns,
            first_acknowledgment_ns: self.first_acknowledgment_ns,
            complete_ns: self.complete_ns,
            last_ns: self.last_ns,
            started_before_capture: self.started_before_capture,
            server_only: false,
            has_last_block: self.last_block.is_some(),
            last_new_ns: self.last_new_ns,
            last_new_packet: self.last_new_packet,
            client_retransmissions: self.client_retransmissions,
            server_retransmissions: self.server_retransmissions,
            acknowledged: self.acknowledged,
            highest_block,
            program: self.program,
            outcome,
            error: self.error,
            counts: self.counts,
            windows,
            windows_skipped,
            mean_window,
            max_window,
            server_turnaround,
            client_turnaround,
            turnarounds_by_window,
            gap: Turnaround::from_histogram(&self.block_gaps),
            fragments_ns: self.fragments_ns,
            timeouts: self.timeouts,
            timeout_count: self.timeout_count,
            timeout_ns: self.timeout_ns,
            duplicated_run: self.duplicated_runs.longest(),
            wraps: self.blocks.wraps(),
            number_after_wrap: self.blocks.number_after_wrap(),
        }
    }
}
