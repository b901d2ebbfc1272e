//! Analyzes a Linux boot.
//!
//! [`analyze`] turns a [`Trace`] into a [`LinuxBootReport`]. If the recording contains no boot, it returns what the
//! recording contains instead. Parts that are missing from a recording make the report less complete: see
//! [`LinuxBootReport::missing_evidence`].

mod absence;
mod missing_evidence;
mod outcome;
mod path;
mod phases;
pub mod report;
#[cfg(test)]
mod tests;

use crate::{Phase, PhaseName};
use crate::{PhaseInterval, TransitionKind, Variant, losses_affecting};
use hashbrown::HashSet;
use onoff_trace::{
    ActivityKind, CallGraphSubject, ServiceChange, ServiceOutcome, StringId, SystemKind, TableName, TableSet, Trace,
    milestone,
};

pub use report::*;

use crate::boot::{BootOptions, NoBoot};
use crate::boot_axis::AxisInputs;
use crate::usage;
use onoff_evidence::call_graph;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, DerivedInterval, affecting_losses};
use onoff_firmware_times::before_kernel::firmware_table;
use onoff_usage::cpu::{self, CpuSource, CpuUsage};
use onoff_usage::devices;
use onoff_usage::idle::{self, Settling};
use onoff_usage::processes;
use onoff_usage::units::declared_order::{UnitStarts, first_milestone};
use onoff_usage::units::waits::{password_prompts, untimed_units};
use onoff_usage::units::{Unit, units};
use phases::BootBoundaries;

/// The tables that the analysis reads; if a trace was opened with fewer, results are less complete.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::DiskIos,
    TableName::ServiceTransitions,
    TableName::ServiceDependencies,
    TableName::DeviceOperations,
    TableName::CallGraphFunctions,
    TableName::Milestones,
    TableName::Activities,
]);

/// Analyzes the boot in `trace`. The `shell` option is ignored.
///
/// # Errors
/// The recording contains no boot; the error describes what it contains instead.
pub fn analyze(trace: &Trace, options: &BootOptions) -> Result<LinuxBootReport, Box<NoBoot>> {
    if !absence::contains_a_boot(trace) {
        return Err(Box::new(absence::not_a_boot(trace)));
    }
    let target = phases::default_target(trace);
    let boundaries = phases::boundaries(trace, target.as_ref());
    let post_boot = match boundaries.finished.time_ns {
        Some(start_ns) => idle::find_settling(trace, start_ns, options.idle),
        None => Settling {
            metric: options.idle,
            rule: Rule::IdleCountNeedsFinish,
            unmatched_rules: boundaries.finished.unmatched_rules.clone(),
            ..Settling::default()
        },
    };
    let phases = describe_phases(trace, &boundaries, &post_boot);
    let starts = UnitStarts::new(trace);
    let (critical_path, path_indices) =
        path::critical_path(trace, &starts, target.as_ref(), boundaries.finished.time_ns);
    let units = unit_starts(trace, &starts, &path_indices);

    let start_ns = boundaries.start_ns();
    // If the start is unknown, the duration is only a lower bound.
    let finished_ns = boundaries.finished.time_ns.filter(|_| boundaries.kernel.time_ns.is_some());
    let startup_ns = finished_ns.map(|end| end.saturating_sub(start_ns));
    let total_ns = startup_ns.zip(post_boot.end_ns).map(|(startup, _)| startup.saturating_add(post_boot.busy_ns));
    // Units that were still starting show that the boot was not over when the recording ended.
    let console_end = outcome::console_end(trace, boundaries.finished.time_ns);
    let console_target_ns = console_end.as_ref().filter(|end| !end.target.is_empty()).map(|end| end.earliest_ns);
    let still_starting = match boundaries.finished.time_ns {
        None if console_target_ns.is_none() => starts.unfinished(trace.duration_ns),
        _ => Vec::new(),
    };
    let latest_ns = boundaries.finished.time_ns.unwrap_or_else(|| {
        let ends = units.iter().filter(|unit| unit.automatic).filter_map(|unit| unit.end_ns);
        let hung_ns = (!still_starting.is_empty()).then_some(trace.duration_ns);
        let part_starts =
            [&boundaries.initrd, &boundaries.init_program].into_iter().flatten().filter_map(|start| start.time_ns);
        let console_end_ns = console_end.as_ref().and_then(|end| end.earliest_ns);
        ends.chain(console_end_ns)
            .chain(boundaries.user_space.time_ns)
            .chain(part_starts)
            .chain(hung_ns)
            .max()
            .unwrap_or(start_ns)
    });
    let devices = devices::operations(trace);
    let (processes, process_summary) = processes::process_lifetimes(trace, &options.expected_processes);
    let firmware_table = firmware_table(trace, options.firmware.as_ref(), Some(0));
    let manager_ns = boundaries.firmware.time_ns.map(i64::saturating_neg);
    let firmware_table_difference_ns = firmware_table
        .as_ref()
        .and_then(|table| table.checkpoints.exit_end_ns)
        .zip(manager_ns)
        .map(|(table, manager)| table.saturating_sub(manager));
    let finished_ns = boundaries.finished.time_ns;
    let settled_ns = finished_ns.map(|end| match post_boot.end_ns {
        Some(_) => end.saturating_add(post_boot.busy_ns),
        None => end,
    });
    let intervals: Vec<_> = phases.iter().map(Phase::interval).collect();
    let axis = AxisInputs {
        firmware_table: firmware_table.as_ref(),
        manager_difference_ns: firmware_table_difference_ns,
        user_input_ns: 0,
    }
    .axis(trace, (options.firmware.as_ref(), options.capture.as_deref()), (0, &intervals, settled_ns));
    let missing_evidence = missing_evidence::missing_evidence(trace, &boundaries, &starts, &post_boot);
    let target_ns = target.as_ref().map(|target| target.reached_ns).or(console_target_ns.flatten());
    let mut outcome = outcome::outcome(trace, &units, (target_ns, boundaries.user_space.time_ns), &still_starting);
    // Times that count from the first line say nothing about when the boot failed.
    if phases::is_start_unknown(trace) {
        outcome.time_ns = None;
        outcome.evidence.iter_mut().for_each(|row| row.time_ns = None);
    }
    let is_on_path = |unit: &str| critical_path.steps.iter().any(|step| step.unit == unit);
    let password_prompts = password_prompts(trace, is_on_path);
    let details = LinuxBoot {
        password_prompts,
        untimed_units: untimed_units(trace),
        startup_ns,
        console_end: console_end.filter(|_| !outcome.kind.has_failed() && still_starting.is_empty()),
        outcome,
        initial_file_system: boundaries
            .init_program
            .as_ref()
            .map(|program| DerivedInterval::between(program, &boundaries.user_space)),
        manager: manager(trace, &boundaries),
        critical_path,
        other_units: other_units(trace),
        last_unit: last_unit(trace, boundaries.finished.time_ns),
        still_starting,
        bring_up: onoff_firmware_times::bring_up::stages(trace),
        losses_affecting_units: affecting_losses(
            trace,
            &[TableName::ServiceTransitions, TableName::ServiceDependencies],
        ),
        drivers: devices::by_driver(&devices),
        device_totals: devices::by_device(&devices),
        devices,
        call_graphs: call_graph::call_graphs(trace, CallGraphSubject::Initcall)
            .into_iter()
            .take(call_graph::MAX_GRAPHS)
            .collect(),
        losses_affecting_devices: affecting_losses(
            trace,
            &[TableName::DeviceOperations, TableName::CallGraphFunctions],
        ),
        firmware_table_difference_ns,
        firmware_table,
        axis,
        processes,
        process_summary,
        losses_affecting_processes: affecting_losses(trace, &[TableName::Processes]),
        boots: trace.boots.clone(),
        clock_conversions: trace.clock_conversions.clone(),
        default_target: target,
    };
    Ok(LinuxBootReport {
        system: SystemKind::Linux,
        kind: TransitionKind::Boot,
        variant: Variant::Cold,
        number: 1,
        start_ns: Some(start_ns),
        end_ns: post_boot.end_ns,
        affecting_losses: losses_affecting(&phases),
        total_ns,
        total_at_least_ns: latest_ns.saturating_sub(start_ns).saturating_add(post_boot.busy_ns),
        user_input_ns: 0,
        total_certainty: match (startup_ns, total_ns) {
            (None, _) => Certainty::Missing,
            (Some(_), Some(_)) => boundaries.finished.certainty.and(post_boot.certainty),
            (Some(_), None) => boundaries.finished.certainty,
        },
        phases,
        units,
        missing_evidence,
        losses: trace.losses.clone(),
        culprits: Vec::new(),
        fix_first: None,
        settling: Some(post_boot),
        details,
    })
}

/// Returns start and end of the phases, in ns.
pub(crate) fn phase_intervals(trace: &Trace) -> Vec<PhaseInterval> {
    let boundaries = phases::boundaries(trace, phases::default_target(trace).as_ref());
    let settled_ns = boundaries.finished.time_ns.and_then(|start_ns| {
        let settling = idle::find_settling(trace, start_ns, BootOptions::default().idle);
        settling.end_ns.map(|end_ns| (start_ns, end_ns))
    });
    let settled = settled_ns.map(|(start_ns, end_ns)| (PhaseName::PostBoot, Some(start_ns), Some(end_ns)));
    PhaseName::LINUX_BOOT
        .into_iter()
        .filter_map(|name| boundaries.phase(name).map(|(start, end)| (name, start.time_ns, end.time_ns)))
        .chain(settled)
        .collect()
}

/// Returns the starts of units. `path_indices` are the indices in `starts` that are on the critical path.
fn unit_starts(trace: &Trace, starts: &UnitStarts<'_>, path_indices: &HashSet<usize>) -> Vec<Unit> {
    let on_path: HashSet<(&str, i64)> = path_indices
        .iter()
        .filter_map(|&index| starts.row(index))
        .map(|row| (trace.text(row.service), row.start_ns))
        .collect();
    let mut units = units(trace);
    units.retain(|unit| unit.kind == ServiceChange::Start);
    for unit in &mut units {
        unit.on_path = on_path.contains(&(unit.name.as_str(), unit.start_ns));
    }
    units
}

/// Returns the units on the critical path to the default target and on to the end of the boot, ordered by time, each
/// with start, end and main process.
pub fn critical_units(trace: &Trace) -> Vec<(StringId, i64, i64, Option<u32>)> {
    let target = phases::default_target(trace);
    let starts = UnitStarts::new(trace);
    let finished_ns = phases::boundaries(trace, target.as_ref()).finished.time_ns;
    let (path, _) = path::steps(trace, &starts, target.as_ref(), finished_ns);
    let mut units: Vec<_> = path
        .steps
        .iter()
        .filter_map(|step| {
            let row = starts.row(starts.index_of(&step.unit, step.end_ns)?)?;
            Some((row.service, step.start_ns, step.end_ns, row.container_pid))
        })
        .collect();
    let reached_ns = units.last().map(|&(_, _, end_ns, _)| end_ns);
    // By times alone, it is unknown what a job after the default target belongs to.
    if let (Some(reached_ns), Some(finished_ns), true) = (reached_ns, finished_ns, starts.has_dependencies()) {
        units.extend(after_target(trace, (reached_ns, finished_ns)));
    }
    units
}

/// Returns the units that the end of the boot waited for after the default target was reached: the unit that finished
/// last, the unit that finished last before that one started, and so on.
fn after_target(trace: &Trace, (reached_ns, finished_ns): (i64, i64)) -> Vec<(StringId, i64, i64, Option<u32>)> {
    let mut rows: Vec<(i64, i64, StringId, Option<u32>)> = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Start && row.automatic)
        .filter_map(|row| Some((row.end_ns?, row.start_ns, row.service, row.container_pid)))
        .filter(|&(end_ns, ..)| end_ns > reached_ns && end_ns <= finished_ns)
        .collect();
    rows.sort();
    let mut tail = Vec::new();
    let mut until_ns = finished_ns;
    while let Some((end_ns, start_ns, unit, pid)) = rows.pop() {
        if end_ns <= until_ns {
            until_ns = start_ns.max(reached_ns);
            tail.push((unit, until_ns, end_ns, pid));
        }
    }
    tail.reverse();
    tail
}

/// Unit name prefixes of containers: Docker, Podman, containerd, CRI-O, systemd-nspawn and systemd-machined.
const CONTAINER_PREFIXES: [&str; 7] =
    ["docker-", "libpod-", "cri-containerd-", "crio-", "systemd-nspawn@", "machine-", "podman-"];

/// Returns the starts of units that are not system units.
fn other_units(trace: &Trace) -> Vec<OtherUnit> {
    let duration = |start_ns: i64, end_ns: Option<i64>| end_ns.map(|end| end.saturating_sub(start_ns));
    let user_units = trace.activities.iter().filter(|row| row.kind == ActivityKind::UserUnit).map(|row| OtherUnit {
        name: trace.text(row.name).to_owned(),
        owner: trace.text(row.detail).to_owned(),
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        duration_ns: duration(row.start_ns, row.end_ns),
        failed: row.status == Some(1),
    });
    let is_container = |name: &str| {
        let is_process = name.ends_with(".scope") || name.ends_with(".service");
        is_process && CONTAINER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let starts = trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start);
    let containers = starts.filter(|row| is_container(trace.text(row.service))).map(|row| OtherUnit {
        name: trace.text(row.service).to_owned(),
        owner: "container".to_owned(),
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        duration_ns: duration(row.start_ns, row.end_ns),
        failed: row.outcome == ServiceOutcome::Failed,
    });
    let mut units: Vec<OtherUnit> = user_units.chain(containers).collect();
    units.sort_by(|a, b| (a.start_ns, &a.owner, &a.name).cmp(&(b.start_ns, &b.owner, &b.name)));
    units
}

/// Measures the work of the service manager before the first unit.
fn manager(trace: &Trace, boundaries: &BootBoundaries) -> ManagerStart {
    let boundary = |name: &str, rule: Rule| match first_milestone(trace, name) {
        Some(row) => phases::boundary(trace, &row, rule),
        None => phases::missing(rule),
    };
    let loaded = boundary(milestone::UNITS_LOAD_END, Rule::UnitsLoaded);
    ManagerStart {
        whole: DerivedInterval::between(&boundaries.user_space, &loaded),
        generators: DerivedInterval::between(
            &boundary(milestone::GENERATORS_BEGIN, Rule::FirstGeneratorStarts),
            &boundary(milestone::GENERATORS_END, Rule::LastGeneratorEnds),
        ),
        units_load: DerivedInterval::between(&boundary(milestone::UNITS_LOAD_BEGIN, Rule::FirstUnitLoaded), &loaded),
    }
}

/// Returns the unit that was the last to finish starting before `finished_ns`.
fn last_unit(trace: &Trace, finished_ns: Option<i64>) -> String {
    let Some(finished_ns) = finished_ns else { return String::new() };
    trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Start && row.automatic)
        .filter_map(|row| Some((row.end_ns?, row.service)))
        .filter(|&(end_ns, _)| end_ns <= finished_ns)
        .max()
        .map_or_else(String::new, |(_, unit)| trace.text(unit).to_owned())
}

/// Returns whether the trace covers most of the interval: a trace of a shutdown does not cover the preceding boot.
fn is_recorded(usage: &CpuUsage) -> bool {
    usage.unknown_ns <= usage.capacity_ns / 2
}

/// Builds the phases, with CPU and disk usage.
fn describe_phases(trace: &Trace, boundaries: &BootBoundaries, post_boot: &Settling) -> Vec<Phase> {
    let settled = Boundary {
        time_ns: post_boot.end_ns,
        rule: post_boot.rule.clone(),
        event: match post_boot.cpu_source {
            CpuSource::None => String::new(),
            _ => "context switches and disk requests".to_owned(),
        },
        certainty: post_boot.certainty,
        unmatched_rules: post_boot.unmatched_rules.clone(),
    };
    let last_event = Boundary {
        time_ns: Some(trace.duration_ns),
        rule: Rule::LastEvent,
        certainty: Certainty::Measured,
        ..Boundary::default()
    };
    let unknown = Boundary::default();
    let phase_boundaries = |name: PhaseName| match name {
        PhaseName::PostBoot => (&boundaries.finished, &settled),
        PhaseName::TraceTail => (&settled, &last_event),
        _ => boundaries.phase(name).unwrap_or((&unknown, &unknown)),
    };
    let mut tables = vec![TableName::Milestones];
    let boundary_losses = affecting_losses(trace, &tables);
    tables.push(TableName::DiskIos);
    tables.extend(cpu::source(trace).tables());
    let settling_losses = affecting_losses(trace, &tables);
    let mut phases: Vec<Phase> = PhaseName::LINUX_BOOT
        .into_iter()
        .map(|name| {
            let (start, end) = phase_boundaries(name);
            let phase = Phase::from_boundaries(name, start, end);
            // A PostBoot phase that did not end in the recording is described up to the end of the recording.
            let phase = if name == PhaseName::PostBoot { phase.recorded_until(trace.duration_ns) } else { phase };
            let affecting_losses = match name {
                PhaseName::PostBoot | PhaseName::TraceTail => settling_losses.clone(),
                _ => boundary_losses.clone(),
            };
            Phase { affecting_losses, ..phase }
        })
        .collect();
    usage::fill(trace, &mut phases);
    for phase in &mut phases {
        phase.cpu = phase.cpu.take().filter(is_recorded);
    }
    phases
}
