//! Services of other makers start with the computer without need of a trigger or delay.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Services that start automatically, not delayed, without a trigger, and whose file is outside the Windows folder.
    ///
    /// # Why it costs time
    /// They start while Windows and the desktop do. With a trigger a service starts when it is needed.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Ask the maker for a trigger, or set them to delayed-auto or demand, one at a time, and test.
    ///
    /// # When it is wrong
    /// Some must run before anybody logs on. Protection software is one of them.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit".
    "image/service-could-trigger", "services of other makers start with the computer without need of a trigger or delay", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let services: Vec<&ServiceEntry> = facts
        .report
        .services
        .iter()
        .filter(|one| {
            one.is_auto() && !one.is_delayed && !one.has_trigger && one.is_outside_windows && guard(one).is_none()
        })
        .collect();
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Service, *first),
        format!(
            "{} of other makers that {} with the computer: {}",
            counted(names.len(), "service"),
            if names.len() == 1 { "starts" } else { "start" },
            listed(&names, 12)
        ),
    )
    .advise("set those that nobody needs at once to delayed-auto or demand, one at a time, and test");
    Ok(vec![services.iter().fold(finding, |finding, service| finding.because(None, service.evidence()))])
}
