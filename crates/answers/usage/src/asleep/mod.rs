//! Finds when the machine was asleep, on the recording's axis. No thread ran then, whatever the last context switches
//! were.
//!
//! The records of a transition bound each sleep. The sleep is the longest interval between them without CPU activity.
//! If the recording's clock stops during the sleep, the interval is empty.

pub mod cycles;
pub mod durations;
mod names;
mod windows;

use onoff_trace::{SystemKind, TableName, TableSet, Trace};

pub use durations::MIN_CLOCK_STOP_NS;
use onoff_evidence::interval::union;

/// The tables needed to find sleeps.
pub const TABLES: TableSet = TableSet::from_names(&[TableName::Milestones, TableName::Activities]);

/// Maximum number of records per sleep; there are few between the last suspend record and the first resume record.
const MAX_RECORDS: usize = 1 << 20;

/// The bounds of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepWindow {
    /// Times of the last suspend record and the first resume record, ns.
    pub(crate) bounds: (i64, i64),
    /// Minimum length of the interval without CPU activity, ns.
    pub(crate) min_ns: i64,
    /// Time at the start and end that is not time asleep although nothing was recorded, ns: writing a memory image,
    /// firmware.
    pub(crate) unrecorded: (i64, i64),
}

/// The sleeps in a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SleepIntervals {
    /// Intervals without CPU activity because of a sleep, ns; sorted and disjoint.
    silent: Vec<(i64, i64)>,
    /// The part of these intervals that is time asleep.
    asleep: Vec<(i64, i64)>,
}

impl SleepIntervals {
    /// Finds the sleeps in `trace`.
    pub fn from_trace(trace: &Trace) -> Self {
        let windows = match trace.system.kind {
            SystemKind::Linux => windows::linux_sleeps(trace),
            _ => windows::windows_sleeps(trace),
        };
        let sleeps: Vec<_> =
            windows.iter().filter_map(|window| Some((longest_silence(trace, window)?, window))).collect();
        Self {
            silent: union(sleeps.iter().map(|&(silent, _)| silent).collect()),
            asleep: union(sleeps.iter().map(|&(silent, window)| trim(silent, window.unrecorded)).collect()),
        }
    }

    /// Returns true if the machine never slept.
    pub fn is_empty(&self) -> bool {
        self.silent.is_empty()
    }

    /// Returns the parts of `start_ns..end_ns` in which threads may have run, in order.
    pub fn awake(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> {
        let first_index = self.silent.partition_point(|&(_, end)| end <= start_ns);
        let mut sleeps =
            self.silent.get(first_index..).unwrap_or_default().iter().take_while(move |gap| gap.0 < end_ns);
        let mut awake_from = start_ns;
        std::iter::from_fn(move || {
            loop {
                if awake_from >= end_ns {
                    return None;
                }
                let (sleep_start, sleep_end) = sleeps.next().copied().unwrap_or((end_ns, end_ns));
                let awake_start = std::mem::replace(&mut awake_from, sleep_end);
                if awake_start < sleep_start {
                    return Some((awake_start, sleep_start));
                }
            }
        })
    }

    /// Returns the time in `start_ns..end_ns` without records because of a sleep, in ns.
    pub(crate) fn silent_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        overlap_ns(&self.silent, start_ns, end_ns)
    }

    /// Returns the time asleep in `start_ns..end_ns`, in ns.
    pub(crate) fn asleep_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        overlap_ns(&self.asleep, start_ns, end_ns)
    }

    /// Returns the start of the first sleep at or after `time_ns`, in ns.
    pub(crate) fn next_start(&self, time_ns: i64) -> Option<i64> {
        self.silent.get(self.silent.partition_point(|&(start, _)| start < time_ns)).map(|&(start, _)| start)
    }
}

fn overlap_ns(intervals: &[(i64, i64)], start_ns: i64, end_ns: i64) -> i64 {
    let first_index = intervals.partition_point(|&(_, end)| end <= start_ns);
    let overlapping =
        intervals.get(first_index..).unwrap_or_default().iter().take_while(|interval| interval.0 < end_ns);
    overlapping
        .map(|&(start, end)| end.min(end_ns).saturating_sub(start.max(start_ns)).max(0))
        .fold(0, i64::saturating_add)
}

/// Removes time at the start and end of `interval`. Returns it unchanged if it is too short for both, because then the
/// clock had stopped.
pub fn trim(interval: (i64, i64), (first_ns, last_ns): (i64, i64)) -> (i64, i64) {
    let (start, end) = (interval.0.saturating_add(first_ns.max(0)), interval.1.saturating_sub(last_ns.max(0)));
    if start <= end { (start, end) } else { interval }
}

/// Returns the longest interval in `window` without CPU activity.
fn longest_silence(trace: &Trace, window: &SleepWindow) -> Option<(i64, i64)> {
    let (start_ns, end_ns) = window.bounds;
    let mut times = vec![start_ns, end_ns];
    let is_in_window = |time: &i64| (start_ns..=end_ns).contains(time);
    for (chunk, rows) in trace.switches_between(start_ns, end_ns).rows(&trace.context_switches) {
        times.extend(chunk.time_ns.get(rows).unwrap_or_default().iter().copied().filter(is_in_window));
        if times.len() > MAX_RECORDS {
            return None;
        }
    }
    for (chunk, rows) in trace.samples_between(start_ns, end_ns) {
        times.extend(chunk.time_ns.get(rows).unwrap_or_default().iter().copied().filter(is_in_window));
        if times.len() > MAX_RECORDS {
            return None;
        }
    }
    times.sort_unstable();
    let gaps = times.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    gaps.max_by_key(|(start, end)| (end.saturating_sub(*start), std::cmp::Reverse(*start)))
        .filter(|(start, end)| end.saturating_sub(*start) >= window.min_ns.max(1))
}
