//! Few blocks under way: every turn costs a round trip.

use super::{Facts, Finding, time};

/// Windows up to this are small.
const SMALL: u32 = 4;
/// What is recommended.
const BETTER: u32 = 16;
/// Savings below this are not worth a change, ns.
const WORTH_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let (mut saved, mut spent, mut files, mut smallest) = (0_i64, 0_i64, 0_u64, u32::MAX);
    for file in &facts.boot.transfers {
        let Some(model) = file.model.filter(|_| file.window <= SMALL && !file.variable_window) else {
            continue;
        };
        let ipv6 = file.client.starts_with('[');
        let better = model.with(file.counts.bytes, file.block_size, BETTER, ipv6, facts.bits_per_s);
        saved = saved.saturating_add(model.steady_ns.saturating_sub(better).max(0));
        spent = spent.saturating_add(model.measured_ns);
        files += 1;
        smallest = smallest.min(file.window);
    }
    if files == 0 || saved < WORTH_NS {
        return Vec::new();
    }
    let blocks = if smallest == 1 {
        "one block at a time, each acknowledged".to_owned()
    } else {
        format!("windows of {smallest} blocks")
    };
    vec![Finding {
        rule: "window_small",
        what: format!(
            "{blocks}: {} in transfers of which the model says {} would go with windows of {BETTER}",
            time(spent),
            time(saved),
        ),
        cost_ns: Some(saved),
        stops_boot: false,
        advice: format!(
            "let client and server agree on windows of {BETTER} to 64 blocks (RFC 7440; BCD ramdisktftpwindowsize; EDK II PcdPxeTftpWindowSize), and watch for loss"
        ),
        source: "UEFI PXE Boot Performance Analysis, table 1; RFC 7440",
    }]
}
