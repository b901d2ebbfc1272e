//! Slow subscribers of Winlogon notifications.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A subscriber of Winlogon notifications, such as the profile service, that takes 5 % of the boot or
    /// more (at least 300 ms, at most 1 s).
    ///
    /// # Why it costs time
    /// Winlogon calls its subscribers one at a time and waits for each of them.
    ///
    /// # Evidence needed
    /// Winlogon events: provider Microsoft-Windows-Winlogon.
    ///
    /// # What to do
    /// For `Profiles`, check the size and the location of the profile. For others, look at the service of that name and
    /// what it waits for.
    ///
    /// # When it is wrong
    /// A subscriber that waits for the network or a server is not the cause itself.
    ///
    /// # Source
    /// Events 805 and 806 of Microsoft-Windows-Winlogon; the threshold is onoff's.
    "boot/logon-subscriber-slow", "slow logon subscribers", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Winlogon")?;
    let (_, main_path_end) = facts.main_path();
    Ok(facts
        .report
        .details
        .logon
        .notification_subscribers
        .iter()
        .filter(|work| work.start_ns < main_path_end)
        .filter_map(|work| {
            let (end, length) = work.end_ns.zip(work.duration_ns)?;
            (length >= facts.report.min_cause_ns()).then(|| {
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, work.name.clone()),
                    format!("the logon waited {} for its subscriber {}", time(length), work.name),
                )
                .cost(facts.program_cost("winlogon.exe", (work.start_ns, end)))
                .evidence(work.start_ns, format!("{}: {}", work.name, time(length)))
                .advice(format!(
                    "find out what {} waits for, such as a large profile, the network or a server ('onoff why FILE --process \
                     winlogon.exe' shows what the logon waited for)",
                    work.name
                ))
            })
        })
        .collect())
}
