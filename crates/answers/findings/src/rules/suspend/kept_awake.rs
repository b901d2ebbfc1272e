//! A program or device that keeps the computer from sleeping while no user is present.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use onoff_trace::AbsenceOutcome;
use onoff_transitions::suspend::{AwakeRequester, UserAbsence};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A program or device with availability requests during at least 90 % of an interval of 30 minutes or more in which
    /// no user was present and the computer did not sleep. If the computer slept later in the interval, the time before
    /// counts.
    ///
    /// # Why it costs time
    /// It does not cost time but energy, and a laptop may be empty when its user returns. Windows does not sleep for
    /// being idle while a program or driver requests the system to stay available.
    ///
    /// # Evidence needed
    /// System sleep diagnostics (`powercfg /systemsleepdiagnostics`).
    ///
    /// # What to do
    /// Stop the playback or download, or close the program. `powercfg /requests` shows the requests that are active now,
    /// and `powercfg /requestsoverride` makes Windows ignore the requests of a program or driver. An audio device has a
    /// request while a program plays sound, even silence.
    ///
    /// # When it is wrong
    /// The computer is meant to stay on, for example to play music, to serve files or to finish a download, or it is set
    /// to sleep later or never. The report does not say after which time the computer should have slept.
    ///
    /// # Source
    /// Microsoft, "PowerSetRequest function" and "Powercfg command-line options"; the thresholds are onoff's.
    "suspend/kept-awake", "a program or device that keeps the computer from sleeping while no user is present",
    Absences(check)
}

/// Maximum number of intervals in the evidence.
const MAX_INTERVALS: usize = 5;

/// The intervals in which one program or device kept the computer awake.
#[derive(Default)]
struct KeptAwake<'a> {
    total_ns: i64,
    intervals: Vec<(&'a UserAbsence, &'a AwakeRequester)>,
}

fn check(absences: &[UserAbsence]) -> Outcome {
    let mut causes: BTreeMap<&str, KeptAwake<'_>> = BTreeMap::new();
    for absence in absences {
        if absence.awake_ns.is_none_or(|awake_ns| awake_ns < thresholds::KEPT_AWAKE_NS) {
            continue;
        }
        let is_cause = |requester: &&AwakeRequester| requester.active_percent >= thresholds::KEPT_AWAKE_PERCENT;
        // A program that plays sound has a request, and so does the audio device: the program is the cause.
        let causes_of_absence = absence.requesters.iter().filter(is_cause);
        if let Some(cause) = causes_of_absence.min_by_key(|requester| !requester.is_program()) {
            let entry = causes.entry(&cause.name).or_default();
            entry.total_ns = entry.total_ns.saturating_add(cause.active_ns);
            entry.intervals.push((absence, cause));
        }
    }
    let mut causes: Vec<(&str, KeptAwake<'_>)> = causes.into_iter().collect();
    causes.sort_by(|a, b| (Reverse(a.1.total_ns), a.0).cmp(&(Reverse(b.1.total_ns), b.0)));
    Ok(causes.into_iter().map(|(name, kept)| finding(name, kept)).collect())
}

fn finding(path: &str, mut kept: KeptAwake<'_>) -> RuleFinding {
    kept.intervals.sort_by_key(|(absence, cause)| (Reverse(cause.active_ns), absence.start_ns));
    let is_program = kept.intervals.first().is_some_and(|(_, cause)| cause.is_program());
    let (kind, name) = match is_program {
        true => (FindingSubjectKind::Process, file_name(path)),
        false => (FindingSubjectKind::Device, path),
    };
    let intervals = match kept.intervals.len() {
        1 => String::new(),
        count => format!(", in {count} intervals"),
    };
    let title = format!(
        "{name} kept the computer from sleeping for {} while no user was present{intervals}",
        time(kept.total_ns)
    );
    let advice = match is_program {
        true => format!("close {name}, or stop what it plays or downloads, before leaving the computer"),
        false => "close the programs that use the device, e.g. that play sound, before leaving the computer".to_owned(),
    };
    let mut finding = RuleFinding::new(FindingSubject::new(kind, name), title)
        .certainty(Certainty::Inferred)
        .measured(kept.total_ns)
        .advice(advice + "; 'powercfg /requests' shows what is active now");
    for (absence, cause) in kept.intervals.iter().take(MAX_INTERVALS) {
        let end = match absence.outcome {
            AbsenceOutcome::StayedOn => "the computer stayed on".to_owned(),
            _ => format!("the computer slept after {}", time(absence.awake_ns.unwrap_or_default())),
        };
        let text = format!(
            "no user present for {}, {end}; {name} had a request for {:.0} % of the time awake",
            time(absence.duration_ns),
            cause.active_percent
        );
        finding = finding.evidence(absence.start_ns, text);
    }
    finding
}
