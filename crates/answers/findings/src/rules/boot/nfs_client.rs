//! The NFS client.

use super::starts::{slow_service_finding, starts};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The "Client for NFS" service (NfsClnt) starts at boot.
    ///
    /// # Why it costs time
    /// On various systems it has added 20 to 45 s to some boots, though not to all.
    ///
    /// # Evidence needed
    /// Service starts: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// If the computer does not use NFS, disable the service: `sc.exe config nfsclnt start= disabled`. Nothing in the
    /// boot needs it.
    ///
    /// # When it is wrong
    /// The computer uses NFS drives. If the service started quickly this time, the finding has no cost, but the next
    /// boot may differ.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services".
    "boot/nfs-client", "the NFS client starts at boot", Boot(check)
}

/// The paper prints `nfscnt`; the service name is `NfsClnt`.
pub(super) fn is_nfs_client(service: &str) -> bool {
    ["nfsclnt", "nfscnt"].iter().any(|name| name.eq_ignore_ascii_case(service))
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Services")?;
    Ok(starts(facts)
        .filter(|service| is_nfs_client(&service.name))
        .map(|service| {
            let duration_ns = service.duration_ns.unwrap_or(0);
            let mut finding = slow_service_finding(
                facts,
                service,
                format!("the NFS client started at boot and took {}", time(duration_ns)),
            )
            .advice(
                "if the computer does not use NFS, disable it with 'sc.exe config nfsclnt start= disabled'; it may cost 20 to 45 s in \
                 other boots",
            );
            if duration_ns < facts.report.min_cause_ns() {
                // Quick this time, but still worth reporting.
                finding = finding.cost(Cost::UNKNOWN);
            }
            finding
        })
        .collect())
}
