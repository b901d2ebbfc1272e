//! The last resume from the hibernation file was slow.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The last resume read less than 100 MB/s, spent more than half of its time reading, or did not use the fast
    /// stage.
    ///
    /// # Why it costs time
    /// A resume, and therefore fast startup, takes as long as reading and decompressing the hibernation file.
    ///
    /// # Evidence needed
    /// The hive SYSTEM: the loader's records of the last resume.
    ///
    /// # What to do
    /// Use a faster disk or a smaller hibernation file (powercfg /hibernate /type reduced), or find out what prevents
    /// the fast stage.
    ///
    /// # When it is wrong
    /// The values are from a single resume.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, on resuming from
    /// hibernation.
    "image/resume-slow", "the last resume from the hibernation file was slow", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(total) = facts.system(POWER, "TotalResumeTime").filter(|one| one.number().is_some_and(|ms| ms > 0)) else {
        return Err(missing_input("duration of the last resume: TotalResumeTime is not in the registry"));
    };
    let mut found = Vec::new();
    let slow = facts
        .system(POWER, "ResumeReadRate")
        .filter(|one| one.number().is_some_and(|rate| rate > 0 && rate < thresholds::RESUME_READ_MB));
    found.extend(slow.map(|one| ("it read less than 100 MB/s", one)));
    let file = facts.system(POWER, "ResumeHiberFileTime");
    let half = total.number().unwrap_or(0) / 2;
    found.extend(
        file.filter(|one| one.number().is_some_and(|ms| ms > half))
            .map(|one| ("reading the hibernation file took more than half of it", one)),
    );
    let single =
        facts.system(POWER, "NoMultiStageResumeReason").filter(|one| one.number().is_some_and(|reason| reason != 0));
    found.extend(single.map(|one| ("it did not use the fast stage", one)));
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let what: Vec<&str> = found.iter().map(|one| one.0).collect();
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "TotalResumeTime");
    let finding = facts
        .finding(&total, subject, &format!("the last resume was slow: {}", what.join(", ")))
        .severity(FindingSeverity::Moderate)
        .advice("use a faster disk or a smaller hibernation file; NoMultiStageResumeReason shows what prevents the fast stage");
    Ok(vec![found.iter().fold(finding, |finding, (_, setting)| finding.evidence(None, setting.evidence()))])
}
