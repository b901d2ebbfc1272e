//! Boots that relabel every file for SELinux.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// SELinux labels are written to every file during the boot (`selinux-autorelabel.service`), which takes 5 % of the
    /// boot or more (at least 300 ms, at most 1 s).
    ///
    /// # Why it costs time
    /// Every file on every file system is visited, and the computer restarts afterwards: the user waits for two boots.
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump); unit ordering (unit properties) for the cost.
    ///
    /// # What to do
    /// It is necessary once after a policy change. If it happens at every boot, find out what creates `/.autorelabel`
    /// or sets `autorelabel=1` on the kernel command line. After a small change, running `restorecon` on the changed
    /// files is enough.
    ///
    /// # When it is wrong
    /// A system that ran without SELinux for a while needs it once.
    ///
    /// # Source
    /// selinux-autorelabel(8) and fixfiles(8) of policycoreutils; the threshold is onoff's.
    "linux/selinux-relabel", "boots that relabel every file for SELinux", LinuxBoot(check)
}

pub(super) fn is_relabel(unit: &str) -> bool {
    matches!(unit, "selinux-autorelabel.service" | "rhel-autorelabel.service" | "fedora-autorelabel.service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_relabel, facts.report.min_cause_ns())?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title = format!("relabeling every file for SELinux took {} ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            "it is necessary once after a policy change; if it happens again, find out what creates '/.autorelabel' or sets \
             'autorelabel=1' on the kernel command line",
        )
    };
    Ok(waits.iter().map(finding).collect())
}
