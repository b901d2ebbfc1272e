//! Suspends to idle in which the hardware does not reach its low-power state.

use onoff_transitions::Variant;
use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A suspend to idle of 10 s or more in which the hardware spent less than half of the time in its low-power state
    /// according to its counters, or in which the kernel reported that the state was not reached.
    ///
    /// # Why it costs time
    /// It does not cost time but drains the battery. A single device or driver that stays active keeps the whole
    /// platform out of its deepest state.
    ///
    /// # Evidence needed
    /// The counters before and after (`/sys/power/suspend_stats`, `low_power_idle_system_residency_us`), which `onoff
    /// record suspend` saves if the computer has them, or the platform driver's messages in the kernel log.
    ///
    /// # What to do
    /// Check what woke it in between, and which devices did not suspend (`onoff suspend FILE`). Update firmware and
    /// kernel; try without USB devices, discrete graphics and Wake-on-LAN, one at a time.
    ///
    /// # When it is wrong
    /// A computer without such a state counts no residency. A sleep of a few seconds is too short to reach it.
    ///
    /// # Source
    /// The kernel's ABI of /sys/power (`last_hw_sleep`, `total_hw_sleep`) and of cpuidle
    /// (`low_power_idle_system_residency_us`); the thresholds are onoff's.
    "linux/low-power-missed", "suspends to idle in which the hardware does not reach its low-power state", LinuxSuspend(check)
}

fn check(sleep: &LinuxSleep) -> Outcome {
    if sleep.variant != Variant::SuspendToIdle || sleep.details.outcome != SleepOutcome::Slept {
        return Ok(Vec::new());
    }
    let Some(power) = &sleep.details.low_power else { return Ok(Vec::new()) };
    if power.hardware_ns.is_none() && power.missed.is_empty() {
        return Err(missing_input(
            "low-power state residency ('onoff record suspend' saves it if the computer counts it)",
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
    let mut finding = RuleFinding::new(FindingSubject::new(FindingSubjectKind::Phase, "low-power state"), title).advice(
        "check which devices did not suspend and what woke the computer in between; update firmware and kernel, and try without \
         USB devices, discrete graphics and Wake-on-LAN, one at a time",
    );
    if let Some(ns) = power.hardware_ns {
        finding = finding.evidence(None, format!("hardware counters: {} in the low-power state", time(ns)));
    }
    if power.entries > 1 {
        finding = finding.evidence(None, format!("the computer entered the sleep state {} times", power.entries));
    }
    for missed in &power.missed {
        finding = finding.evidence(None, format!("kernel message: {missed}"));
    }
    Ok(vec![finding])
}
