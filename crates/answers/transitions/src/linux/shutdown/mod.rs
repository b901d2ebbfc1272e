//! Where the time of a shutdown of Linux went: units, processes, the service manager's last program, the kernel.
//!
//! [`analyze`] turns a [`Trace`] of Linux into a [`LinuxShutdownReport`], or says that the recording holds no shutdown.

mod boundaries;
mod processes;
pub mod report;
#[cfg(test)]
mod tests;
mod units;

use crate::{Phase, PhaseName};
use hashbrown::{HashMap, HashSet};
use onoff_trace::{Process, StringId, SystemKind, TableName, Tables, Trace};

pub use report::*;

use crate::shutdown::NotAShutdown;
use crate::usage;
use crate::{TransitionKind, contents};
use boundaries::Course;
use onoff_evidence::missing_evidence::{Lacking, Unanswered};
use onoff_evidence::reason::Reason;
use onoff_evidence::{Boundary, Certainty, touched_by};
use onoff_usage::processes::Images;
use onoff_usage::units::{Unit, UnitProcess};

/// The tables that the analysis reads. An analysis of a trace that was opened with fewer says less.
pub const TABLES: Tables = Tables::of(&[
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

/// The tables that set boundaries.
const BOUNDARY_TABLES: [TableName; 4] =
    [TableName::ServiceTransitions, TableName::Milestones, TableName::Activities, TableName::Notifications];

/// Analyses the shutdown that `trace` holds: the last one, if a recording should hold several.
///
/// # Errors
/// The recording holds no shutdown; the error says what it holds instead.
pub fn analyze(trace: &Trace) -> Result<LinuxShutdownReport, Box<NotAShutdown>> {
    let Some(course) = boundaries::find(trace) else { return Err(Box::new(not_a_shutdown(trace))) };
    let from = course.starts.time_ns.unwrap_or(0);
    let images = Images::of(trace);
    let mut units = units::stops(trace, from);
    let killed = processes::killed(trace, &images, from);
    let processes = processes::asked(trace, &images, &units, &killed, from);
    let total_ns = course.ends.time_ns.map(|end| end.saturating_sub(from));
    let total_at_least_ns = total_ns.unwrap_or_else(|| course.known_until_ns.saturating_sub(from).max(0));
    let phases = phases(trace, &course);
    let stopped_ns = phases.first().and_then(|phase| phase.end_ns).unwrap_or(course.known_until_ns);
    let path = units::path(&units, stopped_ns);
    let on_path: HashSet<(String, i64)> = path.iter().map(|step| (step.name.clone(), step.start_ns)).collect();
    for unit in &mut units {
        unit.on_path = on_path.contains(&(unit.name.clone(), unit.start_ns));
    }
    let lacking = lacking(trace, &phases, &units, &processes);
    let details = LinuxShutdown {
        variant_rule: course.variant_rule.clone(),
        starts: course.starts.clone(),
        ends: course.ends.clone(),
        longest: None,
        path,
        processes,
        killed,
    };
    let mut report = LinuxShutdownReport {
        system: SystemKind::Linux,
        kind: TransitionKind::Shutdown,
        variant: course.variant,
        number: 1,
        start_ns: course.starts.time_ns,
        end_ns: course.ends.time_ns,
        settling: None,
        lacking,
        details,
        total_ns,
        total_at_least_ns,
        person_ns: 0,
        total_certainty: match total_ns {
            Some(_) => course.starts.certainty.and(course.ends.certainty),
            None => Certainty::Missing,
        },
        touched_by: touched_by(trace, &BOUNDARY_TABLES),
        phases,
        units,
        losses: trace.losses.clone(),
        culprits: Vec::new(),
        fix_first: None,
    };
    report.details.longest = longest(&report, course.known_until_ns);
    Ok(report)
}

fn not_a_shutdown(trace: &Trace) -> NotAShutdown {
    let contents = contents::instead_of(trace, TransitionKind::Shutdown);
    let mut found = contents.found;
    // A journal that is stopped in order is so by a shutdown: another boot may be the one that is meant.
    let others: Vec<String> =
        trace.boots.iter().filter(|boot| boot.stopped && !boot.read).map(|boot| boot.number.to_string()).collect();
    if !others.is_empty() {
        found += &format!(
            "; other boots of its journal end in order: '--boot N' shows one, N being {}",
            others.join(" or ")
        );
    }
    NotAShutdown {
        reason: "no shutdown is requested, no target of a shutdown is reached, and the service manager's last program says nothing"
            .to_owned(),
        found,
        recorder: trace.recorder.clone(),
        duration_ns: trace.length_ns(),
        processes_before: contents.processes_before,
        processes_started: contents.processes_started,
        processes_ended: contents.processes_ended,
        losses: trace.losses.clone(),
    }
}

/// The units that the end of stopping waited for, latest first, each with begin, end and the process that stops it.
pub fn way(trace: &Trace) -> Vec<(StringId, i64, i64, Option<u32>)> {
    let Some(course) = boundaries::find(trace) else { return Vec::new() };
    let units = units::stops(trace, course.starts.time_ns.unwrap_or(0));
    let stopped_ns = course.phases.first().and_then(|phase| phase.2.time_ns);
    units::path(&units, stopped_ns.unwrap_or(course.known_until_ns))
        .into_iter()
        .filter_map(|step| {
            let service = trace.strings.find(&step.name)?;
            Some((service, step.start_ns, step.end_ns, None))
        })
        .collect()
}

/// The process that stops each unit, or that the unit's stop waits for: of several, the one that lived longest in it. By
/// the unit and when it was asked to stop.
pub fn stoppers(trace: &Trace) -> HashMap<(StringId, i64), u32> {
    let Some(course) = boundaries::find(trace) else { return HashMap::new() };
    let units = units::stops(trace, course.starts.time_ns.unwrap_or(0));
    units
        .into_iter()
        .filter_map(|unit| {
            let stop_ns = unit.start_ns;
            let lived = |row: &UnitProcess| {
                let end_ns = row.end_ns.or(unit.end_ns).unwrap_or(stop_ns);
                end_ns.saturating_sub(row.start_ns.map_or(stop_ns, |start| start.max(stop_ns)))
            };
            let process = unit.processes.iter().max_by_key(|&row| lived(row))?;
            Some(((trace.strings.find(&unit.name)?, stop_ns), process.pid))
        })
        .collect()
}

/// The phases, with what the machine did in each.
fn phases(trace: &Trace, course: &Course) -> Vec<Phase> {
    let touched_by = touched_by(trace, &BOUNDARY_TABLES);
    let described = |(name, starts, ends): &(PhaseName, Boundary, Boundary)| Phase {
        touched_by: touched_by.clone(),
        ..Phase::between(*name, starts, ends).recorded_until(course.known_until_ns)
    };
    let mut phases: Vec<Phase> = course.phases.iter().map(described).collect();
    usage::fill(trace, &mut phases);
    phases
}

/// What took longest: of units and of the phases after them.
fn longest(report: &LinuxShutdownReport, known_until_ns: i64) -> Option<LongestStop> {
    let whole = report.total_ns.unwrap_or(report.total_at_least_ns);
    let percent = |ns: i64| onoff_usage::cpu::percent_of(ns, whole);
    let units = report.units.iter().map(|unit| {
        let duration_ns = unit.duration_ns.unwrap_or_else(|| known_until_ns.saturating_sub(unit.start_ns).max(0));
        LongestStop {
            name: unit.name.clone(),
            is_unit: true,
            start_ns: unit.start_ns,
            duration_ns,
            percent: percent(duration_ns),
            on_path: unit.on_path,
            because: why(unit),
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
            because: match phase.end_ns {
                Some(_) => Reason::None,
                None => Reason::NotEnded,
            },
        })
    });
    // Of two that are as long, the one that began first.
    units
        .chain(phases)
        .filter(|stop| stop.duration_ns > 0)
        .max_by_key(|stop| (stop.duration_ns, std::cmp::Reverse(stop.start_ns)))
}

/// Why a unit took so long, as far as it is recorded.
fn why(unit: &Unit) -> Reason {
    if let Some(time_out) = &unit.time_out {
        return Reason::UnitEndedByForce { limit_ns: time_out.limit_ns };
    }
    if unit.end_ns.is_none() {
        return Reason::UnitNotStopped;
    }
    let length = |process: &UnitProcess| {
        let from = process.start_ns.unwrap_or(unit.start_ns).max(unit.start_ns);
        process.end_ns.map(|end| end.saturating_sub(from))
    };
    let longest =
        unit.processes.iter().filter_map(|process| Some((length(process)?, process))).max_by_key(|(length, _)| *length);
    match longest {
        Some((ns, process)) if ns.saturating_mul(2) >= unit.duration_ns.unwrap_or(i64::MAX) => {
            Reason::UnitProcessRan { stops: process.stops, image: process.image.clone(), pid: process.pid, ran_ns: ns }
        }
        _ => Reason::None,
    }
}

/// What the recording did not hold.
fn lacking(trace: &Trace, phases: &[Phase], units: &[Unit], asked: &[ProcessStop]) -> Lacking {
    let mut parts = Vec::new();
    let wanted = |table| trace.wanted.contains(table);
    let has = |name: PhaseName| phases.iter().any(|phase| phase.name == name && phase.start_ns.is_some());
    let whole = |name: PhaseName| phases.iter().any(|phase| phase.name == name && phase.end_ns.is_some());
    if units.is_empty() {
        parts.push(Unanswered::UnitStops);
    } else if wanted(TableName::ServiceDependencies) && trace.service_dependencies.is_empty() {
        parts.push(Unanswered::UnitStopOrder);
    }
    if !has(PhaseName::TerminateRemaining) {
        parts.push(Unanswered::AfterUnits);
    }
    if !whole(PhaseName::Kernel) {
        parts.push(Unanswered::MachineStopped);
    }
    if wanted(TableName::ContextSwitches) && trace.context_switches.is_empty() {
        parts.push(Unanswered::LinuxProcessorsAtShutdown);
    }
    if asked.is_empty() {
        parts.push(Unanswered::Signals);
    }
    if wanted(TableName::DiskIos) && trace.disk_ios.is_empty() {
        parts.push(Unanswered::LinuxDisks);
    }
    Lacking::of_linux(parts)
}

/// The name of a process: its image's without the folder.
fn image(trace: &Trace, process: &Process) -> String {
    let image = trace.text(process.image);
    image.rsplit('/').next().unwrap_or(image).to_owned()
}
