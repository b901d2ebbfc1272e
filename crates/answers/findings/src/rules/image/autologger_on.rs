//! A recording runs in every boot.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A recording starts with each boot that Windows does not bring, or EnableBootTrace is set.
    ///
    /// # Why it costs time
    /// What records every boot takes part in it: buffers, processor time and writes.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Turn it off when nothing is measured: set its Start to 0, or end it with the program that began it (xbootmgr -remove).
    ///
    /// # When it is wrong
    /// A maker's own diagnosis can need it. Names that Windows brings are known from four installations.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Timing Traces and Analysis Traces".
    "image/autologger-on", "a recording runs in every boot", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let mut findings: Vec<RuleFinding> = facts
        .report
        .autologgers
        .iter()
        .filter(|logger| logger.is_on && !is_of_windows(&logger.name))
        .map(|logger| {
            let file = if logger.file.is_empty() { "no file".to_owned() } else { logger.file.clone() };
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Work, logger.name.clone()),
                format!("the recording {} runs in every boot", logger.name),
            )
            .because(None, format!("{}\\Start = 1; {file}", logger.key))
            .advise("set its Start to 0 when nothing is measured")
        })
        .collect();
    if let Some(setting) = facts.system(PREFETCH, "EnableBootTrace").filter(|setting| setting.number() == Some(1)) {
        let subject = FindingSubject::new(FindingSubjectKind::Setting, "EnableBootTrace");
        findings.push(
            facts.finding(&setting, subject, "the prefetcher traces every boot").advise("set EnableBootTrace to 0"),
        );
    }
    Ok(findings)
}

/// Whether Windows brings the recording. Names of Windows 7 to 10 as four installations have them; those of other languages and versions begin
/// alike.
fn is_of_windows(name: &str) -> bool {
    const KNOWN: &[&str] = &[
        "aiteventlog",
        "appmodel",
        "audio",
        "autologger-diagtrack-listener",
        "circular kernel context logger",
        "diaglog",
        "facerecotel",
        "faceunlock",
        "lwtnetlog",
        "microsoft-windows-rdp-graphics-rdpidd-trace",
        "netcore",
        "ntfslog",
        "rac_ps",
        "radiomgr",
        "readyboot",
        "sqmlogger",
        "tilestore",
        "ubpm",
        "wdicontextlog",
        "wifisession",
    ];
    let name = name.to_lowercase();
    KNOWN.iter().any(|known| name == *known)
        || name.starts_with("eventlog-")
        || name.starts_with("diagtrack")
        || name.starts_with("defender")
}
