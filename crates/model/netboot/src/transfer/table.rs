//! All transfers of a capture: which packet belongs to which.

use std::net::SocketAddr;

use hashbrown::HashMap;
use onoff_trace::Losses;

use super::Transfer;
use super::follow::{Arrival, Open, Sender};
use super::unbegun::Unbegun;
use crate::address::MacAddress;
use crate::frame::{Datagram, Frame};
use crate::limits;
use crate::losses;
use crate::tftp::{Message, NotTftp, PORT};

/// A finished transfer is kept open this long for late repetitions, ns.
const LINGER_NS: i64 = 10_000_000_000;
/// A silent one this long, ns: no client waits longer for a server.
const PATIENCE_NS: i64 = 300_000_000_000;
/// Frames between two looks for transfers that have ended.
const SWEEP: u64 = 8192;

/// The transfers seen so far.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    open: HashMap<SocketAddr, Open>,
    finished: Vec<Transfer>,
    unbegun: Unbegun,
    left_out: u64,
    seen: u64,
}

impl Transfers {
    /// Looks at a datagram; answers whether it belongs to a transfer.
    pub fn see(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>, losses: &mut Losses) -> Option<SocketAddr> {
        self.seen += 1;
        if self.seen.is_multiple_of(SWEEP) {
            self.sweep(frame.time_ns);
        }
        if datagram.destination.port() == PORT {
            return self.request(frame, datagram, losses);
        }
        let Some((client, sender)) = self.owner(datagram) else {
            // Without room, what goes on may be a transfer whose request was seen and left out.
            if !self.is_full() && self.unbegun.shows(datagram) {
                losses.add(&losses::TRANSFERS_WITHOUT_BEGIN, 1);
                return self.under_way(frame, datagram);
            }
            return None;
        };
        let message = match Message::parse(datagram.payload, datagram.payload_bytes) {
            Ok(message) => message,
            Err(NotTftp::Cut) => {
                losses.add(&losses::OPTIONS_CUT, 1);
                return Some(client);
            }
            Err(NotTftp::Malformed) => {
                losses.add(&losses::MESSAGES_MALFORMED, 1);
                return Some(client);
            }
        };
        let open = self.open.get_mut(&client)?;
        if sender == Sender::Server && frame.destination.is_some_and(|mac| !mac.is_group_or_zero()) {
            open.client_mac = open.client_mac.or(frame.destination);
        }
        let from_client = sender == Sender::Client;
        let server_port = if from_client { datagram.destination.port() } else { datagram.source.port() };
        if open.takes(sender, server_port, &message) {
            open.see(&arrival(frame, datagram, from_client), message);
        }
        Some(client)
    }

    /// A later fragment of a datagram that belongs to the transfer of `client`.
    pub fn later_fragment(&mut self, client: SocketAddr, time_ns: i64, wire_bytes: u32) {
        if let Some(open) = self.open.get_mut(&client) {
            open.later_fragment(time_ns, wire_bytes);
        }
    }

    /// Ends all that are open.
    #[must_use]
    pub fn finish(mut self, losses: &mut Losses) -> Vec<Transfer> {
        let clients: Vec<SocketAddr> = self.open.keys().copied().collect();
        for client in clients {
            self.close(client);
        }
        losses.add(&losses::LEFT_OUT, self.left_out);
        let missing =
            self.finished.iter().fold(0_u64, |sum, transfer| sum.saturating_add(transfer.counts.missing_blocks));
        losses.add(&losses::BLOCKS_NOT_CAPTURED, missing);
        in_order(self.finished)
    }

    /// The client whose transfer a datagram belongs to, and who of the two sent it.
    fn owner(&self, datagram: &Datagram<'_>) -> Option<(SocketAddr, Sender)> {
        let (source, destination) = (datagram.source, datagram.destination);
        let of =
            |client: SocketAddr, server: SocketAddr| self.open.get(&client).is_some_and(|open| open.is_server(server));
        if of(destination, source) {
            return Some((destination, Sender::Server));
        }
        of(source, destination).then_some((source, Sender::Client))
    }

    fn request(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>, losses: &mut Losses) -> Option<SocketAddr> {
        let client = datagram.source;
        let (request, write) = match Message::parse(datagram.payload, datagram.payload_bytes) {
            Ok(Message::ReadRequest(request)) => (request, false),
            Ok(Message::WriteRequest(request)) => (request, true),
            // A server may also stay on its port for the whole transfer.
            Ok(message) => {
                let open = self.open.get_mut(&client)?;
                if open.server != datagram.destination {
                    return None;
                }
                if open.takes(Sender::Client, PORT, &message) {
                    open.see(&arrival(frame, datagram, true), message);
                }
                return Some(client);
            }
            Err(NotTftp::Cut) => {
                losses.add(&losses::OPTIONS_CUT, 1);
                return None;
            }
            Err(NotTftp::Malformed) => {
                losses.add(&losses::MESSAGES_MALFORMED, 1);
                return None;
            }
        };
        if request.options.cut {
            losses.add(&losses::OPTIONS_CUT, 1);
        }
        let arrival = arrival(frame, datagram, true);
        if let Some(open) = self.open.get_mut(&client) {
            if open.repeats(&request, write) {
                open.request_again(&arrival);
                return Some(client);
            }
            self.close(client);
        }
        if self.is_full() {
            self.left_out += 1;
            return Some(client);
        }
        if self.open.len() >= limits::OPEN_TRANSFERS {
            self.close_quiet();
        }
        let mac: Option<MacAddress> = frame.source;
        let ends = (client, datagram.destination);
        self.open.insert(client, Open::new(&arrival, ends, mac, request, write));
        Some(client)
    }

    /// Follows a transfer from its first acknowledgment on that was captured.
    fn under_way(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>) -> Option<SocketAddr> {
        let (client, server) = (datagram.source, datagram.destination);
        if self.open.contains_key(&client) || self.is_full() {
            return None;
        }
        if self.open.len() >= limits::OPEN_TRANSFERS {
            self.close_quiet();
        }
        let open = Open::under_way(&arrival(frame, datagram, true), (client, server), frame.source);
        self.open.insert(client, open);
        Some(client)
    }

    /// Whether no further transfer could be kept: following one would cost time for nothing.
    fn is_full(&self) -> bool {
        self.finished.len() >= limits::TRANSFERS
    }

    fn sweep(&mut self, now_ns: i64) {
        let ended: Vec<SocketAddr> = self
            .open
            .iter()
            .filter(|(_, open)| {
                let silent = now_ns.saturating_sub(open.last_ns);
                silent > PATIENCE_NS || (open.is_over() && silent > LINGER_NS)
            })
            .map(|(client, _)| *client)
            .collect();
        for client in ended {
            self.close(client);
        }
    }

    /// Closes the half that was silent longest: all at once, so that this is rare however many transfers there are.
    fn close_quiet(&mut self) {
        let mut quiet: Vec<(i64, SocketAddr)> = self.open.values().map(|open| (open.last_ns, open.client)).collect();
        let half = quiet.len() / 2;
        if half > 0 {
            quiet.select_nth_unstable(half);
        }
        for (_, client) in quiet.into_iter().take(half.max(1)) {
            self.close(client);
        }
    }

    fn close(&mut self, client: SocketAddr) {
        let Some(open) = self.open.remove(&client) else { return };
        if self.finished.len() < limits::TRANSFERS {
            self.finished.push(open.finish());
        } else {
            self.left_out += 1;
        }
    }
}

/// By the time of their request. Their places are sorted, for a transfer is several hundred bytes long.
fn in_order(finished: Vec<Transfer>) -> Vec<Transfer> {
    let mut places: Vec<(i64, SocketAddr, usize)> =
        finished.iter().enumerate().map(|(place, transfer)| (transfer.request_ns, transfer.client, place)).collect();
    places.sort_unstable();
    let mut finished: Vec<Option<Transfer>> = finished.into_iter().map(Some).collect();
    places.into_iter().filter_map(|(_, _, place)| finished.get_mut(place)?.take()).collect()
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
