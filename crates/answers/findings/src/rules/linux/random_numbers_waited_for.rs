//! Boots that wait for random numbers.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// `systemd-random-seed.service`, or a service whose only work it is to gather randomness, takes 1 s or more on the way to the
    /// default target.
    ///
    /// # Why it costs time
    /// It waits until the kernel's random numbers are ready, and services that need keys wait for it. A virtual machine without a source
    /// of randomness gathers it slowly, from interrupts.
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump); their ordering (properties of units) for what it cost.
    ///
    /// # What to do
    /// Give a virtual machine a virtio-rng device, or have the kernel trust the processor's or the loader's numbers
    /// (`random.trust_cpu=on`, `random.trust_bootloader=on`). systemd-boot passes a seed on (`bootctl random-seed`).
    ///
    /// # When it is wrong
    /// The unit also writes the seed to disk: on a slow disk that may be what takes long.
    ///
    /// # Source
    /// systemd-random-seed.service(8), random(4); the limit is onoff's.
    "linux/random-numbers-waited-for", "boots that wait for random numbers", LinuxBoot(check)
}

/// Whether a unit waits for random numbers.
pub(super) fn is_it(unit: &str) -> bool {
    matches!(unit, "systemd-random-seed.service" | "haveged.service" | "jitterentropy.service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_it, thresholds::UNIT_NS)?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title = format!("the boot waits {} for random numbers ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            "give a virtual machine a virtio-rng device, or have the kernel trust the processor's or the loader's numbers ('random.trust_cpu=on', 'random.trust_bootloader=on')",
        )
    };
    Ok(waits.iter().map(finding).collect())
}
