//! The time before the operating system, as the firmware measured it.
//!
//! The firmware's tables hold five checkpoints of the last boot, and those of firmware built on EDK II a begin and an end for
//! every module that ran. This module brings begins and ends together, gives every moment to the innermost work, and says
//! what of it cannot be true.

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
    FirmwareEvent, FirmwareFault, FirmwareFaultKind, FirmwareGuid, FirmwareInput, FirmwareLength, FirmwareRecording,
    FirmwareSuspend, FirmwareTable,
};
use onoff_trace::{Duration, Severity};
use thiserror::Error;

pub use compare::{FirmwareChange, FirmwareComparison, compare};
pub use intervals::{checkpoint_faults, counts_over_resets, intervals, stages};
pub use names::Names;
pub use report::*;

use pairing::{Paired, Piece};
use sweep::{Share, Stretch};

/// Stretches without measurement that are listed, and how long they must be, ns.
const MAX_GAPS: usize = 20;
const MIN_GAP_NS: i64 = 1_000_000;

/// What a caller can choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirmwareOptions {
    /// Names of GUIDs.
    pub names: BTreeMap<FirmwareGuid, String>,
}

/// The inputs hold no times.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the inputs hold no times of a boot, suspend or resume")]
pub struct NoTimes {
    /// How many inputs there were.
    pub inputs: usize,
    /// What they do hold.
    pub tables: Vec<FirmwareTable>,
    /// What is wrong with them.
    pub faults: Vec<FirmwareFault>,
    /// What they lack.
    pub missing: Vec<FirmwareMissing>,
}

impl NoTimes {
    /// The report that says so: without times, with the tables and what is missing.
    #[must_use]
    pub fn into_report(self, inputs: Vec<FirmwareInput>) -> FirmwareReport {
        let Self { tables, faults, missing, .. } = self;
        FirmwareReport { inputs, tables, faults, missing, ..FirmwareReport::default() }
    }
}

/// The tables with times that others point at and that were not given.
fn missing(recording: &FirmwareRecording) -> Vec<FirmwareMissing> {
    let told = |signature: &str| match signature {
        "FBPT" => recording.checkpoints.is_some(),
        "S3PT" => recording.resume.is_some() || recording.suspend.is_some(),
        _ => true,
    };
    let pointers = recording.tables.iter().flat_map(|table| &table.pointers);
    let mut missing: Vec<FirmwareMissing> = Vec::new();
    for pointer in pointers.filter(|pointer| !told(&pointer.to)) {
        let unknown = if pointer.to == "FBPT" { "the times of the boot" } else { "the times of suspend and resume" };
        let found = FirmwareMissing { part: pointer.to.clone(), address: pointer.address.clone(), unknown };
        if !missing.contains(&found) {
            missing.push(found);
        }
    }
    missing
}

impl From<FirmwareRecording> for NoTimes {
    fn from(recording: FirmwareRecording) -> Self {
        let missing = missing(&recording);
        Self { inputs: recording.inputs.len(), tables: recording.tables, faults: recording.faults, missing }
    }
}

/// Finds out where the time of a firmware went.
///
/// # Errors
/// [`NoTimes`] when there is nothing to tell, such as an FPDT alone, which only points at the tables with times.
pub fn analyze(recording: &FirmwareRecording, options: &FirmwareOptions) -> Result<FirmwareReport, NoTimes> {
    let nothing = recording.checkpoints.is_none()
        && recording.events.is_empty()
        && recording.lengths.is_empty()
        && recording.resume.is_none()
        && recording.suspend.is_none();
    if nothing {
        return Err(recording.clone().into());
    }
    let names = Names::new(&options.names);
    let mut faults = recording.faults.clone();
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
    let ends_without_begin = paired.ends_left.len() as u64;
    phases::mark(&mut paired, checkpoints.as_ref());
    paired.pieces.sort_by_key(|piece| (piece.start_ns, std::cmp::Reverse(piece.end_ns)));
    let pieces = &paired.pieces;

    let window = window(&intervals, &recording.events);
    let mut gaps = Vec::new();
    let shares = sweep::sweep(pieces, window, |stretch| add_gap(stretch, pieces, &mut gaps));
    // Where nothing was measured at all, one gap of everything tells nothing.
    if pieces.is_empty() {
        gaps.clear();
    }
    let in_phase = innermost_phases(pieces, &shares);

    Ok(FirmwareReport {
        inputs: recording.inputs.clone(),
        boot_from: recording.boot_from.clone(),
        checkpoints,
        stages: checkpoints.as_ref().map(stages).unwrap_or_default(),
        phases: phases::phases(pieces, &shares),
        coverage: coverage(pieces, &shares, &intervals),
        gaps: described_gaps(gaps, pieces, &in_phase, &names),
        drivers: drivers::drivers(pieces, &shares, &in_phase, &names),
        devices: devices::devices(pieces, &shares, &names),
        work: work(pieces, &shares, &in_phase, &names),
        unended: paired.begins_left.iter().map(|event| marked(event, &names)).collect(),
        marks: paired.points.iter().map(|event| marked(event, &names)).collect(),
        lengths: lengths(recording, &names),
        measurements: recording.events.len() as u64,
        ends_without_begin,
        suspend: recording.suspend.map(suspend_time),
        resume: recording.resume,
        boots: recording.boots.clone(),
        missing: missing(recording),
        tables: recording.tables.clone(),
        faults,
        intervals,
    })
}

/// The lengths without moments, longest first, with the names of modules that the input gives as GUIDs.
fn lengths(recording: &FirmwareRecording, names: &Names) -> Vec<FirmwareLength> {
    let mut lengths: Vec<FirmwareLength> = recording.lengths.clone();
    for length in &mut lengths {
        if let Some(guid) = FirmwareGuid::parse(&length.module) {
            length.module = names.of(guid);
        }
    }
    lengths.sort_by_key(|length| std::cmp::Reverse(length.duration_ns));
    lengths
}

/// The stretch that the firmware's measurements are to account for.
fn window(intervals: &FirmwareIntervals, events: &[FirmwareEvent]) -> (i64, i64) {
    if let (Some(from), Some(length)) = (intervals.firmware_init_ns, intervals.time1_ns) {
        return (from, from.saturating_add(length));
    }
    let times = events.iter().map(|event| event.time_ns);
    (times.clone().min().unwrap_or(0), times.max().unwrap_or(0))
}

fn event_faults(events: &[FirmwareEvent], paired: &Paired<'_>, names: &Names, faults: &mut Vec<FirmwareFault>) {
    let mut fault = |kind, text: String| {
        faults.push(FirmwareFault { kind, severity: Severity::Notice, place: String::new(), text, skipped_bytes: 0 });
    };
    let times: Vec<i64> = events.iter().map(|event| event.time_ns).collect();
    let steps_back = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
    if steps_back > 0 {
        let backwards = match paired.backwards {
            0 => String::new(),
            count => format!("; {count} that end before they start are left out"),
        };
        fault(
            FirmwareFaultKind::EventsNotMonotonic,
            format!(
                "{steps_back} of {} measurements are earlier than the one written before them{backwards}",
                events.len()
            ),
        );
    }
    for (kind, left) in [
        (FirmwareFaultKind::BeginWithoutEnd, &paired.begins_left),
        (FirmwareFaultKind::EndWithoutBegin, &paired.ends_left),
    ] {
        if let Some(first) = left.first() {
            let module = names.of_event(first);
            let work = first.work.as_str().replace('_', " ");
            let name = if first.text.is_empty() { format!("{work} of {module}") } else { first.text.clone() };
            fault(kind, format!("{} of them; the first is {name} at {}", left.len(), Duration::from_ns(first.time_ns)));
        }
    }
}

/// For each piece the innermost phase in which it began.
fn innermost_phases(pieces: &[Piece<'_>], shares: &[Share]) -> Vec<&'static str> {
    let mut phases = vec![""; pieces.len()];
    // Parents begin before their parts, and pieces are in the order of their begins.
    for at in 0..pieces.len() {
        if let Some(parent) = shares[at].parent {
            phases[at] = pieces[parent].phase.unwrap_or(phases[parent]);
        }
    }
    phases
}

fn coverage(pieces: &[Piece<'_>], shares: &[Share], intervals: &FirmwareIntervals) -> Option<FirmwareCoverage> {
    let time1_ns = intervals.time1_ns.filter(|&ns| ns > 0)?;
    let leaves = pieces.iter().zip(shares).filter(|(piece, share)| piece.phase.is_none() && !share.has_parts);
    let measured_ns: i64 = leaves.map(|(_, share)| share.in_window_ns).sum();
    pieces
        .iter()
        .any(|piece| piece.phase.is_none())
        .then_some(FirmwareCoverage { measured_ns, measured_percent: measured_ns as f64 * 100.0 / time1_ns as f64 })
}

/// Keeps a stretch in which nothing ran but a phase; neighbors of the same phase are one.
fn add_gap(stretch: Stretch, pieces: &[Piece<'_>], gaps: &mut Vec<Stretch>) {
    if stretch.innermost.is_some_and(|at| pieces[at].phase.is_none()) {
        return;
    }
    // Most firmware measures some ten thousand pieces; of the stretches between them only the longest are of interest.
    if stretch.end_ns - stretch.start_ns < MIN_GAP_NS {
        return;
    }
    gaps.push(stretch);
    if gaps.len() >= 8 * MAX_GAPS {
        longest_first(gaps);
    }
}

fn longest_first(gaps: &mut Vec<Stretch>) {
    gaps.sort_by_key(|gap| (gap.start_ns - gap.end_ns, gap.start_ns));
    gaps.truncate(MAX_GAPS);
}

fn described_gaps(mut gaps: Vec<Stretch>, pieces: &[Piece<'_>], in_phase: &[&str], names: &Names) -> Vec<FirmwareGap> {
    longest_first(&mut gaps);
    let edge = |edge: Option<(usize, bool)>| {
        edge.map_or_else(String::new, |(at, begins)| {
            let which = if begins { "start" } else { "end" };
            format!("{which} of {}", label(&pieces[at], names))
        })
    };
    // A module is what ran; where only a phase begins or ends, its neighbors are those that a reader can look into.
    let modules = || pieces.iter().filter(|piece| piece.phase.is_none());
    let module_before = |start_ns: i64| {
        let before = modules().filter(|piece| piece.end_ns <= start_ns);
        before.max_by_key(|piece| piece.end_ns).map_or_else(String::new, |piece| label(piece, names))
    };
    let module_after = |end_ns: i64| {
        let after = modules().filter(|piece| piece.start_ns >= end_ns);
        after.min_by_key(|piece| piece.start_ns).map_or_else(String::new, |piece| label(piece, names))
    };
    let described = gaps.into_iter().map(|gap| FirmwareGap {
        module_before: module_before(gap.start_ns),
        module_after: module_after(gap.end_ns),
        start_ns: gap.start_ns,
        end_ns: gap.end_ns,
        duration_ns: gap.end_ns - gap.start_ns,
        phase: gap.innermost.map_or("", |at| pieces[at].phase.unwrap_or(in_phase[at])).to_owned(),
        after: edge(gap.opened_by),
        before: edge(gap.closed_by),
    });
    described.collect()
}

/// What a piece of work is called in a sentence.
fn label(piece: &Piece<'_>, names: &Names) -> String {
    use onoff_trace::firmware::FirmwareWork as Work;
    let module = names.of_event(piece.event);
    if let Some(phase) = piece.phase {
        return phase.to_owned();
    }
    match piece.event.work {
        Work::EntryPoint => format!("entry point of {module}"),
        Work::LoadImage => format!("load of {module}"),
        Work::DriverStart => format!("start of {module} on {}", piece.event.text),
        Work::DriverSupport => format!("support query to {module}"),
        Work::DriverStop => format!("stop of {module}"),
        _ if piece.event.text.is_empty() => module,
        _ => piece.event.text.clone(),
    }
}

fn work(pieces: &[Piece<'_>], shares: &[Share], in_phase: &[&str], names: &Names) -> Vec<FirmwareInterval> {
    let measured = pieces.iter().zip(shares).zip(in_phase).filter(|((piece, _), _)| !piece.inferred);
    let described = measured.map(|((piece, share), phase)| FirmwareInterval {
        work: piece.event.work,
        guid: piece.event.module.to_string(),
        module: names.of_event(piece.event),
        text: piece.event.text.clone(),
        caller: piece.event.caller.map(|guid| names.of(guid)).unwrap_or_default(),
        handle: piece.event.handle.map(|handle| format!("{handle:#x}")).unwrap_or_default(),
        start_ns: piece.start_ns,
        end_ns: piece.end_ns,
        duration_ns: piece.end_ns - piece.start_ns,
        self_ns: share.self_ns,
        depth: share.depth,
        phase: (*phase).to_owned(),
        apic: piece.event.apic,
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
