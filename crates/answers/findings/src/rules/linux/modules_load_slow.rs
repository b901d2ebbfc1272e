//! Boots that wait for statically configured kernel modules.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// `systemd-modules-load.service` takes 5 % of the boot or more (at least 300 ms, at most 1 s) on the critical path
    /// to the default target.
    ///
    /// # Why it costs time
    /// It loads the modules named in `modules-load.d` and on the kernel command line, and `sysinit.target` waits for
    /// all of them.
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump); unit ordering (unit properties) for the cost.
    ///
    /// # What to do
    /// Find the slow module (`journalctl -b -u systemd-modules-load`, or boot with `initcall_debug`). Remove modules
    /// from `/etc/modules` and `/etc/modules-load.d` that udev loads when their device appears.
    ///
    /// # When it is wrong
    /// A module that is needed before its device appears has to be listed.
    ///
    /// # Source
    /// systemd-modules-load.service(8), modules-load.d(5); the threshold is onoff's.
    "linux/modules-load-slow", "boots that wait for statically configured kernel modules", LinuxBoot(check)
}

pub(super) fn is_module_load(unit: &str) -> bool {
    matches!(unit, "systemd-modules-load.service" | "kmod.service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_module_load, facts.report.min_cause_ns())?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title = format!(
            "the boot waited {} for statically configured kernel modules ({})",
            time(wait.duration_ns),
            wait.unit
        );
        wait.finding(
            title,
            "find the slow one ('journalctl -b -u systemd-modules-load', or boot with 'initcall_debug'), and remove modules from \
             /etc/modules-load.d and /etc/modules that udev loads when their device appears",
        )
    };
    Ok(waits.iter().map(finding).collect())
}
