//! Bounds the round trip between client and server by the shortest responses of both ends, wherever the capture was
//! taken.

use std::net::IpAddr;

use onoff_netboot::Capture;
use onoff_netboot::connection::Connection;
use onoff_netboot::path::CapturePath;
use onoff_netboot::transfer::Transfer;
use onoff_netboot::turnaround::Turnaround;

use super::link::LinkIndex;
use super::report::{CaptureSide, Client};

/// Minimum number of turns to determine the shortest.
const MIN_TURNS: u64 = 8;
/// The capture was taken at the end that responds at least this many times faster.
const MIN_RATIO: i64 = 2;

/// The shortest response of each end, seen from the capture point: it includes the round trip to that end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortestResponses {
    client_ns: Option<i64>,
    server_ns: Option<i64>,
    /// The shortest response to ARP, ICMP or a TCP handshake, which takes a machine no time of work.
    client_reply_ns: Option<i64>,
    server_reply_ns: Option<i64>,
}

/// The part of each end's turns that is the network's, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NetworkShare {
    pub(super) client_ns: i64,
    pub(super) server_ns: i64,
    /// The round trip between the ends; `None` if only turns bound it.
    pub(super) measured_ns: Option<i64>,
    /// True if two captures measured it.
    pub(super) by_two_captures: bool,
}

impl NetworkShare {
    /// Returns the share of a path between two captures, of which the one near the client is analyzed.
    pub(super) fn from_path(path: &CapturePath) -> Self {
        // Delays of a busy path are the network's, too.
        let round_trip_ns = path.median_round_trip_ns;
        Self { client_ns: 0, server_ns: round_trip_ns, measured_ns: Some(round_trip_ns), by_two_captures: true }
    }
}

impl ShortestResponses {
    /// Computes the shortest responses from transfer turns, TCP handshakes, and ARP, neighbor discovery and ICMP
    /// responses between the client and its main server. Responses to other stations do not count.
    pub(super) fn new(
        (capture, link): (&Capture, &LinkIndex<'_>),
        client: &Client,
        transfers: &[&Transfer],
        connections: &[&Connection],
    ) -> Self {
        let Some(server) = main_server(transfers, connections) else { return Self::default() };
        let mut shortest = Self::default();
        for transfer in transfers.iter().filter(|transfer| transfer.server.ip() == server) {
            if transfer.server_turnaround.count.min(transfer.client_turnaround.count) >= MIN_TURNS {
                shortest.add(turn(transfer, &transfer.client_turnaround), turn(transfer, &transfer.server_turnaround));
            }
        }
        for connection in connections.iter().filter(|connection| connection.server.ip() == server) {
            let elapsed = |start: Option<i64>, end: Option<i64>| {
                start.zip(end).map(|(start, end)| end.saturating_sub(start).max(0))
            };
            let confirmed = elapsed(connection.accepted_ns, connection.confirmed_ns);
            shortest.add_reply(confirmed, elapsed(connection.opened_ns, connection.accepted_ns));
        }
        let addresses = client.addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok());
        if let Some(station) = capture.addresses.get(&server).and_then(|address| address.station) {
            addresses.for_each(|address| shortest.add_reply(link.shortest_answer(address, station), None));
        }
        if let Some(station) = client.mac {
            shortest.add_reply(None, link.shortest_answer(server, station));
        }
        shortest
    }

    fn add(&mut self, client_ns: Option<i64>, server_ns: Option<i64>) {
        self.client_ns = self.client_ns.into_iter().chain(client_ns).min();
        self.server_ns = self.server_ns.into_iter().chain(server_ns).min();
    }

    fn add_reply(&mut self, client_ns: Option<i64>, server_ns: Option<i64>) {
        self.add(client_ns, server_ns);
        self.client_reply_ns = self.client_reply_ns.into_iter().chain(client_ns).min();
        self.server_reply_ns = self.server_reply_ns.into_iter().chain(server_ns).min();
    }

    /// Returns the network's part of the turns. Near one end, only replies of the other end show the network; that
    /// end's own replies pass no network.
    pub(super) fn network_share(self) -> NetworkShare {
        let at_most = |reply_ns: Option<i64>, shortest_ns: Option<i64>| {
            reply_ns.map(|reply_ns| shortest_ns.map_or(reply_ns, |shortest_ns| shortest_ns.min(reply_ns)))
        };
        let client_ns = at_most(self.client_reply_ns, self.client_ns);
        let server_ns = at_most(self.server_reply_ns, self.server_ns);
        let share = |client_ns: i64, server_ns: i64| NetworkShare {
            client_ns,
            server_ns,
            measured_ns: Some(client_ns.saturating_add(server_ns)),
            by_two_captures: false,
        };
        match (self.side(), client_ns, server_ns) {
            (CaptureSide::Server, Some(client_ns), _) => share(client_ns, 0),
            (CaptureSide::Client, _, Some(server_ns)) => share(0, server_ns),
            (CaptureSide::Unknown, Some(client_ns), Some(server_ns)) => share(client_ns, server_ns),
            _ => NetworkShare::default(),
        }
    }

    /// Returns an upper bound of the round trip between the ends: the sum of the round trips from the capture point to
    /// each end.
    pub(super) fn round_trip_at_most_ns(self) -> Option<i64> {
        self.client_ns.zip(self.server_ns).map(|(client, server)| client.saturating_add(server))
    }

    pub(super) fn side(self) -> CaptureSide {
        match (self.client_ns, self.server_ns) {
            (Some(client), Some(server)) if server.saturating_mul(MIN_RATIO) <= client => CaptureSide::Server,
            (Some(client), Some(server)) if client.saturating_mul(MIN_RATIO) <= server => CaptureSide::Client,
            _ => CaptureSide::Unknown,
        }
    }
}

fn main_server(transfers: &[&Transfer], connections: &[&Connection]) -> Option<IpAddr> {
    let downloads = transfers.iter().filter(|transfer| !transfer.write && transfer.counts.blocks > 0);
    let longest = downloads.max_by_key(|transfer| transfer.counts.blocks).map(|transfer| transfer.server.ip());
    let largest = connections.iter().max_by_key(|connection| connection.server_bytes);
    longest.or_else(|| largest.map(|connection| connection.server.ip()))
}

/// Returns the shortest turn. With retransmissions, a block may follow an earlier acknowledgment, so it returns the
/// median.
fn turn(transfer: &Transfer, turns: &Turnaround) -> Option<i64> {
    let counts = &transfer.counts;
    let retransmissions = counts.repeated_data + counts.repeated_acknowledgments + counts.rollbacks;
    if retransmissions == 0 { turns.shortest_ns } else { turns.median_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;

    #[test]
    fn bounds_round_trip_for_any_capture_point() {
        let side_and_bound = |client_us: i64, server_us: i64| {
            let mut shortest = ShortestResponses::default();
            // A slow turn, then a fast response of the same end.
            shortest.add(Some(20_000 * US), Some(30_000 * US));
            shortest.add(Some(client_us * US), None);
            shortest.add(None, Some(server_us * US));
            (shortest.side(), shortest.round_trip_at_most_ns().map(|ns| ns / US))
        };
        // 10 ms apart: at the client, at the server, in the middle.
        assert_eq!(side_and_bound(367, 10_050), (CaptureSide::Client, Some(10_417)));
        assert_eq!(side_and_bound(10_367, 50), (CaptureSide::Server, Some(10_417)));
        assert_eq!(side_and_bound(5_367, 5_050), (CaptureSide::Unknown, Some(10_417)));
    }

    #[test]
    fn no_bound_with_one_end_only() {
        let mut shortest = ShortestResponses::default();
        shortest.add(Some(367 * US), None);
        assert_eq!((shortest.side(), shortest.round_trip_at_most_ns()), (CaptureSide::Unknown, None));
    }
}
