//! The service of SuperFetch does not start.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The service SysMain is disabled or starts on demand.
    ///
    /// # Why it costs time
    /// It writes and uses the plans that read ahead. On a rotating disk boots and programs take about twice as long without it.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Let it start by itself: sc config SysMain start= auto.
    ///
    /// # When it is wrong
    /// With a solid-state disk it gains little: Windows itself turns it off when random reads are faster than about 8 MB/s.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Superfetch".
    "image/superfetch-service-off", "the service of SuperFetch does not start", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let off = |service: &&ServiceEntry| matches!(service.start, ServiceStart::Disabled | ServiceStart::Demand);
    Ok(facts
        .service("SysMain")
        .filter(off)
        .map(|service| {
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, "SysMain"),
                format!("the service of SuperFetch (SysMain) is set to {}", service.start.as_str()),
            )
            .graded(FindingSeverity::Moderate)
            .because(None, service.evidence())
            .advise("sc config SysMain start= auto, unless the disk is a solid-state disk")
        })
        .into_iter()
        .collect())
}
