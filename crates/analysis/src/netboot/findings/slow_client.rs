//! The client takes far longer for its turn than the server.

use super::super::report::CaptureSide;
use super::{Facts, Finding, time};

/// How many of the server's turns a client's turn may take.
const TIMES: i64 = 5;
/// Turns shorter than this are quick, ns.
const QUICK_NS: i64 = 500_000;
/// All turns together shorter than this are not worth a change, ns.
const WORTH_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let longest =
        facts.boot.transfers.iter().filter(|file| file.model.is_some()).max_by_key(|file| file.client_turn.total_ns);
    let Some(file) = longest else {
        return Vec::new();
    };
    let (Some(client), Some(server)) = (file.client_turn.usual_ns, file.server_turn.usual_ns) else {
        return Vec::new();
    };
    let cost_ns = file.client_turn.total_ns.saturating_sub(file.client_turn.pause_ns);
    if cost_ns < WORTH_NS || client < QUICK_NS || client < server.saturating_mul(TIMES) {
        return Vec::new();
    }
    let (where_from, advice) = match facts.boot.capture_side {
        CaptureSide::Server => (
            " (captured near the server: the network's round trip is in it)",
            "capture at the client to tell network from firmware. If it is the client: GetTime() and SetVariable() may be slow (clock access, SMM without a cached SMRAM), or the network driver polls seldom",
        ),
        _ => (
            "",
            "look at the client's firmware: GetTime() and SetVariable() may be slow (clock access, SMM without a cached SMRAM), or the network driver polls seldom",
        ),
    };
    vec![Finding {
        rule: "slow_client",
        what: format!(
            "the client takes {} for its turn, the server {}, {} times for {}{where_from}",
            time(client),
            time(server),
            file.client_turn.count,
            file.file,
        ),
        cost_ns: Some(cost_ns),
        stops_boot: false,
        advice: advice.to_owned(),
        source: "UEFI PXE Boot Performance Analysis, 3.3",
    }]
}
