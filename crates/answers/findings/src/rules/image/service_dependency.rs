//! Services that depend on one that cannot start, and long dependency chains.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Services that start automatically and depend on a disabled or missing service; chains of six or more automatic
    /// services that each depend on the previous one.
    ///
    /// # Why it costs time
    /// A service with a broken dependency fails at every boot. A chain starts sequentially, however many CPUs there
    /// are.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Repair the dependency, or remove unneeded ones.
    ///
    /// # When it is wrong
    /// A dependency on a service of an uninstalled feature may be intentional. In a damaged hive, missing services are
    /// not reported. Every Windows installation has chains of five: DcomLaunch, RpcSs, nsi, Dhcp, NlaSvc. Groups
    /// without a load order are not an error.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit".
    "image/service-dependency", "a service depends on one that cannot start, or is at the end of a long chain", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let mut findings = Vec::new();
    for service in facts.report.services.iter().filter(|service| service.is_auto()) {
        for needed in &service.depends_on_services {
            let problem = match facts.service(needed) {
                // In a damaged hive, the key may just be unreadable.
                None if facts.is_damaged() => continue,
                None => "does not exist",
                Some(dependency) if dependency.start == ServiceStart::Disabled => "is disabled",
                Some(_) => continue,
            };
            findings.push(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, service.name.clone()),
                    format!("{} cannot start: it depends on {needed}, which {problem}", service.name),
                )
                .severity(FindingSeverity::Moderate)
                .evidence(None, service.evidence())
                .evidence(
                    None,
                    facts
                        .service(needed)
                        .map_or_else(|| format!("no key {needed} under Services"), ServiceEntry::evidence),
                )
                .advice(format!("enable {needed}, or remove it from DependOnService of {}", service.name)),
            );
        }
    }
    if let Some(chain) = facts.longest_chain().filter(|chain| chain.len() >= thresholds::MIN_SERVICE_CHAIN_LEN) {
        let last_service = chain[chain.len() - 1];
        let names: Vec<&str> = chain.iter().map(|service| service.name.as_str()).collect();
        findings.push(
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, last_service.name.clone()),
                format!("{} services start sequentially: {}", chain.len(), names.join(", ")),
            )
            .evidence(None, last_service.evidence())
            .advice("record a boot to find the slow ones, and remove unneeded dependencies"),
        );
    }
    Ok(findings)
}
