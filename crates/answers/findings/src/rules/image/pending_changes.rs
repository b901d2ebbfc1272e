//! Work that an installation or an update left for the next boot.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The next boot continues Windows setup, finishes an update, or renames and deletes files (PendingFileRenameOperations).
    ///
    /// # Why it costs time
    /// The Session Manager works through the file operations before the first session, and updates finish before the
    /// logon. The boot after that does not have this work.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM; SOFTWARE for updates.
    ///
    /// # What to do
    /// Let the installation boot once before measuring it or copying it to many computers.
    ///
    /// # When it is wrong
    /// Some products add a deletion at each shutdown; then every boot has it.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SMSSInit"; Microsoft's documentation of MoveFileEx.
    "image/pending-changes", "the next boot finishes an installation", Image(check)
}

/// Maximum number of files in the evidence.
const MAX_SHOWN_FILES: usize = 4;

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    const ADVICE: &str = "boot once before measuring or copying this installation";
    let mut findings = Vec::new();
    if let Some(setting) = facts.system("Setup", "SystemSetupInProgress").filter(|setting| setting.number() == Some(1))
    {
        let subject = FindingSubject::new(FindingSubjectKind::Setting, "SystemSetupInProgress");
        findings.push(
            facts
                .finding(&setting, subject, "the next boot continues Windows setup")
                .severity(FindingSeverity::High)
                .advice(ADVICE),
        );
    }
    let path = r"Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending";
    if let Some((key, path)) = facts.image.key(HiveKind::Software, path) {
        findings.push(
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Setting, "RebootPending"),
                "the next boot finishes an update",
            )
            .severity(FindingSeverity::Moderate)
            .evidence(None, format!("{path} exists{}", written(key.last_written_unix_ns())))
            .advice(ADVICE),
        );
    }
    if let Some(setting) = facts.system(r"CS\Control\Session Manager", "PendingFileRenameOperations") {
        // Pairs of a file and its new name; an empty new name deletes the file.
        let texts = setting.texts().unwrap_or_default();
        let files: Vec<String> = texts.into_iter().filter(|text| text.starts_with(r"\??\")).collect();
        if !files.is_empty() {
            let subject = FindingSubject::new(FindingSubjectKind::Setting, "PendingFileRenameOperations");
            let title = format!("the next boot renames or deletes {}", counted(files.len(), "file"));
            // The list can have hundreds of files.
            let hidden = files.len().saturating_sub(MAX_SHOWN_FILES);
            let shown = files.into_iter().take(MAX_SHOWN_FILES).collect();
            let mut finding = facts
                .finding(&Setting { value: SettingValue::Texts(shown), ..setting }, subject, &title)
                .advice(ADVICE);
            if hidden > 0 {
                finding = finding.evidence(None, format!("and {}", counted(hidden, "more file")));
            }
            findings.push(finding);
        }
    }
    Ok(findings)
}
