//! What the rules about applications at a shutdown share.

use onoff_analysis::transition::shutdown::{ApplicationEnd, SessionEnd};

use crate::rules::prelude::*;

/// Every application that was told, with its session.
pub(super) fn applications<'a>(
    facts: &ShutdownFacts<'a>,
) -> impl Iterator<Item = (&'a SessionEnd, &'a ApplicationEnd)> {
    facts
        .report
        .sessions
        .iter()
        .flat_map(|session| session.applications.iter().map(move |one| (session, one)))
}

/// Whether it is a part of the system that waits for others: the service control manager is told with the applications and
/// answers when its services are done.
pub(super) fn waits_for_others(application: &ApplicationEnd) -> bool {
    ["services.exe", "csrss.exe", "winlogon.exe", "wininit.exe"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(&application.image))
}

/// From being told to the answer, or to the recording's end.
pub(super) fn whole(facts: &ShutdownFacts<'_>, application: &ApplicationEnd) -> Interval {
    (
        application.start_ns,
        application.end_ns.unwrap_or(facts.trace.duration_ns),
    )
}

/// What an application cost: the time in which no other application was being ended, when several are told side by side.
pub(super) fn cost(facts: &ShutdownFacts<'_>, application: &ApplicationEnd) -> Cost {
    facts.cost(vec![whole(facts, application)])
}

/// A finding about an application, with what was recorded of it.
pub(super) fn about(
    facts: &ShutdownFacts<'_>,
    application: &ApplicationEnd,
    title: String,
) -> RuleFinding {
    let (start, end) = whole(facts, application);
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Process, application.image.clone())
            .with_pid(application.pid),
        title,
    )
    .costs(cost(facts, application))
    .because(
        start,
        format!(
            "{} is told to end; {} later it is over",
            application.image,
            time(end.saturating_sub(start))
        ),
    );
    for time_out in &application.time_outs {
        finding = finding.because(time_out.at_ns, time_out.evidence.clone());
    }
    if application.terminated {
        finding = finding.because(application.process_end_ns, "it is terminated");
    }
    finding
}

/// The time-out of an application that is the weakest known.
pub(super) fn certainty(application: &ApplicationEnd) -> Certainty {
    application
        .time_outs
        .iter()
        .map(|time_out| time_out.certainty)
        .min()
        .unwrap_or(Certainty::Inferred)
}
