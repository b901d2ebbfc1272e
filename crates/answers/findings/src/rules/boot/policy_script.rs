//! Group Policy scripts.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A Group Policy startup or logon script that takes 5 % of the boot or more (at least 300 ms, at
    /// most 500 ms).
    ///
    /// # Why it costs time
    /// Unless policy says otherwise, the logon waits for its scripts.
    ///
    /// # Evidence needed
    /// Policy events: provider Microsoft-Windows-GroupPolicy.
    ///
    /// # What to do
    /// Remove scripts that are no longer needed, run the rest asynchronously or as scheduled tasks, and keep the
    /// drives, printers and servers they wait for close by.
    ///
    /// # When it is wrong
    /// An asynchronous script costs only the resources it uses.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit Performance Vulnerabilities"; the threshold is
    /// onoff's.
    "boot/policy-script", "slow Group Policy scripts", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-GroupPolicy")?;
    Ok(facts
        .report
        .details
        .group_policy
        .scripts
        .iter()
        .filter_map(|script| {
            let (end, length) = script.end_ns.zip(script.duration_ns)?;
            (length >= facts.report.min_cause_ns().min(thresholds::SCRIPT_NS)).then(|| {
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, script.name.clone()),
                    format!("policy script {} took {}", script.name, time(length)),
                )
                .cost(facts.cost(vec![(script.start_ns, end)]))
                .active_during((script.start_ns, end))
                .evidence(script.start_ns, format!("{}: {}", script.name, time(length)))
                .advice(
                    "remove the script, run it asynchronously or as a scheduled task, or find out what it waits for",
                )
            })
        })
        .collect())
}
