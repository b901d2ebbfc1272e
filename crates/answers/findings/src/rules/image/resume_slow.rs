//! The last resume from the hibernation file was slow.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The resume read less than 100 MB/s, read for more than half of its time, or went without its fast stage.
    ///
    /// # Why it costs time
    /// A resume, and so fast startup, lasts as long as reading and unpacking the hibernation file.
    ///
    /// # Evidence needed
    /// The hive SYSTEM: what the loader writes about the last resume.
    ///
    /// # What to do
    /// Use a faster disk, a smaller hibernation file (powercfg /hibernate /type reduced), or find what prevents the fast stage.
    ///
    /// # When it is wrong
    /// It is the value of one resume.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, on resuming from hibernation.
    "image/resume-slow", "the last resume from the hibernation file was slow", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some(total) = facts.system(POWER, "TotalResumeTime").filter(|one| one.number().is_some_and(|ms| ms > 0)) else {
        return Err(lacks_other("how long the last resume took: TotalResumeTime is not in the registry"));
    };
    let mut found = Vec::new();
    let slow = facts
        .system(POWER, "ResumeReadRate")
        .filter(|one| one.number().is_some_and(|rate| rate > 0 && rate < thresholds::RESUME_READ_MB));
    found.extend(slow.map(|one| ("it read less than 100 MB/s", one)));
    let file = facts.system(POWER, "ResumeHiberFileTime");
    let most = total.number().unwrap_or(0) / 2;
    found.extend(
        file.filter(|one| one.number().is_some_and(|ms| ms > most))
            .map(|one| ("more than half of it went into the hibernation file", one)),
    );
    let single =
        facts.system(POWER, "NoMultiStageResumeReason").filter(|one| one.number().is_some_and(|reason| reason != 0));
    found.extend(single.map(|one| ("it went without its fast stage", one)));
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let what: Vec<&str> = found.iter().map(|one| one.0).collect();
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "TotalResumeTime");
    let finding = facts
        .finding(&total, subject, &format!("the last resume was slow: {}", what.join(", ")))
        .graded(FindingSeverity::Moderate)
        .advise("use a faster disk or a smaller hibernation file; NoMultiStageResumeReason says what prevents the fast stage");
    Ok(vec![found.iter().fold(finding, |finding, (_, setting)| finding.because(None, setting.evidence()))])
}
