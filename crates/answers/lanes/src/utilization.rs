//! Utilization over time, drawn as a strip.

use serde::Serialize;

/// Busy time in equal buckets, as prefix sums: the utilization of any interval is the difference of two.
#[derive(Clone, Debug)]
pub struct UtilizationLane {
    start_ns: i64,
    bucket_ns: i64,
    /// Busy time before the start of each bucket, ns, plus the total.
    before_ns: Vec<i64>,
    /// The low-priority part of `before_ns`.
    low_before_ns: Vec<i64>,
}

/// The drawing of a strip: equal steps of the interval. Arrays of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrawnUtilization {
    /// Start of the first step, ns.
    pub start_ns: i64,
    /// End of the last step, ns.
    pub end_ns: i64,
    /// Utilization of each step, in 255ths.
    pub busy: Vec<u8>,
    /// Low-priority part of it, in 255ths.
    pub low_priority: Vec<u8>,
}

impl Default for UtilizationLane {
    fn default() -> Self {
        Self::new(0, 1, [])
    }
}

impl UtilizationLane {
    /// Builds a strip from busy times `(all, low priority)` of consecutive buckets of `bucket_ns` from `start_ns`.
    #[must_use]
    pub fn new(start_ns: i64, bucket_ns: i64, buckets: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut lane = Self { start_ns, bucket_ns: bucket_ns.max(1), before_ns: vec![0], low_before_ns: vec![0] };
        let (mut busy_ns, mut low_ns) = (0_i64, 0_i64);
        for (all_ns, low_priority_ns) in buckets {
            busy_ns = busy_ns.saturating_add(all_ns.max(0));
            low_ns = low_ns.saturating_add(low_priority_ns.max(0));
            lane.before_ns.push(busy_ns);
            lane.low_before_ns.push(low_ns);
        }
        lane
    }

    /// Returns the busy time, ns.
    #[must_use]
    pub fn busy_ns(&self) -> i64 {
        self.before_ns.last().copied().unwrap_or_default()
    }

    /// Returns the utilization of each bucket: (start in ns, percent).
    pub fn steps(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        let buckets = self.before_ns.iter().zip(self.before_ns.iter().skip(1)).zip(0_i64..);
        buckets.map(|((before, after), bucket)| {
            let start_ns = self.start_ns.saturating_add(self.bucket_ns.saturating_mul(bucket));
            (start_ns, (after.saturating_sub(*before) as f64 * 100.0 / self.bucket_ns as f64).clamp(0.0, 100.0))
        })
    }

    /// Returns the resolution, ns; shorter steps repeat their neighbor's value.
    #[must_use]
    pub fn bucket_ns(&self) -> i64 {
        self.bucket_ns
    }

    /// Returns the prefix sum at a time, interpolated within a bucket.
    fn sum_at(&self, sums: &[i64], time_ns: i64) -> i64 {
        let offset_ns = (i128::from(time_ns) - i128::from(self.start_ns)).max(0);
        let bucket = usize::try_from(offset_ns / i128::from(self.bucket_ns)).unwrap_or(usize::MAX);
        let total = sums.last().copied().unwrap_or_default();
        let (Some(&before), Some(&after)) = (sums.get(bucket), sums.get(bucket.saturating_add(1))) else {
            return total;
        };
        let within_ns = offset_ns % i128::from(self.bucket_ns);
        let part = i128::from(after - before) * within_ns / i128::from(self.bucket_ns);
        before.saturating_add(i64::try_from(part).unwrap_or_default())
    }

    /// Draws `from_ns..to_ns` in `pixels` steps.
    #[must_use]
    pub fn draw(&self, from_ns: i64, to_ns: i64, pixels: u32) -> DrawnUtilization {
        let width_ns = (i128::from(to_ns) - i128::from(from_ns)).max(1);
        let mut drawn = DrawnUtilization { start_ns: from_ns, end_ns: to_ns, ..DrawnUtilization::default() };
        let time = |pixel: u32| {
            i64::try_from(i128::from(from_ns) + width_ns * i128::from(pixel) / i128::from(pixels.max(1)))
                .unwrap_or(to_ns)
        };
        let share = |part_ns: i64, whole_ns: i64| {
            u8::try_from(i128::from(part_ns.max(0)) * 255 / i128::from(whole_ns.max(1))).unwrap_or(255)
        };
        for pixel in 0..pixels {
            let (start_ns, end_ns) = (time(pixel), time(pixel + 1));
            let step_ns = end_ns.saturating_sub(start_ns);
            let sum_in_step = |sums: &[i64]| self.sum_at(sums, end_ns).saturating_sub(self.sum_at(sums, start_ns));
            drawn.busy.push(share(sum_in_step(&self.before_ns), step_ns));
            drawn.low_priority.push(share(sum_in_step(&self.low_before_ns), step_ns));
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_is_mean_of_covered_buckets() {
        let lane = UtilizationLane::new(0, 10, [(10, 0), (0, 0), (5, 5), (10, 0)]);
        assert_eq!(lane.draw(0, 40, 4).busy, [255, 0, 127, 255]);
        assert_eq!(lane.draw(0, 40, 4).low_priority, [0, 0, 127, 0]);
        assert_eq!(lane.draw(0, 40, 2).busy, [127, 191]);
        assert_eq!(lane.busy_ns(), 25);
    }

    proptest::proptest! {
        #[test]
        fn steps_match_naive_computation(
            shares in proptest::collection::vec((0_i64..=100, 0_i64..=100), 0..60),
            from_ns in -500_i64..6_500,
            width_ns in 1_i64..7_000,
            pixels in 1_u32..80,
        ) {
            const BUCKET_NS: i64 = 100;
            let shares: Vec<(i64, i64)> = shares.into_iter().map(|(all, low)| (all, all.min(low))).collect();
            let drawn = UtilizationLane::new(0, BUCKET_NS, shares.iter().copied()).draw(from_ns, from_ns + width_ns, pixels);
            proptest::prop_assert_eq!((drawn.busy.len(), drawn.low_priority.len()), (pixels as usize, pixels as usize));
            let edge = |pixel: usize| from_ns + width_ns * i64::try_from(pixel).unwrap() / i64::from(pixels);
            for pixel in 0..pixels as usize {
                let (start_ns, end_ns) = (edge(pixel), edge(pixel + 1));
                let overlap = |bucket: usize| {
                    let bucket_ns = i64::try_from(bucket).unwrap() * BUCKET_NS;
                    ((end_ns.min(bucket_ns + BUCKET_NS) - start_ns.max(bucket_ns)).max(0)) as f64 / BUCKET_NS as f64
                };
                let sum = |amount: fn(&(i64, i64)) -> i64| {
                    shares.iter().enumerate().map(|(bucket, share)| overlap(bucket) * amount(share) as f64).sum::<f64>()
                };
                // Prefix sums are integers: in a short step one nanosecond is a large share.
                let step_ns = (end_ns - start_ns).max(1) as f64;
                let slack = 1.0 + 255.0 * 2.0 / step_ns;
                for (shown, busy_ns) in [(drawn.busy[pixel], sum(|share| share.0)), (drawn.low_priority[pixel], sum(|share| share.1))] {
                    let expected = (busy_ns * 255.0 / step_ns).min(255.0);
                    proptest::prop_assert!((f64::from(shown) - expected).abs() <= slack, "{} for {} at {}", shown, expected, pixel);
                }
            }
        }
    }

    #[test]
    fn utilization_is_zero_outside_recording() {
        let lane = UtilizationLane::new(100, 10, [(10, 0), (10, 0)]);
        assert_eq!(lane.draw(0, 400, 4).busy, [0, 51, 0, 0]);
        assert_eq!(UtilizationLane::default().draw(i64::MIN, i64::MAX, 2).busy, [0, 0]);
    }
}
