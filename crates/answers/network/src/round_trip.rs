//! How far client and server are apart: what the answers of each end bound, wherever between them the capture was taken.

use std::net::IpAddr;

use onoff_netboot::Capture;
use onoff_netboot::connection::Connection;
use onoff_netboot::transfer::Transfer;
use onoff_netboot::turnaround::Turnaround;

use super::link::LinkIndex;
use super::report::{CaptureSide, Client};

/// Fewer turns do not show the shortest.
const MIN_TURNS: u64 = 8;
/// An end that answers this many times faster than the other is where the capture was taken.
const NEARER: i64 = 2;

/// The shortest answer of each end of a boot, as the place of the capture saw it: the way there and back is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortestAnswers {
    client_ns: Option<i64>,
    server_ns: Option<i64>,
}

impl ShortestAnswers {
    /// Of the client and the server that it loaded most from: turns of transfers, handshakes of TCP, and answers by ARP, neighbor
    /// discovery and ICMP to the other end. What one of them answers a third station says nothing about the way between the two.
    pub(super) fn of(
        (capture, link): (&Capture, &LinkIndex<'_>),
        client: &Client,
        transfers: &[&Transfer],
        connections: &[&Connection],
    ) -> Self {
        let Some(server) = main_server(transfers, connections) else { return Self::default() };
        let mut shortest = Self::default();
        for transfer in transfers.iter().filter(|transfer| transfer.server.ip() == server) {
            if transfer.server_turn.count.min(transfer.client_turn.count) >= MIN_TURNS {
                shortest.see(turn(transfer, &transfer.client_turn), turn(transfer, &transfer.server_turn));
            }
        }
        for connection in connections.iter().filter(|connection| connection.server.ip() == server) {
            let span =
                |from: Option<i64>, to: Option<i64>| from.zip(to).map(|(from, to)| to.saturating_sub(from).max(0));
            let confirmed = span(connection.accepted_ns, connection.confirmed_ns);
            shortest.see(confirmed, span(connection.opened_ns, connection.accepted_ns));
        }
        let addresses = client.addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok());
        if let Some(station) = capture.addresses.get(&server).and_then(|seen| seen.station) {
            addresses.for_each(|address| shortest.see(link.shortest_answer(address, station), None));
        }
        if let Some(station) = client.mac {
            shortest.see(None, link.shortest_answer(server, station));
        }
        shortest
    }

    fn see(&mut self, client_ns: Option<i64>, server_ns: Option<i64>) {
        self.client_ns = self.client_ns.into_iter().chain(client_ns).min();
        self.server_ns = self.server_ns.into_iter().chain(server_ns).min();
    }

    /// The round trip between the ends is at most this: the way from the place of the capture to the one end and back, and to
    /// the other and back.
    pub(super) fn round_trip_at_most_ns(self) -> Option<i64> {
        self.client_ns.zip(self.server_ns).map(|(client, server)| client.saturating_add(server))
    }

    /// Where the capture was taken.
    pub(super) fn side(self) -> CaptureSide {
        match (self.client_ns, self.server_ns) {
            (Some(client), Some(server)) if server.saturating_mul(NEARER) <= client => CaptureSide::Server,
            (Some(client), Some(server)) if client.saturating_mul(NEARER) <= server => CaptureSide::Client,
            _ => CaptureSide::Unknown,
        }
    }
}

fn main_server(transfers: &[&Transfer], connections: &[&Connection]) -> Option<IpAddr> {
    let loads = transfers.iter().filter(|transfer| !transfer.write && transfer.counts.blocks > 0);
    let longest = loads.max_by_key(|transfer| transfer.counts.blocks).map(|transfer| transfer.server.ip());
    let largest = connections.iter().max_by_key(|connection| connection.server_bytes);
    longest.or_else(|| largest.map(|connection| connection.server.ip()))
}

/// The shortest turn; where packets were sent again, a block may follow the acknowledgment before, and only most turns are turns.
fn turn(transfer: &Transfer, turns: &Turnaround) -> Option<i64> {
    let counts = &transfer.counts;
    let again = counts.repeated_data + counts.repeated_acknowledgments + counts.rollbacks;
    if again == 0 { turns.shortest_ns } else { turns.median_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;

    #[test]
    fn the_far_end_bounds_the_round_trip_wherever_the_capture_was_taken() {
        let seen = |client_us: i64, server_us: i64| {
            let mut shortest = ShortestAnswers::default();
            // A slow turn, then a quick answer of the same end.
            shortest.see(Some(20_000 * US), Some(30_000 * US));
            shortest.see(Some(client_us * US), None);
            shortest.see(None, Some(server_us * US));
            (shortest.side(), shortest.round_trip_at_most_ns().map(|ns| ns / US))
        };
        // 10 ms apart: at the client, at the server, in the middle.
        assert_eq!(seen(367, 10_050), (CaptureSide::Client, Some(10_417)));
        assert_eq!(seen(10_367, 50), (CaptureSide::Server, Some(10_417)));
        assert_eq!(seen(5_367, 5_050), (CaptureSide::Unknown, Some(10_417)));
    }

    #[test]
    fn one_end_alone_bounds_nothing() {
        let mut shortest = ShortestAnswers::default();
        shortest.see(Some(367 * US), None);
        assert_eq!((shortest.side(), shortest.round_trip_at_most_ns()), (CaptureSide::Unknown, None));
    }
}
