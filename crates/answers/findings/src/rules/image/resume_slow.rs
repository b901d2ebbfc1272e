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
    let Some(total) =
        facts.system(POWER, "TotalResumeTime").filter(|setting| setting.number().is_some_and(|ms| ms > 0))
    else {
        return Err(missing_input("duration of the last resume: TotalResumeTime is not in the registry"));
    };
    let mut problems = Vec::new();
    let slow_read = facts
        .system(POWER, "ResumeReadRate")
        .filter(|setting| setting.number().is_some_and(|rate| rate > 0 && rate < thresholds::RESUME_READ_MB));
    problems.extend(slow_read.map(|setting| ("it read less than 100 MB/s", setting)));
    let file_time = facts.system(POWER, "ResumeHiberFileTime");
    let half = total.number().unwrap_or(0) / 2;
    problems.extend(
        file_time
            .filter(|setting| setting.number().is_some_and(|ms| ms > half))
            .map(|setting| ("reading the hibernation file took more than half of it", setting)),
    );
    let single_stage = facts
        .system(POWER, "NoMultiStageResumeReason")
        .filter(|setting| setting.number().is_some_and(|reason| reason != 0));
    problems.extend(single_stage.map(|setting| ("it did not use the fast stage", setting)));
    if problems.is_empty() {
        return Ok(Vec::new());
    }
    let descriptions: Vec<&str> = problems.iter().map(|&(description, _)| description).collect();
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "TotalResumeTime");
    let finding = facts
        .finding(&total, subject, &format!("the last resume was slow: {}", descriptions.join(", ")))
        .severity(FindingSeverity::Moderate)
        .advice("use a faster disk or a smaller hibernation file; NoMultiStageResumeReason shows what prevents the fast stage");
    Ok(vec![problems.iter().fold(finding, |finding, (_, setting)| finding.evidence(None, setting.evidence()))])
}
