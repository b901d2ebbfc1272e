//! Packets that had to be sent again, and the time-outs before.

use super::{Facts, Finding, plural, time};

/// From this share on, retransmissions are worth looking into, percent.
const NOTABLE_PERCENT: f64 = 0.1;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let files = &facts.boot.transfers;
    let timeouts: u64 = files.iter().map(|file| file.timeout_count).sum();
    let lost_ns = files.iter().fold(0_i64, |sum, file| sum.saturating_add(file.timeout_ns));
    let repeated: u64 = files.iter().map(|file| file.counts.repeated_data).sum();
    let packets: u64 = files.iter().map(|file| file.counts.data_packets).sum();
    let percent = repeated as f64 * 100.0 / packets.max(1) as f64;
    if timeouts == 0 && percent < NOTABLE_PERCENT {
        return Vec::new();
    }
    let advice = if repeated > 0 {
        "look for loss: cable, switch port, duplex, a server that overruns the client; with loss that cannot be cured, choose a smaller window, which loses fewer last blocks"
    } else {
        // Nothing was sent again but questions and acknowledgments: who was asked took long, or did not hear.
        "the server was silent, and blocks did not come again: look at the server's log and load at this time"
    };
    let mut what = format!("{repeated} of {packets} DATA packets were sent again ({percent:.2} %)");
    if timeouts > 0 {
        what += &format!("; {} of half a second or more took {}", plural(timeouts, "time-out"), time(lost_ns));
    }
    vec![Finding {
        rule: "retransmissions",
        what,
        cost_ns: (lost_ns > 0).then_some(lost_ns),
        stops_boot: false,
        advice: advice.to_owned(),
        source: "UEFI PXE Boot Performance Analysis, 2.1",
    }]
}
