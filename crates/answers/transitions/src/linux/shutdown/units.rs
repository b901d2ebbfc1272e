//! Describes unit stops: durations, processes, and what each unit waited for.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, NotificationKind, Process, ServiceChange, ServiceTransition, StringId, Trace};

use super::report::StopStep;
use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_usage::processes::Images;
use onoff_usage::units::{TimeOut, TimeOutKind, Unit, UnitProcess, UnitWait, WaitKind, unit};

/// Maximum time from the exit of a stop command to the message that the unit stopped, ns. It includes the delay of the
/// service manager and errors of the log's clock conversion.
const MAX_STOP_DELAY_NS: i64 = 250_000_000;

/// Maximum difference between the clocks of processes and messages, ns.
const CLOCK_TOLERANCE_NS: i64 = 30_000_000;

/// Maximum time from the start of a stop command to the message that the unit is stopping, ns. The service manager
/// starts the command first.
const MAX_MESSAGE_DELAY_NS: i64 = 100_000_000;

/// Maximum number of candidate units per process.
const MAX_CANDIDATES: usize = 256;

/// Maximum number of steps in the path.
const MAX_STEPS: usize = 4_096;

/// Maximum number of dependencies to read.
const MAX_DEPENDENCIES: usize = 2_000_000;

/// Returns the units that stop at or after `from_ns`.
pub(super) fn stops(trace: &Trace, from_ns: i64) -> Vec<Unit> {
    let mut rows: Vec<ServiceTransition> = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Stop && row.start_ns >= from_ns)
        .collect();
    rows.sort_by_key(|row| (row.start_ns, row.end_ns));
    // Several records can report the same target.
    let mut seen = HashSet::new();
    rows.retain(|row| seen.insert((row.service, row.start_ns)));
    let main_pids = main_pids(trace);
    let killed: HashSet<StringId> = trace
        .notifications
        .iter()
        .filter(|row| row.kind == NotificationKind::Termination)
        .map(|row| row.name)
        .collect();
    let images = Images::new(trace);
    let mut units: Vec<Unit> = rows
        .iter()
        .map(|row| {
            let unit = unit(trace, &images, row);
            let main_pid = unit.pid.or_else(|| main_pids.get(&row.service).copied()).filter(|&pid| pid != 0);
            Unit { pid: main_pid, time_out: time_out(&unit, killed.contains(&row.service)), ..unit }
        })
        .collect();
    set_processes(trace, &mut units);
    set_waits(trace, &rows, &mut units);
    units
}

/// Returns the timeout that a unit exceeded, judging by its result, whether it was killed, or its duration.
fn time_out(unit: &Unit, was_killed: bool) -> Option<TimeOut> {
    let limit_ns = unit.limit_ns.filter(|&limit| limit > 0);
    let (certainty, evidence) = if unit.result == "timeout" {
        (Certainty::Measured, Reason::ReportedByServiceManager)
    } else if was_killed {
        (Certainty::Inferred, Reason::Killed)
    } else if limit_ns.zip(unit.duration_ns).is_some_and(|(limit, length)| length >= limit) {
        (Certainty::Inferred, Reason::TookTimeOut)
    } else {
        return None;
    };
    Some(TimeOut {
        kind: TimeOutKind::Service,
        at_ns: limit_ns.map(|limit| unit.start_ns.saturating_add(limit)),
        limit_ns,
        certainty,
        evidence: evidence.to_owned(),
    })
}

/// Returns the main process of each unit, from its start record.
fn main_pids(trace: &Trace) -> HashMap<StringId, u32> {
    trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Start)
        .filter_map(|row| Some((row.service, row.container_pid?)))
        .collect()
}

/// Sets the processes of each unit: its main process and its stop commands.
fn set_processes(trace: &Trace, units: &mut [Unit]) {
    let unit_process = |process: &Process, stops, certainty| UnitProcess {
        pid: process.pid,
        image: super::image(trace, process),
        start_ns: process.start_ns,
        end_ns: process.end_ns,
        stops,
        certainty,
    };
    let mut index_by_pid: HashMap<u32, usize> = HashMap::new();
    for (index, unit) in units.iter().enumerate() {
        if let Some(pid) = unit.pid {
            index_by_pid.insert(pid, index);
        }
    }
    let mut stops: Vec<(i64, usize)> =
        units.iter().enumerate().filter_map(|(index, unit)| Some((unit.end_ns?, index))).collect();
    stops.sort();
    for process in trace.processes.iter() {
        let main_of = index_by_pid.get(&process.pid).and_then(|&index| units.get_mut(index)).filter(|unit| {
            process.start_ns.is_none_or(|start| start <= unit.start_ns)
                && process.end_ns.is_none_or(|end| end >= unit.start_ns)
        });
        if let Some(unit) = main_of {
            unit.processes.push(unit_process(&process, false, Certainty::Measured));
            continue;
        }
        // The service manager starts stop commands. The records do not name the unit, but it stops just after the
        // command exits.
        let (Some(1), Some(start), Some(end)) = (process.parent_pid, process.start_ns, process.end_ns) else {
            continue;
        };
        // Take the first unit that stops after the command, within the time limit.
        let first_index = stops.partition_point(|&(stop_ns, _)| stop_ns < end.saturating_sub(CLOCK_TOLERANCE_NS));
        let unit = stops
            .iter()
            .skip(first_index)
            .take_while(|&&(stop_ns, _)| stop_ns <= end.saturating_add(MAX_STOP_DELAY_NS))
            .take(MAX_CANDIDATES)
            .find(|&&(_, index)| {
                units.get(index).is_some_and(|unit| {
                    unit.start_ns <= start.saturating_add(MAX_MESSAGE_DELAY_NS)
                        && unit.duration_ns.is_some_and(|length| length > 0)
                })
            })
            .and_then(|&(_, index)| units.get_mut(index));
        if let Some(unit) = unit {
            unit.processes.push(unit_process(&process, true, Certainty::Inferred));
        }
    }
    for unit in units {
        unit.processes.sort_by_key(|process| process.end_ns);
    }
}

/// Sets what each unit waited for: a unit stops after the units that are ordered to start after it.
fn set_waits(trace: &Trace, rows: &[ServiceTransition], units: &mut [Unit]) {
    let mut index_by_unit: HashMap<StringId, usize> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        index_by_unit.insert(row.service, index);
    }
    // For each unit: of the units that had to stop first, the last to stop before this unit began to stop.
    let mut last_predecessor: HashMap<usize, (i64, usize)> = HashMap::new();
    for row in trace.service_dependencies.iter().take(MAX_DEPENDENCIES) {
        if row.kind != DependencyKind::After {
            continue;
        }
        let (Some(&predecessor), Some(&unit)) = (index_by_unit.get(&row.service), index_by_unit.get(&row.on)) else {
            continue;
        };
        let (Some(end), Some(start)) =
            (rows.get(predecessor).and_then(|row| row.end_ns), rows.get(unit).map(|row| row.start_ns))
        else {
            continue;
        };
        if end > start || predecessor == unit {
            continue;
        }
        let latest = last_predecessor.entry(unit).or_insert((end, predecessor));
        if end > latest.0 {
            *latest = (end, predecessor);
        }
    }
    for (unit, (end, predecessor)) in last_predecessor {
        let Some(name) = units.get(predecessor).map(|unit| unit.name.clone()) else { continue };
        if let Some(unit) = units.get_mut(unit) {
            let gap_ns = unit.start_ns.saturating_sub(end);
            unit.waited_for = Some(UnitWait {
                name,
                kind: WaitKind::DeclaredOrder,
                time_ns: end,
                gap_ns,
                certainty: Certainty::Measured,
            });
        }
    }
}

/// Returns the critical path of stopping units until `end_ns`, latest first.
pub(super) fn path(units: &[Unit], end_ns: i64) -> Vec<StopStep> {
    let mut by_end: Vec<(i64, usize)> = units
        .iter()
        .enumerate()
        .filter_map(|(index, unit)| Some((unit.end_ns.filter(|&end| end <= end_ns)?, index)))
        .collect();
    by_end.sort();
    let index_by_name: HashMap<&str, usize> =
        units.iter().enumerate().map(|(index, unit)| (unit.name.as_str(), index)).collect();
    let mut steps = Vec::new();
    let mut visited = HashSet::new();
    let mut until_ns = end_ns;
    let mut next = by_end.last().map(|&(_, index)| (index, Certainty::Inferred));
    while let Some((index, certainty)) = next {
        let Some(unit) = units.get(index) else { break };
        let Some(stopped_ns) = unit.end_ns else { break };
        if !visited.insert(index) || steps.len() >= MAX_STEPS {
            break;
        }
        steps.push(StopStep {
            name: unit.name.clone(),
            start_ns: unit.start_ns,
            end_ns: stopped_ns,
            duration_ns: stopped_ns.saturating_sub(unit.start_ns).max(0),
            gap_ns: until_ns.saturating_sub(stopped_ns),
            certainty,
        });
        until_ns = unit.start_ns;
        let declared_predecessor = unit
            .waited_for
            .as_ref()
            .and_then(|wait| index_by_name.get(wait.name.as_str()))
            .map(|&predecessor| (predecessor, Certainty::Measured));
        next = declared_predecessor.or_else(|| {
            let count = by_end.partition_point(|&(end, _)| end <= unit.start_ns);
            by_end
                .get(..count)?
                .iter()
                .rev()
                .find(|(_, index)| !visited.contains(index))
                .map(|&(_, index)| (index, Certainty::Inferred))
        });
    }
    steps
}
