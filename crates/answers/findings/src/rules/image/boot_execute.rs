//! Programs run before Windows has a session.

use super::prelude::*;

rule! {
    /// # What it finds
    /// BootExecute holds more than the check of the disk, or SetupExecute holds something.
    ///
    /// # Why it costs time
    /// These programs run in SMSSInit, one after the other, before any session exists: nothing else goes on.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Remove what is left over; a pending check of the disk ends with the next boot.
    ///
    /// # When it is wrong
    /// An encryption or partition tool can need it.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SMSSInit".
    "image/boot-execute", "programs run before Windows has a session", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let manager = r"CS\Control\Session Manager";
    let mut findings = Vec::new();
    for name in ["BootExecute", "SetupExecute"] {
        let Some(setting) = facts.system(manager, name) else { continue };
        let texts = setting.texts().unwrap_or_default();
        let usual = |text: &String| name == "BootExecute" && text.trim().eq_ignore_ascii_case("autocheck autochk *");
        let more: Vec<&str> = texts.iter().filter(|text| !usual(text)).map(String::as_str).collect();
        if more.is_empty() {
            continue;
        }
        let what = format!("{name} runs before the first session: {}", listed(&more, 5));
        findings.push(
            facts
                .finding(&setting, FindingSubject::new(FindingSubjectKind::Setting, name), &what)
                .graded(FindingSeverity::Moderate)
                .advise("remove it, unless a tool that is in use needs it"),
        );
    }
    Ok(findings)
}
