//! A recording so detailed that it slows down the system.

use onoff_trace::Trace;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A recording with call stacks of context switches or samples: made for analysis, not for timing.
    ///
    /// # Why it costs time
    /// Walking and writing stacks takes time in every phase. Findings remain valid, but times are longer than without
    /// the recording.
    ///
    /// # Evidence needed
    /// Event counts by kind.
    ///
    /// # What to do
    /// Compare times only with recordings with the same level of detail. For timing, record without stacks (`-traceFlags base`).
    ///
    /// # When it is wrong
    /// On a fast computer with few context switches, the difference is small.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Timing Traces and Analysis Traces".
    "recording/analysis-level", "a recording so detailed that it lengthens times", Recording(check)
}

/// Minimum share of stacks among all events, percent. Chosen: recordings with only sample stacks have fewer.
const MIN_STACKS_PERCENT: u64 = 10;

fn check(trace: &Trace) -> Outcome {
    let Some(counts) = &trace.inventory else { return Err(missing_input("event counts by kind")) };
    let stacks: u64 = counts
        .kinds
        .iter()
        .filter(|kind| {
            let name = kind.name.to_ascii_lowercase();
            name.starts_with("stack") && !name.contains("rundown")
        })
        .map(|kind| kind.events)
        .fold(0, u64::saturating_add);
    if counts.events == 0 || stacks.saturating_mul(100) < counts.events.saturating_mul(MIN_STACKS_PERCENT) {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Recording, "call stacks"),
            "the recording has many call stacks, so times are longer than without recording",
        )
        .evidence(None, format!("{stacks} of {} events are call stacks", counts.events))
        .advice("compare times only with recordings with the same level of detail; for timing, record without stacks"),
    ])
}
