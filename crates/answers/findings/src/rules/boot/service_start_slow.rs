//! Services without a group that take long to start.

use super::starts::{slow, starts};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service in no load-order group that takes 1 s or more to start, with how much of the boot waited for it.
    ///
    /// # Why it costs time
    /// Such services start in parallel with the logon and the shell. They cost time when something waits for them, or by the processors and disks
    /// they use meanwhile.
    ///
    /// # Evidence needed
    /// Starts of services: provider Microsoft-Windows-Services. What waited for it is exact with context switches and readied threads.
    ///
    /// # What to do
    /// Have the service report that it runs before it does its long work, or start it on demand, by a trigger or delayed.
    ///
    /// # When it is wrong
    /// A service may sleep in its start and disturb nobody: then its cost on the path is small, whatever its length.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Identifying Service Start Time Issues"; the limit of 1 s is onoff's.
    "boot/service-start-slow", "services that take 1 s or more to start", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Services")?;
    let (_, main_path_end) = facts.main_path();
    Ok(starts(facts)
        .filter(|service| service.group.is_empty() || !service.automatic)
        .filter(|service| !super::nfs_client::is_nfs_client(&service.name))
        // After the desktop a start is PostBoot's: what it uses is counted there.
        .filter(|service| service.start_ns < main_path_end)
        .filter(|service| service.duration_ns.is_none_or(|ns| ns >= thresholds::SERVICE_START_NS))
        .map(|service| {
            let took = match service.duration_ns {
                Some(ns) => format!("takes {} to start", time(ns)),
                None => "does not finish its start".to_owned(),
            };
            slow(facts, service, format!("service {} {took}", service.name))
        })
        .collect())
}
