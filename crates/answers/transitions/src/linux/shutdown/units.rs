//! Units that are stopped: how long, with which processes, and what each waited for.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, NotificationKind, Process, ServiceChange, ServiceTransition, StringId, Trace};

use super::report::StopStep;
use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_usage::processes::Images;
use onoff_usage::units::{TimeOut, TimeOutKind, Unit, UnitProcess, UnitWait, WaitKind, unit};

/// How long after the end of the process that stops it a unit is said to be stopped, at most, ns: the service manager has to get to
/// it and to write the message, and the log's clock is converted.
const STOPPED_AFTER_NS: i64 = 250_000_000;

/// How far the clocks of processes and messages may be apart, ns.
const CLOCKS_APART_NS: i64 = 30_000_000;

/// How long before the message that a unit stops the process that stops it is started, at most, ns: the service manager starts it, then
/// writes.
const STARTED_BEFORE_NS: i64 = 100_000_000;

/// Units stopped in time that are looked at for one process, at most.
const MAX_CANDIDATES: usize = 256;

/// Steps of the path, at most.
const MAX_STEPS: usize = 4_096;

/// Declared orders looked at, at most.
const MAX_DEPENDENCIES: usize = 2_000_000;

/// Units that stop from `from_ns` on.
pub(super) fn stops(trace: &Trace, from_ns: i64) -> Vec<Unit> {
    let mut rows: Vec<ServiceTransition> = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Stop && row.start_ns >= from_ns)
        .collect();
    rows.sort_by_key(|row| (row.start_ns, row.end_ns));
    // A target that several records tell of.
    let mut met = HashSet::new();
    rows.retain(|row| met.insert((row.service, row.start_ns)));
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

/// The time-out that a unit ran into: by its result, because it was ended by force, or by its length.
fn time_out(unit: &Unit, was_killed: bool) -> Option<TimeOut> {
    let limit_ns = unit.limit_ns.filter(|&limit| limit > 0);
    let (certainty, evidence) = if unit.result == "timeout" {
        (Certainty::Measured, Reason::ServiceManagerSays)
    } else if was_killed {
        (Certainty::Inferred, Reason::EndedByForce)
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

/// Main process of each unit, by what its start says.
fn main_pids(trace: &Trace) -> HashMap<StringId, u32> {
    trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Start)
        .filter_map(|row| Some((row.service, row.container_pid?)))
        .collect()
}

/// Fills in the processes of each unit: its main process, and those that were started to stop it.
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
        // The service manager starts what stops a unit; nothing recorded says for which unit, but one is stopped just after.
        let (Some(1), Some(start), Some(end)) = (process.parent_pid, process.start_ns, process.end_ns) else {
            continue;
        };
        // Of the units that are stopped from then on, in time, the first.
        let first = stopped.partition_point(|&(at, _)| at < end.saturating_sub(CLOCKS_APART_NS));
        let unit = stopped
            .iter()
            .skip(first)
            .take_while(|&&(at, _)| at <= end.saturating_add(STOPPED_AFTER_NS))
            .take(MAX_CANDIDATES)
            .find(|&&(_, at)| {
                units.get(at).is_some_and(|unit| {
                    unit.start_ns <= start.saturating_add(STARTED_BEFORE_NS)
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

/// Fills in what each unit waited for: what is declared to start after it stops before it.
fn waits(trace: &Trace, rows: &[ServiceTransition], units: &mut [Unit]) {
    let mut places: HashMap<StringId, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        places.insert(row.service, at);
    }
    // By unit, the one that had to stop before it and stopped last by its begin.
    let mut last: HashMap<usize, (i64, usize)> = HashMap::new();
    for row in trace.service_dependencies.iter().take(MAX_DEPENDENCIES) {
        if row.kind != DependencyKind::After {
            continue;
        }
        let (Some(&before), Some(&unit)) = (places.get(&row.service), places.get(&row.on)) else { continue };
        let (Some(end), Some(begin)) =
            (rows.get(before).and_then(|row| row.end_ns), rows.get(unit).map(|row| row.start_ns))
        else {
            continue;
        };
        if end > begin || before == unit {
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

/// What the end of stopping, at `end_ns`, waited for, latest first.
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
