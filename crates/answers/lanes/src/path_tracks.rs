//! The critical path by process: one track for each process on it.

use hashbrown::HashMap;

use super::slices::{LaneSlice, SliceLane, Tone};
use super::{Lane, Track, TrackGroup};
use onoff_blame::waits::{CriticalPath, PathStep, StepKind};

/// Maximum number of processes with their own track: those with most time on the path.
const MAX_TRACKS: usize = 12;
/// Section of the tracks.
pub const SECTION: &str = "by process";

/// The process of a step: the name of its track.
#[must_use]
pub fn process(step: &PathStep) -> String {
    match (step.thread.process.as_str(), step.thread.pid) {
        ("", None) => format!("thread {}", step.thread.tid),
        ("", Some(pid)) => format!("process {pid}"),
        (process, Some(pid)) => format!("{process} ({pid})"),
        (process, None) => process.to_owned(),
    }
}

/// One track per process on the paths, most time first; the remaining processes share the last one.
#[must_use]
pub fn path_tracks(paths: &[CriticalPath]) -> Vec<Track> {
    let (names, indexes) = order(paths);
    let mut slices: Vec<Vec<LaneSlice>> = names.iter().map(|_| Vec::new()).collect();
    for step in paths.iter().flat_map(|path| &path.steps) {
        if let Some(track) = indexes.get(&process(step)).and_then(|&index| slices.get_mut(index)) {
            track.push(LaneSlice {
                start_ns: step.start_ns,
                end_ns: step.end_ns,
                label: path_label(step),
                tone: tone_of(step.kind),
            });
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

/// Track names in order, and the track index of each process.
#[must_use]
pub fn order(paths: &[CriticalPath]) -> (Vec<String>, HashMap<String, usize>) {
    let mut times: HashMap<String, i64> = HashMap::new();
    for step in paths.iter().flat_map(|path| &path.steps) {
        let time = times.entry(process(step)).or_default();
        *time = time.saturating_add(step.duration_ns);
    }
    let mut names: Vec<(String, i64)> = times.into_iter().collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let others = names.len() > MAX_TRACKS + 1;
    let indexes =
        names.iter().enumerate().map(|(at, (name, _))| (name.clone(), if others { at.min(MAX_TRACKS) } else { at }));
    let indexes: HashMap<String, usize> = indexes.collect();
    let count = names.len();
    let mut names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    if others {
        names.truncate(MAX_TRACKS);
        names.push(format!("{} more processes", count - MAX_TRACKS));
    }
    (names, indexes)
}

/// Label of a step: its thread and what it did.
pub(super) fn path_label(step: &PathStep) -> String {
    let thread = &step.thread;
    let who = if thread.process.is_empty() { format!("thread {}", thread.tid) } else { thread.process.clone() };
    let what = match step.kind {
        StepKind::Cpu => "ran",
        StepKind::Ready => "was ready",
        StepKind::Disk => "waited for a disk",
        StepKind::Timer => "waited for a timer",
        StepKind::Device => "waited for a device",
        StepKind::ServiceDependency => "waited for a service",
        StepKind::Other => "not known",
    };
    if step.detail.is_empty() { format!("{who} {what}") } else { format!("{who} {what}: {}", step.detail) }
}

/// The tone of a step.
pub fn tone_of(kind: StepKind) -> Tone {
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
