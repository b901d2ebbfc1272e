//! All connections of a capture.

use std::net::SocketAddr;

use hashbrown::{HashMap, HashSet};
use onoff_trace::Losses;

use super::follow::Open;
use super::{Connection, http};
use crate::address::MacAddress;
use crate::frame::{Frame, Segment};
use crate::limits;
use crate::losses;

/// The connections seen so far.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    open: HashMap<(SocketAddr, SocketAddr), Open>,
    /// Of machines that asked for a network boot.
    finished: Vec<Connection>,
    /// Of machines that were not seen to.
    others: Vec<Connection>,
    left_out: u64,
    others_left_out: u64,
}

impl Connections {
    /// Looks at a segment; `booting` are the stations that asked for a network boot so far.
    pub fn see(&mut self, frame: &Frame<'_>, segment: &Segment<'_>, booting: &HashSet<MacAddress>) {
        let forward = (segment.source, segment.destination);
        let backward = (segment.destination, segment.source);
        if segment.syn && !segment.ack {
            if self.open.get(&forward).is_some_and(|open| open.is_other(segment)) {
                self.close(forward, booting);
            }
            self.begin(frame, forward, booting);
        } else if !self.open.contains_key(&forward)
            && !self.open.contains_key(&backward)
            && http::is_request(segment.payload)
        {
            // Open before the capture began.
            self.begin(frame, forward, booting);
        }
        let key = if self.open.contains_key(&forward) { forward } else { backward };
        if let Some(open) = self.open.get_mut(&key) {
            open.see(frame.time_ns, frame.wire_bytes, segment);
        }
    }

    /// Ends all that are open.
    #[must_use]
    pub fn finish(mut self, booting: &HashSet<MacAddress>, losses: &mut Losses) -> Vec<Connection> {
        let keys: Vec<_> = self.open.keys().copied().collect();
        for key in keys {
            self.close(key, booting);
        }
        losses.add(&losses::LEFT_OUT, self.left_out);
        losses.add(&losses::OTHERS_LEFT_OUT, self.others_left_out);
        self.finished.append(&mut self.others);
        self.finished.sort_by_key(|connection| (connection.first_ns, connection.client));
        self.finished
    }

    fn begin(&mut self, frame: &Frame<'_>, key: (SocketAddr, SocketAddr), booting: &HashSet<MacAddress>) {
        if self.open.contains_key(&key) {
            return;
        }
        if self.open.len() >= limits::OPEN_CONNECTIONS {
            self.close_quiet(booting);
        }
        let (client, server) = key;
        self.open.insert(key, Open::new(frame.time_ns, client, server, frame.source));
    }

    /// Closes the half that was silent longest: all at once, so that this is rare however many connections there are.
    fn close_quiet(&mut self, booting: &HashSet<MacAddress>) {
        let mut quiet: Vec<_> = self.open.iter().map(|(key, open)| (open.last_ns(), *key)).collect();
        let half = quiet.len() / 2;
        if half > 0 {
            quiet.select_nth_unstable(half);
        }
        for (_, key) in quiet.into_iter().take(half.max(1)) {
            self.close(key, booting);
        }
    }

    fn close(&mut self, key: (SocketAddr, SocketAddr), booting: &HashSet<MacAddress>) {
        let Some(open) = self.open.remove(&key) else { return };
        let connection = open.finish();
        // Ordinary traffic is no part of a boot.
        if !connection.is_of_boots() {
            return;
        }
        // Web traffic of other machines must not push out what a boot did.
        let boots = connection.client_mac.is_some_and(|mac| booting.contains(&mac));
        let (kept, most, left_out) = if boots {
            (&mut self.finished, limits::CONNECTIONS, &mut self.left_out)
        } else {
            (&mut self.others, limits::OTHER_CONNECTIONS, &mut self.others_left_out)
        };
        if kept.len() < most {
            kept.push(connection);
        } else {
            *left_out += 1;
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

    fn see(connections: &mut Connections, time_ns: i64, segment: Segment<'static>) {
        see_from(connections, time_ns, segment, None);
    }

    fn see_from(connections: &mut Connections, time_ns: i64, segment: Segment<'static>, source: Option<MacAddress>) {
        let packet = Packet::Tcp(segment);
        let frame = Frame { time_ns, wire_bytes: 60, source, destination: None, identification: None, packet };
        connections.see(&frame, &segment, &HashSet::from([CLIENT]));
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
        let found = connections.finish(&HashSet::new(), &mut losses);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].requests.len(), 1);
        assert_eq!(losses.count("left_out"), 0);
    }

    #[test]
    fn web_traffic_of_others_is_cut_and_a_boot_in_the_midst_of_it_is_not() {
        let mut connections = Connections::default();
        let others = limits::OTHER_CONNECTIONS as u32 + 5_000;
        for client in 0..others {
            see(&mut connections, i64::from(client), segment(client, 80, b""));
        }
        for client in others..others + 20 {
            see_from(&mut connections, i64::from(client), segment(client, 80, b""), Some(CLIENT));
        }
        let mut losses = Losses::default();
        let found = connections.finish(&HashSet::from([CLIENT]), &mut losses);
        assert_eq!(found.len(), limits::OTHER_CONNECTIONS + 20);
        assert_eq!((losses.count("left_out"), losses.count("others_left_out")), (0, 5_000));
    }

    #[test]
    fn a_flood_of_a_machine_that_boots_is_cut_and_said_to_be() {
        let mut connections = Connections::default();
        for client in 0..limits::CONNECTIONS as u32 + 5_000 {
            see_from(&mut connections, i64::from(client), segment(client, 80, b""), Some(CLIENT));
        }
        let mut losses = Losses::default();
        assert_eq!(connections.finish(&HashSet::from([CLIENT]), &mut losses).len(), limits::CONNECTIONS);
        assert_eq!(losses.count("left_out"), 5_000);
    }
}
