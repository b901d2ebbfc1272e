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
    /// A protected volume can have another name in the filter's settings. A paging file on a volume that is named as
    /// unprotected is no finding.
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
    // `?:` lets Windows choose the volume.
    let is_unprotected = |file: &String| {
        let drive = file.get(..1).unwrap_or_default();
        let is_drive = |name: &str| name.get(..1).is_some_and(|first| first.eq_ignore_ascii_case(drive));
        filter.volumes.iter().any(|volume| {
            is_drive(&volume.name)
                && volume.name.trim_end_matches(['\\', ':']).len() == 1
                && volume.is_protected == Some(false)
        })
    };
    let files: Vec<String> = setting
        .texts()
        .unwrap_or_default()
        .into_iter()
        .filter(|file| !file.is_empty() && !is_unprotected(file))
        .collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "PagingFiles");
    Ok(vec![
        facts
            .finding(&setting, subject, "a paging file is configured while UWF is on")
            .severity(FindingSeverity::Moderate)
            .evidence(None, filter.evidence())
            .advice("remove it, or move it to an unprotected volume")
            .action(
                AdvisedAction::set(&setting, &SettingValue::Texts(Vec::new()))
                    .breaks("programs fail when the memory is full, and a crash leaves no dump")
                    .editions(UWF_EDITIONS),
            ),
    ])
}
