//! Sleeps whose devices take long, without a record of which.

use crate::rules::prelude::*;
use onoff_transitions::PhaseName;
use onoff_transitions::linux::suspend::LinuxSleep;

rule! {
    /// # What it finds
    /// A suspend or a resume whose device phase takes 2 s or more, in a recording without device callbacks.
    ///
    /// # Why it costs time
    /// The computer cannot sleep, or be used, until the last device is done.
    ///
    /// # Evidence needed
    /// The kernel log of the sleep (`PM: suspend devices took 10.4 seconds`, or the lines around the devices).
    ///
    /// # What to do
    /// Turn on the messages that name the device (`echo 1 > /sys/power/pm_print_times`), or record the sleep with the
    /// trace events `power:device_pm_callback_start` and `power:device_pm_callback_end`.
    ///
    /// # When it is wrong
    /// Disks that spin up take several seconds; this is normal.
    ///
    /// # Source
    /// The kernel's `suspend_test_finish` and `dpm_show_time`; the threshold is onoff's.
    "linux/sleep-phase-long", "device phases of a suspend or a resume that take long", LinuxSuspend(check)
}

fn check(sleep: &LinuxSleep) -> Outcome {
    let phases = [(PhaseName::DevicesSuspend, "suspend"), (PhaseName::DevicesResume, "resume")];
    if !sleep.phases.iter().any(|phase| phases.iter().any(|(name, _)| phase.name == *name)) {
        return Err(missing_input("device phases of the sleep: record the kernel log"));
    }
    if !sleep.details.callbacks.is_empty() {
        return Ok(Vec::new());
    }
    Ok(phases
        .into_iter()
        .filter_map(|(name, verb)| {
            let phase = sleep.phases.iter().filter(|phase| phase.name == name).max_by_key(|phase| phase.duration_ns)?;
            let length_ns = phase.duration_ns.filter(|&ns| ns >= thresholds::SLEEP_DEVICES_NS)?;
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, format!("devices ({verb})")),
                    format!("the devices took {} to {verb}; which one is not recorded", time(length_ns)),
                )
                .cost(Cost::on_path(length_ns))
                .certainty(phase.certainty)
                .evidence(phase.start_ns, phase.starts.rule.to_string())
                .evidence(phase.end_ns, phase.ends.rule.to_string())
                .advice(
                    "turn on the messages that name the device ('echo 1 > /sys/power/pm_print_times') and diagnose the next kernel log",
                ),
            )
        })
        .collect())
}
