//! Utilization over time, split by subject.

use serde::Serialize;

use super::utilization::UtilizationLane;

/// Utilization by subject; the shares of all subjects add up to the utilization.
#[derive(Clone, Debug, Default)]
pub struct StackedLane {
    series: Vec<(String, UtilizationLane)>,
}

/// The drawing of a stacked lane: equal steps of the interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrawnStacked {
    /// Start of the first step, ns.
    pub start_ns: i64,
    /// End of the last step, ns.
    pub end_ns: i64,
    /// Subjects, largest first.
    pub series: Vec<DrawnSeries>,
}

/// The share of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrawnSeries {
    pub name: String,
    /// Share of each step, in 255ths.
    pub busy: Vec<u8>,
}

impl StackedLane {
    #[must_use]
    pub const fn new(series: Vec<(String, UtilizationLane)>) -> Self {
        Self { series }
    }

    #[must_use]
    pub fn series(&self) -> &[(String, UtilizationLane)] {
        &self.series
    }

    /// Returns the busy time of all subjects, ns.
    #[must_use]
    pub fn busy_ns(&self) -> i64 {
        self.series.iter().fold(0_i64, |sum, (_, lane)| sum.saturating_add(lane.busy_ns()))
    }

    /// Draws `from_ns..to_ns` in `pixels` steps.
    #[must_use]
    pub fn draw(&self, from_ns: i64, to_ns: i64, pixels: u32) -> DrawnStacked {
        let series = self
            .series
            .iter()
            .map(|(name, lane)| DrawnSeries { name: name.clone(), busy: lane.draw(from_ns, to_ns, pixels).busy })
            .collect();
        DrawnStacked { start_ns: from_ns, end_ns: to_ns, series }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_subjects_are_drawn_separately() {
        let busy = UtilizationLane::new(0, 10, [(5, 0), (0, 0)]);
        let other = UtilizationLane::new(0, 10, [(5, 0), (10, 0)]);
        let lane = StackedLane::new(vec![("a.exe (1)".to_owned(), busy), ("1 other process".to_owned(), other)]);
        let drawn = lane.draw(0, 20, 2);
        assert_eq!(drawn.series[0].busy, [127, 0]);
        assert_eq!(drawn.series[1].busy, [127, 255]);
        assert_eq!(lane.busy_ns(), 20);
    }
}
