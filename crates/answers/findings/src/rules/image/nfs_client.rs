//! The NFS client starts with the computer.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The service NfsClnt starts automatically.
    ///
    /// # Why it costs time
    /// It was seen to add 20 to 45 s to the boots of various computers, not to each one.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Disable it where no network file system is used: sc config NfsClnt start= disabled.
    ///
    /// # When it is wrong
    /// Where the computer uses NFS, it is needed.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services". The paper prints the name as "nfscnt".
    "image/nfs-client", "the NFS client starts with the computer", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    Ok(facts
        .service("NfsClnt")
        .filter(|service| service.start == ServiceStart::Auto)
        .map(|service| {
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, "NfsClnt"),
                "the NFS client starts with the computer",
            )
            .graded(FindingSeverity::High)
            .because(None, service.evidence())
            .because(None, "the paper saw 20 to 45 s in some of the boots with it")
            .advise("sc config NfsClnt start= disabled, unless the computer uses NFS")
        })
        .into_iter()
        .collect())
}
