//! Firmware or a loader that takes long.

use crate::rules::prelude::*;
use onoff_transitions::PhaseName;

rule! {
    /// # What it finds
    /// Firmware that takes more than 10 s, or a loader that takes more than 3 s.
    ///
    /// # Why it costs time
    /// Nothing else runs meanwhile. A loader that shows a menu waits for its time-out at every boot.
    ///
    /// # Evidence needed
    /// The loader's and firmware's times (EFI variables of the loader, or the firmware's own tables).
    ///
    /// # What to do
    /// Turn on fast boot in the firmware's setup and turn off what the boot does not need; set the loader's menu time-out to 0 or 1 s.
    ///
    /// # When it is wrong
    /// A person at the menu or at a disk password counts as the loader's.
    ///
    /// # Source
    /// systemd-analyze(1), "time"; the limits are those of Windows' loader in Microsoft's paper, and onoff's.
    "linux/before-kernel-long", "firmware or a loader that takes long", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let phases = [
        (
            PhaseName::Firmware,
            thresholds::FIRMWARE_NS,
            "turn on fast boot in the firmware's setup and turn off what the boot does not need; onoff firmware on the tables of /sys/firmware/acpi shows where it goes",
        ),
        (
            PhaseName::Loader,
            thresholds::OS_LOADER_NS,
            "set the menu's time-out to 0 or 1 s, and see how large kernel and initial file system are",
        ),
    ];
    let known = phases.iter().any(|(name, _, _)| facts.report.phase(*name).is_some_and(|it| it.duration_ns.is_some()));
    if !known {
        return Err(lacks_other("how long firmware and loader took"));
    }
    let mut findings = Vec::new();
    for (name, limit_ns, advice) in phases {
        let Some(phase) = facts.report.phase(name) else { continue };
        let Some(length) = phase.duration_ns.filter(|&ns| ns > limit_ns) else { continue };
        findings.push(
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Phase, name.as_str()),
                format!("the {} takes {}", name.as_str(), time(length)),
            )
            .costs(Cost::on_path(length.saturating_sub(limit_ns)))
            .certain(phase.certainty)
            .because(phase.start_ns, phase.ends.rule.to_string())
            .advise(advice),
        );
    }
    Ok(findings)
}
