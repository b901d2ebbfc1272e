//! Programs that run before the first session.

use super::prelude::*;

rule! {
    /// # What it finds
    /// BootExecute contains more than the disk check, or SetupExecute is not empty.
    ///
    /// # Why it costs time
    /// These programs run one at a time in SMSSInit, before any session exists; everything else waits.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Remove leftover entries. Boot once if the entry is a disk check or the rest of an update (poqexec.exe): both are
    /// gone after it, and an update without its rest leaves Windows damaged.
    ///
    /// # When it is wrong
    /// An encryption or partitioning tool may need it.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SMSSInit".
    "image/boot-execute", "programs that run before the first session", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let manager = r"CS\Control\Session Manager";
    let mut findings = Vec::new();
    for name in ["BootExecute", "SetupExecute"] {
        let Some(setting) = facts.system(manager, name) else { continue };
        let texts = setting.texts().unwrap_or_default();
        let lower = |text: &str| text.trim().to_lowercase();
        let is_check = |text: &str| lower(text).starts_with("autocheck autochk ");
        let is_usual = |text: &str| is_check(text) && (lower(text).contains(" /k") || !text.contains('/'));
        let is_update = |text: &str| lower(text).contains("poqexec");
        let extra: Vec<&str> =
            texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty() && !is_usual(text)).collect();
        if extra.is_empty() {
            continue;
        }
        let title = format!("{name} runs before the first session: {}", listed(&extra, 5));
        let finding = facts
            .finding(&setting, FindingSubject::new(FindingSubjectKind::Setting, name), &title)
            .severity(FindingSeverity::Moderate);
        findings.push(if extra.iter().any(|text| is_update(text)) {
            finding.advice("boot once: this finishes an update of Windows, so do not remove it")
        } else if extra.iter().all(|text| is_check(text)) {
            finding.advice("boot once, so that the disk check can finish; 'chkntfs /x C:' excludes drive C: from it")
        } else {
            let kept = texts.iter().filter(|text| is_check(text)).cloned().collect();
            finding.advice("remove it unless a tool in use needs it").action(
                AdvisedAction::set(&setting, &SettingValue::Texts(kept)).breaks(
                    "the programs no longer run before the first session; an encryption tool may need them to start",
                ),
            )
        });
    }
    Ok(findings)
}
