//! Findings from the delays that Windows itself reported in its event logs.

use onoff_transitions::reported_delays::NamedDelay;

use crate::rules::prelude::*;

/// Returns a finding for each delay that exceeds what Windows allows by more than the noise.
pub(crate) fn findings(delays: &[NamedDelay]) -> Vec<RuleFinding> {
    delays.iter().filter(|delay| delay.excess_ns >= thresholds::NOISE_NS).map(finding).collect()
}

fn finding(delay: &NamedDelay) -> RuleFinding {
    let (kind, advice) = match delay.cause {
        "application" => {
            (FindingSubjectKind::Process, "update it, or remove it from the programs that start with Windows")
        }
        "driver" => (FindingSubjectKind::Driver, "update the driver"),
        "service" => (FindingSubjectKind::Service, "update its program, or let it start later or on demand"),
        "device" => (FindingSubjectKind::Device, "update its driver and firmware, or unplug it and compare"),
        _ => (FindingSubjectKind::Work, "record the transition to see what it waits for: 'onoff record'"),
    };
    let cause = delay.cause.replace('_', " ");
    let name = if delay.name.is_empty() { &cause } else { &delay.name };
    let (took, over) = (time(delay.total_ns), time(delay.excess_ns));
    let mut finding = RuleFinding::new(
        FindingSubject::new(kind, name.clone()),
        format!("Windows reports {name} as slow: it took {took}, {over} more than Windows allows"),
    )
    .cost(Cost::at_most(delay.excess_ns))
    .evidence(None, format!("{}: {cause} {name}, {took}, {over} over the allowance", delay.event))
    .advice(advice);
    let about = [delay.company.as_str(), delay.friendly_name.as_str(), delay.version.as_str(), delay.path.as_str()];
    let about: Vec<&str> = about.into_iter().filter(|text| !text.is_empty()).collect();
    if !about.is_empty() {
        finding = finding.evidence(None, about.join(", "));
    }
    finding
}
