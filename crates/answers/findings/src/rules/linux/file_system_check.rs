//! Boots that wait for the check of a file system.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A check of a file system (`systemd-fsck@….service`, `systemd-fsck-root.service`) that takes 1 s or more on the way to the default
    /// target.
    ///
    /// # Why it costs time
    /// The file system is mounted only after its check, and what needs it starts only then. After an orderly shutdown a journalling file
    /// system is looked at in milliseconds; after a power cut it is repaired.
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump); their ordering (properties of units) for what it cost.
    ///
    /// # What to do
    /// See what the check did (`journalctl -b -u UNIT`). If it repaired, see why the computer was not shut down in order (`onoff boot
    /// --list-boots`). A check that is due from time to time (ext4: `tune2fs -l DEVICE`) can run at another time. A file system that the
    /// boot does not need gets `nofail` or `x-systemd.automount`.
    ///
    /// # When it is wrong
    /// A check that repairs is needed: never turn it off for the time it takes.
    ///
    /// # Source
    /// systemd-fsck@.service(8), fstab(5), the sixth field; the limit is onoff's.
    "linux/file-system-check", "boots that wait for the check of a file system", LinuxBoot(check)
}

/// Whether a unit checks a file system.
pub(super) fn is_it(unit: &str) -> bool {
    matches!(unit, "systemd-fsck-root.service" | "systemd-fsck-usr.service") || unit.starts_with("systemd-fsck@")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_it, thresholds::UNIT_NS)?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title = format!("the boot waits {} for the check of a file system ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            format!("see what the check did ('journalctl -b -u {}'): a repair after a power cut is needed, a check that is due from time to time can run at another; a file system that the boot does not need gets 'nofail'", wait.unit),
        )
    };
    Ok(waits.iter().map(finding).collect())
}
