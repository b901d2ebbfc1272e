//! Retransmitted packets, and the timeouts before them.

use super::super::report::CaptureSide;
use super::{Facts, Finding, plural, time};

/// Minimum share of retransmissions, percent.
const MIN_PERCENT: f64 = 0.1;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let files = &facts.boot.transfers;
    let timeouts: u64 = files.iter().map(|file| file.timeout_count).sum();
    let lost_ns = files.iter().fold(0_i64, |sum, file| sum.saturating_add(file.timeout_ns));
    // Blocks that both ends send twice were not lost.
    let single = || files.iter().filter(|file| file.duplicate_blocks.is_none());
    let repeated: u64 = single().map(|file| file.counts.repeated_data).sum();
    let packets: u64 = single().map(|file| file.counts.data_packets).sum();
    // A receiver that goes back, or a timeout before the repetition, shows that the block did not arrive.
    let losses: u64 = single().map(|file| file.counts.rollbacks.saturating_add(file.timeout_count)).sum();
    let percent = repeated as f64 * 100.0 / packets.max(1) as f64;
    if timeouts == 0 && percent < MIN_PERCENT {
        return Vec::new();
    }
    let mut listed = files.iter().flat_map(|file| &file.timeouts).peekable();
    let is_by_server = listed.peek().is_some() && listed.all(|timeout| !timeout.by_client);
    let advice = match (repeated > 0, facts.boot.capture_side) {
        (true, _) if losses > 0 => {
            "look for packet loss: cable, switch port, duplex, or a server that overruns the client"
        }
        (true, _) => {
            "the server repeated blocks that had arrived: its timeout is shorter than the client's turn; raise it, or update the server"
        }
        _ if is_by_server => {
            "the server repeated its packets because the client did not respond: check the client, and look for a filter between the two"
        }
        // Only requests and acknowledgments were repeated.
        (false, CaptureSide::Server) => {
            "the server did not respond to packets at its own port, and no block was retransmitted: check the server's log and load at this time"
        }
        (false, CaptureSide::Client) => {
            "no block was retransmitted in this capture: a packet was lost between the server and the client's port, or the server did not respond; capture at the server to tell them apart"
        }
        (false, CaptureSide::Unknown) => {
            "the server did not respond, and no block was retransmitted: check the server's log and load at this time"
        }
    };
    let timeout_text = format!("{} of half a second or more took {}", plural(timeouts, "timeout"), time(lost_ns));
    let title = match (packets, repeated, timeouts) {
        (0, ..) | (_, 0, 1..) => timeout_text,
        (.., 0) => format!("{repeated} of {packets} DATA packets were retransmitted ({percent:.2} %)"),
        _ => format!("{repeated} of {packets} DATA packets were retransmitted ({percent:.2} %); {timeout_text}"),
    };
    vec![Finding {
        rule: "retransmissions",
        title,
        cost_ns: (lost_ns > 0).then_some(lost_ns),
        stops_boot: false,
        advice: advice.to_owned(),
        source: "UEFI PXE Boot Performance Analysis, 2.1",
    }]
}
