//! Blocks far smaller than a frame.

use super::{Facts, Finding, time};

const SMALL: u32 = 1300;
const WORTH_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut saved = 0_i64;
    let mut worst: Option<(&str, u32, i64)> = None;
    for file in &facts.boot.transfers {
        // EDK II leaves room for extension headers with IPv6: 1228 there is on purpose.
        let small = if file.client.starts_with('[') { 1200 } else { SMALL };
        let Some(model) = file.model.filter(|_| file.block_size < small) else {
            continue;
        };
        let better = model.with(
            file.counts.bytes,
            file.unfragmented_limit,
            file.window,
            file.client.starts_with('['),
            facts.bits_per_s,
        );
        let gain = model.steady_ns.saturating_sub(better);
        saved = saved.saturating_add(gain);
        if worst.is_none_or(|(_, _, most)| gain > most) {
            worst = Some((&file.file, file.block_size, gain));
        }
    }
    let Some((name, block_size, _)) = worst.filter(|_| saved >= WORTH_NS) else {
        return Vec::new();
    };
    vec![Finding {
        rule: "block_small",
        what: format!(
            "{name} came in blocks of {block_size} bytes; the model says {} would go with full frames",
            time(saved)
        ),
        cost_ns: Some(saved),
        stops_boot: false,
        advice: "have the client ask for blksize 1468 (1448 with IPv6) and the server grant it; a loader that fixes 512 (shim, some GRUB builds) needs an update".to_owned(),
        source: "RFC 2348",
    }]
}
