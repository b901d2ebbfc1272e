//! A paging file on a volume protected by a write filter.

use super::prelude::*;

rule! {
    /// # What it finds
    /// UWF is on and PagingFiles names a file.
    ///
    /// # Why it costs time
    /// Each page written out uses overlay space, possibly in the memory that paging was supposed to free.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Turn the paging file off, or move it to an unprotected volume.
    ///
    /// # When it is wrong
    /// A paging file on an unprotected volume looks the same.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "UWF versus Fast
    /// Startup": "features like a page file … are disabled"; the documentation of UWF_Filter.Enable.
    "image/filter-paging-file", "a paging file is on a volume protected by a write filter", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(filter) = facts.filter().filter(|filter| filter.kind == WriteFilterKind::Uwf) else {
        return Ok(Vec::new());
    };
    let Some(setting) = facts.system(MEMORY, "PagingFiles") else { return Ok(Vec::new()) };
    if setting.texts().unwrap_or_default().is_empty() {
        return Ok(Vec::new());
    }
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "PagingFiles");
    Ok(vec![
        facts
            .finding(&setting, subject, "a paging file is configured while UWF is on")
            .severity(FindingSeverity::Moderate)
            .evidence(None, filter.evidence())
            .advice("remove it, or move it to an unprotected volume"),
    ])
}
