//! A recording with so much detail that it slows what it records.

use onoff_trace::Trace;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A recording with call stacks of context switches or samples: made for analysis, not for timing.
    ///
    /// # Why it costs time
    /// Walking stacks and writing them takes time in every phase. Findings stay right in kind, but times are longer than without the
    /// recording.
    ///
    /// # Evidence needed
    /// The counts of events by kind.
    ///
    /// # What to do
    /// Compare times only with recordings of the same detail. For timing, record without stacks (`-traceFlags base`).
    ///
    /// # When it is wrong
    /// On a fast computer with few switches the difference is small.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Timing Traces and Analysis Traces".
    "recording/analysis-level", "a recording with so much detail that times are longer", Recording(check)
}

/// From this share of stacks among all events on, percent. Chosen: recordings of samples' stacks alone have fewer.
const STACKS_PERCENT: u64 = 10;

fn check(trace: &Trace) -> Outcome {
    let Some(counts) = &trace.inventory else { return Err(lacks_other("how many events of each kind there are")) };
    let stacks: u64 = counts
        .kinds
        .iter()
        .filter(|kind| {
            let name = kind.name.to_ascii_lowercase();
            name.starts_with("stack") && !name.contains("rundown")
        })
        .map(|kind| kind.events)
        .fold(0, u64::saturating_add);
    if counts.events == 0 || stacks.saturating_mul(100) < counts.events.saturating_mul(STACKS_PERCENT) {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Recording, "call stacks"),
            "the recording holds many call stacks: times are longer than without recording",
        )
        .because(None, format!("{stacks} of {} records are call stacks", counts.events))
        .advise("compare times only with recordings of the same detail; for timing, record without stacks"),
    ])
}
