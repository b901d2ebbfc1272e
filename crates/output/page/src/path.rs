//! The critical path on the page: ready-thread arrows between its tracks, and its steps as sentences.

use hashbrown::HashMap;

use onoff_blame::waits::{CriticalPath, PathStep};
use onoff_evidence::Certainty;
use onoff_lanes::path_tracks::{SECTION, process_label, track_order};
use onoff_lanes::{Track, TrackGroup};
use onoff_report::text::why;
use serde::Serialize;

/// Arrows between the same two tracks within this many pixels are merged.
const ARROW_PIXELS: i128 = 5;
/// Maximum number of steps per query, longest first.
pub const MAX_STEPS: usize = 200;

/// A thread readied another thread on a different track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    pub time_ns: i64,
    /// Track of the readying thread.
    pub from: u32,
    /// Track of the readied thread.
    pub to: u32,
}

/// Arrows merged to one pixel position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrawnArrow {
    /// Time of the first arrow, ns.
    pub time_ns: i64,
    /// Track of the readying thread.
    pub from: u32,
    /// Track of the readied thread.
    pub to: u32,
    /// Number of merged arrows.
    pub count: u32,
}

/// A step of the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageStep {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Kind, such as `disk`.
    pub kind: &'static str,
    /// Description of the step.
    pub sentence: String,
    pub certainty: Certainty,
    /// Wait reason, then the call stack if recorded, innermost frame first.
    pub more: Vec<String>,
}

/// Steps of a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageSteps {
    /// Steps, in order of time.
    pub steps: Vec<PageStep>,
    /// Number of unlisted steps, including short ones that the path omits.
    pub omitted: u64,
}

/// Returns the ready-thread arrows between `tracks`, in order of time.
#[must_use]
pub fn arrows(paths: &[CriticalPath], tracks: &[Track]) -> Vec<Arrow> {
    let (names, indices) = track_order(paths);
    let is_path_track = |track: &Track| track.group == TrackGroup::CriticalPath && track.section == SECTION;
    let ids: Vec<Option<u32>> = names
        .iter()
        .map(|name| {
            let index = tracks.iter().position(|track| is_path_track(track) && track.name == *name)?;
            u32::try_from(index).ok()
        })
        .collect();
    let id = |step: &PathStep| indices.get(&process_label(step)).and_then(|&index| ids.get(index).copied().flatten());
    let mut arrows: Vec<Arrow> = Vec::new();
    for path in paths {
        for (step, next) in path.steps.iter().zip(path.steps.iter().skip(1)) {
            // If the path omits short steps between the two, there is no direct wakeup.
            if step.readies_tid != Some(next.thread.tid) || step.end_ns != next.start_ns {
                continue;
            }
            if let (Some(from), Some(to)) = (id(step), id(next))
                && from != to
            {
                arrows.push(Arrow { time_ns: step.end_ns, from, to });
            }
        }
    }
    arrows.sort_by_key(|arrow| arrow.time_ns);
    arrows
}

/// Merges the arrows of `start_ns..=end_ns` for a width of `pixels`.
#[must_use]
pub fn draw(arrows: &[Arrow], start_ns: i64, end_ns: i64, pixels: u32) -> Vec<DrawnArrow> {
    let width_ns = (i128::from(end_ns) - i128::from(start_ns)).max(1);
    let bucket = |time_ns: i64| {
        (i128::from(time_ns) - i128::from(start_ns)) * i128::from(pixels.max(1)) / width_ns / ARROW_PIXELS
    };
    let first_index = arrows.partition_point(|arrow| arrow.time_ns < start_ns);
    let mut drawn: Vec<DrawnArrow> = Vec::new();
    let mut last_drawn: HashMap<(u32, u32), (i128, usize)> = HashMap::new();
    for arrow in arrows.iter().skip(first_index).take_while(|arrow| arrow.time_ns <= end_ns) {
        let position = bucket(arrow.time_ns);
        match last_drawn.get(&(arrow.from, arrow.to)) {
            Some(&(last_position, index)) if last_position == position => {
                drawn[index].count = drawn[index].count.saturating_add(1);
            }
            _ => {
                last_drawn.insert((arrow.from, arrow.to), (position, drawn.len()));
                drawn.push(DrawnArrow { time_ns: arrow.time_ns, from: arrow.from, to: arrow.to, count: 1 });
            }
        }
    }
    drawn
}

/// Returns the longest steps in `start_ns..end_ns`, at most `max_steps`, in order of time. Steps shorter than a
/// thousandth of the range are omitted.
#[must_use]
pub fn steps(paths: &[CriticalPath], start_ns: i64, end_ns: i64, max_steps: usize) -> PageSteps {
    let overlaps_range = |path: &&CriticalPath| path.start_ns < end_ns && path.end_ns > start_ns;
    let mut listed: Vec<&PathStep> = paths
        .iter()
        .filter(overlaps_range)
        .flat_map(|path| &path.steps)
        .filter(|step| step.start_ns < end_ns && step.end_ns > start_ns)
        .collect();
    let total = listed.len();
    listed.sort_by_key(|step| std::cmp::Reverse(step.duration_ns));
    // Shorter steps do not matter at this zoom level.
    let min_ns = end_ns.saturating_sub(start_ns) / 1_000;
    let long_count = listed.partition_point(|step| step.duration_ns >= min_ns);
    listed.truncate(max_steps.min(long_count));
    listed.sort_by_key(|step| step.start_ns);
    let omitted_by_paths: u64 = paths
        .iter()
        .filter(|path| path.start_ns >= start_ns && path.end_ns <= end_ns)
        .fold(0_u64, |sum, path| sum.saturating_add(path.omitted_steps));
    PageSteps {
        omitted: omitted_by_paths.saturating_add((total - listed.len()) as u64),
        steps: listed
            .into_iter()
            .map(|step| PageStep {
                start_ns: step.start_ns,
                end_ns: step.end_ns,
                kind: step.kind.as_str(),
                sentence: why::step(step),
                certainty: step.certainty,
                more: details(step),
            })
            .collect(),
    }
}

fn details(step: &PathStep) -> Vec<String> {
    let mut details = Vec::new();
    if !step.wait_reason.is_empty() {
        details.push(format!("Wait reason: {}", step.wait_reason));
    }
    details.extend(step.stack.iter().map(onoff_blame::waits::StackFrame::label));
    details
}

#[cfg(test)]
mod tests {
    use onoff_lanes::path_tracks::path_tracks;

    use super::*;
    use onoff_blame::waits::{PathThread, StepKind};

    fn step(start_ns: i64, end_ns: i64, tid: u32, process: &str, readies_tid: Option<u32>) -> PathStep {
        PathStep {
            start_ns,
            end_ns,
            duration_ns: end_ns - start_ns,
            thread: PathThread { tid, process: process.to_owned(), pid: Some(tid * 10), ..PathThread::default() },
            kind: StepKind::Cpu,
            detail: String::new(),
            service: None,
            certainty: Certainty::Measured,
            wait_reason: String::new(),
            readies_tid,
            waiters: Vec::new(),
            device: String::new(),
            stack: Vec::new(),
            stack_ns: None,
        }
    }

    fn paths() -> Vec<CriticalPath> {
        let steps = vec![
            step(0, 40, 1, "a.exe", Some(2)),
            step(40, 50, 2, "b.exe", Some(1)),
            step(50, 60, 1, "a.exe", Some(2)),
            // A short step is omitted here.
            step(61, 100, 2, "b.exe", None),
        ];
        vec![CriticalPath {
            start_ns: 0,
            end_ns: 100,
            duration_ns: 100,
            steps,
            omitted_steps: 1,
            ..CriticalPath::default()
        }]
    }

    #[test]
    fn draws_arrows_only_for_direct_wakeups() {
        let paths = paths();
        let tracks = path_tracks(&paths);
        assert_eq!(tracks.iter().map(|track| track.name.as_str()).collect::<Vec<_>>(), ["a.exe (10)", "b.exe (20)"]);
        let arrows = arrows(&paths, &tracks);
        let expected = [Arrow { time_ns: 40, from: 0, to: 1 }, Arrow { time_ns: 50, from: 1, to: 0 }];
        assert_eq!(arrows, expected, "at 60 a step is omitted, so the wakeup is unknown");
        assert_eq!(draw(&arrows, 0, 100, 1000).len(), 2);
        assert_eq!(draw(&arrows, 45, 100, 1000).len(), 1);
        assert!(draw(&arrows, i64::MIN, i64::MAX, u32::MAX).len() <= 2);
    }

    #[test]
    fn merges_arrows_at_the_same_pixels() {
        let many: Vec<Arrow> = (0..10_000).map(|time_ns| Arrow { time_ns, from: 0, to: 1 }).collect();
        let drawn = draw(&many, 0, 10_000, 100);
        assert_eq!(drawn.len(), 20);
        assert_eq!(drawn.iter().map(|arrow| arrow.count).sum::<u32>(), 10_000);
    }

    #[test]
    fn lists_longest_steps_and_counts_the_rest() {
        let listed = steps(&paths(), 0, 100, 2);
        assert_eq!(listed.steps.iter().map(|step| step.start_ns).collect::<Vec<_>>(), [0, 61]);
        assert_eq!(listed.omitted, 3, "two shorter steps, and one omitted by the path");
        assert!(listed.steps[0].sentence.contains("a.exe"), "{}", listed.steps[0].sentence);
        assert!(steps(&paths(), 200, 300, 9).steps.is_empty());
    }
}
