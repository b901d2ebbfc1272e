//! Slow services that block later load-order groups.

use super::starts::{slow_service_finding, starts};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service in a load-order group that takes 5 % of the boot or more (at least 300 ms, at most 1 s) to start.
    ///
    /// # Why it costs time
    /// Groups start one at a time, so every later group waits for the service, and the logon waits for the groups it
    /// needs.
    ///
    /// # Evidence needed
    /// Service starts: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// Have the service report SERVICE_RUNNING before its slow work, or remove it from the group: in Microsoft's test,
    /// this shortened the logon by 3.6 s and the boot by 0.9 s for a service of 6 s.
    ///
    /// # When it is wrong
    /// Demand-start services, and services whose group was done before they ran according to the service control
    /// manager, are not reported because they block no group. If the service itself waits for another one, the other
    /// one is the cause; see `boot/service-chain` and `onoff why`.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit Performance Vulnerabilities", tables 7 and A-2;
    /// the threshold is onoff's.
    "boot/service-in-group-slow", "slow services that block later load-order groups", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Services")?;
    Ok(starts(facts)
        .filter(|service| onoff_usage::units::delays_later_groups(facts.trace, service))
        .filter(|service| !super::nfs_client::is_nfs_client(&service.name))
        .filter(|service| service.duration_ns.is_none_or(|ns| ns >= facts.report.min_cause_ns()))
        .map(|service| {
            let outcome = match service.duration_ns {
                Some(ns) => format!("took {} to start", time(ns)),
                None => "did not finish starting".to_owned(),
            };
            let title =
                format!("service {} (group {}) {outcome} and blocked later groups", service.name, service.group);
            let mut finding = slow_service_finding(facts, service, title);
            if service.held_up_total > 0 {
                let blocked_names: Vec<&str> = service.held_up.iter().map(String::as_str).collect();
                let services = counted(service.held_up_total as usize, "service");
                let names = match blocked_names.as_slice() {
                    [first] => format!(", {first} first"),
                    names => format!(": {}", listed(names, 4)),
                };
                finding = finding.evidence(service.end_ns, format!("{services} waited for it in turn{names}"));
            }
            finding
        })
        .collect())
}
