//! Boots that wait until every device event is handled.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// `systemd-udev-settle.service` takes 1 s or more on the way to the default target.
    ///
    /// # Why it costs time
    /// It waits for all devices that are known so far, also those that nobody needs, and what comes after it waits too. It still does not
    /// promise that a slow device is there.
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump); their ordering (properties of units) for what it cost.
    ///
    /// # What to do
    /// See who pulls it in (`systemctl list-dependencies --reverse systemd-udev-settle.service`; often multipath, LVM, ZFS or a vendor's
    /// service) and order that unit after the device it needs.
    ///
    /// # When it is wrong
    /// Storage stacks that cannot name their devices need it.
    ///
    /// # Source
    /// systemd-udev-settle.service(8), which recommends not to use it; the limit is onoff's.
    "linux/udev-settled", "boots that wait until every device event is handled", LinuxBoot(check)
}

/// Whether a unit waits until udev has nothing to do.
pub(super) fn is_it(unit: &str) -> bool {
    matches!(unit, "systemd-udev-settle.service" | "udev-settle.service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_it, thresholds::UNIT_NS)?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title =
            format!("the boot waits {} until every device event is handled ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            format!("see who pulls it in ('systemctl list-dependencies --reverse {}') and order that after the device it needs", wait.unit),
        )
    };
    Ok(waits.iter().map(finding).collect())
}
