//! Subscribers of the logon's notifications that take long.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A subscriber of the logon process's notifications, such as the profile service, that takes 1 s or more.
    ///
    /// # Why it costs time
    /// The logon process calls its subscribers one after the other and waits for each.
    ///
    /// # Evidence needed
    /// Events of the logon process: provider Microsoft-Windows-Winlogon.
    ///
    /// # What to do
    /// For `Profiles`, look at the size of the profile and where it is stored; for others, at the service of that name and what it waits for.
    ///
    /// # When it is wrong
    /// A subscriber that waits for the network or a server is held by those.
    ///
    /// # Source
    /// Events 805 and 806 of Microsoft-Windows-Winlogon; the limit is onoff's.
    "boot/logon-subscriber-slow", "subscribers of the logon that take long", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Winlogon")?;
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
            (length >= thresholds::SUBSCRIBER_NS).then(|| {
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, work.name.clone()),
                    format!("the logon waits {} for its subscriber {}", time(length), work.name),
                )
                .costs(facts.program_cost("winlogon.exe", (work.start_ns, end)))
                .because(work.start_ns, format!("{}: {}", work.name, time(length)))
                .advise(format!(
                    "see what {} does meanwhile ('onoff why FILE --process winlogon.exe' shows what the logon waited for): profile size, \
                     network, servers",
                    work.name
                ))
            })
        })
        .collect())
}
