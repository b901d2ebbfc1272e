//! Frames larger than on the wire: captured before the network card segmented them, or after it merged them.

use super::{Facts, Finding};

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let large: u64 = facts.boot.transfers.iter().map(|file| file.counts.oversized_frames).sum();
    if large == 0 {
        return Vec::new();
    }
    vec![Finding {
        rule: "offload_in_capture",
        title: format!("{large} frames are longer than 1,518 bytes: jumbo frames, or segmentation offload on the capturing computer"),
        cost_ns: None,
        stops_boot: false,
        advice: "frame counts and gaps between blocks differ from those on the wire; if you do not use jumbo frames, turn offload off while capturing (ethtool -K IF gro off gso off tso off lro off), or capture at a mirror port".to_owned(),
        source: "measured",
    }]
}
