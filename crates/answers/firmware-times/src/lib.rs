//! Analyzes the time before the operating system, as measured by the firmware.
//!
//! Firmware tables have five checkpoints of the last boot. Firmware built on EDK II also records a start and an end for
//! every module that ran. This crate pairs starts with ends, attributes every moment to the innermost work, and reports
//! implausible values.

#![forbid(unsafe_code)]

pub mod before_kernel;
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

use pairing::{Paired, WorkInterval};
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
    /// A report without times, with the tables and the missing ones.
    #[must_use]
    pub fn into_report(self, inputs: Vec<FirmwareInput>) -> FirmwareReport {
        let Self { tables, faults, missing_tables: missing, .. } = self;
        FirmwareReport { inputs, tables, faults, missing_tables: missing, ..FirmwareReport::default() }
    }
}

/// The tables with times that other tables point to but that are not in the inputs.
fn missing(recording: &FirmwareRecording) -> Vec<MissingTable> {
    let is_present = |signature: &str| match signature {
        "FBPT" => recording.checkpoints.is_some(),
        "S3PT" => recording.resume.is_some() || recording.suspend.is_some(),
        _ => true,
    };
    let pointers = recording.tables.iter().flat_map(|table| &table.pointers);
    let mut missing: Vec<MissingTable> = Vec::new();
    for pointer in pointers.filter(|pointer| !is_present(&pointer.to)) {
        let unknown = if pointer.to == "FBPT" { "boot times" } else { "suspend and resume times" };
        let found = MissingTable { part: pointer.to.clone(), address: pointer.address.clone(), unknown };
        if !missing.contains(&found) {
            missing.push(found);
        }
    }
    missing
}

impl From<FirmwareRecording> for NoFirmwareTimes {
    fn from(recording: FirmwareRecording) -> Self {
        let missing = missing(&recording);
        Self {
            inputs: recording.inputs.len(),
            tables: recording.tables,
            faults: recording.problems,
            missing_tables: missing,
        }
    }
}

/// Analyzes the times recorded by firmware.
///
/// # Errors
/// [`NoFirmwareTimes`] if there are no times, e.g. only an FPDT, which only points to the tables with times.
pub fn analyze(recording: &FirmwareRecording, options: &FirmwareOptions) -> Result<FirmwareReport, NoFirmwareTimes> {
    let nothing = recording.checkpoints.is_none()
        && recording.events.is_empty()
        && recording.durations.is_empty()
        && recording.resume.is_none()
        && recording.suspend.is_none();
    if nothing {
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
    let ends_without_begin = paired.unmatched_ends.len() as u64;
    phases::mark(&mut paired, checkpoints.as_ref());
    paired.intervals.sort_by_key(|interval| (interval.start_ns, std::cmp::Reverse(interval.end_ns)));
    let work_intervals = &paired.intervals;

    let window = window(&intervals, &recording.events);
    let mut gaps = Vec::new();
    let shares = sweep::sweep(work_intervals, window, |gap| add_gap(gap, work_intervals, &mut gaps));
    // If nothing was measured at all, a single gap is no information.
    if work_intervals.is_empty() {
        gaps.clear();
    }
    let in_phase = innermost_phases(work_intervals, &shares);

    Ok(FirmwareReport {
        inputs: recording.inputs.clone(),
        boot_from: recording.boot_from.clone(),
        checkpoints,
        stages: checkpoints.as_ref().map(stages).unwrap_or_default(),
        phases: phases::phases(work_intervals, &shares),
        coverage: coverage(work_intervals, &shares, &intervals),
        gaps: described_gaps(gaps, work_intervals, &in_phase, &names),
        drivers: drivers::drivers(work_intervals, &shares, &in_phase, &names),
        devices: devices::devices(work_intervals, &shares, &names),
        work: work(work_intervals, &shares, &in_phase, &names),
        unfinished: paired.unmatched_begins.iter().map(|event| marked(event, &names)).collect(),
        marks: paired.points.iter().map(|event| marked(event, &names)).collect(),
        durations: lengths(recording, &names),
        measurements: recording.events.len() as u64,
        unmatched_ends: ends_without_begin,
        suspend: recording.suspend.map(suspend_time),
        resume: recording.resume,
        boots: recording.boots.clone(),
        missing_tables: missing(recording),
        tables: recording.tables.clone(),
        faults,
        intervals,
    })
}

/// Durations without timestamps, longest first; GUIDs of modules are replaced by names.
fn lengths(recording: &FirmwareRecording, names: &Names) -> Vec<FirmwareDuration> {
    let mut lengths: Vec<FirmwareDuration> = recording.durations.clone();
    for length in &mut lengths {
        if let Some(guid) = FirmwareGuid::parse(&length.module) {
            length.module = names.of(guid);
        }
    }
    lengths.sort_by_key(|length| std::cmp::Reverse(length.duration_ns));
    lengths
}

/// The interval that the firmware's measurements should cover.
fn window(intervals: &FirmwareIntervals, events: &[FirmwareEvent]) -> (i64, i64) {
    if let (Some(from), Some(length)) = (intervals.firmware_init_ns, intervals.time1_ns) {
        return (from, from.saturating_add(length));
    }
    let times = events.iter().map(|event| event.time_ns);
    (times.clone().min().unwrap_or(0), times.max().unwrap_or(0))
}

fn event_faults(events: &[FirmwareEvent], paired: &Paired<'_>, names: &Names, faults: &mut Vec<FirmwareProblem>) {
    let mut fault = |kind, text: String| {
        faults.push(FirmwareProblem { kind, severity: Severity::Notice, place: String::new(), text, skipped_bytes: 0 });
    };
    let times: Vec<i64> = events.iter().map(|event| event.time_ns).collect();
    let steps_back = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
    if steps_back > 0 {
        let backwards = match paired.backwards {
            0 => String::new(),
            count => format!("; {count} that end before they start were skipped"),
        };
        fault(
            FirmwareProblemKind::EventsNotMonotonic,
            format!(
                "{steps_back} of {} measurements have earlier times than the one recorded before them{backwards}",
                events.len()
            ),
        );
    }
    for (kind, unmatched) in [
        (FirmwareProblemKind::BeginWithoutEnd, &paired.unmatched_begins),
        (FirmwareProblemKind::EndWithoutBegin, &paired.unmatched_ends),
    ] {
        if let Some(first) = unmatched.first() {
            let module = names.of_event(first);
            let work = first.work.as_str().replace('_', " ");
            let name = if first.text.is_empty() { format!("{work} of {module}") } else { first.text.clone() };
            fault(kind, format!("{} in total; first: {name} at {}", unmatched.len(), Duration::from_ns(first.time_ns)));
        }
    }
}

/// For each interval, the innermost phase in which it started.
fn innermost_phases(intervals: &[WorkInterval<'_>], shares: &[Share]) -> Vec<&'static str> {
    let mut phases = vec![""; intervals.len()];
    // Intervals are sorted by start, and parents start before their parts.
    for at in 0..intervals.len() {
        if let Some(parent) = shares[at].parent {
            phases[at] = intervals[parent].phase.unwrap_or(phases[parent]);
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

/// Adds an interval in which nothing but a phase was measured.
fn add_gap(gap: InnermostInterval, intervals: &[WorkInterval<'_>], gaps: &mut Vec<InnermostInterval>) {
    if gap.innermost.is_some_and(|at| intervals[at].phase.is_none()) {
        return;
    }
    // Most firmware records some ten thousand intervals; only the longest gaps between them are kept.
    if gap.end_ns - gap.start_ns < MIN_GAP_NS {
        return;
    }
    gaps.push(gap);
    if gaps.len() >= 8 * MAX_GAPS {
        longest_first(gaps);
    }
}

fn longest_first(gaps: &mut Vec<InnermostInterval>) {
    gaps.sort_by_key(|gap| (gap.start_ns - gap.end_ns, gap.start_ns));
    gaps.truncate(MAX_GAPS);
}

fn described_gaps(
    mut gaps: Vec<InnermostInterval>,
    intervals: &[WorkInterval<'_>],
    in_phase: &[&str],
    names: &Names,
) -> Vec<FirmwareGap> {
    longest_first(&mut gaps);
    let edge = |edge: Option<(usize, bool)>| {
        edge.map_or_else(String::new, |(at, begins)| {
            let which = if begins { "start" } else { "end" };
            format!("{which} of {}", label(&intervals[at], names))
        })
    };
    // Where a gap is bounded by phases, the adjacent modules are more useful.
    let modules = || intervals.iter().filter(|interval| interval.phase.is_none());
    let module_before = |start_ns: i64| {
        let before = modules().filter(|interval| interval.end_ns <= start_ns);
        before.max_by_key(|interval| interval.end_ns).map_or_else(String::new, |interval| label(interval, names))
    };
    let module_after = |end_ns: i64| {
        let after = modules().filter(|interval| interval.start_ns >= end_ns);
        after.min_by_key(|interval| interval.start_ns).map_or_else(String::new, |interval| label(interval, names))
    };
    let described = gaps.into_iter().map(|gap| FirmwareGap {
        module_before: module_before(gap.start_ns),
        module_after: module_after(gap.end_ns),
        start_ns: gap.start_ns,
        end_ns: gap.end_ns,
        duration_ns: gap.end_ns - gap.start_ns,
        phase: gap.innermost.map_or("", |at| intervals[at].phase.unwrap_or(in_phase[at])).to_owned(),
        after: edge(gap.opened_by),
        before: edge(gap.closed_by),
    });
    described.collect()
}

/// The display name of work, e.g. `entry point of DxeCore`.
fn label(interval: &WorkInterval<'_>, names: &Names) -> String {
    use onoff_trace::firmware::FirmwareWork as Work;
    let module = names.of_event(interval.event);
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

fn work(intervals: &[WorkInterval<'_>], shares: &[Share], in_phase: &[&str], names: &Names) -> Vec<FirmwareInterval> {
    let measured = intervals.iter().zip(shares).zip(in_phase).filter(|((interval, _), _)| !interval.inferred);
    let described = measured.map(|((interval, share), phase)| FirmwareInterval {
        work: interval.event.work,
        guid: interval.event.module.to_string(),
        module: names.of_event(interval.event),
        text: interval.event.text.clone(),
        caller: interval.event.caller.map(|guid| names.of(guid)).unwrap_or_default(),
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

fn marked(event: &FirmwareEvent, names: &Names) -> FirmwareMark {
    FirmwareMark {
        work: event.work,
        time_ns: event.time_ns,
        guid: event.module.to_string(),
        module: names.of_event(event),
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
