//! When the machine was asleep, on the recording's axis: no thread ran then, whatever the last context switches were.
//!
//! The records of a transition bound each sleep; the longest interval between them without CPU activity is the sleep.
//! If the recording's clock stops during the sleep, the interval is empty.

pub mod cycles;
pub mod durations;
mod names;
mod windows;

use onoff_trace::{SystemKind, TableName, TableSet, Trace};

pub use durations::MIN_CLOCK_STOP_NS;
use onoff_evidence::interval::union;

/// The tables needed to find sleeps.
pub const TABLES: TableSet = TableSet::of(&[TableName::Milestones, TableName::Activities]);

/// Maximum number of records per sleep; between the last suspend record and the first resume record there are few.
const MAX_RECORDS: usize = 1 << 20;

/// The bounds of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepWindow {
    /// The last suspend record and the first resume record, ns.
    pub(crate) between: (i64, i64),
    /// Minimum length of the interval without CPU activity, ns.
    pub(crate) min_ns: i64,
    /// Time at its start and end that is not time asleep although nothing was recorded, ns: writing a memory image,
    /// firmware.
    pub(crate) unrecorded: (i64, i64),
}

/// The sleeps in a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SleepIntervals {
    /// Intervals without CPU activity because of a sleep, ns; sorted and disjoint.
    silent: Vec<(i64, i64)>,
    /// The part of them that is time asleep.
    asleep: Vec<(i64, i64)>,
}

impl SleepIntervals {
    /// Finds the sleeps in `trace`.
    pub fn of(trace: &Trace) -> Self {
        let windows = match trace.system.kind {
            SystemKind::Linux => windows::of_linux(trace),
            _ => windows::of_windows(trace),
        };
        let found: Vec<_> = windows.iter().filter_map(|window| Some((silence(trace, window)?, window))).collect();
        Self {
            silent: union(found.iter().map(|&(silent, _)| silent).collect()),
            asleep: union(found.iter().map(|&(silent, window)| without(silent, window.unrecorded)).collect()),
        }
    }

    /// True if the machine never slept.
    pub fn is_empty(&self) -> bool {
        self.silent.is_empty()
    }

    /// The parts of `start_ns..end_ns` in which threads may have run, in order.
    pub fn awake(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> {
        let first = self.silent.partition_point(|&(_, end)| end <= start_ns);
        let mut sleeps = self.silent.get(first..).unwrap_or_default().iter().take_while(move |gap| gap.0 < end_ns);
        let mut from = start_ns;
        std::iter::from_fn(move || {
            loop {
                if from >= end_ns {
                    return None;
                }
                let (until, next) = sleeps.next().map_or((end_ns, end_ns), |&(start, end)| (start, end));
                let part = (from, until);
                from = next;
                if part.0 < part.1 {
                    return Some(part);
                }
            }
        })
    }

    /// Time in `start_ns..end_ns` without records because of a sleep, ns.
    pub(crate) fn silent_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        overlap_ns(&self.silent, start_ns, end_ns)
    }

    /// Time asleep in `start_ns..end_ns`, ns.
    pub(crate) fn asleep_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        overlap_ns(&self.asleep, start_ns, end_ns)
    }

    /// Start of the first sleep at or after `time_ns`, ns.
    pub(crate) fn next_after(&self, time_ns: i64) -> Option<i64> {
        self.silent.get(self.silent.partition_point(|&(start, _)| start < time_ns)).map(|&(start, _)| start)
    }
}

fn overlap_ns(intervals: &[(i64, i64)], start_ns: i64, end_ns: i64) -> i64 {
    let first = intervals.partition_point(|&(_, end)| end <= start_ns);
    let overlapping = intervals.get(first..).unwrap_or_default().iter().take_while(|interval| interval.0 < end_ns);
    overlapping
        .map(|&(start, end)| end.min(end_ns).saturating_sub(start.max(start_ns)).max(0))
        .fold(0, i64::saturating_add)
}

/// `interval` without time at its start and end; unchanged if it is too short for both, because then the clock had
/// stopped.
pub fn without(interval: (i64, i64), (first_ns, last_ns): (i64, i64)) -> (i64, i64) {
    let (start, end) = (interval.0.saturating_add(first_ns.max(0)), interval.1.saturating_sub(last_ns.max(0)));
    if start <= end { (start, end) } else { interval }
}

/// The longest interval in `window` without CPU activity.
fn silence(trace: &Trace, window: &SleepWindow) -> Option<(i64, i64)> {
    let (from, to) = window.between;
    let mut times = vec![from, to];
    let within = |time: &i64| (from..=to).contains(time);
    for (chunk, rows) in trace.switches_between(from, to).rows(&trace.context_switches) {
        times.extend(chunk.time_ns.get(rows).unwrap_or_default().iter().copied().filter(within));
        if times.len() > MAX_RECORDS {
            return None;
        }
    }
    for (chunk, rows) in trace.samples_between(from, to) {
        times.extend(chunk.time_ns.get(rows).unwrap_or_default().iter().copied().filter(within));
        if times.len() > MAX_RECORDS {
            return None;
        }
    }
    times.sort_unstable();
    let gaps = times.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    gaps.max_by_key(|(start, end)| (end.saturating_sub(*start), std::cmp::Reverse(*start)))
        .filter(|(start, end)| end.saturating_sub(*start) >= window.min_ns.max(1))
}
