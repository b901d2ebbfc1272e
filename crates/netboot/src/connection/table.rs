//! All connections of a capture.

use std::net::SocketAddr;

use hashbrown::HashMap;
use onoff_trace::Losses;

use super::follow::Open;
use super::{Connection, http};
use crate::frame::{Frame, Segment};
use crate::limits;
use crate::losses;

/// The connections seen so far.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    open: HashMap<(SocketAddr, SocketAddr), Open>,
    finished: Vec<Connection>,
    left_out: u64,
}

impl Connections {
    /// Looks at a segment.
    pub fn see(&mut self, frame: &Frame<'_>, segment: &Segment<'_>) {
        let forward = (segment.source, segment.destination);
        let backward = (segment.destination, segment.source);
        if segment.syn && !segment.ack {
            if self.open.get(&forward).is_some_and(|open| open.is_other(segment)) {
                self.close(forward);
            }
            self.begin(frame, forward);
        } else if !self.open.contains_key(&forward)
            && !self.open.contains_key(&backward)
            && http::is_request(segment.payload)
        {
            // Open before the capture began.
            self.begin(frame, forward);
        }
        let key = if self.open.contains_key(&forward) { forward } else { backward };
        if let Some(open) = self.open.get_mut(&key) {
            open.see(frame.time_ns, frame.wire_bytes, segment);
        }
    }

    /// Ends all that are open.
    #[must_use]
    pub fn finish(mut self, losses: &mut Losses) -> Vec<Connection> {
        let keys: Vec<_> = self.open.keys().copied().collect();
        for key in keys {
            self.close(key);
        }
        losses.add(&losses::LEFT_OUT, self.left_out);
        self.finished.sort_by_key(|connection| (connection.first_ns, connection.client));
        self.finished
    }

    fn begin(&mut self, frame: &Frame<'_>, key: (SocketAddr, SocketAddr)) {
        if self.open.contains_key(&key) {
            return;
        }
        if self.open.len() >= limits::OPEN_CONNECTIONS {
            self.close_quiet();
        }
        let (client, server) = key;
        self.open.insert(key, Open::new(frame.time_ns, client, server, frame.source));
    }

    /// Closes the half that was silent longest: all at once, so that this is rare however many connections there are.
    fn close_quiet(&mut self) {
        let mut quiet: Vec<_> = self.open.iter().map(|(key, open)| (open.last_ns(), *key)).collect();
        let half = quiet.len() / 2;
        if half > 0 {
            quiet.select_nth_unstable(half);
        }
        for (_, key) in quiet.into_iter().take(half.max(1)) {
            self.close(key);
        }
    }

    fn close(&mut self, key: (SocketAddr, SocketAddr)) {
        let Some(open) = self.open.remove(&key) else {
            return;
        };
        let connection = open.finish();
        // Ordinary traffic is no part of a boot.
        if !connection.is_of_boots() {
            return;
        }
        if self.finished.len() < limits::CONNECTIONS {
            self.finished.push(connection);
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::frame::Packet;

    fn segment(client: u32, server_port: u16, payload: &'static [u8]) -> Segment<'static> {
        Segment {
            source: (Ipv4Addr::from(0x0A00_0000 + client), 2000).into(),
            destination: (Ipv4Addr::new(192, 168, 0, 1), server_port).into(),
            sequence: 0,
            acknowledgment: 0,
            syn: payload.is_empty(),
            ack: !payload.is_empty(),
            fin: false,
            reset: false,
            window: 1000,
            window_shift: None,
            payload,
            payload_bytes: payload.len() as u32,
        }
    }

    fn see(connections: &mut Connections, time_ns: i64, segment: Segment<'static>) {
        let packet = Packet::Tcp(segment);
        let frame = Frame { time_ns, wire_bytes: 60, source: None, destination: None, identification: None, packet };
        connections.see(&frame, &segment);
    }

    #[test]
    fn a_flood_of_other_traffic_is_followed_in_bounded_memory_and_is_no_loss() {
        let (mut connections, mut most) = (Connections::default(), 0);
        for client in 0..60_000 {
            see(&mut connections, i64::from(client), segment(client, 22, b""));
            most = most.max(connections.open.len());
        }
        assert_eq!(most, limits::OPEN_CONNECTIONS);
        // A boot in the midst of it is found.
        see(&mut connections, 70_000, segment(7, 80, b"GET /boot.efi HTTP/1.1\r\n\r\n"));
        let mut losses = Losses::default();
        let found = connections.finish(&mut losses);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].requests.len(), 1);
        assert_eq!(losses.count("left_out"), 0);
    }

    #[test]
    fn a_flood_that_may_be_boots_is_cut_and_said_to_be() {
        let mut connections = Connections::default();
        let clients = limits::CONNECTIONS as u32 + 5_000;
        for client in 0..clients {
            see(&mut connections, i64::from(client), segment(client, 80, b""));
        }
        let mut losses = Losses::default();
        assert_eq!(connections.finish(&mut losses).len(), limits::CONNECTIONS);
        assert_eq!(losses.count("left_out"), 5_000);
    }
}
