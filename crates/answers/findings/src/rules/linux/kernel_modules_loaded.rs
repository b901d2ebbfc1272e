//! Boots that wait for kernel modules from lists.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// `systemd-modules-load.service` takes 1 s or more on the way to the default target.
    ///
    /// # Why it costs time
    /// It loads what `modules-load.d` and the kernel's command line name, and `sysinit.target` waits for all of them.
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump); their ordering (properties of units) for what it cost.
    ///
    /// # What to do
    /// See which module takes long (`journalctl -b -u systemd-modules-load`, or boot with `initcall_debug`). Take modules off
    /// `/etc/modules` and `/etc/modules-load.d` that udev loads by itself when their device is there.
    ///
    /// # When it is wrong
    /// A module that others need before their device appears has to be on a list.
    ///
    /// # Source
    /// systemd-modules-load.service(8), modules-load.d(5); the limit is onoff's.
    "linux/kernel-modules-loaded", "boots that wait for kernel modules from lists", LinuxBoot(check)
}

/// Whether a unit loads modules from lists.
pub(super) fn is_it(unit: &str) -> bool {
    matches!(unit, "systemd-modules-load.service" | "kmod.service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_it, thresholds::UNIT_NS)?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title = format!("the boot waits {} for kernel modules from lists ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            "see which one takes long ('journalctl -b -u systemd-modules-load', or boot with 'initcall_debug'), and take those off '/etc/modules-load.d' and '/etc/modules' that udev loads when their device is there",
        )
    };
    Ok(waits.iter().map(finding).collect())
}
