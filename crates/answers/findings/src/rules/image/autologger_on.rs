//! A trace session runs in every boot.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A trace session that is not part of Windows starts with each boot, or EnableBootTrace is set.
    ///
    /// # Why it costs time
    /// A trace session that runs in every boot uses buffers, CPU time and disk writes.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Turn it off when nothing is being measured: set its Start value to 0, or stop it with the program that started
    /// it (xbootmgr -remove).
    ///
    /// # When it is wrong
    /// A vendor's diagnostics may need it. The list of Windows sessions comes from four installations.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Timing Traces and Analysis Traces".
    "image/autologger-on", "a trace session runs in every boot", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let mut findings: Vec<RuleFinding> = facts
        .report
        .autologgers
        .iter()
        .filter(|logger| logger.is_enabled && !is_windows_session(&logger.name))
        .map(|logger| {
            let start = Setting {
                key: logger.key.clone(),
                name: "Start".to_owned(),
                value: SettingValue::Number(1),
                last_written_unix_ns: logger.last_written_unix_ns,
            };
            let file = if logger.file.is_empty() { "no file".to_owned() } else { logger.file.clone() };
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Work, logger.name.clone()),
                format!("trace session {} runs in every boot", logger.name),
            )
            .evidence(None, format!("{}; {file}", start.evidence()))
            .advice("set its Start value to 0 when nothing is being measured")
            .action(AdvisedAction::set_number(&start, 0).breaks("this session records nothing at the next boots"))
        })
        .collect();
    if let Some(setting) = facts.system(PREFETCH, "EnableBootTrace").filter(|setting| setting.number() == Some(1)) {
        let subject = FindingSubject::new(FindingSubjectKind::Setting, "EnableBootTrace");
        findings.push(
            facts
                .finding(&setting, subject, "the prefetcher traces every boot")
                .advice("set EnableBootTrace to 0")
                .action(AdvisedAction::set_number(&setting, 0).breaks("nothing")),
        );
    }
    Ok(findings)
}

/// True for the trace sessions of Windows itself. The names come from four installations of Windows 7 to 10; other
/// languages and versions use the same prefixes.
fn is_windows_session(name: &str) -> bool {
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
    KNOWN.iter().any(|session| name == *session)
        || name.starts_with("eventlog-")
        || name.starts_with("diagtrack")
        || name.starts_with("defender")
}
