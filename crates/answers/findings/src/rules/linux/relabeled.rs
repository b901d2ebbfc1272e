//! Boots that label every file anew for SELinux.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// SELinux' labels are written to every file at the boot (`selinux-autorelabel.service`), for 1 s or more.
    ///
    /// # Why it costs time
    /// Every file of every file system is visited, and the computer restarts afterwards: the user waits for two boots.
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump); their ordering (properties of units) for what it cost.
    ///
    /// # What to do
    /// Once after a change of policy it is needed. If it comes back at every boot, see who makes `/.autorelabel` or sets `autorelabel=1`
    /// on the kernel's command line. After a small change `restorecon` on what changed is enough.
    ///
    /// # When it is wrong
    /// A system that ran without SELinux for a while needs it once.
    ///
    /// # Source
    /// selinux-autorelabel(8) and fixfiles(8) of policycoreutils; the limit is onoff's.
    "linux/relabeled", "boots that label every file anew for SELinux", LinuxBoot(check)
}

/// Whether a unit labels files anew.
pub(super) fn is_it(unit: &str) -> bool {
    matches!(unit, "selinux-autorelabel.service" | "rhel-autorelabel.service" | "fedora-autorelabel.service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_it, thresholds::UNIT_NS)?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title =
            format!("every file is labeled anew for SELinux, which takes {} ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            "it is needed once after a change of policy; if it comes back, see who makes '/.autorelabel' or sets 'autorelabel=1' on the kernel's command line",
        )
    };
    Ok(waits.iter().map(finding).collect())
}
