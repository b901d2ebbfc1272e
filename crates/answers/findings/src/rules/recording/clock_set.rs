//! A wall clock that was set during the recording.

use onoff_trace::{Trace, milestone};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A recording during which the wall clock was set by a minute or more, other than after a sleep.
    ///
    /// # Why it costs time
    /// It costs no time, and durations are right: they come from a clock that is never set. Times of day are not, so
    /// what is compared by time of day (event logs, other computers) does not fit before or after the change.
    ///
    /// # Evidence needed
    /// Event 1 of Microsoft-Windows-Kernel-General.
    ///
    /// # What to do
    /// Compare times of day only on one side of the change. If the clock is wrong at every boot, check the battery of
    /// the clock and whether another system keeps it in local time.
    ///
    /// # When it is wrong
    /// A resume from an old memory image sets the clock too, and not every version of Windows says that it was a
    /// resume.
    ///
    /// # Source
    /// The text of event 1: "The system time has changed to … from …".
    "recording/clock-set", "a wall clock that was set during the recording", Recording(check)
}

/// Minimum change of the clock. Chosen: the time service corrects smaller drifts on many boots.
const MIN_STEP_MS: u64 = 60_000;
/// The reason for a clock that is set after a sleep.
const AFTER_SLEEP: i64 = 2;

fn check(trace: &Trace) -> Outcome {
    // The time axis of event logs is corrected for such changes.
    if !trace.channels.is_empty() {
        return Ok(Vec::new());
    }
    let named = |name: &'static str| trace.milestones.iter().filter(move |row| trace.text(row.name) == name);
    let is_after_sleep = |time_ns: i64| {
        named(milestone::CLOCK_SET_REASON).any(|row| row.time_ns == time_ns && row.value == Some(AFTER_SLEEP))
            || named(milestone::WAKE).any(|row| (0..MAX_AFTER_WAKE_NS).contains(&time_ns.saturating_sub(row.time_ns)))
    };
    let steps: Vec<(i64, i64)> = named(milestone::CLOCK_SET)
        .filter_map(|row| Some((row.time_ns, row.value?)))
        .filter(|&(_, step_ms)| step_ms.unsigned_abs() >= MIN_STEP_MS)
        .take(MAX_STEPS)
        .filter(|&(time_ns, _)| !is_after_sleep(time_ns))
        .collect();
    let Some(&(_, largest_ms)) = steps.iter().max_by_key(|(_, step_ms)| step_ms.unsigned_abs()) else {
        return Ok(Vec::new());
    };
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Recording, "wall clock"),
        format!("the wall clock was {} during the recording, so times of day do not fit", step(largest_ms)),
    )
    .advice(
        "compare times of day only on one side of the change; durations are right, because they come from another clock",
    );
    for (time_ns, step_ms) in steps {
        finding = finding.evidence(time_ns, format!("the clock was {}", step(step_ms)));
    }
    Ok(vec![finding])
}

/// Maximum number of changes that are examined.
const MAX_STEPS: usize = 100;
/// Maximum time between a wake and the setting of the clock that it causes.
const MAX_AFTER_WAKE_NS: i64 = 60_000_000_000;

fn step(step_ms: i64) -> String {
    let direction = if step_ms < 0 { "back" } else { "forward" };
    let step_ns = i64::try_from(step_ms.unsigned_abs()).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    format!("set {direction} by {}", time(step_ns))
}
