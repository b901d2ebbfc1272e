//! Services that failed to start.

use onoff_trace::{ServiceFailureKind, ServiceOutcome};

use super::starts::starts;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service that did not start during the boot, because of an error or because a service it depends on did not
    /// start. Services that timed out are covered by `boot/service-timed-out`, slow ones by `boot/service-start-slow`.
    ///
    /// # Why it costs time
    /// The failure itself costs little, but the service's work is not done, and what needs the service fails or waits.
    ///
    /// # Evidence needed
    /// The System log of the computer: events 7000, 7001 and 7022 of Service Control Manager. In a trace, service
    /// starts: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// Repair or remove the program of the service.
    ///
    /// # When it is wrong
    /// Some services fail on computers without their hardware, where nothing needs them.
    ///
    /// # Source
    /// Events 7000, 7001 and 7022 of Service Control Manager; event 105 of Microsoft-Windows-Services.
    "boot/service-failed", "services that failed to start", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let details = &facts.report.details;
    if details.channels.is_empty() {
        facts.require_provider("Microsoft-Windows-Services")?;
        return Ok(in_trace(facts));
    }
    Ok(details
        .failed_services
        .iter()
        .filter_map(|failure| {
            let reason = match failure.kind {
                ServiceFailureKind::StartFailed => String::new(),
                ServiceFailureKind::DependencyFailed => {
                    format!(": it depends on {}, which did not start", failure.dependency)
                }
                ServiceFailureKind::StartHung => ": it did not finish starting".to_owned(),
                _ => return None,
            };
            let code = failure.error_code.map_or_else(String::new, |code| format!(" (error {code})"));
            let title = format!("service {} failed to start{code}{reason}", failure.service);
            let evidence = format!("{}{code}", failure.event);
            Some(finding(&failure.service, title).evidence(failure.time_ns, evidence))
        })
        .collect())
}

/// The starts that failed in a trace. Long ones are slow starts.
fn in_trace(facts: &BootFacts<'_>) -> Vec<RuleFinding> {
    starts(facts)
        .filter(|service| service.outcome == ServiceOutcome::Failed)
        .filter(|service| service.duration_ns.is_some_and(|ns| ns < facts.report.min_cause_ns()))
        .map(|service| {
            finding(&service.name, format!("service {} failed to start", service.name))
                .evidence(service.start_ns, format!("{} was requested to start", service.name))
                .evidence(service.end_ns, "it stopped".to_owned())
        })
        .collect()
}

fn finding(name: &str, title: String) -> RuleFinding {
    RuleFinding::new(FindingSubject::new(FindingSubjectKind::Service, name.to_owned()), title).advice(format!(
        "find out why ('sc.exe qc \"{name}\"' shows its program and what it depends on) and repair it; disable it only \
         if nothing needs it"
    ))
}
