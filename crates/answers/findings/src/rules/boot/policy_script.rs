//! Scripts that policy runs.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A start-up or logon script of group policy that takes 500 ms or more.
    ///
    /// # Why it costs time
    /// Unless policy says otherwise, the logon waits until its scripts are done.
    ///
    /// # Evidence needed
    /// Policy events: provider Microsoft-Windows-GroupPolicy.
    ///
    /// # What to do
    /// Drop what is no longer needed, have the rest run asynchronously or as scheduled tasks, and keep what scripts wait for
    /// (drives, printers, servers) near.
    ///
    /// # When it is wrong
    /// A script that runs asynchronously costs only what it uses.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit Performance Vulnerabilities"; the limit is onoff's.
    "boot/policy-script", "policy scripts", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-GroupPolicy")?;
    Ok(facts
        .report
        .details
        .group_policy
        .scripts
        .iter()
        .filter_map(|script| {
            let (end, length) = script.end_ns.zip(script.duration_ns)?;
            (length >= thresholds::SCRIPT_NS).then(|| {
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, script.name.clone()),
                    format!("policy script {} takes {}", script.name, time(length)),
                )
                .costs(facts.cost(vec![(script.start_ns, end)]))
                .within((script.start_ns, end))
                .because(script.start_ns, format!("{}: {}", script.name, time(length)))
                .advise("drop the script, have it run asynchronously or as a scheduled task, or see what it waits for")
            })
        })
        .collect())
}
