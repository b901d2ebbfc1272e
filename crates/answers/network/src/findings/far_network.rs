//! A network whose round trips take most of the time.

use super::{Facts, Finding, time};

/// Minimum round trip, ns; within a building, switches take less.
const MIN_ROUND_TRIP_NS: i64 = 1_000_000;
/// Minimum total of all round trips, ns.
const MIN_COST_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(round_trip) = facts.boot.blame.round_trip_ns.filter(|&ns| ns >= MIN_ROUND_TRIP_NS) else {
        return Vec::new();
    };
    let complete = || facts.boot.transfers.iter().filter(|file| file.costs.is_some());
    let turns: u64 = complete().map(|file| file.client_turn.count.max(file.server_turn.count)).sum();
    let cost_ns = round_trip.saturating_mul(i64::try_from(turns).unwrap_or(i64::MAX));
    if cost_ns < MIN_COST_NS {
        return Vec::new();
    }
    vec![Finding {
        rule: "far_network",
        title: format!("the network's round trip took {}, and the files needed {turns} round trips", time(round_trip)),
        cost_ns: Some(cost_ns),
        stops_boot: false,
        advice: "serve the files from a machine near the client, or have client and server use larger windows (RFC 7440) or HTTP, which need fewer round trips".to_owned(),
        source: "measured; RFC 7440",
    }]
}
