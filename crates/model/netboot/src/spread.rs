//! How durations spread: exact sums, and any quantile to better than half a percent, in bounded memory.

use std::collections::BTreeMap;

/// Steps per power of two: a bucket is at most 1/128 of its value wide.
const STEPS: u32 = 7;

/// Durations, counted.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    buckets: BTreeMap<u16, Bucket>,
    count: u64,
    sum: i128,
    smallest: Option<i64>,
    largest: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: u64,
    sum: i128,
}

impl Spread {
    /// Counts a duration; negative ones, which a clock that was set back can give, are left out.
    pub fn add(&mut self, ns: i64) {
        let Ok(value) = u64::try_from(ns) else { return };
        let bucket = self.buckets.entry(bucket_of(value)).or_default();
        bucket.count += 1;
        bucket.sum += i128::from(ns);
        self.count += 1;
        self.sum += i128::from(ns);
        self.smallest = Some(self.smallest.map_or(ns, |least| least.min(ns)));
        self.largest = Some(self.largest.map_or(ns, |most| most.max(ns)));
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, ns.
    #[must_use]
    pub fn sum_ns(&self) -> i64 {
        saturate(self.sum)
    }

    /// The smallest, ns.
    #[must_use]
    pub fn smallest_ns(&self) -> Option<i64> {
        self.smallest
    }

    /// The largest, ns.
    #[must_use]
    pub fn largest_ns(&self) -> Option<i64> {
        self.largest
    }

    /// The value that `share` (0 to 1) of them do not exceed, ns.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        let last = self.count.checked_sub(1)?;
        let wanted = (last as f64 * share.clamp(0.0, 1.0)).round() as u64;
        let mut before = 0;
        for bucket in self.buckets.values() {
            before += bucket.count;
            if before > wanted {
                return Some(saturate(bucket.sum / i128::from(bucket.count)));
            }
        }
        self.largest
    }

    /// The one in the middle, ns.
    #[must_use]
    pub fn median_ns(&self) -> Option<i64> {
        self.quantile_ns(0.5)
    }

    /// How many exceed `limit_ns`, and their sum in ns.
    #[must_use]
    pub fn above(&self, limit_ns: i64) -> (u64, i64) {
        let limit = u64::try_from(limit_ns).unwrap_or(0);
        let (mut count, mut sum) = (0, 0);
        for bucket in self.buckets.range(bucket_of(limit).saturating_add(1)..) {
            count += bucket.1.count;
            sum += bucket.1.sum;
        }
        (count, saturate(sum))
    }
}

fn bucket_of(value: u64) -> u16 {
    let exponent = value.checked_ilog2().unwrap_or(0);
    if exponent < STEPS {
        // Below 128 each value has its own bucket.
        return value as u16;
    }
    let mantissa = (value >> (exponent - STEPS)) & ((1 << STEPS) - 1);
    (((exponent - STEPS + 1) << STEPS) as u16) + mantissa as u16
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
            let mut spread = Spread::default();
            for &value in &values {
                spread.add(value);
            }
            values.sort_unstable();
            prop_assert_eq!(spread.sum_ns(), values.iter().sum::<i64>());
            prop_assert_eq!(spread.smallest_ns(), values.first().copied());
            prop_assert_eq!(spread.largest_ns(), values.last().copied());
            for share in [0.0, 0.5, 0.9, 1.0] {
                let exact = values[((values.len() - 1) as f64 * share).round() as usize];
                let found = spread.quantile_ns(share).unwrap();
                prop_assert!((found - exact).abs() * 128 <= exact, "{} for {}", found, exact);
            }
        }

        #[test]
        fn buckets_keep_the_order(first: u64, second: u64) {
            prop_assume!(first <= second);
            prop_assert!(bucket_of(first) <= bucket_of(second));
        }
    }

    #[test]
    fn above_sums_what_lies_clearly_above() {
        let mut spread = Spread::default();
        for value in [10, 20, 5_000, 90_000, -4] {
            spread.add(value);
        }
        assert_eq!(spread.count(), 4);
        assert_eq!(spread.above(1_000), (2, 95_000));
        assert_eq!(spread.above(i64::MAX), (0, 0));
        assert_eq!(Spread::default().median_ns(), None);
    }
}
