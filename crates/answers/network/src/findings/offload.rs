//! Frames larger than the wire carries: captured before the network card cut them up, or after it joined them.

use super::{Facts, Finding};

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let large: u64 = facts.boot.transfers.iter().map(|file| file.counts.oversized_frames).sum();
    if large == 0 {
        return Vec::new();
    }
    vec![Finding {
        rule: "offload_in_capture",
        what: format!("{large} frames are longer than 1,518 bytes: jumbo frames, or segmentation offload on the machine that captured"),
        cost_ns: None,
        stops_boot: false,
        advice: "counts of frames and gaps between blocks are not those of the wire; without jumbo frames, switch the offload off while capturing (ethtool -K IF gro off gso off tso off lro off), or capture at a mirror port".to_owned(),
        source: "measured",
    }]
}
