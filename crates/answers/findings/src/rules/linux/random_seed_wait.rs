//! Boots that wait for random numbers.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// `systemd-random-seed.service`, or a service that only gathers entropy, takes 5 % of the boot or more (at least
    /// 300 ms, at most 1 s) on the critical path to the default target.
    ///
    /// # Why it costs time
    /// It waits until the kernel's random number generator is ready, and services that need keys wait for it. A virtual
    /// machine without an entropy source gathers entropy slowly, from interrupts.
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump); unit ordering (unit properties) for the cost.
    ///
    /// # What to do
    /// Give a virtual machine a virtio-rng device, or let the kernel trust the CPU's or the boot loader's random
    /// numbers (`random.trust_cpu=on`, `random.trust_bootloader=on`). systemd-boot can pass a seed (`bootctl
    /// random-seed`).
    ///
    /// # When it is wrong
    /// The unit also writes the seed to disk, which may be the slow part on a slow disk.
    ///
    /// # Source
    /// systemd-random-seed.service(8), random(4); the threshold is onoff's.
    "linux/random-seed-wait", "boots that wait for random numbers", LinuxBoot(check)
}

pub(super) fn is_entropy_wait(unit: &str) -> bool {
    matches!(unit, "systemd-random-seed.service" | "haveged.service" | "jitterentropy.service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let waits = waits(facts, is_entropy_wait, facts.report.min_cause_ns())?;
    let finding = |wait: &super::known_waits::Wait<'_>| {
        let title = format!("the boot waited {} for random numbers ({})", time(wait.duration_ns), wait.unit);
        wait.finding(
            title,
            "give a virtual machine a virtio-rng device, or let the kernel trust the CPU's or the boot loader's random numbers \
             ('random.trust_cpu=on', 'random.trust_bootloader=on')",
        )
    };
    Ok(waits.iter().map(finding).collect())
}
