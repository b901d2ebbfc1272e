//! Services outside load-order groups that are slow to start.

use super::starts::{slow_service_finding, starts};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service outside load-order groups that takes 5 % of the boot or more (at least 300 ms, at most 1 s) to start,
    /// with the part of the boot that waited for it.
    ///
    /// # Why it costs time
    /// Such services start in parallel with the logon and the shell. They cost time if something waits for them, or
    /// through the CPU and disk time they use.
    ///
    /// # Evidence needed
    /// Service starts: provider Microsoft-Windows-Services. With context switches and ready threads, the time the boot
    /// waited is exact.
    ///
    /// # What to do
    /// Have the service report SERVICE_RUNNING before its slow work, or make it demand-start, trigger-start or delayed.
    ///
    /// # When it is wrong
    /// A service may sleep during its start and block nothing: then its cost on the critical path is small, however
    /// long it takes.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Identifying Service Start Time Issues"; the threshold is
    /// onoff's.
    "boot/service-start-slow", "services that take 5 % of the boot or more to start", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Services")?;
    let (_, main_path_end) = facts.main_path();
    Ok(starts(facts)
        .filter(|service| service.group.is_empty() || !service.automatic)
        .filter(|service| !super::nfs_client::is_nfs_client(&service.name))
        // Starts after the desktop belong to PostBoot, which counts the resources they use.
        .filter(|service| service.start_ns < main_path_end)
        .filter(|service| service.duration_ns.is_none_or(|ns| ns >= facts.report.min_cause_ns()))
        .map(|service| {
            let outcome = match service.duration_ns {
                Some(ns) => format!("took {} to start", time(ns)),
                None => "did not finish starting".to_owned(),
            };
            slow_service_finding(facts, service, format!("service {} {outcome}", service.name))
        })
        .collect())
}
