//! Counts the packets of one direction that are in one of two captures only.

use std::net::IpAddr;

use hashbrown::{HashMap, HashSet};

use super::clocks::ClockFit;
use super::{CapturePlace, PacketMark, PathDirection};

/// Counts the packets of one direction; the delays are not filled in. `longest_ns` is the longest delay of a packet.
pub(super) fn count(
    (client, server): (CapturePlace<'_>, CapturePlace<'_>),
    fit: &ClockFit,
    (address, peers): (IpAddr, &HashSet<IpAddr>),
    from_client: bool,
    longest_ns: i64,
) -> PathDirection {
    let mut direction = PathDirection::default();
    let packets = |place| DirectionPackets { place, address, peers, from_client, end_ns: end_ns(place) };
    let (client_place, server_place) = (packets(client), packets(server));
    let (sender, receiver) = if from_client { (client_place, server_place) } else { (server_place, client_place) };
    let to_receiver_ns = |ns: i64| if from_client { fit.to_server_ns(ns) } else { fit.to_client_ns(ns) };
    let to_sender_ns = |ns: i64| if from_client { fit.to_client_ns(ns) } else { fit.to_server_ns(ns) };

    let received = Counts::new(&receiver);
    let mut matched: HashMap<u64, u32> = HashMap::new();
    for mark in sender.packets() {
        let at_receiver_ns = to_receiver_ns(mark.time_ns);
        if at_receiver_ns < 0 || at_receiver_ns.saturating_add(longest_ns) > receiver.end_ns {
            continue;
        }
        direction.packets += 1;
        let used = matched.entry(mark.digest).or_default();
        if *used < received.by_digest.get(&mark.digest).copied().unwrap_or(0) {
            *used += 1;
            continue;
        }
        // Its content arrived later: it was sent again. Nothing of its flow arrived later: it was the last one.
        let arrives_later = received.last_by_content.get(&mark.content).is_some_and(|ns| *ns > at_receiver_ns);
        let continues = received.last_by_flow.get(&mark.flow).is_some_and(|ns| *ns > at_receiver_ns);
        if arrives_later || !continues {
            direction.lost += 1;
        } else {
            direction.not_captured += 1;
        }
    }
    let sent = Counts::new(&sender);
    let mut matched: HashMap<u64, u32> = HashMap::new();
    for mark in receiver.packets() {
        let at_sender_ns = to_sender_ns(mark.time_ns);
        let used = matched.entry(mark.digest).or_default();
        *used += 1;
        let is_within = at_sender_ns >= longest_ns && at_sender_ns <= sender.end_ns;
        if is_within && *used > sent.by_digest.get(&mark.digest).copied().unwrap_or(0) {
            direction.not_captured += 1;
        }
    }
    direction.lost_percent = match direction.packets {
        0 => 0.0,
        packets => direction.lost as f64 * 100.0 / packets as f64,
    };
    direction
}

/// Returns the end of the marked part of a capture, ns.
fn end_ns(place: CapturePlace<'_>) -> i64 {
    let last_ns = place.marks.marks.last().map_or(0, |mark| mark.time_ns);
    if place.marks.is_truncated { last_ns } else { place.duration_ns }
}

/// One of the captures, seen for one direction.
#[derive(Clone, Copy)]
struct DirectionPackets<'a> {
    place: CapturePlace<'a>,
    address: IpAddr,
    /// The machines whose packets pass both places.
    peers: &'a HashSet<IpAddr>,
    from_client: bool,
    end_ns: i64,
}

impl<'a> DirectionPackets<'a> {
    /// Returns the packets of the client in this direction, from or to the peers.
    fn packets(self) -> impl Iterator<Item = &'a PacketMark> {
        let client = self.place.marks.index_of(self.address);
        let is_peer: Vec<bool> =
            self.place.marks.addresses.iter().map(|address| self.peers.contains(address)).collect();
        self.place.marks.marks.iter().filter(move |mark| {
            let (own, peer) = mark.ends(self.from_client);
            client == Some(own) && is_peer.get(peer as usize).copied().unwrap_or(false)
        })
    }
}

/// What a capture contains of one direction.
#[derive(Default)]
struct Counts {
    by_digest: HashMap<u64, u32>,
    last_by_content: HashMap<u64, i64>,
    last_by_flow: HashMap<u64, i64>,
}

impl Counts {
    fn new(place: &DirectionPackets<'_>) -> Self {
        let mut counts = Self::default();
        for mark in place.packets() {
            *counts.by_digest.entry(mark.digest).or_default() += 1;
            counts.last_by_content.insert(mark.content, mark.time_ns);
            counts.last_by_flow.insert(mark.flow, mark.time_ns);
        }
        counts
    }
}
