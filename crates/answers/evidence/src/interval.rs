//! Half-open time intervals and their union.

use serde::Serialize;

/// A half-open interval: includes its start, excludes its end. An interval that covers the whole recording also
/// includes the last event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    pub start_ns: i64,
    pub end_ns: i64,
    /// True if `end_ns` itself is included.
    #[serde(skip)]
    pub(crate) includes_end: bool,
}

impl Interval {
    /// Creates the half-open interval `[start_ns, end_ns)`.
    #[must_use]
    pub const fn new(start_ns: i64, end_ns: i64) -> Self {
        Self { start_ns, end_ns, includes_end: false }
    }

    /// Returns the duration, which is never negative.
    #[must_use]
    pub fn duration_ns(self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns).max(0)
    }

    #[must_use]
    pub fn contains(self, time_ns: i64) -> bool {
        self.start_ns <= time_ns && self.is_before_end(time_ns)
    }

    fn is_before_end(self, time_ns: i64) -> bool {
        time_ns < self.end_ns || (self.includes_end && time_ns == self.end_ns)
    }

    /// True if it overlaps `start_ns..end_ns`. `None` means unbounded; an empty range counts as a point in time.
    #[must_use]
    pub fn overlaps(self, start_ns: Option<i64>, end_ns: Option<i64>) -> bool {
        let starts_before = start_ns.is_none_or(|start| self.is_before_end(start));
        let ends_after = end_ns.is_none_or(|end| end > self.start_ns || start_ns == Some(self.start_ns));
        starts_before && ends_after
    }

    /// Returns the overlap with `start_ns..end_ns`, ns.
    #[must_use]
    pub fn overlap_ns(self, start_ns: i64, end_ns: i64) -> i64 {
        end_ns.min(self.end_ns).saturating_sub(start_ns.max(self.start_ns)).max(0)
    }
}

/// Sorts the intervals (start and end, ns) and merges those that overlap or touch. Empty intervals are dropped.
#[must_use]
pub fn union(mut intervals: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    intervals.retain(|&(start, end)| start < end);
    intervals.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::with_capacity(intervals.len());
    for (start, end) in intervals {
        match merged.last_mut() {
            Some((_, last_end)) if start <= *last_end => *last_end = end.max(*last_end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// Returns the total time within `window` that the intervals (start and end, ns) cover, ns; overlaps count once.
#[must_use]
pub fn covered_ns(intervals: Vec<(i64, i64)>, window: (i64, i64)) -> i64 {
    union(intervals)
        .into_iter()
        .map(|(start, end)| end.min(window.1).saturating_sub(start.max(window.0)).max(0))
        .fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_and_touching_ranges_overlap() {
        let range = Interval::new(10, 20);
        assert!(range.overlaps(None, None));
        assert!(range.overlaps(Some(19), None));
        assert!(!range.overlaps(Some(20), None));
        assert!(!range.overlaps(None, Some(10)));
        assert!(range.overlaps(Some(10), Some(10)));
        assert_eq!(range.overlap_ns(5, 12), 2);
        assert_eq!(range.overlap_ns(0, 5), 0);
        assert_eq!(range.overlap_ns(i64::MIN, i64::MAX), 10);
    }

    #[test]
    fn overlapping_time_counts_once_and_only_within_the_window() {
        let intervals = vec![(0, 10), (5, 20), (30, 40), (50, 50), (45, 35)];
        assert_eq!(union(intervals.clone()), [(0, 20), (30, 40)]);
        assert_eq!(covered_ns(intervals.clone(), (8, 35)), 12 + 5);
        assert_eq!(covered_ns(intervals, (100, 200)), 0);
        assert_eq!(covered_ns(vec![(i64::MIN, i64::MAX)], (0, 5)), 5);
    }
}
