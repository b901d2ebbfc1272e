//! Services that start with the computer and are not on the list of what it needs.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Services that start automatically, that are not on the list of --needed, and that none on the list depends on.
    ///
    /// # Why it costs time
    /// Each service that starts with the computer takes processor and disk while everything else starts too.
    ///
    /// # Evidence needed
    /// The hive SYSTEM, and the list of what the computer needs.
    ///
    /// # What to do
    /// Set them to start on demand, delayed, or disabled, one at a time; a delayed service starts two minutes later at low priority.
    ///
    /// # When it is wrong
    /// A service that nobody names can still be used by a program. Services without which Windows does not start, protected ones and
    /// Windows' own central ones are left out.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services".
    "image/service-not-needed", "services that start with the computer and are not on the list of what it needs", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    if facts.needed.is_empty() {
        return Err(lacks_other("what the computer needs: give a list of services with '--needed FILE'"));
    }
    let needed = facts.needed_services();
    let spare: Vec<&ServiceEntry> = facts
        .report
        .services
        .iter()
        .filter(|service| {
            service.is_auto() && !needed.contains(&service.name.to_lowercase()) && guard(service).is_none()
        })
        .collect();
    if spare.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = spare.iter().map(|service| service.name.as_str()).collect();
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Service, names[0]),
        format!("{}: {}", starts(spare.len()), listed(&names, 12)),
    )
    .graded(FindingSeverity::Moderate)
    .advise("set them to demand, delayed-auto or disabled, one at a time, and test; the list of services says who needs each");
    Ok(vec![spare.iter().fold(finding, |finding, service| finding.because(None, service.evidence()))])
}

fn starts(count: usize) -> String {
    if count == 1 {
        "1 service starts with the computer and is not needed".to_owned()
    } else {
        format!("{count} services start with the computer and are not needed")
    }
}
