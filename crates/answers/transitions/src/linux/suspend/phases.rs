//! Builds the phases from their records.

use crate::{Phase, PhaseName};
use onoff_trace::{Trace, power_phase};

use super::names::has_callbacks;
use super::report::{LinuxSleep, UnknownInterval};
use super::{Cycle, is_logged};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// Maximum number of phases per suspend; a kernel has about twenty, and a few more if it tries again.
const MAX_PHASES: usize = 256;

/// The phases of `cycle`, ordered by start.
pub(super) fn recorded(trace: &Trace, cycle: &Cycle) -> Vec<Phase> {
    cycle
        .phases
        .iter()
        .filter_map(|row| {
            let name = PhaseName::parse(trace.text(row.name)).filter(|name| name.half().is_some())?;
            let event = trace.text(row.event).to_owned();
            let (rule, certainty) = match trace.text(row.detail) {
                power_phase::ALL_STAGES => (Rule::LogLinesAroundDevices, Certainty::Inferred),
                _ => rule(name, &event),
            };
            let boundary = |time_ns: Option<i64>| Boundary {
                time_ns,
                rule: if time_ns.is_some() { rule.to_owned() } else { Rule::EndNotRecorded },
                event: event.clone(),
                certainty: if time_ns.is_some() { certainty } else { Certainty::Missing },
                unmatched_rules: Vec::new(),
            };
            let phase = Phase::between(name, &boundary(Some(row.start_ns)), &boundary(row.end_ns)).with_half();
            Some(Phase { detail: trace.text(row.detail).to_owned(), ..phase })
        })
        .take(MAX_PHASES)
        .collect()
}

/// The rule that set a phase, and its certainty, depending on the source.
fn rule(name: PhaseName, event: &str) -> (Rule, Certainty) {
    if !is_logged(event) {
        return (Rule::Traced, Certainty::Measured);
    }
    match name {
        PhaseName::SyncFileSystems => (Rule::LogLineWithDuration, Certainty::Measured),
        PhaseName::DevicesPrepare => (Rule::LogTimeMinusSuspend, Certainty::Inferred),
        PhaseName::Machine => (Rule::LogLinesAroundSleep, Certainty::Inferred),
        PhaseName::ThawProcesses => (Rule::LogTaskRestart, Certainty::Inferred),
        name if has_callbacks(name) => (Rule::LogLineWithDuration, Certainty::Measured),
        _ => (Rule::LogLines, Certainty::Measured),
    }
}

/// The longest interval of a suspend that no phase covers. The time asleep (between the end of suspend and the start of
/// resume, if known) does not count.
pub(super) fn longest_gap(sleep: &LinuxSleep) -> Option<UnknownInterval> {
    let asleep = sleep.details.suspend.end_ns.zip(sleep.details.resume.start_ns);
    let mut longest: Option<UnknownInterval> = None;
    let mut known_until_ns = sleep.start_ns?;
    let mut after = None;
    let edges = sleep.phases.iter().map(|phase| (phase.start_ns, phase.end_ns, Some(phase.name)));
    for (start_ns, end_ns, before) in edges.chain([(sleep.end_ns, None, None)]) {
        let Some(start_ns) = start_ns else { continue };
        let (mut from_ns, mut to_ns) = (known_until_ns, start_ns);
        if let Some((entry_ns, exit_ns)) = asleep
            && from_ns < exit_ns
            && entry_ns < to_ns
        {
            // Use the longer part before or after the time asleep.
            let sides = [(from_ns, entry_ns), (exit_ns, to_ns)];
            (from_ns, to_ns) = sides.into_iter().max_by_key(|(from, to)| to.saturating_sub(*from)).unwrap_or_default();
        }
        let duration_ns = to_ns.saturating_sub(from_ns);
        if duration_ns > longest.as_ref().map_or(0, |longest| longest.duration_ns) {
            longest = Some(UnknownInterval { start_ns: from_ns, duration_ns, after, before });
        }
        if end_ns.unwrap_or(start_ns) >= known_until_ns {
            known_until_ns = end_ns.unwrap_or(start_ns);
            after = before;
        }
    }
    longest
}
