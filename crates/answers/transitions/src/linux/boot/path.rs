//! Finds the critical path backwards from the default target, from each unit to what released it: by declared order, or,
//! if that was not recorded, by the times of the units.

use hashbrown::HashSet;
use onoff_trace::Trace;

use super::report::{DefaultTarget, UnitPath, UnitPathStep};
use crate::usage;
use onoff_evidence::Certainty;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_usage::cpu::ProcessCpu;
use onoff_usage::units::declared_order::UnitStarts;
use onoff_usage::units::observed_order::ObservedOrder;
use onoff_usage::units::{UnitWait, WaitKind};

/// Number of processes listed with each step.
const MAX_BUSIEST: usize = 3;

/// Maximum number of steps found by times.
const MAX_OBSERVED_STEPS: usize = 500;

/// Returns the path, and the indices of its units in `starts`. The boot was finished at `finished_ns`.
pub(super) fn critical_path(
    trace: &Trace,
    starts: &UnitStarts<'_>,
    target: Option<&DefaultTarget>,
    finished_ns: Option<i64>,
) -> (UnitPath, HashSet<usize>) {
    let (mut path, indices) = steps(trace, starts, target, finished_ns);
    fill_usage(trace, &mut path.steps);
    for step in &path.steps {
        path.units_ns = path.units_ns.saturating_add(step.duration_ns);
        path.gaps_ns = path.gaps_ns.saturating_add(step.released_by.gap_ns);
    }
    path.certainty =
        path.steps.iter().map(|step| step.released_by.certainty).reduce(Certainty::and).unwrap_or(Certainty::Missing);
    (path, indices)
}

/// Returns the path without CPU usage and sums.
pub(super) fn steps(
    trace: &Trace,
    starts: &UnitStarts<'_>,
    target: Option<&DefaultTarget>,
    finished_ns: Option<i64>,
) -> (UnitPath, HashSet<usize>) {
    let mut path = UnitPath::default();
    let mut indices = HashSet::new();
    if target.is_none() {
        path.missing.push(MissingRecords::ReachedTarget);
    }
    if !starts.has_dependencies() {
        path.missing.push(MissingRecords::UnitDependencies);
        path.steps = observed_steps(trace, starts, (target, finished_ns), &mut indices);
        return (path, indices);
    }
    let Some(target) = target else { return (path, indices) };
    let mut next = starts.index_of(&target.unit, target.reached_ns);
    let mut end_ns = target.reached_ns;
    while let Some(index) = next.filter(|&index| indices.insert(index)) {
        let (Some(row), Some((releasing_index, release))) = (starts.row(index), starts.release(index)) else { break };
        // The wait for a device starts when the scan for it starts, not when the device was first mentioned.
        let start_ns = match release.kind {
            WaitKind::DeviceScan => release.time_ns.max(row.start_ns),
            _ => row.start_ns,
        };
        next = releasing_index;
        let released_ns = release.time_ns;
        path.steps.push(step(trace.text(row.service), (start_ns, end_ns), release));
        end_ns = released_ns;
    }
    path.steps.reverse();
    (path, indices)
}

/// Returns the steps to the default target, or to the end of the boot, by the times of the units.
fn observed_steps(
    trace: &Trace,
    starts: &UnitStarts<'_>,
    (target, finished_ns): (Option<&DefaultTarget>, Option<i64>),
    indices: &mut HashSet<usize>,
) -> Vec<UnitPathStep> {
    let mut steps = Vec::new();
    let Some(end_ns) = target.map(|target| target.reached_ns).or(finished_ns) else { return steps };
    let order = ObservedOrder::new(starts);
    let mut current = target.map(|target| (target.unit.as_str(), end_ns, end_ns));
    let mut start_ns = end_ns;
    while steps.len() < MAX_OBSERVED_STEPS {
        let Some(release) = order.release(start_ns, indices) else {
            break;
        };
        let released_ns = release.wait.time_ns;
        if let Some((unit, start_ns, end_ns)) = current.take() {
            steps.push(step(unit, (start_ns, end_ns), release.wait));
        }
        match (release.predecessor, release.continue_ns) {
            (Some((index, predecessor_start_ns)), _) if indices.insert(index) => {
                let Some(row) = starts.row(index) else { break };
                let end_ns = row.end_ns.map_or(released_ns, |end| end.min(released_ns));
                current = Some((trace.text(row.service), predecessor_start_ns, end_ns));
                start_ns = predecessor_start_ns;
            }
            (None, Some(earlier_ns)) if earlier_ns < start_ns => start_ns = earlier_ns,
            _ => break,
        }
    }
    if let Some((unit, start_ns, end_ns)) = current {
        let wait = UnitWait {
            name: String::new(),
            kind: WaitKind::Manager,
            time_ns: start_ns,
            gap_ns: 0,
            certainty: Certainty::Inferred,
        };
        steps.push(step(unit, (start_ns, end_ns), wait));
    }
    steps.reverse();
    steps
}

fn step(unit: &str, (start_ns, end_ns): (i64, i64), released_by: UnitWait) -> UnitPathStep {
    UnitPathStep {
        unit: unit.to_owned(),
        start_ns,
        end_ns,
        duration_ns: end_ns.saturating_sub(start_ns).max(0),
        released_by,
        busy_percent: None,
        busiest: Vec::new(),
        gap_busy_percent: None,
        gap_busiest: Vec::new(),
    }
}

/// Sets the CPU usage of each step and of the gap before it.
fn fill_usage(trace: &Trace, steps: &mut [UnitPathStep]) {
    let intervals: Vec<Option<(i64, i64)>> = steps
        .iter()
        .flat_map(|step| {
            let gap_start_ns = step.start_ns.saturating_sub(step.released_by.gap_ns);
            [(step.start_ns, step.end_ns), (gap_start_ns, step.start_ns)]
        })
        .map(|(start, end)| (start < end).then_some((start, end)))
        .collect();
    let mut usages = usage::in_intervals(trace, &intervals).into_iter().map(|(cpu, _)| {
        let cpu = cpu.filter(super::is_recorded)?;
        let busiest: Vec<ProcessCpu> = cpu.by_process.into_iter().take(MAX_BUSIEST).collect();
        let percent = if cpu.capacity_ns > 0 { cpu.busy_ns as f64 * 100.0 / cpu.capacity_ns as f64 } else { 0.0 };
        Some((percent, busiest))
    });
    for step in steps {
        if let Some((percent, busiest)) = usages.next().flatten() {
            step.busy_percent = Some(percent);
            step.busiest = busiest;
        }
        if let Some((percent, busiest)) = usages.next().flatten() {
            step.gap_busy_percent = Some(percent);
            step.gap_busiest = busiest;
        }
    }
}
