//! A server that needs long for each answer, not counting the network round trip.

use super::super::report::CaptureSide;
use super::{Facts, Finding, plural, time};

/// Minimum time per turn, ns.
const MIN_TURN_NS: i64 = 1_000_000;
/// Minimum total of all turns, ns.
const MIN_COST_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let boot = facts.boot;
    // Near the server, its turns have no network in them. Elsewhere, the network must have been measured.
    let round_trip = match (boot.capture_side, boot.blame.round_trip_ns) {
        (CaptureSide::Server, _) => 0,
        (_, Some(round_trip_ns)) => round_trip_ns,
        _ => return Vec::new(),
    };
    let slowest =
        boot.transfers.iter().filter(|file| file.costs.is_some()).max_by_key(|file| file.server_turn.total_ns);
    let Some(file) = slowest else { return Vec::new() };
    let Some(server) = file.server_turn.usual_ns else { return Vec::new() };
    let turns = i64::try_from(file.server_turn.count).unwrap_or(i64::MAX);
    let turn = server.saturating_sub(round_trip).max(0);
    let pauses_ns = file.server_turn.pause_ns;
    let usual_ns = if turn >= MIN_TURN_NS { turn.saturating_mul(turns) } else { 0 };
    let cost_ns = usual_ns.saturating_add(pauses_ns);
    if cost_ns < MIN_COST_NS {
        return Vec::new();
    }
    let pauses = match file.server_turn.pauses {
        0 => String::new(),
        pauses => format!(", and {} took {}", plural(pauses, "longer pause"), time(pauses_ns)),
    };
    vec![Finding {
        rule: "slow_server",
        title: format!(
            "the server took {} from an acknowledgment to the next block of {}, not counting the network{pauses}",
            time(turn),
            file.file
        ),
        cost_ns: Some(cost_ns),
        stops_boot: false,
        advice: "check the server: its load, the disk or share with the boot files, logging or virus scanning of the TFTP service; another TFTP server may answer faster".to_owned(),
        source: "measured: TFTP servers answer from their cache in less than 0.1 ms",
    }]
}
