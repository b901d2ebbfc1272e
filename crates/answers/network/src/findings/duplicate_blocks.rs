//! Sorcerer's Apprentice syndrome: every packet is sent twice.

use super::{Facts, Finding};

pub(super) const RULE: &str = "sorcerers_apprentice";

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let duplicates = facts.boot.transfers.iter().filter_map(|file| {
        let run = file.duplicate_blocks?;
        Some(Finding {
            rule: RULE,
            title: format!(
                "{}: from block {}, {} consecutive blocks were each sent and acknowledged twice ({} bytes wasted)",
                file.file,
                run.first_block,
                run.blocks,
                run.blocks * u64::from(file.block_size),
            ),
            cost_ns: None,
            stops_boot: false,
            advice: "the server or the client responds to duplicate packets (RFC 1123, 4.2.3.1): update it".to_owned(),
            source: "RFC 1123, 4.2.3.1",
        })
    });
    duplicates.collect()
}
