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
            let quietest = self.open.iter().min_by_key(|(key, open)| (open.last_ns(), **key)).map(|(key, _)| *key);
            if let Some(quietest) = quietest {
                self.close(quietest);
            }
        }
        let (client, server) = key;
        self.open.insert(key, Open::new(frame.time_ns, client, server, frame.source));
    }

    fn close(&mut self, key: (SocketAddr, SocketAddr)) {
        let Some(open) = self.open.remove(&key) else {
            return;
        };
        if self.finished.len() < limits::CONNECTIONS {
            self.finished.push(open.finish());
        } else {
            self.left_out += 1;
        }
    }
}
