//! How long one side took to go on, time and again.

use serde::Serialize;

use crate::spread::Spread;

/// A turn that takes longer than this many medians, and [`PAUSE_NS`] more, is a pause.
pub const PAUSE_MEDIANS: i64 = 2;
/// See [`PAUSE_MEDIANS`], ns.
pub const PAUSE_NS: i64 = 2_000_000;

/// How long something took that happened many times: turns of a side, or gaps between blocks.
///
/// Turns that take far longer than the others (more than twice the median and 2 ms) are pauses: the side was busy with
/// something else, or a packet was late. They are summed apart, so that the others tell what a turn usually costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turnaround {
    /// How many.
    pub count: u64,
    /// The shortest, ns.
    pub shortest_ns: Option<i64>,
    /// The one in the middle, ns.
    pub median_ns: Option<i64>,
    /// Nine of ten are not longer, ns.
    pub p90_ns: Option<i64>,
    /// The longest, ns.
    pub longest_ns: Option<i64>,
    /// All together, ns.
    pub total_ns: i64,
    /// Average of those that are no pauses, ns.
    pub usual_ns: Option<i64>,
    /// Pauses.
    pub pauses: u64,
    /// What the pauses took beyond the usual, ns.
    pub pause_ns: i64,
}

impl Turnaround {
    /// Sums up.
    #[must_use]
    pub fn of(spread: &Spread) -> Self {
        let median_ns = spread.median_ns();
        let limit = median_ns.unwrap_or(0).saturating_mul(PAUSE_MEDIANS).saturating_add(PAUSE_NS);
        let (pauses, above_ns) = spread.above(limit);
        let rest = spread.count() - pauses;
        let usual_ns = (rest > 0).then(|| spread.sum_ns().saturating_sub(above_ns) / rest as i64);
        let usual = usual_ns.unwrap_or(0).saturating_mul(pauses as i64);
        Self {
            count: spread.count(),
            shortest_ns: spread.smallest_ns(),
            median_ns,
            p90_ns: spread.quantile_ns(0.9),
            longest_ns: spread.largest_ns(),
            total_ns: spread.sum_ns(),
            usual_ns,
            pauses,
            pause_ns: above_ns.saturating_sub(usual),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_told_from_the_usual() {
        let mut spread = Spread::default();
        for _ in 0..99 {
            spread.add(1_000_000);
        }
        spread.add(90_000_000);
        let turns = Turnaround::of(&spread);
        assert_eq!(turns.usual_ns, Some(1_000_000));
        assert_eq!((turns.pauses, turns.pause_ns), (1, 89_000_000));
        assert_eq!(turns.total_ns, 189_000_000);
        assert_eq!(Turnaround::of(&Spread::default()), Turnaround::default());
    }
}
