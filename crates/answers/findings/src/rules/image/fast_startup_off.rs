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
    /// system.
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
    if setting.number() != Some(0) || facts.filter().is_some() || facts.is_power_cut {
        return Ok(Vec::new());
    }
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "HiberbootEnabled");
    Ok(vec![
        facts
            .finding(&setting, subject, "fast startup is off: every boot from power-off is a full boot")
            .severity(FindingSeverity::High)
            .evidence(None, "the paper measured 41.3 s without it and 23.9 s with it (Windows 10 2016 LTSB, Intel N3350)")
            .advice(
                "run 'powercfg /hibernate on' and set HiberbootEnabled to 1, unless the computer loses power without a shutdown",
            ),
    ])
}
