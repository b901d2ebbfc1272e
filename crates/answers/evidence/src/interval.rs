//! Intervals of time.

use serde::Serialize;

/// A stretch of the recording's time: from its begin up to, not including, its end. The recording's last event, which
/// lies at the end of the whole, is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Whether what happens at the very end is in.
    #[serde(skip)]
    pub(crate) includes_end: bool,
}

impl Interval {
    /// From one time up to, not including, another, ns.
    #[must_use]
    pub const fn new(start_ns: i64, end_ns: i64) -> Self {
        Self { start_ns, end_ns, includes_end: false }
    }

    /// Length, ns; never negative.
    #[must_use]
    pub fn length_ns(self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns).max(0)
    }

    /// Whether `time_ns` lies in it.
    #[must_use]
    pub fn contains(self, time_ns: i64) -> bool {
        self.start_ns <= time_ns && self.is_before_end(time_ns)
    }

    fn is_before_end(self, time_ns: i64) -> bool {
        time_ns < self.end_ns || (self.includes_end && time_ns == self.end_ns)
    }

    /// Whether any of the time from `start_ns` to `end_ns` lies in it; a moment, when both are equal, when it does. Open
    /// ends reach beyond the recording.
    #[must_use]
    pub fn meets(self, start_ns: Option<i64>, end_ns: Option<i64>) -> bool {
        let starts_before = start_ns.is_none_or(|start| self.is_before_end(start));
        let ends_after = end_ns.is_none_or(|end| end > self.start_ns || start_ns == Some(self.start_ns));
        starts_before && ends_after
    }

    /// How much of the time from `start_ns` to `end_ns` lies in it, ns.
    #[must_use]
    pub fn overlap_ns(self, start_ns: i64, end_ns: i64) -> i64 {
        end_ns.min(self.end_ns).saturating_sub(start_ns.max(self.start_ns)).max(0)
    }
}

/// The stretches (start and end, ns) in order, those that overlap or touch made one; those without a length are left out.
#[must_use]
pub fn union(mut stretches: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    stretches.retain(|&(start, end)| start < end);
    stretches.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(stretches.len());
    for (start, end) in stretches {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// Time that the stretches (start and end, ns) cover within `window`, ns, each moment once.
#[must_use]
pub fn covered_ns(stretches: Vec<(i64, i64)>, window: (i64, i64)) -> i64 {
    union(stretches)
        .into_iter()
        .map(|(start, end)| end.min(window.1).saturating_sub(start.max(window.0)).max(0))
        .fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_or_touches_the_range_meets_it() {
        let range = Interval::new(10, 20);
        assert!(range.meets(None, None));
        assert!(range.meets(Some(19), None));
        assert!(!range.meets(Some(20), None));
        assert!(!range.meets(None, Some(10)));
        assert!(range.meets(Some(10), Some(10)));
        assert_eq!(range.overlap_ns(5, 12), 2);
        assert_eq!(range.overlap_ns(0, 5), 0);
        assert_eq!(range.overlap_ns(i64::MIN, i64::MAX), 10);
    }

    #[test]
    fn a_moment_counts_once_and_only_in_the_window() {
        let stretches = vec![(0, 10), (5, 20), (30, 40), (50, 50), (45, 35)];
        assert_eq!(union(stretches.clone()), [(0, 20), (30, 40)]);
        assert_eq!(covered_ns(stretches.clone(), (8, 35)), 12 + 5);
        assert_eq!(covered_ns(stretches, (100, 200)), 0);
        assert_eq!(covered_ns(vec![(i64::MIN, i64::MAX)], (0, 5)), 5);
    }
}
