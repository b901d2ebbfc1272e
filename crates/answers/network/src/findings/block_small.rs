//! Blocks much smaller than a frame.

use super::super::model::Settings;
use super::{Facts, Finding, time};

const MIN_BLOCK_SIZE: u32 = 1300;
const MIN_COST_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut saved = 0_i64;
    let mut worst: Option<(&str, u32, i64, Option<u32>)> = None;
    for (file, fitted) in facts.modeled() {
        // EDK II reserves room for IPv6 extension headers: its 1228 bytes are intentional.
        let min_size = if file.client.starts_with('[') { 1200 } else { MIN_BLOCK_SIZE };
        if file.block_size >= min_size {
            continue;
        }
        let better = Settings { block_size: Some(file.unfragmented_limit), ..Settings::default() };
        // The minimum saving: the cost of handling a block may grow with its size.
        let gain = fitted.model.measured_ns.saturating_sub(fitted.predicted_ns(&better).1);
        saved = saved.saturating_add(gain);
        if worst.is_none_or(|(_, _, largest, _)| gain > largest) {
            worst = Some((&file.file, file.block_size, gain, file.requested.block_size));
        }
    }
    let Some((name, block_size, _, requested)) = worst.filter(|_| saved >= MIN_COST_NS) else { return Vec::new() };
    // A client that requested more than it got is not the cause.
    let is_reduced = requested.is_some_and(|requested| requested > block_size);
    let request_note =
        if is_reduced { format!(", of {} that the client requested", requested.unwrap_or(0)) } else { String::new() };
    let advice = if is_reduced {
        "let the server grant larger blocks (RFC 2348): turn its blksize option on, or raise its limit"
    } else {
        "have the client request blksize 1468 (1448 with IPv6); a loader with a fixed block size of 512 (shim, some GRUB builds) needs an update"
    };
    vec![Finding {
        rule: "block_small",
        title: format!(
            "{name} came in blocks of {block_size} bytes{request_note}; full frames would save at least {}",
            time(saved)
        ),
        cost_ns: Some(saved),
        stops_boot: false,
        advice: advice.to_owned(),
        source: "RFC 2348",
    }]
}
