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
    /// Remove leftover entries; a pending disk check is gone after the next boot.
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
        let is_usual = |text: &String| name == "BootExecute" && text.trim().eq_ignore_ascii_case("autocheck autochk *");
        let extra: Vec<&str> = texts.iter().filter(|text| !is_usual(text)).map(String::as_str).collect();
        if extra.is_empty() {
            continue;
        }
        let usual: Vec<String> = texts.iter().filter(|text| is_usual(text)).cloned().collect();
        let title = format!("{name} runs before the first session: {}", listed(&extra, 5));
        findings.push(
            facts
                .finding(&setting, FindingSubject::new(FindingSubjectKind::Setting, name), &title)
                .severity(FindingSeverity::Moderate)
                .advice("remove it unless a tool in use needs it")
                .action(
                    AdvisedAction::set(&setting, &SettingValue::Texts(usual.clone()))
                        .breaks("the programs no longer run before the first session"),
                ),
        );
    }
    Ok(findings)
}
