//! Unit stops: durations, processes, and what each unit waited for.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, NotificationKind, Process, ServiceChange, ServiceTransition, StringId, Trace};

use super::report::StopStep;
use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_usage::processes::Images;
use onoff_usage::units::{TimeOut, TimeOutKind, Unit, UnitProcess, UnitWait, WaitKind, unit};

/// Maximum time from the exit of a stop command to the message that the unit stopped, ns: includes the delay of the
/// service manager and the conversion of the log's clock.
const MAX_STOP_DELAY_NS: i64 = 250_000_000;

/// Maximum difference between the clocks of processes and messages, ns.
const CLOCK_TOLERANCE_NS: i64 = 30_000_000;

/// Maximum time from the start of a stop command to the message that the unit is stopping, ns: the service manager
/// starts it, then writes the message.
const MAX_MESSAGE_DELAY_NS: i64 = 100_000_000;

/// Maximum number of candidate units per process.
const MAX_CANDIDATES: usize = 256;

/// Maximum number of steps in the path.
const MAX_STEPS: usize = 4_096;

/// Maximum number of dependencies to read.
const MAX_DEPENDENCIES: usize = 2_000_000;

/// Units that stop at or after `from_ns`.
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
    let images = Images::of(trace);
    let mut units: Vec<Unit> = rows
        .iter()
        .map(|row| {
            let unit = unit(trace, &images, row);
            let main = unit.pid.or_else(|| main_pids.get(&row.service).copied()).filter(|&pid| pid != 0);
            Unit { pid: main, time_out: time_out(&unit, killed.contains(&row.service)), ..unit }
        })
        .collect();
    processes(trace, &mut units);
    waits(trace, &rows, &mut units);
    units
}

/// The time-out that a unit exceeded, according to its result, because it was killed, or by its duration.
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

/// The main process of each unit, from its start record.
fn main_pids(trace: &Trace) -> HashMap<StringId, u32> {
    trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Start)
        .filter_map(|row| Some((row.service, row.container_pid?)))
        .collect()
}

/// Sets the processes of each unit: its main process and its stop commands.
fn processes(trace: &Trace, units: &mut [Unit]) {
    let of = |process: &Process, stops, certainty| UnitProcess {
        pid: process.pid,
        image: super::image(trace, process),
        start_ns: process.start_ns,
        end_ns: process.end_ns,
        stops,
        certainty,
    };
    let mut by_pid: HashMap<u32, usize> = HashMap::new();
    for (at, unit) in units.iter().enumerate() {
        if let Some(pid) = unit.pid {
            by_pid.insert(pid, at);
        }
    }
    let mut stopped: Vec<(i64, usize)> =
        units.iter().enumerate().filter_map(|(at, unit)| Some((unit.end_ns?, at))).collect();
    stopped.sort();
    for process in trace.processes.iter() {
        let main = by_pid.get(&process.pid).and_then(|&at| units.get_mut(at)).filter(|unit| {
            process.start_ns.is_none_or(|start| start <= unit.start_ns)
                && process.end_ns.is_none_or(|end| end >= unit.start_ns)
        });
        if let Some(unit) = main {
            unit.processes.push(of(&process, false, Certainty::Measured));
            continue;
        }
        // The service manager starts stop commands. The records do not name the unit, but it stops just after the
        // command exits.
        let (Some(1), Some(start), Some(end)) = (process.parent_pid, process.start_ns, process.end_ns) else {
            continue;
        };
        // The first unit that stops after that, within the time limit.
        let first = stopped.partition_point(|&(at, _)| at < end.saturating_sub(CLOCK_TOLERANCE_NS));
        let unit = stopped
            .iter()
            .skip(first)
            .take_while(|&&(at, _)| at <= end.saturating_add(MAX_STOP_DELAY_NS))
            .take(MAX_CANDIDATES)
            .find(|&&(_, at)| {
                units.get(at).is_some_and(|unit| {
                    unit.start_ns <= start.saturating_add(MAX_MESSAGE_DELAY_NS)
                        && unit.duration_ns.is_some_and(|length| length > 0)
                })
            })
            .and_then(|&(_, at)| units.get_mut(at));
        if let Some(unit) = unit {
            unit.processes.push(of(&process, true, Certainty::Inferred));
        }
    }
    for unit in units {
        unit.processes.sort_by_key(|process| process.end_ns);
    }
}

/// Sets what each unit waited for: the units that are ordered to start after it stop before it.
fn waits(trace: &Trace, rows: &[ServiceTransition], units: &mut [Unit]) {
    let mut places: HashMap<StringId, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        places.insert(row.service, at);
    }
    // For each unit: the one that had to stop before it and stopped last before it began to stop.
    let mut last: HashMap<usize, (i64, usize)> = HashMap::new();
    for row in trace.service_dependencies.iter().take(MAX_DEPENDENCIES) {
        if row.kind != DependencyKind::After {
            continue;
        }
        let (Some(&before), Some(&unit)) = (places.get(&row.service), places.get(&row.on)) else { continue };
        let (Some(end), Some(start)) =
            (rows.get(before).and_then(|row| row.end_ns), rows.get(unit).map(|row| row.start_ns))
        else {
            continue;
        };
        if end > start || before == unit {
            continue;
        }
        let found = last.entry(unit).or_insert((end, before));
        if end > found.0 {
            *found = (end, before);
        }
    }
    for (unit, (end, before)) in last {
        let Some(name) = units.get(before).map(|unit| unit.name.clone()) else { continue };
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

/// The critical path of stopping units until `end_ns`, latest first.
pub(super) fn path(units: &[Unit], end_ns: i64) -> Vec<StopStep> {
    let mut by_end: Vec<(i64, usize)> = units
        .iter()
        .enumerate()
        .filter_map(|(at, unit)| Some((unit.end_ns.filter(|&end| end <= end_ns)?, at)))
        .collect();
    by_end.sort();
    let places: HashMap<&str, usize> = units.iter().enumerate().map(|(at, unit)| (unit.name.as_str(), at)).collect();
    let mut steps = Vec::new();
    let mut used = HashSet::new();
    let mut until_ns = end_ns;
    let mut next = by_end.last().map(|&(_, at)| (at, Certainty::Inferred));
    while let Some((at, certainty)) = next {
        let Some(unit) = units.get(at) else { break };
        let Some(stopped) = unit.end_ns else { break };
        if !used.insert(at) || steps.len() >= MAX_STEPS {
            break;
        }
        steps.push(StopStep {
            name: unit.name.clone(),
            start_ns: unit.start_ns,
            end_ns: stopped,
            duration_ns: stopped.saturating_sub(unit.start_ns).max(0),
            gap_ns: until_ns.saturating_sub(stopped),
            certainty,
        });
        until_ns = unit.start_ns;
        let declared = unit
            .waited_for
            .as_ref()
            .and_then(|wait| places.get(wait.name.as_str()))
            .map(|&before| (before, Certainty::Measured));
        next = declared.or_else(|| {
            let by = by_end.partition_point(|&(end, _)| end <= unit.start_ns);
            by_end
                .get(..by)?
                .iter()
                .rev()
                .find(|(_, before)| !used.contains(before))
                .map(|&(_, before)| (before, Certainty::Inferred))
        });
    }
    steps
}
