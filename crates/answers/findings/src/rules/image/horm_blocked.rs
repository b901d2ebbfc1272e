//! Something keeps UWF from resuming from one image (HORM).

use super::prelude::*;

rule! {
    /// # What it finds
    /// UWF is on, and a volume is not protected, something is excluded, or the overlay is on the disk.
    ///
    /// # Why it costs time
    /// HORM resumes from the same hibernation file at each start, in seconds. It cannot be turned on as long as one of these is so.
    ///
    /// # Evidence needed
    /// The hive SYSTEM with the settings of UWF.
    ///
    /// # What to do
    /// Remove exclusions, protect all volumes, and keep the overlay in memory. Or take the disk with data offline before HORM is turned
    /// on (diskpart, offline disk).
    ///
    /// # When it is wrong
    /// Without a wish for HORM nothing is to be done.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "What about UWF / Hibernate Once Resume
    /// Many?", which finds HORM useless with a data partition; support articles of Microsoft Japan show that an offline disk works.
    "image/horm-blocked", "something keeps UWF from resuming from one image (HORM)", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some(filter) = facts.filter().filter(|filter| filter.kind == WriteFilterKind::Uwf) else {
        return Ok(Vec::new());
    };
    if filter.volumes.is_empty() {
        return Err(lacks_other("which volumes UWF protects: they are not in the registry"));
    }
    let words: Vec<&str> = filter
        .horm_blockers
        .iter()
        .map(|blocker| match blocker {
            HormBlocker::FilterOff => "the filter is off",
            HormBlocker::UnprotectedVolume => "a volume is not protected",
            HormBlocker::FileExclusion => "files are excluded",
            HormBlocker::RegistryExclusion => "registry keys are excluded",
            HormBlocker::DiskOverlay => "the overlay is on the disk",
        })
        .collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "HORM"),
            format!("HORM cannot be turned on: {}", words.join(", ")),
        )
        .certain(Certainty::Inferred)
        .because(None, filter.evidence())
        .advise("only where HORM is wanted: protect all volumes, remove the exclusions, keep the overlay in memory, or take the data disk offline first"),
    ])
}
