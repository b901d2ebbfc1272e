//! Logoff and shutdown scripts.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A Group Policy logoff or shutdown script that takes 5 % of the shutdown or more (at least
    /// 300 ms, at most 500 ms).
    ///
    /// # Why it costs time
    /// The session or the shutdown waits for the script.
    ///
    /// # Evidence needed
    /// Policy events: provider Microsoft-Windows-GroupPolicy.
    ///
    /// # What to do
    /// Remove or shorten it, or do its work in a scheduled task while the computer is running.
    ///
    /// # When it is wrong
    /// A script that waits for a server is as slow as the server or the network.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit Performance Vulnerabilities", about logon scripts;
    /// the threshold is onoff's.
    "shutdown/script", "slow logoff and shutdown scripts", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-GroupPolicy")?;
    Ok(facts
        .report
        .details
        .scripts
        .iter()
        .filter_map(|script| {
            let (end, length) = script.end_ns.zip(script.duration_ns)?;
            (length >= facts.report.min_cause_ns().min(thresholds::SCRIPT_NS)).then(|| {
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, script.name.clone()),
                    format!("policy script {} took {}", script.name, time(length)),
                )
                .cost(facts.cost((script.start_ns, end)))
                .active_during((script.start_ns, end))
                .evidence(script.start_ns, format!("{}: {}", script.name, time(length)))
                .advice("remove or shorten it, or do its work in a scheduled task while the computer is running")
            })
        })
        .collect())
}
