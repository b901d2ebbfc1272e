//! Devices that a sleep or a resume of Linux waits for.

use onoff_transitions::{Half, Phase};
use std::collections::BTreeMap;

use onoff_transitions::linux::suspend::{DeviceCallback, LinuxSleep};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A device whose callbacks take 300 ms or more in all on the way down, or on the way up.
    ///
    /// # Why it costs time
    /// A phase ends when its last callback has returned. A device waits for those below it on the way down and for the one above it on the
    /// way up, so one slow device holds a whole branch; without asynchronous callbacks it holds all that come after it.
    ///
    /// # Evidence needed
    /// Device callbacks: the trace events `power:device_pm_callback_start` and `power:device_pm_callback_end`, or the kernel's log with
    /// `/sys/power/pm_print_times`.
    ///
    /// # What to do
    /// Look at what the driver waits for in its callback: a reset, a link, a spin-up. Its author starts that and waits for it when the device
    /// is used first, or lets the callback run asynchronously (`device_enable_async_suspend`, `/sys/devices/.../power/async`).
    ///
    /// # When it is wrong
    /// Callbacks run side by side, and no record says for which one a free thread waited: where the path does not lead through the
    /// device, the cost is an upper bound. In a virtual machine a callback also counts the time in which its processor did not run.
    ///
    /// # Source
    /// The kernel's `drivers/base/power/main.c`; sleepgraph(8) shows each callback and has no limit; 300 ms is onoff's.
    "linux/sleep-device-slow", "devices that a sleep or a resume waits for", LinuxSuspend(check)
}

/// Findings of one half, the longest.
const MAX_NAMED: usize = 20;

fn check(sleep: &LinuxSleep) -> Outcome {
    if sleep.details.callbacks.is_empty() {
        return Err(lacks_other(
            "how long each device took to sleep and wake: the trace events power:device_pm_callback_start and _end tell",
        ));
    }
    let mut findings = Vec::new();
    for (half, verb) in [(Half::Suspend, "go to sleep"), (Half::Resume, "wake up")] {
        let mut devices: BTreeMap<&str, Vec<&DeviceCallback>> = BTreeMap::new();
        for callback in &sleep.details.callbacks {
            if callback.details.phase.is_some_and(|phase| phase.half() == Some(half)) {
                devices.entry(&callback.device).or_default().push(callback);
            }
        }
        let mut slow: Vec<(i64, Vec<&DeviceCallback>)> = devices
            .into_values()
            .map(|own| (length_of(&own), own))
            .filter(|(length, _)| *length >= thresholds::LINUX_CALLBACK_NS)
            .collect();
        slow.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let named = slow.into_iter().take(MAX_NAMED);
        findings.extend(named.filter_map(|(length, own)| finding(sleep, verb, length, &own)));
    }
    Ok(findings)
}

fn length_of(callbacks: &[&DeviceCallback]) -> i64 {
    callbacks.iter().filter_map(|callback| callback.duration_ns).fold(0, i64::saturating_add)
}

fn finding(sleep: &LinuxSleep, verb: &str, length: i64, own: &[&DeviceCallback]) -> Option<RuleFinding> {
    let longest = own.iter().max_by_key(|callback| callback.duration_ns)?;
    let driver = match longest.driver.as_str() {
        "" => String::new(),
        driver => format!(" (driver {driver})"),
    };
    let subject = match longest.driver.as_str() {
        "" => FindingSubject::new(FindingSubjectKind::Device, longest.device.as_str()),
        driver => FindingSubject::new(FindingSubjectKind::Driver, driver),
    };
    let on_path = own.iter().map(|callback| callback.details.on_path_ns).fold(0, i64::saturating_add);
    let beside = own.iter().map(|callback| beside_the_path(sleep, callback)).fold(0, i64::saturating_add);
    let (cost, waited) = if beside < thresholds::NOISE_NS {
        (Cost::on_path(on_path), format!("the ends of its phases waited {} for it", time(on_path)))
    } else {
        (
            Cost::at_most(on_path.saturating_add(beside)),
            format!(
                "for {} it was under way while no callback is known that the phase's end waited for; others ran in parallel",
                time(beside)
            ),
        )
    };
    let mut finding = RuleFinding::new(
        subject,
        format!("{}{driver} takes {} to {verb}", longest.device, time(length)),
    )
    .costs(cost)
    .because(
        longest.start_ns,
        format!(
            "{} in {}: {}",
            longest.details.callback,
            longest.details.phase.map_or("", |phase| phase.as_str()).replace('_', " "),
            time(longest.duration_ns.unwrap_or(0))
        ),
    )
    .because(None, waited)
    .advise(
        "see what the driver waits for in this callback, and whether a newer kernel or firmware of the device mends it; its author waits \
         when the device is used first, or has the callback run asynchronously",
    );
    if !longest.details.parent.is_empty() {
        finding = finding.because(None, format!("it hangs on {}", longest.details.parent));
    }
    Some(finding)
}

/// Time of a callback in its phase in which no callback of the phase's path was under way, ns.
fn beside_the_path(sleep: &LinuxSleep, callback: &DeviceCallback) -> i64 {
    let Some(end) = callback.end_ns else { return 0 };
    let is_its = |phase: &&Phase| {
        Some(phase.name) == callback.details.phase
            && phase.start_ns <= Some(callback.start_ns)
            && phase.end_ns.is_none_or(|it| callback.start_ns <= it)
    };
    let Some(phase) = sleep.phases.iter().find(is_its) else { return 0 };
    let window = (callback.start_ns, end.min(phase.end_ns.unwrap_or(end)));
    let path: Vec<Stretch> = phase.work.path.iter().map(|step| (step.start_ns, step.end_ns)).collect();
    covered_ns(vec![window], window).saturating_sub(covered_ns(path, window))
}
