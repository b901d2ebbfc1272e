//! Blocks larger than a frame: IP fragments each block, and one lost fragment loses the block.

use super::{Facts, Finding};

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let fragmented =
        facts.boot.transfers.iter().filter(|file| file.counts.fragmented > 0).max_by_key(|file| file.counts.fragmented);
    let Some(file) = fragmented else { return Vec::new() };
    let family = if file.client.starts_with('[') { 6 } else { 4 };
    vec![Finding {
        rule: "block_fragmented",
        title: format!(
            "blocks of {} bytes do not fit into a frame: {} blocks of {} came in {} fragments",
            file.block_size,
            file.counts.fragmented,
            file.file,
            file.counts.fragmented + file.counts.later_fragments,
        ),
        cost_ns: None,
        stops_boot: false,
        advice: format!(
            "set the block size to at most {} (IPv{family} with frames of 1,500 bytes; BCD ramdisktftpblocksize)",
            file.unfragmented_limit
        ),
        source: "RFC 2348; UEFI PXE Boot Performance Analysis, 4.1",
    }]
}
