//! A third-party service in a load-order group.

use super::prelude::*;

rule! {
    /// # What it finds
    /// An automatic service in a load-order group whose file is outside the Windows folder.
    ///
    /// # Why it costs time
    /// The services of a group start before those of later groups: a slow one blocks all of them. In Microsoft's test,
    /// this cost 8.9 s.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Delete the service's Group value, unless its vendor requires an early start.
    ///
    /// # When it is wrong
    /// Security software may need to start before other services.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, table 7.
    "image/service-early-group", "a third-party service is in a load-order group", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let groups = &facts.report.groups;
    let position = |group: &str| groups.iter().position(|name| name.eq_ignore_ascii_case(group));
    let early = facts.report.services.iter().filter(|service| service.is_auto() && service.is_outside_windows);
    Ok(early
        .filter_map(|service| Some((service, position(&service.group)?)))
        .map(|(service, index)| {
            let finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, service.name.clone()),
                format!(
                    "{} is in load-order group '{}' ({} of {})",
                    service.name,
                    service.group,
                    index + 1,
                    groups.len()
                ),
            )
            .severity(FindingSeverity::Moderate)
            .evidence(None, service.evidence())
            .evidence(None, format!("file: {}", service.file))
            .advice(with_guard(service, "remove it from the group (delete its Group value)"));
            match facts.image.setting(HiveKind::System, &format!(r"CS\Services\{}", service.name), "Group") {
                Some(group) if guard(service).is_none() => finding.action(
                    AdvisedAction::delete(&group)
                        .breaks("the service starts later: services of later groups no longer find it running"),
                ),
                _ => finding,
            }
        })
        .collect())
}
