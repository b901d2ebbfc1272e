//! A service depends on one that cannot start, or stands at the end of a long chain.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Services that start automatically and depend on a disabled or missing service; chains of six or more automatic services of
    /// which each waits for the one before.
    ///
    /// # Why it costs time
    /// A service with a broken dependency fails at each boot. A chain starts one after the other, however many processors there are.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Repair the dependency, or take out of it what is not needed.
    ///
    /// # When it is wrong
    /// A dependency on a service of an uninstalled feature can be meant. In a damaged hive missing services are not reported. Chains of five are in every Windows: DcomLaunch, RpcSs, nsi, Dhcp, NlaSvc. Groups that are in no order are no fault.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit".
    "image/service-dependency", "a service depends on one that cannot start, or stands at the end of a long chain", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let mut findings = Vec::new();
    for service in facts.report.services.iter().filter(|service| service.is_auto()) {
        for needed in &service.depends_on_services {
            let problem = match facts.service(needed) {
                // In a hive that is damaged it may only be unreadable.
                None if facts.is_damaged() => continue,
                None => "is not there",
                Some(other) if other.start == ServiceStart::Disabled => "is disabled",
                Some(_) => continue,
            };
            findings.push(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, service.name.clone()),
                    format!("{} cannot start: it depends on {needed}, which {problem}", service.name),
                )
                .graded(FindingSeverity::Moderate)
                .because(None, service.evidence())
                .because(
                    None,
                    facts
                        .service(needed)
                        .map_or_else(|| format!("no key {needed} below Services"), ServiceEntry::evidence),
                )
                .advise(format!("let {needed} start, or take it out of DependOnService of {}", service.name)),
            );
        }
    }
    if let Some(chain) = facts.longest_chain().filter(|chain| chain.len() >= thresholds::SERVICE_CHAIN) {
        let last = chain[chain.len() - 1];
        let names: Vec<&str> = chain.iter().map(|service| service.name.as_str()).collect();
        findings.push(
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, last.name.clone()),
                format!("{} services start one after the other: {}", chain.len(), names.join(", ")),
            )
            .because(None, last.evidence())
            .advise("see with a recording which of them is slow; shorten the chain where a dependency is not needed"),
        );
    }
    Ok(findings)
}
