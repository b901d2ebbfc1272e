//! Helpers for the service rules.

use onoff_trace::ServiceChange;
use onoff_usage::units::Unit;

use crate::rules::prelude::*;

/// Service starts, ordered by time.
pub(super) fn starts<'a>(facts: &BootFacts<'a>) -> impl Iterator<Item = &'a Unit> {
    facts.report.units.iter().filter(|service| service.kind == ServiceChange::Start)
}

/// Builds a finding about a slow service, with the parts of its start as evidence.
pub(super) fn slow_service_finding(facts: &BootFacts<'_>, service: &Unit, title: String) -> RuleFinding {
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Service, service.name.clone()).with_pid(service.pid),
        title,
    )
    .cost(facts.service_cost(service))
    .active_during((service.start_ns, service.end_ns.unwrap_or(facts.trace.duration_ns)))
    .evidence(
        service.start_ns,
        match service.end_ns {
            Some(end) => format!("start requested; running {} later", time(end.saturating_sub(service.start_ns))),
            None => "start requested; not running when the recording ended".to_owned(),
        },
    )
    .advice(crate::protected::advice_for_service(&service.name));
    for text in facts.service_activity(service) {
        finding = finding.evidence(None, text);
    }
    let parts = [
        ("host process started after", service.container_ns),
        ("image loaded in", service.image_load_ns),
        ("initialization took", service.initialization_ns),
    ];
    for (part, length) in parts {
        if let Some(length) = length.filter(|&ns| ns >= thresholds::NOISE_NS) {
            finding = finding.evidence(None, format!("{part} {}", time(length)));
        }
    }
    finding
}
