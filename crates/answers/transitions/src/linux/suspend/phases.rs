//! Builds the phases from their events.

use crate::{Phase, PhaseName};
use onoff_trace::{Trace, power_phase};

use super::names::has_callbacks;
use super::report::{LinuxSleep, UnknownInterval};
use super::{Cycle, is_logged};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// Maximum number of phases per suspend; a kernel has about twenty, and a few more if it retries.
const MAX_PHASES: usize = 256;

/// Returns the phases of `cycle`, ordered by start.
pub(super) fn recorded_phases(trace: &Trace, cycle: &Cycle) -> Vec<Phase> {
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
            let phase = Phase::from_boundaries(name, &boundary(Some(row.start_ns)), &boundary(row.end_ns)).with_half();
            Some(Phase { detail: trace.text(row.detail).to_owned(), ..phase })
        })
        .take(MAX_PHASES)
        .collect()
}

/// Returns the rule that set a phase, and its certainty, depending on the source.
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

/// Returns the longest interval of a suspend that no phase covers. The time asleep (between the end of suspend and the
/// start of resume, if known) does not count.
pub(super) fn longest_gap(sleep: &LinuxSleep) -> Option<UnknownInterval> {
    let sleep_interval = sleep.details.suspend.end_ns.zip(sleep.details.resume.start_ns);
    let mut longest: Option<UnknownInterval> = None;
    let mut known_until_ns = sleep.start_ns?;
    let mut previous_phase = None;
    let phases = sleep.phases.iter().map(|phase| (phase.start_ns, phase.end_ns, Some(phase.name)));
    for (start_ns, end_ns, next_phase) in phases.chain([(sleep.end_ns, None, None)]) {
        let Some(start_ns) = start_ns else { continue };
        let (mut gap_start_ns, mut gap_end_ns) = (known_until_ns, start_ns);
        if let Some((entry_ns, exit_ns)) = sleep_interval
            && gap_start_ns < exit_ns
            && entry_ns < gap_end_ns
        {
            // Use the part before or after the time asleep, whichever is longer.
            let candidates = [(gap_start_ns, entry_ns), (exit_ns, gap_end_ns)];
            (gap_start_ns, gap_end_ns) =
                candidates.into_iter().max_by_key(|(start, end)| end.saturating_sub(*start)).unwrap_or_default();
        }
        let duration_ns = gap_end_ns.saturating_sub(gap_start_ns);
        if duration_ns > longest.as_ref().map_or(0, |longest| longest.duration_ns) {
            longest = Some(UnknownInterval {
                start_ns: gap_start_ns,
                duration_ns,
                after: previous_phase,
                before: next_phase,
            });
        }
        if end_ns.unwrap_or(start_ns) >= known_until_ns {
            known_until_ns = end_ns.unwrap_or(start_ns);
            previous_phase = next_phase;
        }
    }
    longest
}
