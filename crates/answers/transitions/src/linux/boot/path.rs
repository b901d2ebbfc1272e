//! Finds the critical path backwards from the default target, from each unit to what released it.

use hashbrown::HashSet;
use onoff_trace::Trace;

use super::report::{DefaultTarget, UnitPath, UnitPathStep};
use crate::usage;
use onoff_evidence::Certainty;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_usage::cpu::ProcessCpu;
use onoff_usage::units::WaitKind;
use onoff_usage::units::declared_order::UnitStarts;

/// Number of processes listed with each step.
const MAX_BUSIEST: usize = 3;

/// Returns the path, and the indices of its units in `starts`.
pub(super) fn critical_path(
    trace: &Trace,
    starts: &UnitStarts<'_>,
    target: Option<&DefaultTarget>,
) -> (UnitPath, HashSet<usize>) {
    let (mut path, indices) = steps(trace, starts, target);
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
) -> (UnitPath, HashSet<usize>) {
    let mut path = UnitPath::default();
    let mut indices = HashSet::new();
    if !starts.has_dependencies() {
        path.missing.push(MissingRecords::UnitDependencies);
    }
    let Some(target) = target else {
        path.missing.push(MissingRecords::ReachedTarget);
        return (path, indices);
    };
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
        path.steps.push(UnitPathStep {
            unit: trace.text(row.service).to_owned(),
            start_ns,
            end_ns,
            duration_ns: end_ns.saturating_sub(start_ns).max(0),
            released_by: release,
            busy_percent: None,
            busiest: Vec::new(),
            gap_busy_percent: None,
            gap_busiest: Vec::new(),
        });
        end_ns = released_ns;
    }
    path.steps.reverse();
    (path, indices)
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
