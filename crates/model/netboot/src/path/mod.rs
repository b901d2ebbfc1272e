//! Measures the path between two places where one boot was captured: loss and delay in each direction.
//!
//! The clocks of the two captures are independent. Packets that both contain align them: a packet is never received
//! before it was sent, in either direction. Between the bounds of both directions, the offset is undetermined, so the
//! shortest delays are assumed to be equal; the round trip does not depend on that.

mod clocks;
mod losses;
mod marks;

use std::net::IpAddr;

use hashbrown::{HashMap, HashSet};
use serde::Serialize;

use clocks::ClockFit;
pub use marks::{PacketMark, PacketMarks};

/// Minimum number of packets that both captures contain, in each direction.
const MIN_COMMON: usize = 8;
/// Minimum share of the client's packets that both captures contain.
const MIN_COMMON_PERCENT: usize = 25;

/// The path between the places of two captures of one boot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapturePath {
    /// IP address of the client whose packets were compared.
    pub client: String,
    /// The capture nearer to the client, which the report analyzes.
    pub client_capture: String,
    /// The capture nearer to the server.
    pub server_capture: String,
    /// Clock of the server's capture minus clock of the client's capture, at its first frame, ns.
    pub clock_offset_ns: i64,
    /// Drift between the clocks, parts per million; `None` if none is noticeable.
    pub clock_drift_ppm: Option<f64>,
    /// Shortest round trip, ns: the sum of the shortest delays.
    pub shortest_round_trip_ns: i64,
    /// Sum of the median delays, ns.
    pub median_round_trip_ns: i64,
    pub to_server: PathDirection,
    pub to_client: PathDirection,
}

/// One direction of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathDirection {
    /// Packets in the capture at the sender, while the other capture was running.
    pub packets: u64,
    /// Packets that did not reach the place of the other capture: they were sent again, or nothing followed them.
    pub lost: u64,
    /// Lost packets, percent.
    pub lost_percent: f64,
    /// Packets that passed both places and are in one capture only.
    pub not_captured: u64,
    /// Median delay, ns. The shortest delay is half the shortest round trip.
    pub median_ns: i64,
    pub longest_ns: i64,
}

/// What is compared of a capture.
#[derive(Clone, Copy, Debug)]
pub struct CapturePlace<'a> {
    /// Name of the file.
    pub name: &'a str,
    /// Time of the first frame, ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// Time of the last frame, ns since the first.
    pub duration_ns: i64,
    pub marks: &'a PacketMarks,
}

/// A packet in both captures: time in the client's capture, and time in the server's minus time in the client's, ns.
type Pair = (i64, i64);

/// Determines whether two captures contain one boot at different places. Returns the path and whether
/// `second` is nearer to the client. `None` if they have too few packets in common, if their times contradict each other,
/// or if both were taken at one place.
#[must_use]
pub fn measure(first: CapturePlace<'_>, second: CapturePlace<'_>) -> Option<(CapturePath, bool)> {
    let (first_marks, second_marks) = (first.marks, second.marks);
    let common = common_packets(first_marks, second_marks);
    let address = client((first_marks, second_marks), &common)?;
    let client = first_marks.index_of(address)?;
    let pairs = |from_client: bool| -> Vec<Pair> {
        common
            .iter()
            .filter(|(mark, _)| mark.ends(from_client).0 == client)
            .map(|(mark, other_ns)| (mark.time_ns, other_ns.saturating_sub(mark.time_ns)))
            .collect()
    };
    let (to_server, to_client) = (pairs(true), pairs(false));
    let marks_of_client = |marks: &PacketMarks| {
        let index = marks.index_of(address);
        marks.marks.iter().filter(|mark| index == Some(mark.source) || index == Some(mark.destination)).count()
    };
    let smaller = marks_of_client(first_marks).min(marks_of_client(second_marks));
    let common_count = to_server.len() + to_client.len();
    if to_server.len().min(to_client.len()) < MIN_COMMON || common_count * 100 < smaller * MIN_COMMON_PERCENT {
        return None;
    }
    let peers: HashSet<IpAddr> = common
        .iter()
        .flat_map(|(mark, _)| [mark.ends(true), mark.ends(false)])
        .filter(|(own, _)| *own == client)
        .filter_map(|(_, peer)| first_marks.addresses.get(peer as usize).copied())
        .collect();
    let ends = (address, &peers);
    if let Some(fit) = ClockFit::new(&to_server, &to_client) {
        return Some((path(&fit, (first, second), (&to_server, &to_client), ends), false));
    }
    // The other way around: `second` is nearer to the client.
    let swapped = |pairs: &[Pair]| -> Vec<Pair> {
        pairs.iter().map(|&(time_ns, ns)| (time_ns.saturating_add(ns), ns.saturating_neg())).collect()
    };
    let (to_server, to_client) = (swapped(&to_server), swapped(&to_client));
    let fit = ClockFit::new(&to_server, &to_client)?;
    Some((path(&fit, (second, first), (&to_server, &to_client), ends), true))
}

/// Returns the packets that each capture contains exactly once, with their time in the second one.
fn common_packets(first: &PacketMarks, second: &PacketMarks) -> Vec<(PacketMark, i64)> {
    let unique = |marks: &[PacketMark]| {
        let mut times: HashMap<u64, Option<i64>> = HashMap::with_capacity(marks.len());
        for mark in marks {
            times.entry(mark.digest).and_modify(|time_ns| *time_ns = None).or_insert(Some(mark.time_ns));
        }
        times
    };
    let (of_first, of_second) = (unique(&first.marks), unique(&second.marks));
    let is_unique = |mark: &&PacketMark| of_first.get(&mark.digest).is_some_and(Option::is_some);
    first.marks.iter().filter(is_unique).filter_map(|mark| Some((*mark, (*of_second.get(&mark.digest)?)?))).collect()
}

/// Returns the address that requested files or connections and has the most packets in common.
fn client((first, second): (&PacketMarks, &PacketMarks), common: &[(PacketMark, i64)]) -> Option<IpAddr> {
    let mut packets: HashMap<IpAddr, u64> = HashMap::new();
    for (mark, _) in common {
        for index in [mark.source, mark.destination] {
            if let Some(address) = first.addresses.get(index as usize) {
                *packets.entry(*address).or_default() += 1;
            }
        }
    }
    let requesters = [first, second].into_iter().flat_map(|marks| {
        let requests = marks.marks.iter().filter(|mark| mark.is_request);
        requests.filter_map(|mark| marks.addresses.get(mark.source as usize).copied())
    });
    requesters.max_by_key(|address| (packets.get(address).copied().unwrap_or(0), std::cmp::Reverse(*address)))
}

fn path(
    fit: &ClockFit,
    (client, server): (CapturePlace<'_>, CapturePlace<'_>),
    (to_server, to_client): (&[Pair], &[Pair]),
    ends: (IpAddr, &HashSet<IpAddr>),
) -> CapturePath {
    let to_server_delays = fit.delays(to_server, true);
    let to_client_delays = fit.delays(to_client, false);
    let median = |delays: &[i64]| delays.get(delays.len() / 2).copied().unwrap_or(0);
    let direction = |delays: &[i64], from_client: bool| PathDirection {
        median_ns: median(delays),
        longest_ns: delays.last().copied().unwrap_or(0),
        ..losses::count((client, server), fit, ends, from_client, delays.last().copied().unwrap_or(0))
    };
    CapturePath {
        client_capture: client.name.to_owned(),
        server_capture: server.name.to_owned(),
        clock_offset_ns: fit.offset_ns.saturating_add(server.start_unix_ns).saturating_sub(client.start_unix_ns),
        clock_drift_ppm: (fit.drift != 0.0).then_some(fit.drift * 1e6),
        shortest_round_trip_ns: fit.round_trip_ns,
        median_round_trip_ns: median(&to_server_delays).saturating_add(median(&to_client_delays)),
        to_server: direction(&to_server_delays, true),
        to_client: direction(&to_client_delays, false),
        client: ends.0.to_string(),
    }
}
