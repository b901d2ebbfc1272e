//! Devices that delay a suspend or a resume of Linux.

use onoff_transitions::{Phase, SuspendStage};
use std::collections::BTreeMap;

use onoff_transitions::linux::suspend::{DeviceCallback, LinuxSleep};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A device whose callbacks take 300 ms or more in total during suspend or during resume.
    ///
    /// # Why it costs time
    /// A phase ends when its last callback returns. A device waits for its children when suspending and for its parent
    /// when resuming, so one slow device blocks a whole branch; without asynchronous callbacks, it blocks everything
    /// after it.
    ///
    /// # Evidence needed
    /// Device callbacks: the trace events `power:device_pm_callback_start` and `power:device_pm_callback_end`, or the
    /// kernel log with `/sys/power/pm_print_times`.
    ///
    /// # What to do
    /// Find out what the driver waits for in its callback, such as a reset, a link or a spin-up. The driver can start
    /// that work and wait for it on first use, or run the callback asynchronously (`device_enable_async_suspend`,
    /// `/sys/devices/.../power/async`).
    ///
    /// # When it is wrong
    /// Callbacks run in parallel, and the recording does not show which one a thread waited for: if the critical path
    /// does not go through the device, the cost is an upper bound. In a virtual machine, a callback also includes time
    /// in which its virtual CPU was not scheduled.
    ///
    /// # Source
    /// The kernel's `drivers/base/power/main.c`; sleepgraph(8) shows each callback without a threshold; the 300 ms are
    /// onoff's.
    "linux/sleep-device-slow", "devices that delay a suspend or a resume", LinuxSuspend(check)
}

/// Maximum number of findings for suspend and for resume.
const MAX_FINDINGS: usize = 20;

fn check(sleep: &LinuxSleep) -> Outcome {
    if sleep.details.callbacks.is_empty() {
        return Err(missing_input(
            "device callback times (trace events power:device_pm_callback_start and power:device_pm_callback_end)",
        ));
    }
    let mut findings = Vec::new();
    for (half, verb) in [(SuspendStage::Suspend, "suspend"), (SuspendStage::Resume, "resume")] {
        let mut devices: BTreeMap<&str, Vec<&DeviceCallback>> = BTreeMap::new();
        for callback in &sleep.details.callbacks {
            if callback.details.phase.is_some_and(|phase| phase.half() == Some(half)) {
                devices.entry(&callback.device).or_default().push(callback);
            }
        }
        let mut slow_devices: Vec<(i64, Vec<&DeviceCallback>)> = devices
            .into_values()
            .map(|callbacks| (total_ns(&callbacks), callbacks))
            .filter(|(length, _)| *length >= thresholds::LINUX_CALLBACK_NS)
            .collect();
        slow_devices.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let reported = slow_devices.into_iter().take(MAX_FINDINGS);
        findings.extend(reported.filter_map(|(length, callbacks)| finding(sleep, verb, length, &callbacks)));
    }
    Ok(findings)
}

fn total_ns(callbacks: &[&DeviceCallback]) -> i64 {
    callbacks.iter().filter_map(|callback| callback.duration_ns).fold(0, i64::saturating_add)
}

fn finding(sleep: &LinuxSleep, verb: &str, length: i64, callbacks: &[&DeviceCallback]) -> Option<RuleFinding> {
    let longest = callbacks.iter().max_by_key(|callback| callback.duration_ns)?;
    let driver = match longest.driver.as_str() {
        "" => String::new(),
        driver => format!(" (driver {driver})"),
    };
    let subject = match longest.driver.as_str() {
        "" => FindingSubject::new(FindingSubjectKind::Device, longest.device.as_str()),
        driver => FindingSubject::new(FindingSubjectKind::Driver, driver),
    };
    let on_path = callbacks.iter().map(|callback| callback.details.on_path_ns).fold(0, i64::saturating_add);
    let off_path = callbacks.iter().map(|callback| off_path_ns(sleep, callback)).fold(0, i64::saturating_add);
    let (cost, path_evidence) = if off_path < thresholds::NOISE_NS {
        (Cost::on_path(on_path), format!("its phases waited {} for it", time(on_path)))
    } else {
        (
            Cost::at_most(on_path.saturating_add(off_path)),
            format!(
                "for {} of that time, the callback on the critical path is unknown; others ran in parallel",
                time(off_path)
            ),
        )
    };
    let mut finding = RuleFinding::new(
        subject,
        format!("{}{driver} took {} to {verb}", longest.device, time(length)),
    )
    .cost(cost)
    .evidence(
        longest.start_ns,
        format!(
            "{} in {}: {}",
            longest.details.callback,
            longest.details.phase.map_or("", |phase| phase.as_str()).replace('_', " "),
            time(longest.duration_ns.unwrap_or(0))
        ),
    )
    .evidence(None, path_evidence)
    .advice(
        "find out what the driver waits for in this callback, and try a newer kernel or device firmware; the driver can defer \
         the wait to first use, or run the callback asynchronously",
    );
    if !longest.details.parent.is_empty() {
        finding = finding.evidence(None, format!("parent device: {}", longest.details.parent));
    }
    Some(finding)
}

/// Time of a callback during which no callback on its phase's critical path was running, ns.
fn off_path_ns(sleep: &LinuxSleep, callback: &DeviceCallback) -> i64 {
    let Some(end) = callback.end_ns else { return 0 };
    let contains_callback = |phase: &&Phase| {
        Some(phase.name) == callback.details.phase
            && phase.start_ns <= Some(callback.start_ns)
            && phase.end_ns.is_none_or(|end| callback.start_ns <= end)
    };
    let Some(phase) = sleep.phases.iter().find(contains_callback) else { return 0 };
    let window = (callback.start_ns, end.min(phase.end_ns.unwrap_or(end)));
    let path: Vec<Interval> = phase.work.path.iter().map(|step| (step.start_ns, step.end_ns)).collect();
    covered_ns(vec![window], window).saturating_sub(covered_ns(path, window))
}
