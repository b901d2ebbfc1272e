//! The Unified Write Filter is on, so every boot is a full boot.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The Unified Write Filter (UWF) is on, and HORM is off.
    ///
    /// # Why it costs time
    /// It turns hibernation off, and with it fast startup. On the paper's computer, each boot took 14.7 to 21.2 s
    /// longer.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Choose between a protected volume that survives power cuts and a faster boot.
    ///
    /// # When it is wrong
    /// The times are from one computer (Intel N3350, 4 GiB, mSATA). Measure yours.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "Boot Time Results" and
    /// "UWF versus Fast Startup".
    "image/write-filter-on", "the Unified Write Filter is on, so every boot is a full boot", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(filter) = facts.filter().filter(|filter| filter.kind == WriteFilterKind::Uwf) else {
        return Ok(Vec::new());
    };
    if is_horm_on(facts) {
        return Ok(Vec::new());
    }
    let advice = if facts.is_power_cut {
        "keep UWF, because fast startup does not survive power cuts; shorten the boot itself instead"
    } else {
        "choose between protection against power cuts (UWF) and fast startup, which shortens boots by about a third to a half"
    };
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "UWF"),
            "UWF is on: hibernation and fast startup are off, so every boot is a full boot",
        )
        .severity(FindingSeverity::High)
        .certainty(Certainty::Inferred)
        .evidence(None, filter.evidence())
        .evidence(
            None,
            "the paper measured 40.8 to 51.7 s with UWF and 23.9 to 31.4 s with fast startup: a difference of 14.7 to 21.2 s",
        )
        .advice(advice),
    ])
}
