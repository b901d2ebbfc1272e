//! The client for NFS.

use super::starts::{slow, starts};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The service "Client for NFS" (NfsClnt) starting with the boot.
    ///
    /// # Why it costs time
    /// It has been seen to add 20 to 45 s to the boot of various systems, not every time.
    ///
    /// # Evidence needed
    /// Starts of services: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// If the computer uses no network file system, turn it off: `sc config nfsclnt start= disabled`. Nothing of the boot needs it.
    ///
    /// # When it is wrong
    /// When drives on NFS servers are used. When it was quick this time, the finding has no cost, but the next boot may differ.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services".
    "boot/nfs-client", "the client for NFS", Boot(check)
}

/// Whether a service is the client for NFS. The paper prints `nfscnt`; the service is called `NfsClnt`.
pub(super) fn is_nfs_client(service: &str) -> bool {
    ["nfsclnt", "nfscnt"].iter().any(|name| name.eq_ignore_ascii_case(service))
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Services")?;
    Ok(starts(facts)
        .filter(|service| is_nfs_client(&service.name))
        .map(|service| {
            let took = service.duration_ns.unwrap_or(0);
            let mut finding = slow(
                facts,
                service,
                format!("the client for NFS starts with the boot and takes {}", time(took)),
            )
            .advise(
                "if no network file system is used, turn it off with 'sc config nfsclnt start= disabled'; it may cost 20 to 45 s \
                 in other boots",
            );
            if took < thresholds::SERVICE_START_NS {
                // Quick this time: worth knowing all the same.
                finding = finding.costs(Cost::UNKNOWN);
            }
            finding
        })
        .collect())
}
