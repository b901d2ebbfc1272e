//! Sleeps that were given up.

use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A sleep that was given up before the machine slept, and which device or reason refused it.
    ///
    /// # Why it costs time
    /// All of the way down and back is for nothing; who closed the lid finds a warm computer with an empty battery.
    ///
    /// # Evidence needed
    /// The end of the sleep and its error: the kernel's log, or the trace event `power:suspend_resume` without the machine's entry.
    ///
    /// # What to do
    /// Mend the device or task named. A wakeup that came meanwhile is not its fault: turn off wakeup sources that nobody needs
    /// (`/sys/devices/.../power/wakeup`).
    ///
    /// # When it is wrong
    /// A person who opens the lid while the computer goes down gives a sleep up on purpose.
    ///
    /// # Source
    /// The kernel's `kernel/power/suspend.c` and `/sys/power/suspend_stats`.
    "linux/sleep-given-up", "sleeps that were given up", LinuxSuspend(check)
}

/// Devices and reasons named.
const NAMED: usize = 5;

fn check(sleep: &LinuxSleep) -> Outcome {
    if sleep.details.outcome != SleepOutcome::GivenUp {
        return Ok(Vec::new());
    }
    let failed: Vec<_> = sleep
        .details
        .callbacks
        .iter()
        .filter(|callback| callback.details.error.is_some_and(|error| error != 0))
        .collect();
    let error = match sleep.details.error {
        Some(error) => format!(" (error {error})"),
        None => String::new(),
    };
    let length = sleep.end_ns.zip(sleep.start_ns).map(|(end, start)| end.saturating_sub(start).max(0));
    // However quickly it was given up, the computer did not sleep.
    let length = length.filter(|&ns| ns >= thresholds::NOISE_NS);
    let (subject, who) = match failed.first() {
        Some(callback) => (
            FindingSubject::new(FindingSubjectKind::Device, callback.device.as_str()),
            format!(": {} refuses", callback.device),
        ),
        None => (FindingSubject::new(FindingSubjectKind::Transition, "sleep"), String::new()),
    };
    let mut finding = RuleFinding::new(subject, format!("the sleep is given up{who}{error}"))
        .costs(length.map_or(Cost::UNKNOWN, Cost::on_path))
        .because(sleep.start_ns, format!("it is decided ({})", sleep.details.event))
        .advise(
            "mend what refused; if a wakeup came meanwhile, turn off the sources that nobody needs (/sys/devices/.../power/wakeup)",
        );
    for reason in sleep.details.refusals.iter().take(NAMED) {
        finding = finding.because(None, format!("the kernel says: {reason}"));
    }
    for callback in failed.iter().take(NAMED) {
        let driver = match callback.driver.as_str() {
            "" => String::new(),
            driver => format!(" (driver {driver})"),
        };
        finding = finding.because(
            callback.end_ns,
            format!(
                "{}{driver} answers {} to {}",
                callback.device,
                callback.details.error.unwrap_or(0),
                callback.details.callback
            ),
        );
    }
    Ok(vec![finding])
}
