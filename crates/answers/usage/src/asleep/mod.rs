//! When the machine was asleep, on the recording's axis: no processor ran then, whichever thread the last context switch had put on it.
//!
//! The records of a transition bound each sleep, and the longest silence of the processors between them is the sleep. Where the
//! recording's clock stands still meanwhile, nothing is left of it.

pub mod cycles;
pub mod lengths;
mod names;
mod windows;

use onoff_trace::{SystemKind, TableName, Tables, Trace};

pub use lengths::STOOD_STILL_NS;
use onoff_evidence::interval::union;

/// The tables that say when the machine was asleep.
pub const TABLES: Tables = Tables::of(&[TableName::Milestones, TableName::Activities]);

/// Records of one sleep that are looked at, at most: between the last one of the way down and the first of the way up there are few.
const MAX_RECORDS: usize = 1 << 20;

/// A sleep, and what surrounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepWindow {
    /// The last record of the way down and the first of the way up, ns.
    pub(crate) between: (i64, i64),
    /// A silence shorter than this is no sleep, ns.
    pub(crate) least_ns: i64,
    /// How much of it was not asleep though nothing was recorded, ns: a memory image was written, firmware ran.
    pub(crate) unrecorded: (i64, i64),
}

/// The sleeps of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asleep {
    /// Without any record of the processors: start and end, ns, in order and without overlap.
    silent: Vec<(i64, i64)>,
    /// Of them, the time asleep.
    asleep: Vec<(i64, i64)>,
}

impl Asleep {
    /// The sleeps that `trace` tells of.
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

    /// Whether the machine never slept.
    pub fn is_never(&self) -> bool {
        self.silent.is_empty()
    }

    /// The parts of `start_ns..end_ns` in which processors may have run, in order.
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

    /// How much of `start_ns..end_ns` nothing was recorded in because of a sleep, ns.
    pub(crate) fn silent_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        overlap_ns(&self.silent, start_ns, end_ns)
    }

    /// How much of `start_ns..end_ns` the machine was asleep, ns.
    pub(crate) fn asleep_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        overlap_ns(&self.asleep, start_ns, end_ns)
    }

    /// When the first sleep from `time_ns` on begins, ns.
    pub(crate) fn next_after(&self, time_ns: i64) -> Option<i64> {
        self.silent.get(self.silent.partition_point(|&(start, _)| start < time_ns)).map(|&(start, _)| start)
    }
}

fn overlap_ns(intervals: &[(i64, i64)], start_ns: i64, end_ns: i64) -> i64 {
    let first = intervals.partition_point(|&(_, end)| end <= start_ns);
    let met = intervals.get(first..).unwrap_or_default().iter().take_while(|interval| interval.0 < end_ns);
    met.map(|&(start, end)| end.min(end_ns).saturating_sub(start.max(start_ns)).max(0)).fold(0, i64::saturating_add)
}

/// What is left of `span` without what came first and last in it; all of it where there is no room for both: then the clock stood still
/// in them.
pub fn without(span: (i64, i64), (first_ns, last_ns): (i64, i64)) -> (i64, i64) {
    let (start, end) = (span.0.saturating_add(first_ns.max(0)), span.1.saturating_sub(last_ns.max(0)));
    if start <= end { (start, end) } else { span }
}

/// The longest stretch of `window` without a record of the processors.
fn silence(trace: &Trace, window: &SleepWindow) -> Option<(i64, i64)> {
    let (from, to) = window.between;
    let mut times = vec![from, to];
    let within = |time: &i64| (from..=to).contains(time);
    for (piece, rows) in trace.switches_between(from, to).rows(&trace.context_switches) {
        times.extend(piece.time_ns.get(rows).unwrap_or_default().iter().copied().filter(within));
        if times.len() > MAX_RECORDS {
            return None;
        }
    }
    for (piece, rows) in trace.samples_between(from, to) {
        times.extend(piece.time_ns.get(rows).unwrap_or_default().iter().copied().filter(within));
        if times.len() > MAX_RECORDS {
            return None;
        }
    }
    times.sort_unstable();
    let gaps = times.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
    gaps.max_by_key(|(start, end)| (end.saturating_sub(*start), std::cmp::Reverse(*start)))
        .filter(|(start, end)| end.saturating_sub(*start) >= window.least_ns.max(1))
}
