//! What something cost a transition.

use crate::finding::CostBasis;

/// A stretch of time, begin and end, ns.
pub type Interval = (i64, i64);

/// What something cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Time, ns; `None` when it cannot be told.
    pub ns: Option<i64>,
    /// How it was found.
    pub basis: CostBasis,
}

impl Cost {
    /// Nothing can be told.
    pub const UNKNOWN: Self = Self { ns: None, basis: CostBasis::Unknown };

    /// At most this, ns.
    #[must_use]
    pub const fn at_most(ns: i64) -> Self {
        Self { ns: Some(ns), basis: CostBasis::AtMost }
    }

    /// Exactly this, ns: nothing else went on meanwhile, or the chain of waits says so.
    #[must_use]
    pub const fn on_path(ns: i64) -> Self {
        Self { ns: Some(ns), basis: CostBasis::CriticalPath }
    }

    /// Whether the transition would not notice.
    #[must_use]
    pub fn is_noise(self, noise_ns: i64) -> bool {
        self.ns.is_some_and(|ns| ns < noise_ns)
    }
}

/// The intervals in order, overlapping ones made one; those without a length are left out.
#[must_use]
pub fn union(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.retain(|&(start, end)| start < end);
    intervals.sort_unstable();
    let mut joined: Vec<Interval> = Vec::with_capacity(intervals.len());
    for (start, end) in intervals {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// Time that `intervals` cover within `window`, ns, each moment once.
#[must_use]
pub fn covered(intervals: Vec<Interval>, window: Interval) -> i64 {
    union(intervals)
        .into_iter()
        .map(|(start, end)| end.min(window.1).saturating_sub(start.max(window.0)).max(0))
        .fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_counts_once_and_only_in_the_window() {
        let intervals = vec![(0, 10), (5, 20), (30, 40), (50, 50), (45, 35)];
        assert_eq!(union(intervals.clone()), [(0, 20), (30, 40)]);
        assert_eq!(covered(intervals.clone(), (8, 35)), 12 + 5);
        assert_eq!(covered(intervals, (100, 200)), 0);
        assert_eq!(covered(vec![(i64::MIN, i64::MAX)], (0, 5)), 5);
    }
}
