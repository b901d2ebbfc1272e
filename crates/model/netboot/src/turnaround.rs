//! Summarizes the turnaround times of one end of a transfer.

use serde::Serialize;

use crate::histogram::DurationHistogram;

/// A turnaround longer than this many medians plus [`PAUSE_NS`] is a pause.
pub const PAUSE_MEDIANS: i64 = 2;
/// See [`PAUSE_MEDIANS`], ns.
pub const PAUSE_NS: i64 = 2_000_000;

/// Returns the longest duration that is not a pause, ns.
pub(crate) const fn pause_limit_ns(median_ns: i64) -> i64 {
    median_ns.saturating_mul(PAUSE_MEDIANS).saturating_add(PAUSE_NS)
}

/// Summary of repeated durations: turnaround times of one end, or gaps between blocks.
///
/// Durations far above the others (more than twice the median plus 2 ms) are pauses: the end was busy with other work,
/// or a packet was late. They are summed separately, so that the rest shows the typical duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turnaround {
    /// Number of durations.
    pub count: u64,
    /// Shortest duration, ns.
    pub shortest_ns: Option<i64>,
    /// Median, ns.
    pub median_ns: Option<i64>,
    /// 90th percentile, ns.
    pub p90_ns: Option<i64>,
    /// Longest duration, ns.
    pub longest_ns: Option<i64>,
    /// Sum of all durations, ns.
    pub total_ns: i64,
    /// Mean of the durations that are not pauses, ns.
    pub usual_ns: Option<i64>,
    /// Number of pauses.
    pub pauses: u64,
    /// Time of the pauses beyond the mean of the other durations, ns.
    pub pause_ns: i64,
}

impl Turnaround {
    #[must_use]
    pub fn from_histogram(histogram: &DurationHistogram) -> Self {
        let median_ns = histogram.median_ns();
        let limit = pause_limit_ns(median_ns.unwrap_or(0));
        let (pauses, above_ns) = histogram.total_above(limit);
        let regular_count = histogram.count() - pauses;
        let usual_ns = (regular_count > 0).then(|| histogram.sum_ns().saturating_sub(above_ns) / regular_count as i64);
        let expected_ns = usual_ns.unwrap_or(0).saturating_mul(pauses as i64);
        Self {
            count: histogram.count(),
            shortest_ns: histogram.min_ns(),
            median_ns,
            p90_ns: histogram.quantile_ns(0.9),
            longest_ns: histogram.max_ns(),
            total_ns: histogram.sum_ns(),
            usual_ns,
            pauses,
            pause_ns: above_ns.saturating_sub(expected_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_pauses() {
        let mut histogram = DurationHistogram::default();
        for _ in 0..99 {
            histogram.add(1_000_000);
        }
        histogram.add(90_000_000);
        let turns = Turnaround::from_histogram(&histogram);
        assert_eq!(turns.usual_ns, Some(1_000_000));
        assert_eq!((turns.pauses, turns.pause_ns), (1, 89_000_000));
        assert_eq!(turns.total_ns, 189_000_000);
        assert_eq!(Turnaround::from_histogram(&DurationHistogram::default()), Turnaround::default());
    }
}
