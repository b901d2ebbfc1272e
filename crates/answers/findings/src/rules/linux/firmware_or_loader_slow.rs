//! Slow firmware or a slow boot loader.

use crate::rules::prelude::*;
use onoff_transitions::PhaseName;

rule! {
    /// # What it finds
    /// Firmware that takes more than 10 s, or a loader that takes more than 3 s.
    ///
    /// # Why it costs time
    /// Nothing else runs meanwhile. A loader that shows a menu waits for its timeout at every boot.
    ///
    /// # Evidence needed
    /// Loader and firmware times (the loader's EFI variables, or the firmware's own tables).
    ///
    /// # What to do
    /// Enable fast boot in the firmware setup and disable what the boot does not need; set the loader's menu timeout to
    /// 0 or 1 s.
    ///
    /// # When it is wrong
    /// Time a person spends at the menu or at a disk password prompt counts as loader time.
    ///
    /// # Source
    /// systemd-analyze(1), "time"; the thresholds are those for the Windows loader in Microsoft's paper, and onoff's.
    "linux/firmware-or-loader-slow", "slow firmware or a slow boot loader", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let phases = [
        (
            PhaseName::Firmware,
            thresholds::FIRMWARE_NS,
            "enable fast boot in the firmware setup and disable what the boot does not need; to see where the time goes, run \
             onoff firmware on /sys/firmware/acpi",
        ),
        (
            PhaseName::Loader,
            thresholds::OS_LOADER_NS,
            "set the menu timeout to 0 or 1 s, and check the size of the kernel and the initramfs",
        ),
    ];
    let has_times =
        phases.iter().any(|(name, _, _)| facts.report.phase(*name).is_some_and(|phase| phase.duration_ns.is_some()));
    if !has_times {
        return Err(missing_input("firmware and loader times"));
    }
    let mut findings = Vec::new();
    for (name, limit_ns, advice) in phases {
        let Some(phase) = facts.report.phase(name) else { continue };
        let Some(length) = phase.duration_ns.filter(|&ns| ns > limit_ns) else { continue };
        findings.push(
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Phase, name.as_str()),
                format!("the {} took {}", name.as_str(), time(length)),
            )
            .cost(Cost::on_path(length.saturating_sub(limit_ns)))
            .certainty(phase.certainty)
            .evidence(phase.start_ns, phase.ends.rule.to_string())
            .advice(advice),
        );
    }
    Ok(findings)
}
