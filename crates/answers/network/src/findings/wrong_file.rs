//! Requests for missing files that took time.

use onoff_netboot::transfer::Outcome;

use super::super::report::{Reason, Verdict};
use super::{Facts, Finding, plural, time};

/// Minimum total time of the requests, ns. Loaders also look for optional files.
const MIN_COST_NS: i64 = 100_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let outcome = &facts.boot.outcome;
    // The request that stopped the boot has a separate finding.
    let is_boot_failure = outcome.verdict == Verdict::Failed && outcome.reason == Reason::FileRefused;
    let refused: Vec<_> = facts
        .boot
        .transfers
        .iter()
        .filter(|file| file.outcome == Outcome::Refused && !(is_boot_failure && file.end_ns == outcome.time_ns))
        .collect();
    let Some(first) = refused.first() else { return Vec::new() };
    let cost = refused.iter().fold(0_i64, |sum, file| sum.saturating_add(file.end_ns.saturating_sub(file.request_ns)));
    if cost < MIN_COST_NS {
        return Vec::new();
    }
    let error = first.error.as_ref();
    let text = error.map_or_else(String::new, |error| format!(" (code {}: {})", error.code, error.text));
    let suffix = match refused.len() as u64 - 1 {
        0 => String::new(),
        others => format!(" and {} more like it", plural(others, "request")),
    };
    vec![Finding {
        rule: "wrong_file",
        title: format!("the server refused the file {}{text}{suffix}, {} in total", first.file, time(cost)),
        cost_ns: Some(cost),
        stops_boot: false,
        advice: "put the file where the client expects it, correct the name in the DHCP or loader configuration, or stop the loader from looking for it".to_owned(),
        source: "RFC 1350",
    }]
}
