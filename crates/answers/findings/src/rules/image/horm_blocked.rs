//! Settings that prevent Hibernate Once, Resume Many (HORM).

use super::prelude::*;

rule! {
    /// # What it finds
    /// UWF is on, and a volume is unprotected, something is excluded, or the overlay is on disk.
    ///
    /// # Why it costs time
    /// HORM resumes from the same hibernation file at each start, within seconds. It cannot be turned on while one of
    /// these conditions applies.
    ///
    /// # Evidence needed
    /// The hive SYSTEM with the UWF settings.
    ///
    /// # What to do
    /// Remove the exclusions, protect all volumes, and keep the overlay in memory. Or take the data disk offline before
    /// turning HORM on (diskpart, offline disk).
    ///
    /// # When it is wrong
    /// HORM is not wanted on this computer.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "What about UWF /
    /// Hibernate Once Resume Many?", which finds HORM useless with a data partition; support articles by Microsoft
    /// Japan show that an offline disk works.
    "image/horm-blocked", "settings prevent Hibernate Once, Resume Many (HORM)", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(filter) = facts.filter().filter(|filter| filter.kind == WriteFilterKind::Uwf) else {
        return Ok(Vec::new());
    };
    if filter.volumes.is_empty() {
        return Err(missing_input("protected volumes of UWF: not in the registry"));
    }
    let reasons: Vec<&str> = filter
        .horm_blockers
        .iter()
        .map(|blocker| match blocker {
            HormBlocker::FilterOff => "the filter is off",
            HormBlocker::UnprotectedVolume => "a volume is unprotected",
            HormBlocker::FileExclusion => "files are excluded",
            HormBlocker::RegistryExclusion => "registry keys are excluded",
            HormBlocker::DiskOverlay => "the overlay is on disk",
        })
        .collect();
    if reasons.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "HORM"),
            format!("HORM cannot be turned on: {}", reasons.join(", ")),
        )
        .certainty(Certainty::Inferred)
        .evidence(None, filter.evidence())
        .advice("only if you want HORM: protect all volumes, remove the exclusions, keep the overlay in memory, or take the data disk \
                 offline first"),
    ])
}
