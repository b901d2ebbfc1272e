//! Few blocks in flight: every turn costs a round trip.

use super::super::model::Settings;
use super::{Facts, Finding, time};

const MAX_SMALL_WINDOW: u32 = 4;
const RECOMMENDED_WINDOW: u32 = 16;
/// Minimum saving, ns.
const MIN_COST_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let (mut min_saving, mut max_saving, mut spent, mut smallest) = (0_i64, 0_i64, 0_i64, u32::MAX);
    let better = Settings { window: Some(RECOMMENDED_WINDOW), ..Settings::default() };
    for (file, fitted) in facts.modeled() {
        if file.window > MAX_SMALL_WINDOW || file.variable_window {
            continue;
        }
        let measured = fitted.model.measured_ns;
        let (shortest, longest, _) = fitted.predicted_ns(&better);
        min_saving = min_saving.saturating_add(measured.saturating_sub(longest));
        max_saving = max_saving.saturating_add(measured.saturating_sub(shortest));
        spent = spent.saturating_add(measured);
        smallest = smallest.min(file.window);
    }
    // Even the minimum saving must be worthwhile: the client's whole turn may be its work per block.
    if smallest == u32::MAX || min_saving < MIN_COST_NS {
        return Vec::new();
    }
    let blocks =
        if smallest == 1 { "one block per acknowledgment".to_owned() } else { format!("windows of {smallest} blocks") };
    let (low, high) = (time(min_saving).to_string(), time(max_saving).to_string());
    let saved = if low == high { low } else { format!("{low} to {high}") };
    vec![Finding {
        rule: "window_small",
        title: format!(
            "transfers took {} with {blocks}; windows of {RECOMMENDED_WINDOW} blocks would save {saved}",
            time(spent)
        ),
        cost_ns: Some(min_saving),
        stops_boot: false,
        advice: format!(
            "configure client and server for windows of {RECOMMENDED_WINDOW} to 64 blocks (RFC 7440; BCD ramdisktftpwindowsize; EDK II PcdPxeTftpWindowSize), and watch for packet loss"
        ),
        source: "UEFI PXE Boot Performance Analysis, table 1; RFC 7440",
    }]
}
