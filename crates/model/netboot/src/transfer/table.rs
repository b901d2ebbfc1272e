//! Tracks all transfers of a capture and assigns packets to them.

use std::net::SocketAddr;

use hashbrown::HashMap;
use onoff_trace::Losses;

use super::Transfer;
use super::missed_requests::MissedRequestDetector;
use super::tracker::{Arrival, Sender, TransferTracker};
use crate::address::MacAddress;
use crate::frame::{Datagram, Frame};
use crate::limits;
use crate::losses;
use crate::tftp::{Message, PORT, ParseError};

/// How long a finished transfer stays open for late retransmissions, ns.
const LINGER_NS: i64 = 10_000_000_000;
/// How long an idle transfer stays open, ns; no client waits longer for a server.
const MAX_IDLE_NS: i64 = 300_000_000_000;
/// Number of frames between two scans for finished transfers.
const SWEEP_INTERVAL: u64 = 8192;

/// The transfers seen so far.
#[derive(Clone, Debug, Default)]
pub struct TransferTable {
    open: HashMap<SocketAddr, TransferTracker>,
    finished: Vec<Transfer>,
    missed_requests: MissedRequestDetector,
    skipped: u64,
    datagrams: u64,
}

impl TransferTable {
    /// Processes a datagram. Returns the client if the datagram belongs to a transfer.
    pub fn on_datagram(
        &mut self,
        frame: &Frame<'_>,
        datagram: &Datagram<'_>,
        losses: &mut Losses,
    ) -> Option<SocketAddr> {
        self.datagrams += 1;
        if self.datagrams.is_multiple_of(SWEEP_INTERVAL) {
            self.sweep(frame.time_ns);
        }
        if datagram.destination.port() == PORT {
            return self.on_request(frame, datagram, losses);
        }
        let Some((client, sender)) = self.owner(datagram).or_else(|| self.foreign_owner(frame, datagram)) else {
            // With a full table, this may be a transfer whose request was seen and skipped.
            if !self.is_full() && self.missed_requests.is_missed_transfer(frame, datagram) {
                losses.add(&losses::TRANSFERS_WITHOUT_BEGIN, 1);
                return self.add_missed_transfer(frame, datagram);
            }
            return None;
        };
        let message = match Message::parse(datagram.payload, datagram.payload_bytes) {
            Ok(message) => message,
            Err(ParseError::Truncated) => {
                losses.add(&losses::OPTIONS_TRUNCATED, 1);
                return Some(client);
            }
            Err(ParseError::Malformed) => {
                losses.add(&losses::MESSAGES_MALFORMED, 1);
                return Some(client);
            }
        };
        let tracker = self.open.get_mut(&client)?;
        if sender == Sender::Server && frame.destination.is_some_and(|mac| !mac.is_group_or_zero()) {
            tracker.client_mac = tracker.client_mac.or(frame.destination);
        }
        let from_client = sender == Sender::Client;
        let server_port = if from_client { datagram.destination.port() } else { datagram.source.port() };
        if tracker.accepts(sender, server_port, &message) {
            tracker.on_message(&arrival(frame, datagram, from_client), message);
        }
        Some(client)
    }

    /// Processes a later fragment of a datagram that belongs to the transfer of `client`.
    pub fn later_fragment(&mut self, client: SocketAddr, time_ns: i64, wire_bytes: u32) {
        if let Some(tracker) = self.open.get_mut(&client) {
            tracker.later_fragment(time_ns, wire_bytes);
        }
    }

    /// Counts a block of which all fragments were captured.
    pub fn on_reassembled(&mut self, client: SocketAddr) {
        if let Some(tracker) = self.open.get_mut(&client) {
            tracker.on_reassembled();
        }
    }

    /// Ends all open transfers.
    #[must_use]
    pub fn finish(mut self, losses: &mut Losses) -> Vec<Transfer> {
        let clients: Vec<SocketAddr> = self.open.keys().copied().collect();
        for client in clients {
            self.close(client);
        }
        for transfer in std::mem::take(&mut self.missed_requests).unacknowledged_transfers() {
            losses.add(&losses::TRANSFERS_WITHOUT_BEGIN, 1);
            if self.is_full() {
                self.skipped += 1;
            } else {
                self.finished.push(transfer);
            }
        }
        losses.add(&losses::LIMIT_REACHED, self.skipped);
        let missing =
            self.finished.iter().fold(0_u64, |sum, transfer| sum.saturating_add(transfer.counts.missing_blocks));
        losses.add(&losses::BLOCKS_NOT_CAPTURED, missing);
        sort_by_request(self.finished)
    }

    /// Returns the client of the transfer that a datagram belongs to, and the sender of the datagram.
    fn owner(&self, datagram: &Datagram<'_>) -> Option<(SocketAddr, Sender)> {
        let (source, destination) = (datagram.source, datagram.destination);
        let has_transfer = |client: SocketAddr, server: SocketAddr| {
            self.open.get(&client).is_some_and(|tracker| tracker.is_server(server))
        };
        if has_transfer(destination, source) {
            return Some((destination, Sender::Server));
        }
        has_transfer(source, destination).then_some((source, Sender::Client))
    }

    /// Returns the client of the transfer that a datagram from or to another address than the requested one belongs to, if
    /// the client accepts the answers of that address.
    fn foreign_owner(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>) -> Option<(SocketAddr, Sender)> {
        let (source, destination) = (datagram.source, datagram.destination);
        let ends = [(destination, source, Sender::Server), (source, destination, Sender::Client)];
        for (client, other, sender) in ends {
            let Some(tracker) = self.open.get_mut(&client) else { continue };
            let message = Message::parse(datagram.payload, datagram.payload_bytes).ok()?;
            let arrival = arrival(frame, datagram, sender == Sender::Client);
            return tracker.accepts_foreign(&arrival, other, &message).then_some((client, sender));
        }
        None
    }

    fn on_request(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>, losses: &mut Losses) -> Option<SocketAddr> {
        let client = datagram.source;
        let (request, write) = match Message::parse(datagram.payload, datagram.payload_bytes) {
            Ok(Message::ReadRequest(request)) => (request, false),
            Ok(Message::WriteRequest(request)) => (request, true),
            // A server may also keep its port for the whole transfer.
            Ok(message) => {
                let tracker = self.open.get_mut(&client)?;
                let arrival = arrival(frame, datagram, true);
                if tracker.server != datagram.destination
                    && !tracker.accepts_foreign(&arrival, datagram.destination, &message)
                {
                    return None;
                }
                if tracker.accepts(Sender::Client, PORT, &message) {
                    tracker.on_message(&arrival, message);
                }
                return Some(client);
            }
            Err(ParseError::Truncated) => {
                losses.add(&losses::OPTIONS_TRUNCATED, 1);
                return None;
            }
            Err(ParseError::Malformed) => {
                losses.add(&losses::MESSAGES_MALFORMED, 1);
                return None;
            }
        };
        if request.options.cut {
            losses.add(&losses::OPTIONS_TRUNCATED, 1);
        }
        let arrival = arrival(frame, datagram, true);
        if let Some(tracker) = self.open.get_mut(&client) {
            if tracker.is_retransmission_of(&request, write) {
                tracker.on_repeated_request(&arrival);
                return Some(client);
            }
            self.close(client);
        }
        if self.is_full() {
            self.skipped += 1;
            return Some(client);
        }
        if self.open.len() >= limits::MAX_OPEN_TRANSFERS {
            self.close_idle();
        }
        let mac: Option<MacAddress> = frame.source;
        let endpoints = (client, datagram.destination);
        self.open.insert(client, TransferTracker::new(&arrival, endpoints, mac, request, write));
        Some(client)
    }

    /// Tracks a transfer from its first captured acknowledgment.
    fn add_missed_transfer(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>) -> Option<SocketAddr> {
        let (client, server) = (datagram.source, datagram.destination);
        if self.open.contains_key(&client) || self.is_full() {
            return None;
        }
        if self.open.len() >= limits::MAX_OPEN_TRANSFERS {
            self.close_idle();
        }
        let tracker = TransferTracker::without_request(&arrival(frame, datagram, true), (client, server), frame.source);
        self.open.insert(client, tracker);
        Some(client)
    }

    /// True if no further transfer can be kept, so that tracking one would be useless.
    fn is_full(&self) -> bool {
        self.finished.len() >= limits::MAX_TRANSFERS
    }

    fn sweep(&mut self, now_ns: i64) {
        let ended: Vec<SocketAddr> = self
            .open
            .iter()
            .filter(|(_, tracker)| {
                let idle_ns = now_ns.saturating_sub(tracker.last_ns);
                idle_ns > MAX_IDLE_NS || (tracker.is_finished() && idle_ns > LINGER_NS)
            })
            .map(|(client, _)| *client)
            .collect();
        for client in ended {
            self.close(client);
        }
    }

    /// Closes the half that has been idle longest. Closing many at once keeps this rare.
    fn close_idle(&mut self) {
        let mut idle: Vec<(i64, SocketAddr)> =
            self.open.values().map(|tracker| (tracker.last_ns, tracker.client)).collect();
        let half = idle.len() / 2;
        if half > 0 {
            idle.select_nth_unstable(half);
        }
        for (_, client) in idle.into_iter().take(half.max(1)) {
            self.close(client);
        }
    }

    fn close(&mut self, client: SocketAddr) {
        let Some(tracker) = self.open.remove(&client) else { return };
        if self.finished.len() < limits::MAX_TRANSFERS {
            self.finished.push(tracker.finish());
        } else {
            self.skipped += 1;
        }
    }
}

/// Sorts transfers by request time. Sorts indexes first, because a transfer is several hundred bytes large.
fn sort_by_request(finished: Vec<Transfer>) -> Vec<Transfer> {
    let mut indexes: Vec<(i64, SocketAddr, usize)> =
        finished.iter().enumerate().map(|(index, transfer)| (transfer.request_ns, transfer.client, index)).collect();
    indexes.sort_unstable();
    let mut finished: Vec<Option<Transfer>> = finished.into_iter().map(Some).collect();
    indexes.into_iter().filter_map(|(_, _, index)| finished.get_mut(index)?.take()).collect()
}

fn arrival(frame: &Frame<'_>, datagram: &Datagram<'_>, from_client: bool) -> Arrival {
    Arrival {
        time_ns: frame.time_ns,
        wire_bytes: frame.wire_bytes,
        from_client,
        payload_bytes: datagram.payload_bytes,
        fragmented: datagram.fragment.is_some(),
    }
}
