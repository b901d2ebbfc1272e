//! Scripts at logoff and shutdown.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A logoff or shutdown script of group policy that takes 500 ms or more.
    ///
    /// # Why it costs time
    /// The session, or the shutdown, waits until it is done.
    ///
    /// # Evidence needed
    /// Policy events: provider Microsoft-Windows-GroupPolicy.
    ///
    /// # What to do
    /// Drop it, shorten it, or do its work while the computer runs, as a scheduled task.
    ///
    /// # When it is wrong
    /// A script that waits for a server is as slow as the server or the network.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit Performance Vulnerabilities", for the way up; the limit is onoff's.
    "shutdown/script", "scripts at logoff and shutdown", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-GroupPolicy")?;
    Ok(facts
        .report
        .details
        .scripts
        .iter()
        .filter_map(|script| {
            let (end, length) = script.end_ns.zip(script.duration_ns)?;
            (length >= thresholds::SCRIPT_NS).then(|| {
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, script.name.clone()),
                    format!("policy script {} takes {}", script.name, time(length)),
                )
                .costs(facts.cost((script.start_ns, end)))
                .within((script.start_ns, end))
                .because(script.start_ns, format!("{}: {}", script.name, time(length)))
                .advise("drop it, shorten it, or do its work while the computer runs, as a scheduled task")
            })
        })
        .collect())
}
