//! Third-party services that start at boot although a trigger or a delay would do.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Services that start automatically, are neither delayed nor trigger-started, and whose file is outside the
    /// Windows folder.
    ///
    /// # Why it costs time
    /// They start at the same time as Windows and the desktop. A trigger-start service runs only when it is needed.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Ask the vendor for a trigger, or set the services to delayed-auto or demand, one at a time, and test.
    ///
    /// # When it is wrong
    /// Some services, such as security software, must run before anyone logs on.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit".
    "image/service-could-trigger", "third-party services start at boot although a trigger or a delay would do", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let services: Vec<&ServiceEntry> = facts
        .report
        .services
        .iter()
        .filter(|service| {
            service.is_auto()
                && !service.is_delayed
                && !service.has_trigger
                && service.is_outside_windows
                && guard(service).is_none()
        })
        .collect();
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Service, *first),
        format!(
            "{} {} at boot: {}",
            counted(names.len(), "third-party service"),
            if names.len() == 1 { "starts" } else { "start" },
            listed(&names, 12)
        ),
    )
    .advice("set those that are not needed right away to delayed-auto or demand, one at a time, and test");
    Ok(vec![services.iter().fold(finding, |finding, service| {
        let finding = finding.evidence(None, service.evidence());
        if !service.group.is_empty() || !service.needed_by.is_empty() {
            return finding;
        }
        finding.action(
            AdvisedAction::start_service(service, "delayed-auto")
                .breaks("the service starts two minutes later: programs that need it earlier fail")
                .editions("Windows Vista and later"),
        )
    })])
}
