//! A service of another maker is in a load-order group.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A service that starts automatically, whose file is outside the Windows folder, and that is in a group of the load order.
    ///
    /// # Why it costs time
    /// Services of a group start before those behind it: one that is slow holds all others. In Microsoft's test it cost 8.9 s.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Remove the value Group of the service, unless its maker says that it must start early.
    ///
    /// # When it is wrong
    /// Protection software may need to start before others.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, table 7.
    "image/service-early-group", "a service of another maker is in a load-order group", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let groups = &facts.report.groups;
    let place = |group: &str| groups.iter().position(|known| known.eq_ignore_ascii_case(group));
    let early = facts.report.services.iter().filter(|service| service.is_auto() && service.is_outside_windows);
    Ok(early
        .filter_map(|service| Some((service, place(&service.group)?)))
        .map(|(service, at)| {
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, service.name.clone()),
                format!(
                    "{} is in the load-order group '{}' ({} of {})",
                    service.name,
                    service.group,
                    at + 1,
                    groups.len()
                ),
            )
            .graded(FindingSeverity::Moderate)
            .because(None, service.evidence())
            .because(None, format!("its file is {}", service.file))
            .advise(with_guard(service, "take it out of the group (delete its value Group)"))
        })
        .collect())
}
