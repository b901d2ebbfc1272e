//! The paging file is overwritten at each shutdown.

use super::prelude::*;

rule! {
    /// # What it finds
    /// ClearPageFileAtShutdown is 1, and there is a paging file.
    ///
    /// # Why it costs time
    /// Each shutdown overwrites the whole paging file: gigabytes, at the write rate of the disk.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Set it to 0, unless a security policy requires it.
    ///
    /// # When it is wrong
    /// A policy requires it; encrypting the disk protects the paging file without the wait.
    ///
    /// # Source
    /// Microsoft's security policy reference, "Shutdown: Clear virtual memory pagefile".
    "image/page-file-cleared", "the paging file is overwritten at each shutdown", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(setting) = facts.system(MEMORY, "ClearPageFileAtShutdown").filter(|setting| setting.number() == Some(1))
    else {
        return Ok(Vec::new());
    };
    let files = facts.system(MEMORY, "PagingFiles");
    let has_file =
        files.as_ref().is_none_or(|files| files.texts().unwrap_or_default().iter().any(|file| !file.trim().is_empty()));
    if !has_file {
        return Ok(Vec::new());
    }
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "ClearPageFileAtShutdown");
    let finding = facts
        .finding(&setting, subject, "each shutdown overwrites the whole paging file")
        .severity(FindingSeverity::High)
        .advice("set ClearPageFileAtShutdown to 0, unless a security policy requires it")
        .action(
            AdvisedAction::set_number(&setting, 0)
                .breaks("memory that was paged out stays readable on an unencrypted disk"),
        );
    Ok(vec![files.iter().fold(finding, |finding, files| finding.evidence(None, files.evidence()))])
}
