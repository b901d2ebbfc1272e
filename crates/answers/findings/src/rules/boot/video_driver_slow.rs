//! Video drivers that are slow to initialize.

use std::collections::BTreeMap;

use onoff_blame::account::VIDEO_DRIVERS;
use onoff_evidence::DerivedInterval;
use onoff_trace::{DiskOperation, Trace};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Video driver initialization that takes more than 2 s in the system session or more than 1 s in the user session;
    /// half of that on a computer whose small reads take less than 1.5 ms, as on a solid-state disk.
    ///
    /// # Why it costs time
    /// The session manager waits for it, first in the system session, then in the user session. A faster driver
    /// shortens the boot by the difference.
    ///
    /// # Evidence needed
    /// Session manager events: provider Microsoft-Windows-Subsys-SMSS.
    ///
    /// # What to do
    /// Try a newer video driver, and compare with the basic display driver.
    ///
    /// # When it is wrong
    /// The time is inferred from the start of the next program. If the critical path attributes that gap to something
    /// else, that is reported instead; unexplained time is attributed to the driver.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SMSSInit Performance Vulnerabilities", which describes the
    /// measurement but gives no limits: the thresholds are onoff's.
    "boot/video-driver-slow", "video drivers that are slow to initialize", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let video = &facts.report.details.video;
    let (system_ns, user_ns) = match has_solid_disk(facts.trace) {
        true => (thresholds::SYSTEM_VIDEO_SSD_NS, thresholds::USER_VIDEO_SSD_NS),
        false => (thresholds::SYSTEM_VIDEO_NS, thresholds::USER_VIDEO_NS),
    };
    let system = slow_session_finding(facts, &video.system_session, (VIDEO_DRIVERS[0], "system"), system_ns);
    let user = slow_session_finding(facts, &video.user_session, (VIDEO_DRIVERS[1], "user"), user_ns);
    if video.system_session.duration_ns.is_none() && video.user_session.duration_ns.is_none() {
        return Err(missing_input("the session manager's program starts (provider Microsoft-Windows-Subsys-SMSS)"));
    }
    Ok(system.into_iter().chain(user).collect())
}

/// True if the most-read disk behaves like a solid-state disk, judged by the median of its small reads. The disk type
/// is not recorded.
fn has_solid_disk(trace: &Trace) -> bool {
    let mut small_reads: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    let reads = trace.disk_ios.iter().filter(|row| row.operation == DiskOperation::Read);
    for row in reads.filter(|row| row.size <= thresholds::SMALL_READ_BYTES && row.service_ns > 0) {
        small_reads.entry(row.disk).or_default().push(row.service_ns);
    }
    let Some(times) = small_reads.values_mut().max_by_key(|times| times.len()) else { return false };
    times.sort();
    let median = times.get(times.len() / 2).copied();
    times.len() >= thresholds::MIN_SMALL_READS && median.is_some_and(|ns| ns < thresholds::SSD_READ_NS)
}

fn slow_session_finding(
    facts: &BootFacts<'_>,
    span: &DerivedInterval,
    (name, session): (&str, &str),
    limit_ns: i64,
) -> Option<RuleFinding> {
    let (start, end) = span.start_ns.zip(span.end_ns)?;
    let length = end.saturating_sub(start);
    (length > limit_ns).then(|| {
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Work, name),
            format!("the video driver took {} to initialize in the {session} session", time(length)),
        )
        .cost(match &facts.path {
            Some(path) => path.cost(&[(start, end)], |step| {
                step.pids.iter().any(|&pid| {
                    facts.images.image_at(pid, step.interval.1).is_some_and(|image| {
                        image.eq_ignore_ascii_case("smss.exe") || image.eq_ignore_ascii_case("csrss.exe")
                    })
                })
            }),
            None => facts.cost(vec![(start, end)]),
        })
        .active_during((start, end))
        .certainty(Certainty::Inferred)
        .evidence(start, format!("{}: {}", span.rule, time(length)))
        .advice("try a newer video driver, and compare with the basic display driver")
    })
}
