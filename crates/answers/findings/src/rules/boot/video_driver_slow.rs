//! Video drivers that take long to initialize.

use std::collections::BTreeMap;

use onoff_evidence::Span;
use onoff_trace::{DiskOperation, Trace};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Initialization of the video driver that takes more than 2 s in the system's session or more than 1 s in the user's; half of that on a
    /// computer whose small reads take less than 1.5 ms, as from a solid-state disk.
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
    /// The time is inferred from the start of the next program. Where the account of that gap names somebody else, that one leads; what nothing
    /// explains counts as the driver's.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SMSSInit Performance Vulnerabilities", which has the way to measure it but no
    /// limits: those are onoff's.
    "boot/video-driver-slow", "video drivers that take long to initialize", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let video = &facts.report.details.video;
    let (system_ns, user_ns) = match has_solid_disk(facts.trace) {
        true => (thresholds::SYSTEM_VIDEO_SOLID_NS, thresholds::USER_VIDEO_SOLID_NS),
        false => (thresholds::SYSTEM_VIDEO_NS, thresholds::USER_VIDEO_NS),
    };
    let system = slow(facts, &video.system_session, "system's", system_ns);
    let user = slow(facts, &video.user_session, "user's", user_ns);
    if video.system_session.duration_ns.is_none() && video.user_session.duration_ns.is_none() {
        return Err(lacks_other("when the session manager ran its programs: provider Microsoft-Windows-Subsys-SMSS"));
    }
    Ok(system.into_iter().chain(user).collect())
}

/// Whether the disk that the boot read most from answers as a solid-state disk does: by its small reads, the middle one of them. What a
/// disk calls itself is not recorded.
fn has_solid_disk(trace: &Trace) -> bool {
    let mut small: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    let reads = trace.disk_ios.iter().filter(|row| row.operation == DiskOperation::Read);
    for row in reads.filter(|row| row.size <= thresholds::SMALL_READ_BYTES && row.service_ns > 0) {
        small.entry(row.disk).or_default().push(row.service_ns);
    }
    let Some(times) = small.values_mut().max_by_key(|times| times.len()) else { return false };
    times.sort();
    let middle = times.get(times.len() / 2).copied();
    times.len() >= thresholds::SMALL_READS && middle.is_some_and(|ns| ns < thresholds::SOLID_READ_NS)
}

fn slow(facts: &BootFacts<'_>, span: &Span, session: &str, limit_ns: i64) -> Option<RuleFinding> {
    let (start, end) = span.start_ns.zip(span.end_ns)?;
    let length = end.saturating_sub(start);
    (length > limit_ns).then(|| {
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Work, format!("video driver, {session} session")),
            format!("the video driver takes {} to initialize in the {session} session", time(length)),
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
