//! Tracks all TCP connections of a capture.

use std::net::SocketAddr;

use hashbrown::{HashMap, HashSet};
use onoff_trace::Losses;

use super::tracker::ConnectionTracker;
use super::{Connection, http};
use crate::address::MacAddress;
use crate::frame::{Frame, Segment};
use crate::limits;
use crate::losses;

/// The connections seen so far.
#[derive(Clone, Debug, Default)]
pub struct ConnectionTable {
    open: HashMap<(SocketAddr, SocketAddr), ConnectionTracker>,
    /// Connections of machines that requested a network boot.
    finished: Vec<Connection>,
    /// Connections of other machines.
    others: Vec<Connection>,
    skipped: u64,
    others_skipped: u64,
}

impl ConnectionTable {
    /// Processes a segment. `booting` are the stations that have requested a network boot so far.
    pub fn on_segment(&mut self, frame: &Frame<'_>, segment: &Segment<'_>, booting: &HashSet<MacAddress>) {
        let forward = (segment.source, segment.destination);
        let backward = (segment.destination, segment.source);
        if segment.syn && !segment.ack {
            if self.open.get(&forward).is_some_and(|tracker| tracker.is_new_connection(segment)) {
                self.close(forward, booting);
            }
            self.begin(frame, forward, booting);
        } else if !self.open.contains_key(&forward)
            && !self.open.contains_key(&backward)
            && http::is_request(segment.payload)
        {
            // The connection was open before the capture started.
            self.begin(frame, forward, booting);
        }
        let key = if self.open.contains_key(&forward) { forward } else { backward };
        if let Some(tracker) = self.open.get_mut(&key) {
            tracker.on_segment(frame.time_ns, frame.wire_bytes, segment);
        }
    }

    /// Ends all open connections.
    #[must_use]
    pub fn finish(mut self, booting: &HashSet<MacAddress>, losses: &mut Losses) -> Vec<Connection> {
        let keys: Vec<_> = self.open.keys().copied().collect();
        for key in keys {
            self.close(key, booting);
        }
        losses.add(&losses::LIMIT_REACHED, self.skipped);
        losses.add(&losses::OTHER_MACHINES_SKIPPED, self.others_skipped);
        self.finished.append(&mut self.others);
        self.finished.sort_by_key(|connection| (connection.first_ns, connection.client));
        self.finished
    }

    fn begin(&mut self, frame: &Frame<'_>, key: (SocketAddr, SocketAddr), booting: &HashSet<MacAddress>) {
        if self.open.contains_key(&key) {
            return;
        }
        if self.open.len() >= limits::MAX_OPEN_CONNECTIONS {
            self.close_idle(booting);
        }
        let (client, server) = key;
        self.open.insert(key, ConnectionTracker::new(frame.time_ns, client, server, frame.source));
    }

    /// Closes the half that has been idle longest. Closing many at once keeps this rare.
    fn close_idle(&mut self, booting: &HashSet<MacAddress>) {
        let mut idle: Vec<_> = self.open.iter().map(|(key, tracker)| (tracker.last_ns(), *key)).collect();
        let half = idle.len() / 2;
        if half > 0 {
            idle.select_nth_unstable(half);
        }
        for (_, key) in idle.into_iter().take(half.max(1)) {
            self.close(key, booting);
        }
    }

    fn close(&mut self, key: (SocketAddr, SocketAddr), booting: &HashSet<MacAddress>) {
        let Some(tracker) = self.open.remove(&key) else { return };
        let connection = tracker.finish();
        // Skip ordinary traffic.
        if !connection.may_be_boot() {
            return;
        }
        // Limit other machines separately, so that their web traffic cannot displace a boot.
        let is_booting = connection.client_mac.is_some_and(|mac| booting.contains(&mac));
        let (connections, max, skipped) = if is_booting {
            (&mut self.finished, limits::MAX_CONNECTIONS, &mut self.skipped)
        } else {
            (&mut self.others, limits::MAX_OTHER_CONNECTIONS, &mut self.others_skipped)
        };
        if connections.len() < max {
            connections.push(connection);
        } else {
            *skipped += 1;
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

    const CLIENT: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

    fn send(connections: &mut ConnectionTable, time_ns: i64, segment: Segment<'static>) {
        send_from(connections, time_ns, segment, None);
    }

    fn send_from(
        connections: &mut ConnectionTable,
        time_ns: i64,
        segment: Segment<'static>,
        source: Option<MacAddress>,
    ) {
        let packet = Packet::Tcp(segment);
        let frame = Frame { time_ns, wire_bytes: 60, source, destination: None, identification: None, packet };
        connections.on_segment(&frame, &segment, &HashSet::from([CLIENT]));
    }

    #[test]
    fn other_traffic_uses_bounded_memory_without_loss() {
        let (mut connections, mut max) = (ConnectionTable::default(), 0);
        for client in 0..60_000 {
            send(&mut connections, i64::from(client), segment(client, 22, b""));
            max = max.max(connections.open.len());
        }
        assert_eq!(max, limits::MAX_OPEN_CONNECTIONS);
        // A boot among this traffic is found.
        send(&mut connections, 70_000, segment(7, 80, b"GET /boot.efi HTTP/1.1\r\n\r\n"));
        let mut losses = Losses::default();
        let found = connections.finish(&HashSet::new(), &mut losses);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].requests.len(), 1);
        assert_eq!(losses.count("limit_reached"), 0);
    }

    #[test]
    fn limits_web_traffic_of_other_machines_only() {
        let mut connections = ConnectionTable::default();
        let others = limits::MAX_OTHER_CONNECTIONS as u32 + 5_000;
        for client in 0..others {
            send(&mut connections, i64::from(client), segment(client, 80, b""));
        }
        for client in others..others + 20 {
            send_from(&mut connections, i64::from(client), segment(client, 80, b""), Some(CLIENT));
        }
        let mut losses = Losses::default();
        let found = connections.finish(&HashSet::from([CLIENT]), &mut losses);
        assert_eq!(found.len(), limits::MAX_OTHER_CONNECTIONS + 20);
        assert_eq!((losses.count("limit_reached"), losses.count("other_machines_skipped")), (0, 5_000));
    }

    #[test]
    fn counts_skipped_connections_of_booting_machine() {
        let mut connections = ConnectionTable::default();
        for client in 0..limits::MAX_CONNECTIONS as u32 + 5_000 {
            send_from(&mut connections, i64::from(client), segment(client, 80, b""), Some(CLIENT));
        }
        let mut losses = Losses::default();
        assert_eq!(connections.finish(&HashSet::from([CLIENT]), &mut losses).len(), limits::MAX_CONNECTIONS);
        assert_eq!(losses.count("limit_reached"), 5_000);
    }
}
