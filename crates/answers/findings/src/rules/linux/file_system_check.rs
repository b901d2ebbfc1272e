//! Boots that wait for a file system check.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A file system check (`systemd-fsck@….service`, `systemd-fsck-root.service`) takes 5 % of the boot or more (at
    /// least 300 ms, at most 1 s) on the critical path to the default target.
    ///
    /// # Why it costs time
    /// A file system is mounted only after its check, and what needs it starts only then. After a clean shutdown,
    /// checking a journaling file system takes milliseconds; after a power cut, it is repaired.
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump); unit ordering (unit properties) for the cost.
    ///
    /// # What to do
    /// Find out what the check did (`journalctl -b -u UNIT`). If it repaired something, find out why the computer was
    /// not shut down cleanly (`onoff boot --list-boots`). Run periodic checks (ext4: `tune2fs -l DEVICE`) at another
    /// time. For a file system the boot does not need, use `nofail` or `x-systemd.automount`.
    ///
    /// # When it is wrong
    /// A check that repairs is necessary: never turn it off to save time.
    ///
    /// # Source
    /// systemd-fsck@.service(8), fstab(5), the sixth field; the threshold is onoff's.
    "linux/file-system-check", "boots that wait for a file system check", LinuxBoot(check)
}

pub(super) fn is_file_system_check(unit: &str) -> bool {
    matches!(unit, "systemd-fsck-root.service" | "systemd-fsck-usr.service") || unit.starts_with("systemd-fsck@")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_file_system_check, facts.report.min_cause_ns())?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title = format!("the boot waited {} for a file system check ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            format!("find out what the check did ('journalctl -b -u {}'): a repair after a power cut is necessary, but a periodic check can \
                     run at another time; for a file system the boot does not need, use 'nofail'", wait.unit),
        )
    };
    Ok(waits.iter().map(finding).collect())
}
