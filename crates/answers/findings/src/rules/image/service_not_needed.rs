//! Services that start at boot but are not listed as needed.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Automatic services that are not in the --needed list and that no service in the list depends on.
    ///
    /// # Why it costs time
    /// Each service that starts at boot uses CPU and disk while everything else starts too.
    ///
    /// # Evidence needed
    /// The hive SYSTEM, and the list of needed services.
    ///
    /// # What to do
    /// Set them to demand, delayed or disabled, one at a time. A delayed service starts two minutes later at low
    /// priority.
    ///
    /// # When it is wrong
    /// A program may use a service that is not in the list. Services that Windows cannot start without, protected
    /// services and core Windows services are never reported.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services".
    "image/service-not-needed", "services that start at boot but are not listed as needed", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    if facts.needed.is_empty() {
        return Err(missing_input("needed services: pass a list with '--needed FILE'"));
    }
    let needed = facts.needed_services();
    let unneeded: Vec<&ServiceEntry> = facts
        .report
        .services
        .iter()
        .filter(|service| {
            service.is_auto() && !needed.contains(&service.name.to_lowercase()) && guard(service).is_none()
        })
        .collect();
    if unneeded.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = unneeded.iter().map(|service| service.name.as_str()).collect();
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Service, names[0]),
        format!("{}: {}", unneeded_services_phrase(unneeded.len()), listed(&names, 12)),
    )
    .severity(FindingSeverity::Moderate)
    .advice("set them to demand, delayed-auto or disabled, one at a time, and test; the list of services shows what needs each");
    Ok(vec![unneeded.iter().fold(finding, |finding, service| {
        finding.evidence(None, service.evidence()).action(
            AdvisedAction::start_service(service, "demand")
                .breaks("programs that expect it to run must start it themselves"),
        )
    })])
}

fn unneeded_services_phrase(count: usize) -> String {
    if count == 1 {
        "1 service starts at boot and is not needed".to_owned()
    } else {
        format!("{count} services start at boot and are not needed")
    }
}
