//! Boots that wait for udev to handle all device events.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// `systemd-udev-settle.service` takes 5 % of the boot or more (at least 300 ms, at most 1 s) on the critical path
    /// to the default target.
    ///
    /// # Why it costs time
    /// It waits for all devices known so far, including unneeded ones, and everything after it waits too. Even so, it
    /// does not guarantee that a slow device is available.
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump); unit ordering (unit properties) for the cost.
    ///
    /// # What to do
    /// Find what pulls it in (`systemctl list-dependencies --reverse systemd-udev-settle.service`; often multipath,
    /// LVM, ZFS or a vendor's service) and order that unit after the device it needs.
    ///
    /// # When it is wrong
    /// Storage stacks that cannot name their devices need it.
    ///
    /// # Source
    /// systemd-udev-settle.service(8), which recommends against using it; the threshold is onoff's.
    "linux/udev-settle", "boots that wait for udev to handle all device events", LinuxBoot(check)
}

pub(super) fn is_udev_settle(unit: &str) -> bool {
    matches!(unit, "systemd-udev-settle.service" | "udev-settle.service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_udev_settle, facts.report.min_cause_ns())?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title =
            format!("the boot waited {} for udev to handle all device events ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            format!("find what pulls it in ('systemctl list-dependencies --reverse {}') and order that unit after the device it needs", wait.unit),
        )
    };
    Ok(waits.iter().map(finding).collect())
}
