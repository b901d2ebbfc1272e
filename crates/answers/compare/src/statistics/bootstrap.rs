//! Computes the confidence interval of the difference of two medians by the bootstrap: samples are resampled with
//! replacement.
//!
//! Up to [`MAX_EXACT`] runs, no resamples are drawn. The probability of each possible median follows from the binomial
//! distribution, so the interval is the exact limit of infinitely many resamples, and reproducible.

use super::{median, midpoint};
use crate::ConfidenceInterval;

/// Maximum number of runs on a side for the exact interval. With more runs, resamples are drawn with a fixed seed.
const MAX_EXACT: usize = 20;

/// Number of resamples.
const RESAMPLES: usize = 2_000;

/// Probability outside the interval on each side.
const TAIL: f64 = 0.025;

/// Returns the 95 % percentile interval of the difference of medians; `None` with fewer than two values on a side.
#[must_use]
pub fn confidence_interval(baseline: &[i64], candidate: &[i64]) -> Option<ConfidenceInterval> {
    if baseline.len() < 2 || candidate.len() < 2 {
        return None;
    }
    let mut differences: Vec<(i64, f64)> = if baseline.len() <= MAX_EXACT && candidate.len() <= MAX_EXACT {
        let baseline_medians = medians(baseline);
        medians(candidate)
            .iter()
            .flat_map(|&(candidate_median, candidate_probability)| {
                baseline_medians.iter().map(move |&(baseline_median, baseline_probability)| {
                    (candidate_median.saturating_sub(baseline_median), candidate_probability * baseline_probability)
                })
            })
            .collect()
    } else {
        resampled_differences(baseline, candidate)
    };
    differences.sort_by_key(|&(difference, _)| difference);
    Some(ConfidenceInterval { low: quantile(&differences, TAIL), high: quantile(&differences, 1.0 - TAIL) })
}

/// Returns the smallest value whose cumulative probability reaches `share`.
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

/// Returns the possible medians of resamples, each with its probability.
fn medians(ascending: &[i64]) -> Vec<(i64, f64)> {
    let count = ascending.len();
    let half = count / 2;
    if count % 2 == 1 {
        // The median is at most the k-th value if more than half of the drawn values are at most the k-th value.
        let up_to = |k: usize| at_least(count, half + 1, k as f64 / count as f64);
        return ascending.iter().enumerate().map(|(index, &value)| (value, up_to(index + 1) - up_to(index))).collect();
    }
    let share = |part: usize| part as f64 / count as f64;
    let power = i32::try_from(half).unwrap_or(i32::MAX);
    let combinations = (1..=half).fold(1.0, |ways, k| ways * (half + k) as f64 / k as f64);
    let lower_probability = |index: usize| {
        let up_to = |k: usize| at_least(count, half, share(k));
        up_to(index + 1) - up_to(index)
    };
    let mut medians = Vec::with_capacity(count * (count + 1) / 2);
    for (low, &lower) in ascending.iter().enumerate() {
        // Half of the drawn values are at most `lower`, and one equals it. The others are at least `upper`, and one
        // equals it.
        let below = share(low + 1).powi(power) - share(low).powi(power);
        let mut equal_probability = lower_probability(low);
        for (high, &upper) in ascending.iter().enumerate().skip(low + 1) {
            let above = share(count - high).powi(power) - share(count - high - 1).powi(power);
            let probability = combinations * below * above;
            equal_probability -= probability;
            medians.push((midpoint(lower, upper), probability));
        }
        medians.push((lower, equal_probability.max(0.0)));
    }
    medians
}

/// Returns the probability of at least `min_successes` successes in `count` trials, each with probability `share`.
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

fn resampled_differences(baseline: &[i64], candidate: &[i64]) -> Vec<(i64, f64)> {
    let mut random = Random(0x6f6e_6f66_6600_0001);
    let mut draw_median = |sample: &[i64]| {
        let mut values: Vec<i64> =
            sample.iter().filter_map(|_| sample.get(random.below(sample.len()))).copied().collect();
        values.sort();
        median(&values).unwrap_or(0)
    };
    (0..RESAMPLES)
        .map(|_| {
            let baseline_median = draw_median(baseline);
            (draw_median(candidate).saturating_sub(baseline_median), 1.0 / RESAMPLES as f64)
        })
        .collect()
}

/// The SplitMix64 generator of Steele, Lea and Flood.
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
                confidence_interval(baseline, candidate),
                Some(ConfidenceInterval { low, high }),
                "{baseline:?} {candidate:?}"
            );
        }
        assert_eq!(confidence_interval(&[1], &[1, 2]), None);
    }

    #[test]
    fn medians_have_enumerated_probabilities() {
        let three: Vec<f64> = medians(&[100, 110, 130]).iter().map(|&(_, probability)| probability).collect();
        for (actual, expected) in three.iter().zip([7.0 / 27.0, 13.0 / 27.0, 7.0 / 27.0]) {
            assert!((actual - expected).abs() < 1e-12, "{three:?}");
        }
        let four = medians(&[100, 110, 130, 134]);
        let probability_of = |value: i64| -> f64 {
            let same = four.iter().filter(|&&(median, _)| median == value);
            same.map(|&(_, probability)| probability).sum()
        };
        for (value, expected) in [(100, 0.050_781), (105, 0.117_188), (120, 0.210_938)] {
            assert!((probability_of(value) - expected).abs() < 1e-6, "{value}: {}", probability_of(value));
        }
        for count in 2..=MAX_EXACT {
            let values: Vec<i64> = (0..).take(count).collect();
            let sum: f64 = medians(&values).iter().map(|&(_, probability)| probability).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{count}: {sum}");
        }
    }

    #[test]
    fn resampling_is_reproducible_and_near_exact() {
        let baseline: Vec<i64> = (0..30).map(|index| 1_000 + index * 10).collect();
        let candidate: Vec<i64> = (0..30).map(|index| 1_500 + index * 10).collect();
        let resampled = confidence_interval(&baseline, &candidate).unwrap();
        assert_eq!(confidence_interval(&baseline, &candidate), Some(resampled));
        assert!(resampled.low < 500 && 500 < resampled.high, "{resampled:?}");
        assert!(resampled.low > 300 && resampled.high < 700, "{resampled:?}");
    }
}
