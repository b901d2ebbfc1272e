//! A slow initramfs.

use onoff_transitions::PhaseName;

use super::unexplained_gap;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The initramfs takes 5 s or more, from its first program until systemd starts on the root file system.
    ///
    /// # Why it costs time
    /// Nothing on the root file system runs meanwhile. The initramfs waits for the disk, unlocks volumes, checks the
    /// root file system and loads drivers.
    ///
    /// # Evidence needed
    /// systemd's own times, or the kernel log with the start of its first program.
    ///
    /// # What to do
    /// If systemd runs in the initramfs, look at its units (`journalctl -b` up to `Switching root`). Build the
    /// initramfs for this computer only (dracut: `hostonly=yes`; initramfs-tools: `MODULES=dep`), and leave out
    /// network, RAID and multipath support that the root file system does not need.
    ///
    /// # When it is wrong
    /// Time a person takes to unlock the root volume counts, and so does a check of the root file system.
    ///
    /// # Source
    /// bootup(7), the bootup in the initrd; dracut.conf(5), initramfs.conf(5); the threshold is onoff's.
    "linux/initrd-long", "a slow initramfs", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let report = facts.report;
    let phase = report
        .phase(PhaseName::Initrd)
        .and_then(|initrd| Some((initrd.start_ns?, initrd.duration_ns?, initrd.certainty)));
    let initial_file_system = report
        .details
        .initial_file_system
        .as_ref()
        .and_then(|file_system| Some((file_system.start_ns?, file_system.duration_ns?, file_system.certainty)));
    let Some((start_ns, length_ns, certainty)) = phase.or(initial_file_system) else {
        return Err(missing_input("start and end of the initramfs"));
    };
    if length_ns < thresholds::INITRD_NS {
        return Ok(Vec::new());
    }
    // The rule about gaps reports a gap.
    let gap_ns = unexplained_gap::longest_gap_ns(facts, (start_ns, start_ns.saturating_add(length_ns)));
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Phase, PhaseName::Initrd.as_str()),
        format!("the initramfs took {}", time(length_ns)),
    )
    .cost(Cost::on_path(length_ns.saturating_sub(thresholds::INITRD_NS.max(gap_ns))))
    .certainty(certainty)
    .evidence(start_ns, "its first program started")
    .evidence(start_ns.saturating_add(length_ns), "systemd started on the root file system")
    .advice(
        "build it for this computer only (dracut: 'hostonly=yes'; initramfs-tools: 'MODULES=dep'), and use 'journalctl -b' to see \
         what it waits for before 'Switching root'",
    );
    Ok(vec![finding])
}
