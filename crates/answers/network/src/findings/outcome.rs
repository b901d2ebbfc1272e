//! The reason of a failed boot.

use super::super::report::Verdict;
use super::{Facts, Finding};

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let outcome = &facts.boot.outcome;
    if outcome.verdict != Verdict::Failed {
        return Vec::new();
    }
    vec![Finding {
        rule: outcome.reason.as_str(),
        title: outcome.description.clone(),
        cost_ns: None,
        stops_boot: true,
        advice: outcome.advice.clone(),
        source: "RFC 1350, RFC 2131, RFC 4578; PXE 2.1",
    }]
}
