//! Finds the bounds of sleeps from the records of their transitions.

use onoff_trace::{Activity, ActivityKind, Milestone, Trace, milestone};

use super::SleepWindow;
use super::cycles::{self, Cycle};
use super::durations::{before_kernel_ns, kept_running, uncovered_image_write_ns, wall_clock_gap};
use onoff_evidence::phase_name::{PhaseName, SuspendStage};

/// Maximum time without CPU activity on a running machine, ns; a running machine switches many times a second.
const MAX_SILENCE_NS: i64 = 1_000_000_000;

/// The sleeps, each between the last suspend record and the first resume record. If one of them was not recorded, the
/// transition bounds the sleep, which must be longer than a running machine can be silent.
pub(super) fn of_windows(trace: &Trace) -> Vec<SleepWindow> {
    let cycles = cycles::find(trace);
    cycles.iter().filter(|cycle| cycle.standby.is_none()).filter_map(|cycle| window(trace, cycle)).collect()
}

fn window(trace: &Trace, cycle: &Cycle) -> Option<SleepWindow> {
    let up_ns = cycle.awake_ns(trace);
    let down_ns = down_ns(trace, cycle, up_ns.unwrap_or(i64::MAX));
    let whole = cycle.whole.and_then(|row| Some((row.start_ns, row.end_ns?)));
    let (between, min_ns) = match (down_ns, up_ns) {
        (Some(down), Some(up)) => ((down, up), 0),
        (Some(down), None) => ((down, whole?.1), MAX_SILENCE_NS),
        (None, Some(up)) => ((whole?.0, up), MAX_SILENCE_NS),
        (None, None) => (whole?, MAX_SILENCE_NS),
    };
    let on_axis = between.1.saturating_sub(between.0);
    let real_ns = wall_clock_gap(trace, cycle, on_axis, Some(cycle.first_ns)).map(|(ns, ..)| ns);
    let unrecorded = if kept_running(real_ns.map(|real| real.saturating_sub(on_axis))) {
        let written_ns = uncovered_image_write_ns(trace, cycle, down_ns).unwrap_or(0);
        (written_ns, before_kernel_ns(trace, cycle))
    } else {
        (0, 0)
    };
    (between.0 < between.1).then_some(SleepWindow { between, min_ns, unrecorded })
}

/// Time of the last suspend record, ns.
fn down_ns(trace: &Trace, cycle: &Cycle, awake_ns: i64) -> Option<i64> {
    let time = |row: Option<Milestone>| row.map(|row| row.time_ns);
    let suspend_phases = cycle.phases.iter().filter(|(name, _)| name.half() == Some(SuspendStage::Suspend));
    suspend_phases
        .filter_map(|(_, row)| row.end_ns)
        .chain(time(cycle.milestone(trace, milestone::SLEEP)))
        .chain(time(cycle.image_begins(trace)))
        .filter(|&time_ns| time_ns <= awake_ns)
        .max()
}

/// The intervals in which the machine slept, each between two records.
pub(super) fn of_linux(trace: &Trace) -> Vec<SleepWindow> {
    let machine = |row: &Activity| PhaseName::parse(trace.text(row.name)) == Some(PhaseName::Machine);
    let rows = trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerPhase && machine(row));
    let ends = rows.filter_map(|row| Some((row.start_ns, row.end_ns.filter(|&end| end > row.start_ns)?)));
    ends.map(|between| SleepWindow { between, min_ns: 0, unrecorded: (0, 0) }).collect()
}
