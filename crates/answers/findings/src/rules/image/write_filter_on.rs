//! The Unified Write Filter is on, so that each boot is a full one.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The Unified Write Filter (UWF) is on.
    ///
    /// # Why it costs time
    /// It turns hibernation off and with it fast startup. The paper measured 14.7 to 21.2 s more for each boot on its computer.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Decide what weighs more: a volume that stays as it is and survives a power cut, or the faster boot.
    ///
    /// # When it is wrong
    /// The seconds are those of one computer (Intel N3350, 4 GiB, mSATA). Measure yours.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "Boot Time Results" and "UWF versus Fast
    /// Startup".
    "image/write-filter-on", "the Unified Write Filter is on, so that each boot is a full one", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some(filter) = facts.filter().filter(|filter| filter.kind == WriteFilterKind::Uwf) else {
        return Ok(Vec::new());
    };
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "UWF"),
            "UWF is on: hibernation and fast startup are off, each boot is a full one",
        )
        .graded(FindingSeverity::High)
        .certain(Certainty::Inferred)
        .because(None, filter.evidence())
        .because(
            None,
            "the paper measured 40.8 to 51.7 s with UWF and 23.9 to 31.4 s with fast startup: 14.7 to 21.2 s more",
        )
        .advise("decide: protection and power cuts (UWF), or boots faster by about a third to a half (fast startup)"),
    ])
}
