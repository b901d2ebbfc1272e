//! Finds the bounds of sleeps from the records of their transitions.

use onoff_trace::{Activity, ActivityKind, Milestone, Trace, milestone};

use super::SleepWindow;
use super::cycles::{self, Cycle};
use super::durations::{before_kernel_ns, clock_kept_running, uncovered_image_write_ns, wall_clock_gap};
use onoff_evidence::phase_name::{PhaseName, SuspendStage};

/// Maximum time without CPU activity on a running machine, ns; a running machine switches many times a second.
const MAX_SILENCE_NS: i64 = 1_000_000_000;

/// Finds the sleeps of Windows, each between the last suspend record and the first resume record. If a record is
/// missing, the transition bounds the sleep, which must then be longer than a running machine can be silent.
pub(super) fn windows_sleeps(trace: &Trace) -> Vec<SleepWindow> {
    let cycles = cycles::find(trace);
    cycles.iter().filter(|cycle| cycle.standby.is_none()).filter_map(|cycle| window(trace, cycle)).collect()
}

fn window(trace: &Trace, cycle: &Cycle) -> Option<SleepWindow> {
    let resume_ns = cycle.awake_ns(trace);
    let suspend_ns = last_suspend_ns(trace, cycle, resume_ns.unwrap_or(i64::MAX));
    let transition = cycle.transition.and_then(|row| Some((row.start_ns, row.end_ns?)));
    let ((start_ns, end_ns), min_ns) = match (suspend_ns, resume_ns) {
        (Some(suspend), Some(resume)) => ((suspend, resume), 0),
        (Some(suspend), None) => ((suspend, transition?.1), MAX_SILENCE_NS),
        (None, Some(resume)) => ((transition?.0, resume), MAX_SILENCE_NS),
        (None, None) => (transition?, MAX_SILENCE_NS),
    };
    let axis_ns = end_ns.saturating_sub(start_ns);
    let real_ns = wall_clock_gap(trace, cycle, axis_ns, Some(cycle.first_ns)).map(|(ns, ..)| ns);
    let unrecorded = if clock_kept_running(real_ns.map(|real| real.saturating_sub(axis_ns))) {
        let written_ns = uncovered_image_write_ns(trace, cycle, suspend_ns).unwrap_or(0);
        (written_ns, before_kernel_ns(trace, cycle))
    } else {
        (0, 0)
    };
    (start_ns < end_ns).then_some(SleepWindow { bounds: (start_ns, end_ns), min_ns, unrecorded })
}

/// Returns the time of the last suspend record, in ns.
fn last_suspend_ns(trace: &Trace, cycle: &Cycle, awake_ns: i64) -> Option<i64> {
    let time = |row: Option<Milestone>| row.map(|row| row.time_ns);
    let suspend_phases = cycle.phases.iter().filter(|(name, _)| name.half() == Some(SuspendStage::Suspend));
    suspend_phases
        .filter_map(|(_, row)| row.end_ns)
        .chain(time(cycle.milestone(trace, milestone::SLEEP)))
        .chain(time(cycle.image_start(trace)))
        .filter(|&time_ns| time_ns <= awake_ns)
        .max()
}

/// Finds the sleeps of Linux, each between the two records of the machine phase.
pub(super) fn linux_sleeps(trace: &Trace) -> Vec<SleepWindow> {
    let is_machine_phase = |row: &Activity| PhaseName::parse(trace.text(row.name)) == Some(PhaseName::Machine);
    let rows = trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerPhase && is_machine_phase(row));
    let intervals = rows.filter_map(|row| Some((row.start_ns, row.end_ns.filter(|&end| end > row.start_ns)?)));
    intervals.map(|bounds| SleepWindow { bounds, min_ns: 0, unrecorded: (0, 0) }).collect()
}
