//! Blocks far smaller than a frame.

use super::super::model::Settings;
use super::{Facts, Finding, time};

const SMALL: u32 = 1300;
const WORTH_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut saved = 0_i64;
    let mut worst: Option<(&str, u32, i64, Option<u32>)> = None;
    for (file, fitted) in facts.modeled() {
        // EDK II leaves room for extension headers with IPv6: 1228 there is on purpose.
        let small = if file.client.starts_with('[') { 1200 } else { SMALL };
        if file.block_size >= small {
            continue;
        }
        let better = Settings { block_size: Some(file.unfragmented_limit), ..Settings::default() };
        // The least that it saves: a block's handling may grow with its size.
        let gain = fitted.model.measured_ns.saturating_sub(fitted.predicted_ns(&better).1);
        saved = saved.saturating_add(gain);
        if worst.is_none_or(|(_, _, most, _)| gain > most) {
            worst = Some((&file.file, file.block_size, gain, file.asked.block_size));
        }
    }
    let Some((name, block_size, _, asked)) = worst.filter(|_| saved >= WORTH_NS) else { return Vec::new() };
    // Who asked for more and got less is not to blame.
    let refused = asked.is_some_and(|asked| asked > block_size);
    let asked = if refused { format!(", of {} that the client requested", asked.unwrap_or(0)) } else { String::new() };
    let advice = if refused {
        "let the server grant larger blocks (RFC 2348): switch its blksize option on, or raise its limit"
    } else {
        "have the client ask for blksize 1468 (1448 with IPv6); a loader that fixes 512 (shim, some GRUB builds) needs an update"
    };
    vec![Finding {
        rule: "block_small",
        what: format!(
            "{name} came in blocks of {block_size} bytes{asked}; full frames would save at least {}",
            time(saved)
        ),
        cost_ns: Some(saved),
        stops_boot: false,
        advice: advice.to_owned(),
        source: "RFC 2348",
    }]
}
