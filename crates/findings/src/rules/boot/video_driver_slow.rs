//! Video drivers that take long to initialise.

use onoff_analysis::Span;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Initialisation of the video driver that takes more than 2 s in the system's session or more than 1 s in the user's.
    ///
    /// # Why it costs time
    /// The session manager waits for it, first in the system's session, then in the user's; a faster driver shortens the boot by
    /// as much.
    ///
    /// # Evidence needed
    /// What the session manager runs: provider Microsoft-Windows-Subsys-SMSS.
    ///
    /// # What to do
    /// Try a newer video driver, and the basic display driver for comparison.
    ///
    /// # When it is wrong
    /// The time is inferred from the start of the next program: other work of the subsystem in that place counts as the driver's.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SMSSInit Performance Vulnerabilities", which has the way to measure it but no
    /// limits: those are onoff's.
    "boot/video-driver-slow", "video drivers that take long to initialise", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let video = &facts.report.details.video;
    let system = slow(facts, &video.system_session, "system's", thresholds::SYSTEM_VIDEO_NS);
    let user = slow(facts, &video.user_session, "user's", thresholds::USER_VIDEO_NS);
    if video.system_session.duration_ns.is_none() && video.user_session.duration_ns.is_none() {
        return Err(lacks_other("when the session manager ran its programs: provider Microsoft-Windows-Subsys-SMSS"));
    }
    Ok(system.into_iter().chain(user).collect())
}

fn slow(facts: &BootFacts<'_>, span: &Span, session: &str, limit_ns: i64) -> Option<RuleFinding> {
    let (start, end) = span.start_ns.zip(span.end_ns)?;
    let length = end.saturating_sub(start);
    (length > limit_ns).then(|| {
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Work, format!("video driver, {session} session")),
            format!("the video driver takes {} to initialise in the {session} session", time(length)),
        )
        .costs(match &facts.path {
            Some(path) => path.cost(&[(start, end)], |step| {
                step.pids.iter().any(|&pid| {
                    facts.images.at(pid, step.when.1).is_some_and(|image| {
                        image.eq_ignore_ascii_case("smss.exe") || image.eq_ignore_ascii_case("csrss.exe")
                    })
                })
            }),
            None => facts.cost(vec![(start, end)]),
        })
        .within((start, end))
        .certain(Certainty::Inferred)
        .because(start, format!("{}: {}", span.rule, time(length)))
        .advise("try a newer video driver, and the basic display driver for comparison")
    })
}
