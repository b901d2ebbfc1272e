//! A paging file lies on a volume that a write filter protects.

use super::prelude::*;

rule! {
    /// # What it finds
    /// UWF is on and PagingFiles names a file.
    ///
    /// # Why it costs time
    /// Each page that is written out takes room in the overlay, which may be in the memory that was to be freed.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Turn the paging file off, or put it onto a volume that is not protected.
    ///
    /// # When it is wrong
    /// A paging file on an unprotected volume looks the same.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "UWF versus Fast Startup": "features like
    /// a page file … are disabled"; the documentation of UWF_Filter.Enable.
    "image/filter-paging-file", "a paging file is on a volume that a write filter protects", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
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
            .finding(&setting, subject, "a paging file is set while UWF is on")
            .graded(FindingSeverity::Moderate)
            .because(None, filter.evidence())
            .advise("remove it, or move it to a volume that is not protected"),
    ])
}
