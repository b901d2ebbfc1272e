//! Analyzes a Linux shutdown: units, processes, systemd-shutdown, kernel.
//!
//! [`analyze`] turns a Linux [`Trace`] into a [`LinuxShutdownReport`]. If the recording contains no shutdown, it
//! returns what the recording contains instead.

mod boundaries;
mod processes;
pub mod report;
#[cfg(test)]
mod tests;
mod units;

use crate::{Phase, PhaseName};
use hashbrown::{HashMap, HashSet};
use onoff_trace::{Process, StringId, SystemKind, TableName, TableSet, Trace};

pub use report::*;

use crate::shutdown::NoShutdown;
use crate::usage;
use crate::{TransitionKind, contents};
use boundaries::ShutdownBoundaries;
use onoff_evidence::missing_evidence::{MissingEvidence, UnknownFact};
use onoff_evidence::reason::Reason;
use onoff_evidence::{Boundary, Certainty, affecting_losses};
use onoff_usage::processes::Images;
use onoff_usage::units::{Unit, UnitProcess};

/// The tables that the analysis reads; if a trace was opened with fewer, results are less complete.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::DiskIos,
    TableName::ServiceTransitions,
    TableName::ServiceDependencies,
    TableName::Milestones,
    TableName::Activities,
    TableName::Notifications,
]);

/// The tables that boundary rules read.
const BOUNDARY_TABLES: [TableName; 4] =
    [TableName::ServiceTransitions, TableName::Milestones, TableName::Activities, TableName::Notifications];

/// Analyzes the shutdown in `trace`, or the last shutdown if there are several.
///
/// # Errors
/// The recording contains no shutdown; the error describes what it contains instead.
pub fn analyze(trace: &Trace) -> Result<LinuxShutdownReport, Box<NoShutdown>> {
    let Some(boundaries) = boundaries::find(trace) else { return Err(Box::new(not_a_shutdown(trace))) };
    let from_ns = boundaries.starts.time_ns.unwrap_or(0);
    let images = Images::new(trace);
    let mut units = units::stops(trace, from_ns);
    let killed = processes::killed_processes(trace, &images, from_ns);
    let processes = processes::signaled_processes(trace, &images, &units, &killed, from_ns);
    let total_ns = boundaries.ends.time_ns.map(|end| end.saturating_sub(from_ns));
    let total_at_least_ns = total_ns.unwrap_or_else(|| boundaries.known_until_ns.saturating_sub(from_ns).max(0));
    let phases = phases(trace, &boundaries);
    let stopped_ns = phases.first().and_then(|phase| phase.end_ns).unwrap_or(boundaries.known_until_ns);
    let path = units::path(&units, stopped_ns);
    let on_path: HashSet<(String, i64)> = path.iter().map(|step| (step.name.clone(), step.start_ns)).collect();
    for unit in &mut units {
        unit.on_path = on_path.contains(&(unit.name.clone(), unit.start_ns));
    }
    let missing_evidence = missing_evidence(trace, &phases, &units, &processes);
    let details = LinuxShutdown {
        variant_rule: boundaries.variant_rule.clone(),
        starts: boundaries.starts.clone(),
        ends: boundaries.ends.clone(),
        longest: None,
        path,
        processes,
        killed,
    };
    let mut report = LinuxShutdownReport {
        system: SystemKind::Linux,
        kind: TransitionKind::Shutdown,
        variant: boundaries.variant,
        number: 1,
        start_ns: boundaries.starts.time_ns,
        end_ns: boundaries.ends.time_ns,
        settling: None,
        missing_evidence,
        details,
        total_ns,
        total_at_least_ns,
        user_input_ns: 0,
        total_certainty: match total_ns {
            Some(_) => boundaries.starts.certainty.and(boundaries.ends.certainty),
            None => Certainty::Missing,
        },
        affecting_losses: affecting_losses(trace, &BOUNDARY_TABLES),
        phases,
        units,
        losses: trace.losses.clone(),
        culprits: Vec::new(),
        fix_first: None,
    };
    report.details.longest = longest(&report, boundaries.known_until_ns);
    Ok(report)
}

fn not_a_shutdown(trace: &Trace) -> NoShutdown {
    let contents = contents::describe_instead(trace, TransitionKind::Shutdown);
    let mut description = contents.found;
    // An orderly end of a journal means a shutdown, so the user may have meant another boot.
    let other_boots: Vec<String> =
        trace.boots.iter().filter(|boot| boot.stopped && !boot.read).map(|boot| boot.number.to_string()).collect();
    if !other_boots.is_empty() {
        description += &format!(
            "; other boots in its journal ended with a shutdown: use '--boot N' with N = {}",
            other_boots.join(" or ")
        );
    }
    NoShutdown {
        reason: "no shutdown request, no shutdown target reached, and no message of systemd-shutdown".to_owned(),
        found: description,
        recorder: trace.recorder.clone(),
        duration_ns: trace.length_ns(),
        processes_before: contents.processes_before,
        processes_started: contents.processes_started,
        processes_ended: contents.processes_ended,
        losses: trace.losses.clone(),
    }
}

/// Returns the units on the critical path of stopping, latest first, each with start, end and stopping process.
pub fn critical_stops(trace: &Trace) -> Vec<(StringId, i64, i64, Option<u32>)> {
    let Some(boundaries) = boundaries::find(trace) else { return Vec::new() };
    let units = units::stops(trace, boundaries.starts.time_ns.unwrap_or(0));
    let stopped_ns = boundaries.phases.first().and_then(|(_, _, end)| end.time_ns);
    units::path(&units, stopped_ns.unwrap_or(boundaries.known_until_ns))
        .into_iter()
        .filter_map(|step| {
            let service = trace.strings.find(&step.name)?;
            Some((service, step.start_ns, step.end_ns, None))
        })
        .collect()
}

/// Returns the process that stops each unit, or that the unit's stop waits for, by unit and time of the stop request.
/// Among several processes, returns the process that ran longest during the stop.
pub fn stop_processes(trace: &Trace) -> HashMap<(StringId, i64), u32> {
    let Some(boundaries) = boundaries::find(trace) else { return HashMap::new() };
    let units = units::stops(trace, boundaries.starts.time_ns.unwrap_or(0));
    units
        .into_iter()
        .filter_map(|unit| {
            let stop_ns = unit.start_ns;
            let runtime_ns = |row: &UnitProcess| {
                let end_ns = row.end_ns.or(unit.end_ns).unwrap_or(stop_ns);
                end_ns.saturating_sub(row.start_ns.map_or(stop_ns, |start| start.max(stop_ns)))
            };
            let process = unit.processes.iter().max_by_key(|&row| runtime_ns(row))?;
            Some(((trace.strings.find(&unit.name)?, stop_ns), process.pid))
        })
        .collect()
}

/// Builds the phases, with CPU and disk usage.
fn phases(trace: &Trace, boundaries: &ShutdownBoundaries) -> Vec<Phase> {
    let affecting_losses = affecting_losses(trace, &BOUNDARY_TABLES);
    let describe = |(name, starts, ends): &(PhaseName, Boundary, Boundary)| Phase {
        affecting_losses: affecting_losses.clone(),
        ..Phase::from_boundaries(*name, starts, ends).recorded_until(boundaries.known_until_ns)
    };
    let mut phases: Vec<Phase> = boundaries.phases.iter().map(describe).collect();
    usage::fill(trace, &mut phases);
    phases
}

/// Returns the longest of the unit stops and the phases after them.
fn longest(report: &LinuxShutdownReport, known_until_ns: i64) -> Option<LongestStop> {
    let shutdown_ns = report.total_ns.unwrap_or(report.total_at_least_ns);
    let percent = |ns: i64| onoff_usage::cpu::percent_of(ns, shutdown_ns);
    let units = report.units.iter().map(|unit| {
        let duration_ns = unit.duration_ns.unwrap_or_else(|| known_until_ns.saturating_sub(unit.start_ns).max(0));
        LongestStop {
            name: unit.name.clone(),
            is_unit: true,
            start_ns: unit.start_ns,
            duration_ns,
            percent: percent(duration_ns),
            on_path: unit.on_path,
            reason: unit_reason(unit),
        }
    });
    let phases = report.phases.iter().filter(|phase| phase.name != PhaseName::StopUnits).filter_map(|phase| {
        Some(LongestStop {
            name: phase.name.as_str().to_owned(),
            is_unit: false,
            start_ns: phase.start_ns?,
            duration_ns: phase.recorded_ns,
            percent: percent(phase.recorded_ns),
            on_path: true,
            reason: match phase.end_ns {
                Some(_) => Reason::None,
                None => Reason::Unfinished,
            },
        })
    });
    // Among stops of equal duration, the first to start.
    units
        .chain(phases)
        .filter(|stop| stop.duration_ns > 0)
        .max_by_key(|stop| (stop.duration_ns, std::cmp::Reverse(stop.start_ns)))
}

/// Returns why a unit took so long, as far as recorded.
fn unit_reason(unit: &Unit) -> Reason {
    if let Some(time_out) = &unit.time_out {
        return Reason::UnitKilled { limit_ns: time_out.limit_ns };
    }
    if unit.end_ns.is_none() {
        return Reason::UnitNotStopped;
    }
    let runtime_ns = |process: &UnitProcess| {
        let start_ns = process.start_ns.unwrap_or(unit.start_ns).max(unit.start_ns);
        process.end_ns.map(|end| end.saturating_sub(start_ns))
    };
    let longest = unit
        .processes
        .iter()
        .filter_map(|process| Some((runtime_ns(process)?, process)))
        .max_by_key(|(runtime_ns, _)| *runtime_ns);
    match longest {
        Some((ran_ns, process)) if ran_ns.saturating_mul(2) >= unit.duration_ns.unwrap_or(i64::MAX) => {
            Reason::UnitProcessRan {
                is_stop_command: process.stops,
                image: process.image.clone(),
                pid: process.pid,
                ran_ns,
            }
        }
        _ => Reason::None,
    }
}

/// Returns the evidence that the recording does not contain.
fn missing_evidence(trace: &Trace, phases: &[Phase], units: &[Unit], signaled: &[ProcessStop]) -> MissingEvidence {
    let mut facts = Vec::new();
    let is_requested = |table| trace.requested_tables.contains(table);
    let has_start = |name: PhaseName| phases.iter().any(|phase| phase.name == name && phase.start_ns.is_some());
    let has_end = |name: PhaseName| phases.iter().any(|phase| phase.name == name && phase.end_ns.is_some());
    if units.is_empty() {
        facts.push(UnknownFact::UnitStops);
    } else if is_requested(TableName::ServiceDependencies) && trace.service_dependencies.is_empty() {
        facts.push(UnknownFact::UnitStopOrder);
    }
    if !has_start(PhaseName::TerminateRemaining) {
        facts.push(UnknownFact::AfterUnits);
    }
    if !has_end(PhaseName::Kernel) {
        facts.push(UnknownFact::MachineStopped);
    }
    if is_requested(TableName::ContextSwitches) && trace.context_switches.is_empty() {
        facts.push(UnknownFact::LinuxProcessorsAtShutdown);
    }
    if signaled.is_empty() {
        facts.push(UnknownFact::Signals);
    }
    if is_requested(TableName::DiskIos) && trace.disk_ios.is_empty() {
        facts.push(UnknownFact::LinuxDisks);
    }
    MissingEvidence::for_linux(facts)
}

/// Returns the image file name of a process.
fn image(trace: &Trace, process: &Process) -> String {
    let image = trace.text(process.image);
    image.rsplit('/').next().unwrap_or(image).to_owned()
}
