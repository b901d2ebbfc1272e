//! The Superfetch service does not start.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The SysMain service is disabled or demand-start.
    ///
    /// # Why it costs time
    /// It creates and uses the launch plans for read-ahead. On a rotating disk, boots and programs take about twice as
    /// long without it.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Make it start automatically: sc.exe config SysMain start= auto.
    ///
    /// # When it is wrong
    /// On a solid-state disk it gains little: Windows turns it off when random reads are faster than about 8 MB/s.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Superfetch".
    "image/superfetch-service-off", "the Superfetch service (SysMain) does not start", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let is_off = |service: &&ServiceEntry| matches!(service.start, ServiceStart::Disabled | ServiceStart::Demand);
    Ok(facts
        .service("SysMain")
        .filter(is_off)
        .map(|service| {
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, "SysMain"),
                format!("the Superfetch service (SysMain) is set to {}", service.start.as_str()),
            )
            .severity(FindingSeverity::Moderate)
            .evidence(None, service.evidence())
            .advice("run 'sc.exe config SysMain start= auto', unless the disk is a solid-state disk")
            .action(
                AdvisedAction::start_service(service, "auto")
                    .breaks("nothing; Windows uses some memory and disk time to learn")
                    .editions("client editions"),
            )
        })
        .into_iter()
        .collect())
}
