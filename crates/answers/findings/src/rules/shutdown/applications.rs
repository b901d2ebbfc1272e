//! Helpers for the rules about applications at shutdown.

use onoff_transitions::shutdown::{ApplicationEnd, SessionEnd};

use crate::rules::prelude::*;

/// Every notified application with its session.
pub(super) fn applications<'a>(
    facts: &ShutdownFacts<'a>,
) -> impl Iterator<Item = (&'a SessionEnd, &'a ApplicationEnd)> {
    facts
        .report
        .details
        .sessions
        .iter()
        .flat_map(|session| session.applications.iter().map(move |application| (session, application)))
}

/// From the notification to the response, or to the end of the recording.
pub(super) fn response_interval(facts: &ShutdownFacts<'_>, application: &ApplicationEnd) -> Interval {
    (application.start_ns, application.end_ns.unwrap_or(facts.trace.duration_ns))
}

/// Builds a finding about an application, with its recorded events as evidence.
pub(super) fn application_finding(
    facts: &ShutdownFacts<'_>,
    application: &ApplicationEnd,
    title: String,
) -> RuleFinding {
    let (start, end) = response_interval(facts, application);
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Process, application.name.clone()).with_pid(application.pid),
        title,
    )
    .cost(facts.cost(response_interval(facts, application)))
    .evidence(
        start,
        format!("{} was notified; it was gone {} later", application.name, time(end.saturating_sub(start))),
    );
    for time_out in &application.details.time_outs {
        finding = finding.evidence(time_out.at_ns, time_out.evidence.to_string());
    }
    if application.details.terminated {
        finding = finding.evidence(application.details.process_end_ns, "it was terminated");
    }
    finding
}

/// The lowest certainty of the application's timeouts.
pub(super) fn certainty(application: &ApplicationEnd) -> Certainty {
    application.details.time_outs.iter().map(|time_out| time_out.certainty).min().unwrap_or(Certainty::Inferred)
}
