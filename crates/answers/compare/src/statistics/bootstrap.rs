//! Confidence interval of the difference of two medians, by the bootstrap: samples are resampled with replacement.
//!
//! Up to [`MAX_EXACT`] runs nothing is drawn: the probability of each possible median follows from the binomial
//! distribution, so the interval is the exact limit of infinitely many resamples, and reproducible.

use super::{median, midpoint};
use crate::ConfidenceInterval;

/// With more runs than this on a side, resamples are drawn with a fixed seed.
const MAX_EXACT: usize = 20;

/// Number of resamples.
const RESAMPLES: usize = 2_000;

/// Probability outside the interval on each side.
const TAIL: f64 = 0.025;

/// The 95 % percentile interval of the difference of medians; `None` with fewer than two values on a side.
#[must_use]
pub fn interval(baseline: &[i64], candidate: &[i64]) -> Option<ConfidenceInterval> {
    if baseline.len() < 2 || candidate.len() < 2 {
        return None;
    }
    let mut differences: Vec<(i64, f64)> = if baseline.len() <= MAX_EXACT && candidate.len() <= MAX_EXACT {
        let was = medians(baseline);
        let is = medians(candidate);
        is.iter()
            .flat_map(|&(is, likely)| was.iter().map(move |&(was, too)| (is.saturating_sub(was), likely * too)))
            .collect()
    } else {
        resampled(baseline, candidate)
    };
    differences.sort_by_key(|&(difference, _)| difference);
    Some(ConfidenceInterval { low: quantile(&differences, TAIL), high: quantile(&differences, 1.0 - TAIL) })
}

/// The smallest value whose cumulative probability reaches `share`.
fn quantile(ascending: &[(i64, f64)], share: f64) -> i64 {
    let mut sum = 0.0;
    for &(value, probability) in ascending {
        sum += probability;
        // Tolerates the rounding of floating-point sums.
        if sum >= share - 1e-12 {
            return value;
        }
    }
    ascending.last().map_or(0, |&(value, _)| value)
}

/// The possible medians of resamples, each with its probability.
fn medians(ascending: &[i64]) -> Vec<(i64, f64)> {
    let count = ascending.len();
    let half = count / 2;
    if count % 2 == 1 {
        // The median is at most the k-th value if more than half of the drawn values are.
        let up_to = |k: usize| at_least(count, half + 1, k as f64 / count as f64);
        return ascending.iter().enumerate().map(|(at, &value)| (value, up_to(at + 1) - up_to(at))).collect();
    }
    let share = |part: usize| part as f64 / count as f64;
    let power = i32::try_from(half).unwrap_or(i32::MAX);
    let combinations = (1..=half).fold(1.0, |ways, at| ways * (half + at) as f64 / at as f64);
    let lower_is = |at: usize| {
        let up_to = |k: usize| at_least(count, half, share(k));
        up_to(at + 1) - up_to(at)
    };
    let mut all = Vec::with_capacity(count * (count + 1) / 2);
    for (low, &lower) in ascending.iter().enumerate() {
        // Half of the drawn values are at most the lower one, and one equals it; the others are at least the upper one,
        // and one equals it.
        let below = share(low + 1).powi(power) - share(low).powi(power);
        let mut rest = lower_is(low);
        for (high, &upper) in ascending.iter().enumerate().skip(low + 1) {
            let above = share(count - high).powi(power) - share(count - high - 1).powi(power);
            let likely = combinations * below * above;
            rest -= likely;
            all.push((midpoint(lower, upper), likely));
        }
        all.push((lower, rest.max(0.0)));
    }
    all
}

/// Probability of at least `min_successes` of `count` successes, each with probability `share`.
fn at_least(count: usize, min_successes: usize, share: f64) -> f64 {
    let mut ways = 1.0;
    let mut sum = 0.0;
    for successes in 0..=count {
        if successes > 0 {
            ways *= (count - successes + 1) as f64 / successes as f64;
        }
        if successes >= min_successes {
            let failures = count - successes;
            sum += ways * power(share, successes) * power(1.0 - share, failures);
        }
    }
    sum
}

fn power(base: f64, exponent: usize) -> f64 {
    base.powi(i32::try_from(exponent).unwrap_or(i32::MAX))
}

fn resampled(baseline: &[i64], candidate: &[i64]) -> Vec<(i64, f64)> {
    let mut random = Random(0x6f6e_6f66_6600_0001);
    let mut draw = |from: &[i64]| {
        let mut values: Vec<i64> = from.iter().filter_map(|_| from.get(random.below(from.len()))).copied().collect();
        values.sort();
        median(&values).unwrap_or(0)
    };
    (0..RESAMPLES)
        .map(|_| {
            let was = draw(baseline);
            (draw(candidate).saturating_sub(was), 1.0 / RESAMPLES as f64)
        })
        .collect()
}

/// Steele, Lea and Flood's SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from((u128::from(mixed) * limit as u128) >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: the 2.5 % and 97.5 % quantiles of the enumeration of all resamples.
    #[test]
    fn exact_interval_matches_enumeration() {
        let cases: [(&[i64], &[i64], i64, i64); 4] = [
            (&[100, 110, 130], &[105, 140, 150], -25, 50),
            (&[100, 110, 130, 134], &[105, 140, 150, 152, 190], -15, 70),
            (&[10, 20], &[31, 41], 11, 31),
            (&[100, 104, 110, 118, 130, 200], &[90, 105, 140, 150, 160, 170], -33, 54),
        ];
        for (baseline, candidate, low, high) in cases {
            assert_eq!(
                interval(baseline, candidate),
                Some(ConfidenceInterval { low, high }),
                "{baseline:?} {candidate:?}"
            );
        }
        assert_eq!(interval(&[1], &[1, 2]), None);
    }

    #[test]
    fn medians_have_enumerated_probabilities() {
        let three: Vec<f64> = medians(&[100, 110, 130]).iter().map(|it| it.1).collect();
        for (is, expected) in three.iter().zip([7.0 / 27.0, 13.0 / 27.0, 7.0 / 27.0]) {
            assert!((is - expected).abs() < 1e-12, "{three:?}");
        }
        let four = medians(&[100, 110, 130, 134]);
        let of = |value: i64| -> f64 {
            let same = four.iter().filter(|it| it.0 == value);
            same.map(|it| it.1).sum()
        };
        for (value, expected) in [(100, 0.050_781), (105, 0.117_188), (120, 0.210_938)] {
            assert!((of(value) - expected).abs() < 1e-6, "{value}: {}", of(value));
        }
        for count in 2..=MAX_EXACT {
            let values: Vec<i64> = (0..).take(count).collect();
            let sum: f64 = medians(&values).iter().map(|it| it.1).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{count}: {sum}");
        }
    }

    #[test]
    fn resampling_is_reproducible_and_near_exact() {
        let baseline: Vec<i64> = (0..30).map(|at| 1_000 + at * 10).collect();
        let candidate: Vec<i64> = (0..30).map(|at| 1_500 + at * 10).collect();
        let resampled = interval(&baseline, &candidate).unwrap();
        assert_eq!(interval(&baseline, &candidate), Some(resampled));
        assert!(resampled.low < 500 && 500 < resampled.high, "{resampled:?}");
        assert!(resampled.low > 300 && resampled.high < 700, "{resampled:?}");
    }
}
