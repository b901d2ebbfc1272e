//! Slow services that hold up later load-order groups.

use super::starts::{slow, starts};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service in a load-order group that takes 1 s or more to start.
    ///
    /// # Why it costs time
    /// Groups are started one after the other, so every later group waits for it, and the logon waits for the groups that it needs.
    ///
    /// # Evidence needed
    /// Starts of services: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// Have the service report that it runs before it does its long work, or take it out of the group: in Microsoft's test that made
    /// the logon 3.6 s and the boot 0.9 s shorter for a service of 6 s.
    ///
    /// # When it is wrong
    /// A service on demand, and one whose group the service control manager recorded as done before the service ran, kept no group
    /// waiting: neither is reported. When the service itself waits for another one, the other one is to blame; `boot/service-chain` and `onoff why` tell.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit Performance Vulnerabilities", tables 7 and A-2; the limit of 1 s
    /// is onoff's.
    "boot/service-in-group-slow", "slow services that hold up later load-order groups", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Services")?;
    Ok(starts(facts)
        .filter(|service| onoff_usage::units::holds_up_its_group(facts.trace, service))
        .filter(|service| !super::nfs_client::is_nfs_client(&service.name))
        .filter(|service| service.duration_ns.is_none_or(|ns| ns >= thresholds::SERVICE_START_NS))
        .map(|service| {
            let took = match service.duration_ns {
                Some(ns) => format!("takes {} to start", time(ns)),
                None => "does not finish its start".to_owned(),
            };
            let title = format!(
                "service {} of load-order group {} {took}; later groups wait for it",
                service.name, service.group
            );
            let mut finding = slow(facts, service, title);
            if service.held_up_in_turn > 0 {
                let held: Vec<&str> = service.held_up.iter().map(String::as_str).collect();
                finding = finding.because(
                    service.end_ns,
                    format!(
                        "{} waited for it, one after the other: {}",
                        counted(service.held_up_in_turn as usize, "service"),
                        listed(&held, 4)
                    ),
                );
            }
            finding
        })
        .collect())
}
