//! Fast startup is off.

use super::prelude::*;

rule! {
    /// # What it finds
    /// HiberbootEnabled is 0, and no write filter is on.
    ///
    /// # Why it costs time
    /// Every boot from power-off then initializes the kernel and all drivers. The paper measured 41.3 s, against 23.9 s
    /// with fast startup.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Turn it on: run powercfg /hibernate on, and set HiberbootEnabled to 1.
    ///
    /// # When it is wrong
    /// It must stay off where power is cut without a shutdown, or where the disk is shared with another operating
    /// system. Windows Server, Windows PE and Windows 7 have no fast startup, and virtual desktops do not resume: there
    /// the rule is silent. A device edition (IoT, Embedded) is often powered off without a shutdown, so its finding is
    /// less severe.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "Boot Time Results".
    "image/fast-startup-off", "fast startup is off", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(setting) = facts.system(POWER, "HiberbootEnabled") else {
        return Err(missing_input(
            "fast startup: HiberbootEnabled is not in the registry (Windows 7 and earlier do not have it)",
        ));
    };
    if facts.build().is_some_and(|build| build < WINDOWS_8) {
        return Err(missing_input("fast startup: Windows 7 and earlier do not have it"));
    }
    if setting.number() != Some(0) || facts.is_power_cut {
        return Ok(Vec::new());
    }
    let edition = &facts.report.edition;
    let (severity, advice) = if edition.is_device {
        (
            FindingSeverity::Moderate,
            "only if the device is always shut down properly: run 'powercfg /hibernate on' and set HiberbootEnabled to 1",
        )
    } else {
        (
            FindingSeverity::High,
            "run 'powercfg /hibernate on' and set HiberbootEnabled to 1, unless the computer loses power without a shutdown",
        )
    };
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "HiberbootEnabled");
    let mut finding = facts
        .finding(&setting, subject, "fast startup is off: every boot from power-off is a full boot")
        .severity(severity)
        .evidence(None, "the paper measured 41.3 s without it and 23.9 s with it (Windows 10 2016 LTSB, Intel N3350)")
        .advice(advice);
    if edition.is_device {
        finding = finding.evidence(None, edition.evidence());
    }
    let hibernate = facts.system(r"CS\Control\Power", "HibernateEnabled");
    if let Some(hibernate) = hibernate.filter(|hibernate| hibernate.number() == Some(0)) {
        finding = finding.evidence(None, hibernate.evidence()).action(hibernation_on(&hibernate));
    }
    Ok(vec![
        finding.action(
            AdvisedAction::set_number(&setting, 1)
                .breaks("each shutdown writes the hibernation file; after a power cut the next boot is a full boot")
                .editions(FAST_STARTUP_EDITIONS),
        ),
    ])
}
