//! Settings that prevent Hibernate Once, Resume Many (HORM).

use onoff_image::FilteredVolume;

use super::prelude::*;

rule! {
    /// # What it finds
    /// UWF is on, HORM is off, and a volume is unprotected, something is excluded, or the overlay is on disk.
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
    if filter.is_horm_enabled == Some(true) {
        return Ok(Vec::new());
    }
    if filter.volumes.is_empty() {
        return Err(missing_input("protected volumes of UWF: not in the registry"));
    }
    let volume_settings = |name: &str, is_blocking: &dyn Fn(&FilteredVolume) -> bool| {
        let volumes = filter.volumes.iter().filter(|volume| is_blocking(volume));
        let settings = volumes.flat_map(|volume| &volume.settings).filter(|setting| setting.name == name);
        settings.map(Setting::evidence).collect::<Vec<_>>()
    };
    let filter_settings = |name: &str| {
        filter.settings.iter().filter(|setting| setting.name == name).map(Setting::evidence).collect::<Vec<_>>()
    };
    // Each reason with the values that show it, and what removes it.
    let reasons: Vec<(&str, Vec<String>, &str)> = filter
        .horm_blockers
        .iter()
        .map(|blocker| match blocker {
            HormBlocker::FilterOff => ("the filter is off", filter_settings("UwfEnabled"), "turn the filter on"),
            HormBlocker::UnprotectedVolume => (
                "a volume is unprotected",
                volume_settings("VolumeEnabled", &|volume| volume.is_protected == Some(false)),
                "protect all volumes, or take the data disk offline first",
            ),
            HormBlocker::FileExclusion => (
                "files are excluded",
                volume_settings("FileExceptionsUserDefined", &|volume| !volume.exclusions.is_empty()),
                "remove the file exclusions",
            ),
            HormBlocker::RegistryExclusion => (
                "registry keys are excluded",
                filter_settings("RegistryExceptionsUserDefined"),
                "remove the registry exclusions",
            ),
            HormBlocker::DiskOverlay => {
                ("the overlay is on disk", filter_settings("OverlayType"), "keep the overlay in memory")
            }
        })
        .collect();
    if reasons.is_empty() {
        return Ok(Vec::new());
    }
    let problems: Vec<&str> = reasons.iter().map(|&(reason, ..)| reason).collect();
    let remedies: Vec<&str> = reasons.iter().map(|&(.., remedy)| remedy).collect();
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Setting, "HORM"),
        format!("HORM cannot be turned on: {}", problems.join(", ")),
    )
    .certainty(Certainty::Inferred)
    .advice(format!("only if you want HORM: {}", remedies.join(", ")));
    let evidence = reasons.into_iter().flat_map(|(_, evidence, _)| evidence);
    let finding = evidence.fold(finding, |finding, evidence| finding.evidence(None, evidence));
    Ok(vec![finding.evidence(None, filter.evidence())])
}
