//! The NFS client starts with the computer.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The service NfsClnt starts automatically.
    ///
    /// # Why it costs time
    /// It has added 20 to 45 s to some boots of various computers, though not to all.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Disable it if NFS is not used: sc.exe config NfsClnt start= disabled.
    ///
    /// # When it is wrong
    /// The computer uses NFS.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services". The paper prints the name as "nfscnt".
    "image/nfs-client", "the NFS client starts with the computer", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    Ok(facts
        .service("NfsClnt")
        .filter(|service| service.start == ServiceStart::Auto)
        .map(|service| {
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, "NfsClnt"),
                "the NFS client starts with the computer",
            )
            .severity(FindingSeverity::High)
            .evidence(None, service.evidence())
            .evidence(None, "the paper reports 20 to 45 s in some boots")
            .advice("run 'sc.exe config NfsClnt start= disabled', unless the computer uses NFS")
            .action(
                AdvisedAction::start_service(service, "disabled")
                    .breaks("files on NFS servers are no longer reachable")
                    .editions("editions with the NFS client"),
            )
        })
        .into_iter()
        .collect())
}
