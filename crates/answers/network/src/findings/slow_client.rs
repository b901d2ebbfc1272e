//! A client that needs long for each block, not counting the network round trip.

use super::{Facts, Finding, time};

/// Minimum ratio of the client's turn to the server's.
const MIN_RATIO: i64 = 5;
/// Minimum time per block, ns.
const MIN_BLOCK_NS: i64 = 500_000;
/// Minimum total of all turns, ns.
const MIN_COST_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let longest =
        facts.boot.transfers.iter().filter(|file| file.model.is_some()).max_by_key(|file| file.client_turn.total_ns);
    let Some(file) = longest else { return Vec::new() };
    let (Some(client), Some(server)) = (file.client_turn.usual_ns, file.server_turn.usual_ns) else {
        return Vec::new();
    };
    // The network accounts for at most this much of a turn, wherever the capture was taken. The rest is the client's
    // time.
    let Some(round_trip) = facts.boot.max_round_trip_ns else { return Vec::new() };
    let turn = client.saturating_sub(round_trip).max(0);
    let window = file.window_mean.unwrap_or(1.0).max(1.0);
    let block = (turn as f64 / window) as i64;
    let turns = i64::try_from(file.client_turn.count).unwrap_or(i64::MAX);
    let cost_ns = turn.saturating_mul(turns);
    if cost_ns < MIN_COST_NS || block < MIN_BLOCK_NS || turn < server.saturating_mul(MIN_RATIO) {
        return Vec::new();
    }
    vec![Finding {
        rule: "slow_client",
        title: format!(
            "the client took {} per block of {} before its acknowledgment (network round trip: at most {} per turn); the server took {}",
            time(block),
            file.file,
            time(round_trip),
            time(server),
        ),
        cost_ns: Some(cost_ns),
        stops_boot: false,
        advice: "check the client's firmware: GetTime() and SetVariable() may be slow (clock access, SMM with uncached SMRAM), or the network driver may poll too rarely".to_owned(),
        source: "UEFI PXE Boot Performance Analysis, 3.3",
    }]
}
