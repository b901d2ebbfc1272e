//! Few blocks under way: every turn costs a round trip.

use super::super::model::Settings;
use super::{Facts, Finding, time};

/// Windows up to this are small.
const SMALL: u32 = 4;
/// What is recommended.
const BETTER: u32 = 16;
/// Savings below this are not worth a change, ns.
const WORTH_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let (mut least, mut most, mut spent, mut smallest) = (0_i64, 0_i64, 0_i64, u32::MAX);
    let better = Settings { window: Some(BETTER), ..Settings::default() };
    for (file, fitted) in facts.modeled() {
        if file.window > SMALL || file.variable_window {
            continue;
        }
        let measured = fitted.model.measured_ns;
        let (shortest, longest, _) = fitted.predicted_ns(&better);
        least = least.saturating_add(measured.saturating_sub(longest));
        most = most.saturating_add(measured.saturating_sub(shortest));
        spent = spent.saturating_add(measured);
        smallest = smallest.min(file.window);
    }
    // Both ends of the range must be worth it: all of the client's turn may be its work on each block.
    if smallest == u32::MAX || least < WORTH_NS {
        return Vec::new();
    }
    let blocks = if smallest == 1 {
        "one block at a time, each acknowledged".to_owned()
    } else {
        format!("windows of {smallest} blocks")
    };
    let (low, high) = (time(least).to_string(), time(most).to_string());
    let saved = if low == high { low } else { format!("{low} to {high}") };
    vec![Finding {
        rule: "window_small",
        what: format!("{blocks}: {} in transfers, of which windows of {BETTER} would save {saved}", time(spent)),
        cost_ns: Some(least),
        stops_boot: false,
        advice: format!(
            "let client and server agree on windows of {BETTER} to 64 blocks (RFC 7440; BCD ramdisktftpwindowsize; EDK II PcdPxeTftpWindowSize), and watch for loss"
        ),
        source: "UEFI PXE Boot Performance Analysis, table 1; RFC 7440",
    }]
}
