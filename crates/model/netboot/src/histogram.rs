//! Histogram of durations with exact sums, and quantiles with an error below 0.5 %, in bounded memory.

use std::collections::BTreeMap;

/// Log2 of the buckets per power of two: a bucket is at most 1/128 of its value wide.
const BUCKET_BITS: u32 = 7;

/// A histogram of durations.
#[derive(Clone, Debug, Default)]
pub struct DurationHistogram {
    buckets: BTreeMap<u16, Bucket>,
    count: u64,
    sum: i128,
    min: Option<i64>,
    max: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: u64,
    sum: i128,
}

impl DurationHistogram {
    /// Adds a duration. Negative ones, which occur if the clock was set back, are ignored.
    pub fn add(&mut self, ns: i64) {
        let Ok(value) = u64::try_from(ns) else { return };
        let bucket = self.buckets.entry(bucket_index(value)).or_default();
        bucket.count += 1;
        bucket.sum += i128::from(ns);
        self.count += 1;
        self.sum += i128::from(ns);
        self.min = Some(self.min.map_or(ns, |min| min.min(ns)));
        self.max = Some(self.max.map_or(ns, |max| max.max(ns)));
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all durations, ns.
    #[must_use]
    pub fn sum_ns(&self) -> i64 {
        saturate(self.sum)
    }

    /// Returns the shortest duration, ns.
    #[must_use]
    pub fn min_ns(&self) -> Option<i64> {
        self.min
    }

    /// Returns the longest duration, ns.
    #[must_use]
    pub fn max_ns(&self) -> Option<i64> {
        self.max
    }

    /// Returns the quantile `share` (0 to 1), ns.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        let max_rank = self.count.checked_sub(1)?;
        let rank = (max_rank as f64 * share.clamp(0.0, 1.0)).round() as u64;
        let mut cumulative_count = 0;
        for bucket in self.buckets.values() {
            cumulative_count += bucket.count;
            if cumulative_count > rank {
                return Some(saturate(bucket.sum / i128::from(bucket.count)));
            }
        }
        self.max
    }

    /// Returns the median, ns.
    #[must_use]
    pub fn median_ns(&self) -> Option<i64> {
        self.quantile_ns(0.5)
    }

    /// Returns the number and the sum, ns, of the durations above `limit_ns`, to the resolution of a bucket.
    #[must_use]
    pub fn total_above(&self, limit_ns: i64) -> (u64, i64) {
        let limit = u64::try_from(limit_ns).unwrap_or(0);
        let (mut count, mut sum) = (0, 0);
        for (_, bucket) in self.buckets.range(bucket_index(limit).saturating_add(1)..) {
            count += bucket.count;
            sum += bucket.sum;
        }
        (count, saturate(sum))
    }
}

fn bucket_index(value: u64) -> u16 {
    let exponent = value.checked_ilog2().unwrap_or(0);
    if exponent < BUCKET_BITS {
        // Below 128 each value has its own bucket.
        return value as u16;
    }
    let mantissa = (value >> (exponent - BUCKET_BITS)) & ((1 << BUCKET_BITS) - 1);
    (((exponent - BUCKET_BITS + 1) << BUCKET_BITS) as u16) + mantissa as u16
}

fn saturate(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_exact_and_quantiles_close(mut values in proptest::collection::vec(0..10_000_000_000_i64, 1..300)) {
            let mut histogram = DurationHistogram::default();
            for &value in &values {
                histogram.add(value);
            }
            values.sort_unstable();
            prop_assert_eq!(histogram.sum_ns(), values.iter().sum::<i64>());
            prop_assert_eq!(histogram.min_ns(), values.first().copied());
            prop_assert_eq!(histogram.max_ns(), values.last().copied());
            for share in [0.0, 0.5, 0.9, 1.0] {
                let exact = values[((values.len() - 1) as f64 * share).round() as usize];
                let found = histogram.quantile_ns(share).unwrap();
                prop_assert!((found - exact).abs() * 128 <= exact, "{} for {}", found, exact);
            }
        }

        #[test]
        fn buckets_keep_the_order(first: u64, second: u64) {
            prop_assume!(first <= second);
            prop_assert!(bucket_index(first) <= bucket_index(second));
        }
    }

    #[test]
    fn above_sums_long_durations() {
        let mut histogram = DurationHistogram::default();
        for value in [10, 20, 5_000, 90_000, -4] {
            histogram.add(value);
        }
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.total_above(1_000), (2, 95_000));
        assert_eq!(histogram.total_above(i64::MAX), (0, 0));
        assert_eq!(DurationHistogram::default().median_ns(), None);
    }
}
