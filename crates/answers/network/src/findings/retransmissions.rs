//! Retransmitted packets, and the timeouts before them.

use super::{Facts, Finding, plural, time};

/// Minimum share of retransmissions, percent.
const MIN_PERCENT: f64 = 0.1;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let files = &facts.boot.transfers;
    let timeouts: u64 = files.iter().map(|file| file.timeout_count).sum();
    let lost_ns = files.iter().fold(0_i64, |sum, file| sum.saturating_add(file.timeout_ns));
    let repeated: u64 = files.iter().map(|file| file.counts.repeated_data).sum();
    let packets: u64 = files.iter().map(|file| file.counts.data_packets).sum();
    let percent = repeated as f64 * 100.0 / packets.max(1) as f64;
    if timeouts == 0 && percent < MIN_PERCENT {
        return Vec::new();
    }
    let advice = if repeated > 0 {
        "look for packet loss: cable, switch port, duplex, or a server that overruns the client; if you cannot avoid the loss, choose a smaller window, which repeats fewer blocks"
    } else {
        // Only requests and acknowledgments were repeated: the server was slow, or did not receive them.
        "the server did not respond, and no block was retransmitted: check the server's log and load at this time"
    };
    let mut title = format!("{repeated} of {packets} DATA packets were retransmitted ({percent:.2} %)");
    if timeouts > 0 {
        title += &format!("; {} of half a second or more took {}", plural(timeouts, "timeout"), time(lost_ns));
    }
    vec![Finding {
        rule: "retransmissions",
        title,
        cost_ns: (lost_ns > 0).then_some(lost_ns),
        stops_boot: false,
        advice: advice.to_owned(),
        source: "UEFI PXE Boot Performance Analysis, 2.1",
    }]
}
