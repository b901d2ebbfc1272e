//! Suspends to idle whose hardware does not reach its low-power state.

use onoff_transitions::Variant;
use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A suspend to idle of 10 s or more in which the hardware was in its low-power state for less than half of the time, by its own
    /// counters, or of which the kernel says that it was not reached.
    ///
    /// # Why it costs time
    /// It costs no time: it empties the battery. One device or driver that stays awake keeps the whole platform from its deepest state.
    ///
    /// # Evidence needed
    /// The counters before and after (`/sys/power/suspend_stats`, `low_power_idle_system_residency_us`), which `onoff record suspend` keeps
    /// where the machine has them, or the words of its platform driver in the kernel's log.
    ///
    /// # What to do
    /// Look at what woke it in between, and at devices that did not suspend (`onoff suspend FILE`). Update firmware and kernel; try without
    /// USB devices, discrete graphics and wake on LAN, one at a time.
    ///
    /// # When it is wrong
    /// A machine without such a state counts none. A sleep of seconds is too short to reach it.
    ///
    /// # Source
    /// The kernel's ABI of /sys/power (`last_hw_sleep`, `total_hw_sleep`) and of cpuidle (`low_power_idle_system_residency_us`); the limits
    /// are onoff's.
    "linux/low-power-missed", "suspends to idle whose hardware does not reach its low-power state", LinuxSuspend(check)
}

fn check(sleep: &LinuxSleep) -> Outcome {
    if sleep.variant != Variant::SuspendToIdle || sleep.details.outcome != SleepOutcome::Slept {
        return Ok(Vec::new());
    }
    let Some(power) = &sleep.details.low_power else { return Ok(Vec::new()) };
    if power.hardware_ns.is_none() && power.missed.is_empty() {
        return Err(lacks_other(
            "how long the hardware was in its low-power state: 'onoff record suspend' keeps it, where the machine counts it",
        ));
    }
    let slept_ns = sleep.details.asleep.slept_ns.unwrap_or(0);
    let is_short = power.hardware_percent.is_some_and(|percent| percent < thresholds::LOW_POWER_PERCENT);
    let is_long_enough = slept_ns >= thresholds::LOW_POWER_SLEEP_NS;
    if !is_long_enough || (!is_short && power.missed.is_empty()) {
        return Ok(Vec::new());
    }
    let title = match power.hardware_percent {
        Some(percent) => {
            format!("the hardware was in its low-power state for {percent:.0} % of a sleep of {}", time(slept_ns))
        }
        None => format!("the hardware did not reach its low-power state in a sleep of {}", time(slept_ns)),
    };
    let mut finding = RuleFinding::new(FindingSubject::new(FindingSubjectKind::Phase, "low-power state"), title).advise(
        "see which devices did not suspend and what woke it in between; update firmware and kernel, and try without USB devices, discrete \
         graphics and wake on LAN, one at a time",
    );
    if let Some(ns) = power.hardware_ns {
        finding = finding.because(None, format!("by its own counters it was there for {}", time(ns)));
    }
    if power.entries > 1 {
        finding = finding.because(None, format!("the machine entered its sleep {} times", power.entries));
    }
    for missed in &power.missed {
        finding = finding.because(None, format!("the kernel said: {missed}"));
    }
    Ok(vec![finding])
}
