//! Aborted sleeps.

use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A sleep that was aborted, or in which the kernel failed, and the device or reason for it.
    ///
    /// # Why it costs time
    /// All of the suspend and the resume was wasted, and a closed laptop stays warm and drains its battery.
    ///
    /// # Evidence needed
    /// The end of the sleep and its error: the kernel log, or the trace event `power:suspend_resume` without the
    /// machine's entry.
    ///
    /// # What to do
    /// Fix the named device or task. A wakeup during the suspend is not its fault: disable wakeup sources that are not
    /// needed (`/sys/devices/.../power/wakeup`).
    ///
    /// # When it is wrong
    /// A person who opens the lid while the computer suspends aborts the sleep on purpose.
    ///
    /// # Source
    /// The kernel's `kernel/power/suspend.c` and `/sys/power/suspend_stats`.
    "linux/sleep-aborted", "aborted sleeps", LinuxSuspend(check)
}

/// Maximum number of devices and reasons to report.
const MAX_REASONS: usize = 5;

fn check(sleep: &LinuxSleep) -> Outcome {
    if !matches!(sleep.details.outcome, SleepOutcome::Aborted | SleepOutcome::Crashed) {
        return Ok(Vec::new());
    }
    let failed_callbacks: Vec<_> = sleep
        .details
        .callbacks
        .iter()
        .filter(|callback| callback.details.error.is_some_and(|error| error != 0))
        .collect();
    let error = sleep.details.error.map_or_else(String::new, |error| format!(" (error {error})"));
    let length = sleep.end_ns.zip(sleep.start_ns).map(|(end, start)| end.saturating_sub(start).max(0));
    // A quick abort costs little, but the finding stays: the computer did not sleep.
    let length = length.filter(|&ns| ns >= thresholds::NOISE_NS);
    let (subject, refusal) = match sleep.details.refused_by.as_str() {
        "" => (FindingSubject::new(FindingSubjectKind::Transition, "sleep"), String::new()),
        device => (FindingSubject::new(FindingSubjectKind::Device, device), format!(": {device} refused")),
    };
    let (title, advice) = if sleep.details.outcome == SleepOutcome::Crashed {
        (
            format!("the kernel failed during the sleep: {}", sleep.details.crash),
            "update the kernel, or report the error with the lines after it; test with the driver that they name unloaded",
        )
    } else {
        (
            format!("the sleep was aborted{refusal}{error}"),
            "fix what refused; if a wakeup interrupted the suspend, disable wakeup sources that are not needed \
             (/sys/devices/.../power/wakeup)",
        )
    };
    let mut finding = RuleFinding::new(subject, title)
        .cost(length.map_or(Cost::UNKNOWN, Cost::on_path))
        .evidence(sleep.start_ns, format!("suspend started ({})", sleep.details.event))
        .advice(advice);
    for reason in sleep.details.refusals.iter().take(MAX_REASONS) {
        finding = finding.evidence(None, format!("kernel message: {reason}"));
    }
    for callback in failed_callbacks.iter().take(MAX_REASONS) {
        let driver = match callback.driver.as_str() {
            "" => String::new(),
            driver => format!(" (driver {driver})"),
        };
        finding = finding.evidence(
            callback.end_ns,
            format!(
                "{}{driver} returned {} from {}",
                callback.device,
                callback.details.error.unwrap_or(0),
                callback.details.callback
            ),
        );
    }
    Ok(vec![finding])
}
