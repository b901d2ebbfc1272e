//! An initial file system that takes long.

use onoff_transitions::PhaseName;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The initial file system takes 5 s or more, from its first program until the root file system's service manager starts.
    ///
    /// # Why it costs time
    /// Nothing of the system runs meanwhile. It waits for the disk, opens volumes, checks the root file system, loads drivers.
    ///
    /// # Evidence needed
    /// The service manager's times, or the kernel's log with the start of its first program.
    ///
    /// # What to do
    /// See its own units where systemd runs in it (`journalctl -b` up to `Switching root`). Build it for this computer only (dracut:
    /// `hostonly=yes`; initramfs-tools: `MODULES=dep`), and leave out network, RAID and multipath that the root does not need.
    ///
    /// # When it is wrong
    /// A person who opens the root volume there counts as its time; so does a check of the root file system.
    ///
    /// # Source
    /// bootup(7), the bootup in the initrd; dracut.conf(5), initramfs.conf(5); the limit is onoff's.
    "linux/initrd-long", "an initial file system that takes long", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let report = facts.report;
    let phase = report.phase(PhaseName::Initrd).and_then(|it| Some((it.start_ns?, it.duration_ns?, it.certainty)));
    let inside =
        report.details.initial_file_system.as_ref().and_then(|it| Some((it.start_ns?, it.duration_ns?, it.certainty)));
    let Some((start_ns, length_ns, certainty)) = phase.or(inside) else {
        return Err(lacks_other("when the initial file system began and ended"));
    };
    if length_ns < thresholds::INITRD_NS {
        return Ok(Vec::new());
    }
    let found = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Phase, PhaseName::Initrd.as_str()),
        format!("the initial file system takes {}", time(length_ns)),
    )
    .costs(Cost::on_path(length_ns.saturating_sub(thresholds::INITRD_NS)))
    .certain(certainty)
    .because(start_ns, "its first program starts")
    .because(start_ns.saturating_add(length_ns), "the service manager of the root file system starts")
    .advise(
        "build it for this computer only (dracut: 'hostonly=yes'; initramfs-tools: 'MODULES=dep'), and see with 'journalctl -b' what \
         it waits for before 'Switching root'",
    );
    Ok(vec![found])
}
