//! Data loss on an unprotected volume while HORM is on.

use super::prelude::*;

rule! {
    /// # What it finds
    /// HORM is on and a volume is unprotected.
    ///
    /// # Why it costs time
    /// The hibernation file contains the file table of that volume: each resume restores the old one, and files written
    /// since are lost.
    ///
    /// # Evidence needed
    /// The hive SYSTEM with the UWF settings.
    ///
    /// # What to do
    /// Attach the volume after the resume, or take it offline before the hibernation file is created.
    ///
    /// # When it is wrong
    /// Nothing writes to the volume.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "What about UWF /
    /// Hibernate Once Resume Many?": the example of the USB flash disk.
    "image/horm-data-volume", "files can be lost on an unprotected volume while HORM is on", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(filter) = facts.filter().filter(|filter| filter.is_horm_enabled == Some(true)) else {
        return Ok(Vec::new());
    };
    let unprotected: Vec<&str> = filter
        .volumes
        .iter()
        .filter(|volume| volume.is_protected == Some(false))
        .map(|volume| volume.name.as_str())
        .collect();
    if unprotected.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "HORM"),
            format!("HORM is on and {} is unprotected: files written there are lost", listed(&unprotected, 3)),
        )
        .severity(FindingSeverity::High)
        .certainty(Certainty::Inferred)
        .evidence(None, filter.evidence())
        .advice("take that disk offline before the hibernation file is created, and attach it after each resume"),
    ])
}
