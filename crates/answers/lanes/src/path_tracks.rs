//! The critical path by process: one track for each process on it.

use hashbrown::HashMap;

use super::slices::{LaneSlice, SliceLane, Tone};
use super::{Lane, Track, TrackGroup};
use onoff_blame::waits::{CriticalPath, PathStep, StepKind};

/// Maximum number of processes with a separate track; those with the most time on the path get one.
const MAX_TRACKS: usize = 12;
/// Section of the tracks.
pub const SECTION: &str = "by process";

/// Returns the process of a step, which is the name of its track.
#[must_use]
pub fn process_label(step: &PathStep) -> String {
    match (step.thread.process.as_str(), step.thread.pid) {
        ("", None) => format!("thread {}", step.thread.tid),
        ("", Some(pid)) => format!("process {pid}"),
        (process, Some(pid)) => format!("{process} ({pid})"),
        (process, None) => process.to_owned(),
    }
}

/// Returns one track per process on the paths, most time first; the remaining processes share the last one.
#[must_use]
pub fn path_tracks(paths: &[CriticalPath]) -> Vec<Track> {
    let (names, indexes) = track_order(paths);
    let mut slices: Vec<Vec<LaneSlice>> = names.iter().map(|_| Vec::new()).collect();
    for step in paths.iter().flat_map(|path| &path.steps) {
        if let Some(track) = indexes.get(&process_label(step)).and_then(|&index| slices.get_mut(index)) {
            track.push(path_slice(step));
        }
    }
    names
        .into_iter()
        .zip(slices)
        .map(|(name, slices)| Track {
            group: TrackGroup::CriticalPath,
            section: SECTION.to_owned(),
            name,
            note: "its steps on the critical path; arrows: which thread readied which".to_owned(),
            lane: Lane::Slices(SliceLane::new(slices)),
        })
        .collect()
}

/// Returns the track names in order, and the track index of each process.
#[must_use]
pub fn track_order(paths: &[CriticalPath]) -> (Vec<String>, HashMap<String, usize>) {
    let mut times: HashMap<String, i64> = HashMap::new();
    for step in paths.iter().flat_map(|path| &path.steps) {
        let time = times.entry(process_label(step)).or_default();
        *time = time.saturating_add(step.duration_ns);
    }
    let mut names: Vec<(String, i64)> = times.into_iter().collect();
    names.sort_by(|(name_a, ns_a), (name_b, ns_b)| ns_b.cmp(ns_a).then_with(|| name_a.cmp(name_b)));
    let has_shared_track = names.len() > MAX_TRACKS + 1;
    let indexes = names
        .iter()
        .enumerate()
        .map(|(index, (name, _))| (name.clone(), if has_shared_track { index.min(MAX_TRACKS) } else { index }));
    let indexes: HashMap<String, usize> = indexes.collect();
    let count = names.len();
    let mut names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    if has_shared_track {
        names.truncate(MAX_TRACKS);
        names.push(format!("{} more processes", count - MAX_TRACKS));
    }
    (names, indexes)
}

/// Returns the interval of a step.
#[must_use]
pub fn path_slice(step: &PathStep) -> LaneSlice {
    let tid = Some(step.thread.tid).filter(|&tid| tid != 0);
    LaneSlice::new(step.start_ns, step.end_ns, path_label(step), step_tone(step.kind)).with_thread(tid)
}

/// Returns the label of a step: its thread and what it did.
fn path_label(step: &PathStep) -> String {
    let thread = &step.thread;
    let subject = if thread.process.is_empty() { format!("thread {}", thread.tid) } else { thread.process.clone() };
    let activity = match step.kind {
        StepKind::Cpu => "ran",
        StepKind::Ready => "was ready",
        StepKind::Disk => "waited for a disk",
        StepKind::Timer => "waited for a timer",
        StepKind::Device => "waited for a device",
        StepKind::ServiceDependency => "waited for a service",
        StepKind::Other => "not known",
    };
    if step.detail.is_empty() {
        format!("{subject} {activity}")
    } else {
        format!("{subject} {activity}: {}", step.detail)
    }
}

/// Returns the tone of a step.
pub fn step_tone(kind: StepKind) -> Tone {
    match kind {
        StepKind::Cpu => Tone::Ran,
        StepKind::Ready => Tone::Ready,
        StepKind::Disk => Tone::Disk,
        StepKind::Timer => Tone::Timer,
        StepKind::Device => Tone::Interrupt,
        StepKind::ServiceDependency => Tone::Service,
        StepKind::Other => Tone::Unknown,
    }
}
