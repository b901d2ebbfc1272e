//! One transfer, packet by packet.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::doubled::Doubled;
use super::{Counts, ErrorPacket, LastPacket, Outcome, TIMEOUT_NS, Timeout, Transfer, WindowTurn};
use crate::address::MacAddress;
use crate::block_numbers::BlockNumbers;
use crate::limits::{ANSWER_PORTS, INCIDENTS, WINDOW_LENGTHS};
use crate::spread::Spread;
use crate::tftp::{Message, Options, ProgramMachine, Request};
use crate::turnaround::Turnaround;
use crate::window::Windows;

/// Block size without the option.
const DEFAULT_BLOCK_SIZE: u32 = 512;
/// Bytes of a DATA packet before the data.
const DATA_HEADER: u32 = 4;
/// Code of the error that an end answers to a packet from a port that it does not know (RFC 1350, 5).
const UNKNOWN_PORT: u16 = 5;
/// Largest frame without checksum that carries 1,500 bytes, with a VLAN tag.
const MAX_STANDARD_FRAME_SIZE: u32 = 1518;

/// What a packet of the transfer came as.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) time_ns: i64,
    pub(super) wire_bytes: u32,
    pub(super) from_client: bool,
    pub(super) payload_bytes: u32,
    pub(super) fragmented: bool,
}

/// Which end of a transfer sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    Server,
}

/// The last packet that matters for turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Request,
    Data,
    Acknowledgment,
}

/// A transfer that may go on.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) client: SocketAddr,
    pub(super) client_mac: Option<MacAddress>,
    pub(super) server: SocketAddr,
    /// Ports that the server answered from. A request that is sent again, because its answer was lost or late, is
    /// answered from another port (RFC 1350, 4): the client takes one of them.
    answer_ports: Vec<u16>,
    /// Whether the client has taken an answer: then what comes from other ports is no part of the transfer.
    is_taken: bool,
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
    last: Last,
    error: Option<ErrorPacket>,
    counts: Counts,
    blocks: BlockNumbers,
    /// The last block, once a short one was seen.
    end: Option<u64>,
    /// The highest block that was as long as blocks are: another one follows it, whatever size was announced.
    full: u64,
    acknowledged: Option<u64>,
    windows: Windows,
    after_acknowledgment: Spread,
    after_data: Spread,
    between_data: Spread,
    fragments_ns: i64,
    timeouts: Vec<Timeout>,
    timeout_count: u64,
    timeout_ns: i64,
    doubled: Doubled,
    under_way: bool,
    /// Bytes per block of a transfer whose options were not captured: the longest block.
    seen_block_size: u32,
    last_new_ns: i64,
    last_new_packet: LastPacket,
    client_repeats: u64,
    server_repeats: u64,
    program: Option<ProgramMachine>,
    /// Blocks since the last acknowledgment.
    in_window: u32,
    turns_by_window: BTreeMap<u32, Spread>,
    /// The block before the first that was captured: 0, but for transfers that were under way.
    before_first: u64,
}

impl Open {
    /// A transfer whose request was not captured: a block of it, `payload_bytes` long, was acknowledged.
    pub(super) fn under_way(arrival: &Arrival, ends: (SocketAddr, SocketAddr), client_mac: Option<MacAddress>) -> Self {
        let request = Request { file: String::new(), options: Options::default() };
        let mut open = Self::new(arrival, ends, client_mac, request, false);
        open.under_way = true;
        open.is_taken = true;
        open.requests = 0;
        open.counts = Counts::default();
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
            is_taken: false,
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
            last: Last::Request,
            error: None,
            counts: Counts::default(),
            blocks: BlockNumbers::default(),
            end: None,
            full: 0,
            acknowledged: None,
            windows: Windows::default(),
            after_acknowledgment: Spread::default(),
            after_data: Spread::default(),
            between_data: Spread::default(),
            fragments_ns: 0,
            timeouts: Vec::new(),
            timeout_count: 0,
            timeout_ns: 0,
            doubled: Doubled::default(),
            under_way: false,
            seen_block_size: 0,
            last_new_ns: arrival.time_ns,
            last_new_packet: LastPacket::Request,
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

    /// Whether `request` is the one that began it, sent again.
    pub(super) fn repeats(&self, request: &Request, write: bool) -> bool {
        // A block that nobody acknowledged was lost, and the request is what brings it again.
        let taken_ns = if self.write { self.first_data_ns } else { self.first_acknowledgment_ns };
        taken_ns.is_none()
            && self.error.is_none()
            && self.write == write
            && self.file == request.file
            && self.asked == request.options
    }

    pub(super) fn request_again(&mut self, arrival: &Arrival) {
        self.requests += 1;
        self.count_frame(arrival.wire_bytes);
        self.silence(arrival, true);
        self.last = Last::Request;
        self.note(arrival, LastPacket::Request, false);
    }

    /// Counts what is asked in vain: repetitions since the last packet that brought something new.
    fn note(&mut self, arrival: &Arrival, packet: LastPacket, is_new: bool) {
        match (is_new, arrival.from_client) {
            (true, _) => {
                (self.last_new_ns, self.last_new_packet) = (arrival.time_ns, packet);
                (self.client_repeats, self.server_repeats) = (0, 0);
            }
            (false, true) => self.client_repeats += 1,
            (false, false) => self.server_repeats += 1,
        }
    }

    /// A later fragment of a block.
    pub(super) fn later_fragment(&mut self, time_ns: i64, wire_bytes: u32) {
        self.count_frame(wire_bytes);
        self.counts.later_fragments += 1;
        if self.last == Last::Data {
            // The block is there when its last fragment is.
            let later_ns = time_ns.saturating_sub(self.last_ns).max(0);
            self.last_ns = self.last_ns.saturating_add(later_ns);
            if self.complete_ns.is_none() {
                self.fragments_ns = self.fragments_ns.saturating_add(later_ns);
            }
        }
    }

    pub(super) fn see(&mut self, arrival: &Arrival, message: Message) {
        self.count_frame(arrival.wire_bytes);
        if !arrival.from_client {
            self.answer_ns = self.answer_ns.or(Some(arrival.time_ns));
        }
        match message {
            Message::OptionAcknowledgment(options) => {
                let again = self.granted.is_some();
                self.counts.repeated_option_acknowledgments += u64::from(again);
                if !self.is_taken || !again {
                    self.granted = Some(options);
                }
                self.silence(arrival, again);
                self.last = Last::Request;
                self.note(arrival, LastPacket::OptionAcknowledgment, !again);
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
                self.silence(arrival, false);
                self.note(arrival, LastPacket::Error, true);
            }
            Message::ReadRequest(_) | Message::WriteRequest(_) => {}
        }
    }

    fn data(&mut self, arrival: &Arrival, number: u16) {
        let (position, new) = self.blocks.see(number);
        if self.first_data_ns.is_none() && self.under_way {
            self.before_first = position.saturating_sub(1);
        }
        self.doubled.data(position);
        let bytes = arrival.payload_bytes.saturating_sub(DATA_HEADER);
        self.seen_block_size = self.seen_block_size.max(bytes);
        self.in_window = self.in_window.saturating_add(1);
        self.note(arrival, LastPacket::Data, new);
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
            self.full = self.full.max(position);
        }
        let waited = arrival.time_ns.saturating_sub(self.last_ns);
        // What comes after the end, late or out of order, is no turn of the transfer.
        let over = self.complete_ns.is_some();
        if !self.silence(arrival, !new) && !over {
            match self.last {
                Last::Acknowledgment => self.after_acknowledgment.add(waited),
                Last::Data => self.between_data.add(waited),
                Last::Request => {}
            }
        }
        self.last = Last::Data;
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
        let gone = position.saturating_sub(before.unwrap_or(0));
        // The last block may be missing from the capture: then the announced size tells that it was the last.
        let announced = self.granted.as_ref().and_then(|granted| granted.file_bytes).filter(|_| !self.write);
        let last = announced.map(|bytes| bytes / u64::from(self.block_size().max(1)) + 1);
        // Some servers announce 0, whatever the size: a whole block there shows that the file goes on.
        let last = last.filter(|&last| self.full < last);
        let ends = self.end.is_some_and(|end| position >= end) || last.is_some_and(|last| position >= last);
        let short = gone < u64::from(self.window()) && !ends && next_window.is_none();
        let waited = arrival.time_ns.saturating_sub(self.last_ns);
        let timeout = self.silence(arrival, again || rollback || (short && gone > 0));
        if !timeout && self.last == Last::Data && !again && self.complete_ns.is_none() {
            self.after_data.add(waited);
            let room = self.turns_by_window.len() < WINDOW_LENGTHS;
            if let Some(turns) = self.turns_by_window.get_mut(&self.in_window) {
                turns.add(waited);
            } else if room {
                self.turns_by_window.entry(self.in_window).or_default().add(waited);
            }
        }
        self.in_window = 0;
        self.note(arrival, LastPacket::Acknowledgment, before.is_none_or(|before| position > before));
        if gone > 0 {
            self.windows.see(arrival.time_ns, gone, next_window);
        }
        self.acknowledged = Some(before.map_or(position, |before| before.max(position)));
        if ends {
            self.complete_ns = self.complete_ns.or(Some(arrival.time_ns));
        }
        self.last = Last::Acknowledgment;
    }

    /// Notes the time; whether the silence before was a time-out, which `repeats`, a retransmission, ended.
    fn silence(&mut self, arrival: &Arrival, repeats: bool) -> bool {
        let start_ns = self.last_ns;
        self.last_ns = arrival.time_ns;
        let waited = arrival.time_ns.saturating_sub(start_ns);
        if !repeats || waited < TIMEOUT_NS || self.complete_ns.is_some() {
            return false;
        }
        self.timeout_count += 1;
        self.timeout_ns = self.timeout_ns.saturating_add(waited);
        if self.timeouts.len() < INCIDENTS {
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
        if self.under_way {
            return self.seen_block_size;
        }
        self.granted.as_ref().and_then(|granted| granted.block_size).unwrap_or(DEFAULT_BLOCK_SIZE)
    }

    fn window(&self) -> u32 {
        self.granted.as_ref().and_then(|granted| granted.window).unwrap_or(1)
    }

    /// Whether nothing is left to come but repetitions.
    pub(super) fn is_over(&self) -> bool {
        self.complete_ns.is_some() || self.error.is_some()
    }

    /// Whether `address` may be its server: by address alone until the client has taken an answer.
    pub(super) fn is_server(&self, address: SocketAddr) -> bool {
        let port = address.port();
        let is_known = port == self.server.port() || self.answer_ports.contains(&port);
        self.server.ip() == address.ip() && (is_known || !self.is_taken)
    }

    /// Whether a packet to or from `port` of the server is part of the transfer: of several answers to one request the
    /// client takes one and refuses the others.
    pub(super) fn takes(&mut self, sender: Sender, port: u16, message: &Message) -> bool {
        if self.is_taken {
            return port == self.server.port();
        }
        match (sender, message) {
            (Sender::Server, _) => {
                if !self.answer_ports.contains(&port) && self.answer_ports.len() < ANSWER_PORTS {
                    self.answer_ports.push(port);
                }
            }
            (Sender::Client, Message::Error { code: UNKNOWN_PORT, .. }) if self.answer_ports.len() > 1 => return false,
            (Sender::Client, _) => self.is_taken = true,
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

    /// Highest block that was sent: what the client acknowledged was, captured or not.
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
            .map(|(blocks, turns)| WindowTurn { blocks, turn: Turnaround::of(&turns) })
            .collect();
        let window_mean = self.windows.mean();
        let window_largest = self.windows.largest();
        let (windows, windows_left_out) = self.windows.into_changes();
        let sender_turn = Turnaround::of(&self.after_acknowledgment);
        let receiver_turn = Turnaround::of(&self.after_data);
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
            asked: self.asked,
            granted: self.granted,
            answer_ns: self.answer_ns,
            first_data_ns: self.first_data_ns,
            first_acknowledgment_ns: self.first_acknowledgment_ns,
            complete_ns: self.complete_ns,
            last_ns: self.last_ns,
            under_way: self.under_way,
            last_new_ns: self.last_new_ns,
            last_new_packet: self.last_new_packet,
            client_repeats: self.client_repeats,
            server_repeats: self.server_repeats,
            acknowledged: self.acknowledged,
            highest_block,
            program: self.program,
            outcome,
            error: self.error,
            counts: self.counts,
            windows,
            windows_left_out,
            window_mean,
            window_largest,
            server_turn,
            client_turn,
            turns_by_window,
            gap: Turnaround::of(&self.between_data),
            fragments_ns: self.fragments_ns,
            timeouts: self.timeouts,
            timeout_count: self.timeout_count,
            timeout_ns: self.timeout_ns,
            doubled: self.doubled.longest(),
            wraps: self.blocks.wraps(),
            after_last_number: self.blocks.after_last(),
        }
    }
}
