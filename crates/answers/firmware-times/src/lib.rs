//! Analyzes the time before the operating system, as measured by the firmware.
//!
//! Firmware tables have five checkpoints of the last boot. Firmware built on EDK II also records a start and an end for
//! every module that ran. This crate pairs starts with ends, attributes every moment to the innermost work, and reports
//! implausible values.

#![forbid(unsafe_code)]

pub mod before_kernel;
pub mod bring_up;
mod compare;
mod devices;
mod drivers;
mod intervals;
mod names;
mod pairing;
mod phases;
mod report;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use onoff_trace::firmware::{
    FirmwareDuration, FirmwareEvent, FirmwareGuid, FirmwareInput, FirmwareProblem, FirmwareProblemKind,
    FirmwareRecording, FirmwareSuspend, FirmwareTable,
};
use onoff_trace::{Duration, Severity};
use thiserror::Error;

pub use compare::{FirmwareChange, FirmwareComparison, compare};
pub use intervals::{checkpoint_faults, intervals, spans_resets, stages};
pub use names::Names;
pub use report::*;

use pairing::{PairedEvents, WorkInterval};
use sweep::{InnermostInterval, Share};

/// Maximum number of gaps in the report, and their minimum length, ns.
const MAX_GAPS: usize = 20;
const MIN_GAP_NS: i64 = 1_000_000;

/// Options of the firmware analysis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirmwareOptions {
    /// Names of GUIDs.
    pub names: BTreeMap<FirmwareGuid, String>,
}

/// The inputs contain no times.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no times of a boot, suspend or resume in the input")]
pub struct NoFirmwareTimes {
    /// Number of inputs.
    pub inputs: usize,
    /// The tables in the inputs.
    pub tables: Vec<FirmwareTable>,
    /// Problems with the inputs.
    pub faults: Vec<FirmwareProblem>,
    /// Tables that the inputs do not contain.
    pub missing_tables: Vec<MissingTable>,
}

impl NoFirmwareTimes {
    /// Returns a report without times that lists the tables and the missing tables.
    #[must_use]
    pub fn into_report(self, inputs: Vec<FirmwareInput>) -> FirmwareReport {
        let Self { tables, faults, missing_tables, .. } = self;
        FirmwareReport { inputs, tables, faults, missing_tables, ..FirmwareReport::default() }
    }
}

/// Returns the tables with times that other tables point to but that are not in the inputs.
fn missing_tables(recording: &FirmwareRecording) -> Vec<MissingTable> {
    let is_present = |signature: &str| match signature {
        "FBPT" => recording.checkpoints.is_some(),
        "S3PT" => recording.resume.is_some() || recording.suspend.is_some(),
        _ => true,
    };
    let pointers = recording.tables.iter().flat_map(|table| &table.pointers);
    let mut missing: Vec<MissingTable> = Vec::new();
    for pointer in pointers.filter(|pointer| !is_present(&pointer.to)) {
        let unknown = if pointer.to == "FBPT" { "boot times" } else { "suspend and resume times" };
        let table = MissingTable { part: pointer.to.clone(), address: pointer.address.clone(), unknown };
        if !missing.contains(&table) {
            missing.push(table);
        }
    }
    missing
}

impl From<FirmwareRecording> for NoFirmwareTimes {
    fn from(recording: FirmwareRecording) -> Self {
        let missing_tables = missing_tables(&recording);
        Self { inputs: recording.inputs.len(), tables: recording.tables, faults: recording.problems, missing_tables }
    }
}

/// Analyzes the times recorded by firmware.
///
/// # Errors
/// [`NoFirmwareTimes`] if there are no times, e.g. only an FPDT, which only points to the tables with times.
pub fn analyze(recording: &FirmwareRecording, options: &FirmwareOptions) -> Result<FirmwareReport, NoFirmwareTimes> {
    let has_no_times = recording.checkpoints.is_none()
        && recording.events.is_empty()
        && recording.durations.is_empty()
        && recording.resume.is_none()
        && recording.suspend.is_none();
    if has_no_times {
        return Err(recording.clone().into());
    }
    let names = Names::new(&options.names);
    let mut faults = recording.problems.clone();
    let checkpoints = recording.checkpoints;
    if let Some(times) = &checkpoints {
        faults.extend(checkpoint_faults(times));
    }
    let intervals = match &checkpoints {
        Some(times) => intervals(times, &recording.events),
        None => FirmwareIntervals::default(),
    };

    let mut paired = pairing::pair(&recording.events);
    event_faults(&recording.events, &paired, &names, &mut faults);
    let unmatched_ends = paired.unmatched_ends.len() as u64;
    phases::mark_phases(&mut paired, checkpoints.as_ref());
    paired.intervals.sort_by_key(|interval| (interval.start_ns, std::cmp::Reverse(interval.end_ns)));
    let work_intervals = &paired.intervals;

    let window = measured_window(&intervals, &recording.events);
    let mut gaps = Vec::new();
    let shares = sweep::sweep(work_intervals, window, |gap| add_gap(gap, work_intervals, &mut gaps));
    // If nothing was measured, a single gap carries no information.
    if work_intervals.is_empty() {
        gaps.clear();
    }
    let phase_names = innermost_phases(work_intervals, &shares);

    Ok(FirmwareReport {
        inputs: recording.inputs.clone(),
        boot_from: recording.boot_from.clone(),
        checkpoints,
        stages: checkpoints.as_ref().map(stages).unwrap_or_default(),
        phases: phases::phases(work_intervals, &shares),
        coverage: coverage(work_intervals, &shares, &intervals),
        gaps: describe_gaps(gaps, work_intervals, &phase_names, &names),
        drivers: drivers::drivers(work_intervals, &shares, &phase_names, &names),
        devices: devices::devices(work_intervals, &shares, &names),
        work: describe_work(work_intervals, &shares, &phase_names, &names),
        unfinished: paired.unmatched_begins.iter().map(|event| to_mark(event, &names)).collect(),
        marks: paired.points.iter().map(|event| to_mark(event, &names)).collect(),
        durations: named_durations(recording, &names),
        measurements: recording.events.len() as u64,
        unmatched_ends,
        suspend: recording.suspend.map(suspend_time),
        resume: recording.resume,
        boots: recording.boots.clone(),
        missing_tables: missing_tables(recording),
        tables: recording.tables.clone(),
        faults,
        intervals,
    })
}

/// Durations without timestamps, longest first; GUIDs of modules are replaced by names.
fn named_durations(recording: &FirmwareRecording, names: &Names) -> Vec<FirmwareDuration> {
    let mut durations: Vec<FirmwareDuration> = recording.durations.clone();
    for duration in &mut durations {
        if let Some(guid) = FirmwareGuid::parse(&duration.module) {
            duration.module = names.name(guid);
        }
    }
    durations.sort_by_key(|duration| std::cmp::Reverse(duration.duration_ns));
    durations
}

/// Returns the interval that the firmware's measurements should cover.
fn measured_window(intervals: &FirmwareIntervals, events: &[FirmwareEvent]) -> (i64, i64) {
    if let (Some(start_ns), Some(duration_ns)) = (intervals.firmware_init_ns, intervals.time1_ns) {
        return (start_ns, start_ns.saturating_add(duration_ns));
    }
    let times = events.iter().map(|event| event.time_ns);
    (times.clone().min().unwrap_or(0), times.max().unwrap_or(0))
}

fn event_faults(events: &[FirmwareEvent], paired: &PairedEvents<'_>, names: &Names, faults: &mut Vec<FirmwareProblem>) {
    let mut add_fault = |kind, text: String| {
        faults.push(FirmwareProblem { kind, severity: Severity::Notice, place: String::new(), text, skipped_bytes: 0 });
    };
    let times: Vec<i64> = events.iter().map(|event| event.time_ns).collect();
    let steps_back = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
    if steps_back > 0 {
        let backwards = match paired.backwards {
            0 => String::new(),
            count => format!("; {count} with an end before the start were skipped"),
        };
        add_fault(
            FirmwareProblemKind::EventsNotMonotonic,
            format!(
                "{steps_back} of {} measurements are earlier than the preceding measurement{backwards}",
                events.len()
            ),
        );
    }
    for (kind, unmatched) in [
        (FirmwareProblemKind::BeginWithoutEnd, &paired.unmatched_begins),
        (FirmwareProblemKind::EndWithoutBegin, &paired.unmatched_ends),
    ] {
        if let Some(first) = unmatched.first() {
            let module = names.event_name(first);
            let work = first.work.as_str().replace('_', " ");
            let name = if first.text.is_empty() { format!("{work} of {module}") } else { first.text.clone() };
            add_fault(
                kind,
                format!("{} in total; first: {name} at {}", unmatched.len(), Duration::from_ns(first.time_ns)),
            );
        }
    }
}

/// Returns, for each interval, the innermost phase in which it started.
fn innermost_phases(intervals: &[WorkInterval<'_>], shares: &[Share]) -> Vec<&'static str> {
    let mut phases = vec![""; intervals.len()];
    // Intervals are sorted by start, and parents start before their parts.
    for index in 0..intervals.len() {
        if let Some(parent) = shares[index].parent {
            phases[index] = intervals[parent].phase.unwrap_or(phases[parent]);
        }
    }
    phases
}

fn coverage(
    work_intervals: &[WorkInterval<'_>],
    shares: &[Share],
    intervals: &FirmwareIntervals,
) -> Option<FirmwareCoverage> {
    let time1_ns = intervals.time1_ns.filter(|&ns| ns > 0)?;
    let leaves =
        work_intervals.iter().zip(shares).filter(|(interval, share)| interval.phase.is_none() && !share.has_parts);
    let measured_ns: i64 = leaves.map(|(_, share)| share.in_window_ns).sum();
    work_intervals
        .iter()
        .any(|interval| interval.phase.is_none())
        .then_some(FirmwareCoverage { measured_ns, measured_percent: measured_ns as f64 * 100.0 / time1_ns as f64 })
}

/// Adds an interval in which only a phase was measured.
fn add_gap(gap: InnermostInterval, intervals: &[WorkInterval<'_>], gaps: &mut Vec<InnermostInterval>) {
    if gap.innermost.is_some_and(|index| intervals[index].phase.is_none()) {
        return;
    }
    // Most firmware records some ten thousand intervals; only the longest gaps between them are kept.
    if gap.end_ns - gap.start_ns < MIN_GAP_NS {
        return;
    }
    gaps.push(gap);
    if gaps.len() >= 8 * MAX_GAPS {
        keep_longest(gaps);
    }
}

fn keep_longest(gaps: &mut Vec<InnermostInterval>) {
    gaps.sort_by_key(|gap| (gap.start_ns - gap.end_ns, gap.start_ns));
    gaps.truncate(MAX_GAPS);
}

fn describe_gaps(
    mut gaps: Vec<InnermostInterval>,
    intervals: &[WorkInterval<'_>],
    phase_names: &[&str],
    names: &Names,
) -> Vec<FirmwareGap> {
    keep_longest(&mut gaps);
    let describe_edge = |edge: Option<(usize, bool)>| {
        edge.map_or_else(String::new, |(index, is_start)| {
            let boundary = if is_start { "start" } else { "end" };
            format!("{boundary} of {}", label(&intervals[index], names))
        })
    };
    // Where a gap is bounded by phases, the adjacent modules are more useful.
    let modules = || intervals.iter().filter(|interval| interval.phase.is_none());
    let module_before = |start_ns: i64| {
        let earlier = modules().filter(|interval| interval.end_ns <= start_ns);
        earlier.max_by_key(|interval| interval.end_ns).map_or_else(String::new, |interval| label(interval, names))
    };
    let module_after = |end_ns: i64| {
        let later = modules().filter(|interval| interval.start_ns >= end_ns);
        later.min_by_key(|interval| interval.start_ns).map_or_else(String::new, |interval| label(interval, names))
    };
    let described = gaps.into_iter().map(|gap| FirmwareGap {
        module_before: module_before(gap.start_ns),
        module_after: module_after(gap.end_ns),
        start_ns: gap.start_ns,
        end_ns: gap.end_ns,
        duration_ns: gap.end_ns - gap.start_ns,
        phase: gap.innermost.map_or("", |index| intervals[index].phase.unwrap_or(phase_names[index])).to_owned(),
        after: describe_edge(gap.opened_by),
        before: describe_edge(gap.closed_by),
    });
    described.collect()
}

/// Returns the display name of work, e.g. `entry point of DxeCore`.
fn label(interval: &WorkInterval<'_>, names: &Names) -> String {
    use onoff_trace::firmware::FirmwareWork as Work;
    let module = names.event_name(interval.event);
    if let Some(phase) = interval.phase {
        return phase.to_owned();
    }
    match interval.event.work {
        Work::EntryPoint => format!("entry point of {module}"),
        Work::LoadImage => format!("load of {module}"),
        Work::DriverStart => format!("start of {module} on {}", interval.event.text),
        Work::DriverSupport => format!("support query to {module}"),
        Work::DriverStop => format!("stop of {module}"),
        _ if interval.event.text.is_empty() => module,
        _ => interval.event.text.clone(),
    }
}

fn describe_work(
    intervals: &[WorkInterval<'_>],
    shares: &[Share],
    phase_names: &[&str],
    names: &Names,
) -> Vec<FirmwareInterval> {
    let measured = intervals.iter().zip(shares).zip(phase_names).filter(|((interval, _), _)| !interval.inferred);
    let described = measured.map(|((interval, share), phase)| FirmwareInterval {
        work: interval.event.work,
        guid: interval.event.module.to_string(),
        module: names.event_name(interval.event),
        text: interval.event.text.clone(),
        caller: interval.event.caller.map(|guid| names.name(guid)).unwrap_or_default(),
        handle: interval.event.handle.map(|handle| format!("{handle:#x}")).unwrap_or_default(),
        start_ns: interval.start_ns,
        end_ns: interval.end_ns,
        duration_ns: interval.end_ns - interval.start_ns,
        self_ns: share.self_ns,
        depth: share.depth,
        phase: (*phase).to_owned(),
        apic: interval.event.apic,
    });
    described.collect()
}

fn to_mark(event: &FirmwareEvent, names: &Names) -> FirmwareMark {
    FirmwareMark {
        work: event.work,
        time_ns: event.time_ns,
        guid: event.module.to_string(),
        module: names.event_name(event),
        text: event.text.clone(),
    }
}

fn suspend_time(suspend: FirmwareSuspend) -> FirmwareSuspendTime {
    let duration_ns = suspend.end_ns.saturating_sub(suspend.start_ns);
    FirmwareSuspendTime {
        start_ns: suspend.start_ns,
        end_ns: suspend.end_ns,
        duration_ns: (duration_ns >= 0).then_some(duration_ns),
    }
}
