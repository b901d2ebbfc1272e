//! The client takes long for each block, the network's round trip left out.

use super::{Facts, Finding, time};

/// How many of the server's turns a client may take for a block.
const TIMES: i64 = 5;
/// Less than this for a block is quick, ns.
const QUICK_NS: i64 = 500_000;
/// All turns together shorter than this are not worth a change, ns.
const WORTH_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let longest =
        facts.boot.transfers.iter().filter(|file| file.model.is_some()).max_by_key(|file| file.client_turn.total_ns);
    let Some(file) = longest else { return Vec::new() };
    let (Some(client), Some(server)) = (file.client_turn.usual_ns, file.server_turn.usual_ns) else {
        return Vec::new();
    };
    // At most this much of a turn is the network: the rest is the client, whoever captured where.
    let Some(round_trip) = facts.boot.round_trip_at_most_ns else { return Vec::new() };
    let turn = client.saturating_sub(round_trip).max(0);
    let window = file.window_mean.unwrap_or(1.0).max(1.0);
    let block = (turn as f64 / window) as i64;
    let turns = i64::try_from(file.client_turn.count).unwrap_or(i64::MAX);
    let cost_ns = turn.saturating_mul(turns);
    if cost_ns < WORTH_NS || block < QUICK_NS || turn < server.saturating_mul(TIMES) {
        return Vec::new();
    }
    vec![Finding {
        rule: "slow_client",
        what: format!(
            "the client takes {} for each block of {} before it acknowledges, at most {} of a turn being the network's round trip; the server takes {}",
            time(block),
            file.file,
            time(round_trip),
            time(server),
        ),
        cost_ns: Some(cost_ns),
        stops_boot: false,
        advice: "look at the client's firmware: GetTime() and SetVariable() may be slow (clock access, SMM without a cached SMRAM), or the network driver polls seldom".to_owned(),
        source: "UEFI PXE Boot Performance Analysis, 3.3",
    }]
}
