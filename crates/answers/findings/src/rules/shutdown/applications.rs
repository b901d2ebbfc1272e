//! What the rules about applications at a shutdown share.

use onoff_transitions::shutdown::{ApplicationEnd, SessionEnd};

use crate::rules::prelude::*;

/// Every application that was told, with its session.
pub(super) fn applications<'a>(
    facts: &ShutdownFacts<'a>,
) -> impl Iterator<Item = (&'a SessionEnd, &'a ApplicationEnd)> {
    facts.report.details.sessions.iter().flat_map(|session| session.applications.iter().map(move |one| (session, one)))
}

/// From being told to the answer, or to the recording's end.
pub(super) fn whole(facts: &ShutdownFacts<'_>, application: &ApplicationEnd) -> Stretch {
    (application.start_ns, application.end_ns.unwrap_or(facts.trace.duration_ns))
}

/// A finding about an application, with what was recorded of it.
pub(super) fn about(facts: &ShutdownFacts<'_>, application: &ApplicationEnd, title: String) -> RuleFinding {
    let (start, end) = whole(facts, application);
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Process, application.name.clone()).with_pid(application.pid),
        title,
    )
    .costs(facts.cost(whole(facts, application)))
    .because(
        start,
        format!("{} is notified of the end; {} later it is gone", application.name, time(end.saturating_sub(start))),
    );
    for time_out in &application.details.time_outs {
        finding = finding.because(time_out.at_ns, time_out.evidence.to_string());
    }
    if application.details.terminated {
        finding = finding.because(application.details.process_end_ns, "it is terminated");
    }
    finding
}

/// The time-out of an application that is the weakest known.
pub(super) fn certainty(application: &ApplicationEnd) -> Certainty {
    application.details.time_outs.iter().map(|time_out| time_out.certainty).min().unwrap_or(Certainty::Inferred)
}
