//! What the rules about services share.

use onoff_trace::ServiceChange;
use onoff_usage::units::Unit;

use crate::rules::prelude::*;

/// The starts of services, in their order.
pub(super) fn starts<'a>(facts: &BootFacts<'a>) -> impl Iterator<Item = &'a Unit> {
    facts.report.units.iter().filter(|service| service.kind == ServiceChange::Start)
}

/// A finding about a service that takes long, with its parts as evidence.
pub(super) fn slow(facts: &BootFacts<'_>, service: &Unit, title: String) -> RuleFinding {
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Service, service.name.clone()).with_pid(service.pid),
        title,
    )
    .costs(facts.service_cost(service))
    .within((service.start_ns, service.end_ns.unwrap_or(facts.trace.duration_ns)))
    .because(
        service.start_ns,
        match service.end_ns {
            Some(end) => format!("start requested; runs {} later", time(end.saturating_sub(service.start_ns))),
            None => "start requested; does not run when the recording ends".to_owned(),
        },
    )
    .advise(crate::protected::advice_for_service(&service.name));
    for doing in facts.doings_of_service(service) {
        finding = finding.because(None, doing);
    }
    let parts = [
        ("its container is there after", service.container_ns),
        ("its image is loaded in", service.image_load_ns),
        ("its own initialization takes", service.initialization_ns),
    ];
    for (what, length) in parts {
        if let Some(length) = length.filter(|&ns| ns >= thresholds::NOISE_NS) {
            finding = finding.because(None, format!("{what} {}", time(length)));
        }
    }
    finding
}
