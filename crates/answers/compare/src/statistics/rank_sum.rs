//! Computes the two-sided probability of the observed ranks by chance (Wilcoxon rank sum, Mann-Whitney U).
//!
//! The result is exact, even with ties: it counts all choices of the candidate's runs from all runs by rank sum. Ranks
//! are doubled so that midranks of ties are integers.

use crate::MAX_CHANCE;

/// Maximum total number of runs for the exact probability. With more runs, it is approximated.
const MAX_EXACT: usize = 40;

/// The result of a rank sum test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankSumTest {
    /// Probability of a rank sum at least as far from the mean as the observed rank sum.
    pub p_value: f64,
    /// The smallest p-value that these sample sizes can yield, without ties.
    pub min_p_value: f64,
}

impl RankSumTest {
    /// Returns true if the separation is unlikely by chance, or the largest possible for these sample sizes.
    #[must_use]
    pub fn is_separated(&self) -> bool {
        // Tolerates rounding, because both are quotients of counts.
        self.p_value <= MAX_CHANCE.max(self.min_p_value) * (1.0 + 1e-9)
    }
}

/// Tests whether the difference between two samples may be due to chance; `None` if a sample is empty.
#[must_use]
pub fn rank_sum_test(baseline: &[i64], candidate: &[i64]) -> Option<RankSumTest> {
    if baseline.is_empty() || candidate.is_empty() {
        return None;
    }
    let (ranks, candidate_sum) = doubled_ranks(baseline, candidate);
    let chosen_count = candidate.len();
    let p_value = if ranks.len() <= MAX_EXACT {
        exact_p_value(&ranks, chosen_count, candidate_sum)
    } else {
        approximate_p_value(&ranks, chosen_count, candidate_sum)
    };
    Some(RankSumTest { p_value, min_p_value: (2.0 / binomial(ranks.len(), chosen_count)).min(1.0) })
}

/// Returns twice the rank of every value, and the sum for the candidate.
fn doubled_ranks(baseline: &[i64], candidate: &[i64]) -> (Vec<usize>, usize) {
    let mut values: Vec<(i64, bool)> =
        baseline.iter().map(|&value| (value, false)).chain(candidate.iter().map(|&value| (value, true))).collect();
    values.sort();
    let mut ranks = Vec::with_capacity(values.len());
    let mut candidate_sum = 0;
    for tied in values.chunk_by(|a, b| a.0 == b.0) {
        // The tied values have consecutive ranks; take twice the middle.
        let doubled = 2 * ranks.len() + tied.len() + 1;
        candidate_sum += doubled * tied.iter().filter(|(_, is_candidate)| *is_candidate).count();
        ranks.extend(tied.iter().map(|_| doubled));
    }
    (ranks, candidate_sum)
}

fn exact_p_value(ranks: &[usize], chosen: usize, sum: usize) -> f64 {
    let total: usize = ranks.iter().sum();
    // ways[k][s]: number of choices of k ranks with sum s. At most C(40, 20) ≈ 1.4e11: exact in floating point.
    let mut ways = vec![vec![0.0_f64; total + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for count in (1..=chosen).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            let (without_rank, with_rank) = (&fewer[count - 1], &mut more[0]);
            for sum in rank..=total {
                with_rank[sum] += without_rank[sum - rank];
            }
        }
    }
    // Distance from the mean of the distribution, scaled by the number of ranks to stay an integer.
    let deviation = |sum: usize| (sum * ranks.len()).abs_diff(total * chosen);
    let observed = deviation(sum);
    let all_ways: f64 = ways[chosen].iter().sum();
    let extreme_ways: f64 =
        ways[chosen].iter().enumerate().filter(|&(sum, _)| deviation(sum) >= observed).map(|(_, ways)| ways).sum();
    (extreme_ways / all_ways).min(1.0)
}

/// Returns the normal approximation with tie and continuity correction.
fn approximate_p_value(ranks: &[usize], chosen: usize, sum: usize) -> f64 {
    let total_count = ranks.len() as f64;
    let (candidate, baseline) = (chosen as f64, total_count - chosen as f64);
    let mean = candidate * (total_count + 1.0) / 2.0;
    let tie_correction: f64 =
        ranks.chunk_by(|a, b| a == b).map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64).sum();
    let variance = candidate * baseline / 12.0
        * (total_count + 1.0 - tie_correction / (total_count * (total_count - 1.0)).max(1.0));
    if variance <= 0.0 {
        return 1.0;
    }
    let deviation = ((sum as f64 / 2.0 - mean).abs() - 0.5).max(0.0);
    complementary_error(deviation / variance.sqrt() / std::f64::consts::SQRT_2).min(1.0)
}

/// Returns erfc of a non-negative `x` to within 1.5e-7 (Abramowitz and Stegun, 7.1.26).
fn complementary_error(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial =
        t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    polynomial * (-x * x).exp()
}

/// Returns the binomial coefficient.
fn binomial(all: usize, chosen: usize) -> f64 {
    (1..=chosen).fold(1.0, |ways, k| ways * (all - chosen + k) as f64 / k as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_close(actual: f64, expected: f64, tolerance: f64) -> bool {
        (actual - expected).abs() <= tolerance
    }

    /// Expected: all permutations of midranks; without ties SciPy 1.x `mannwhitneyu(method="exact")`.
    #[test]
    fn computes_exact_probabilities() {
        let cases: [(&[i64], &[i64], f64); 6] = [
            (&[1, 2, 3], &[4, 5, 6], 0.1),
            (&[1, 2, 3], &[2, 5, 6], 0.3),
            (&[10, 12, 13, 15], &[11, 14, 16, 18, 19], 0.190_476_190_476),
            (&[3, 3, 4, 5], &[3, 4, 4, 6], 0.657_142_857_143),
            (&[1, 2, 3, 4, 5], &[3, 4, 5, 6, 7, 8], 0.064_935_064_935),
            (&[1, 1, 1], &[1, 1, 1], 1.0),
        ];
        for (baseline, candidate, expected) in cases {
            let p_value = rank_sum_test(baseline, candidate).unwrap().p_value;
            assert!(is_close(p_value, expected, 1e-9), "{baseline:?} {candidate:?}: {p_value}");
            let reversed = rank_sum_test(candidate, baseline).unwrap().p_value;
            assert!(is_close(reversed, expected, 1e-9), "{reversed}");
        }
    }

    /// Expected: SciPy 1.x `mannwhitneyu(method="asymptotic")`.
    #[test]
    fn approximates_many_runs() {
        let baseline: Vec<i64> = (1..26).map(|index| 10 * index).collect();
        let candidate: Vec<i64> = baseline.iter().map(|value| value + 85).collect();
        let p_value = rank_sum_test(&baseline, &candidate).unwrap().p_value;
        assert!(is_close(p_value, 0.000_638_050_570_4, 1e-6), "{p_value}");
        let baseline: Vec<i64> = (0..30).map(|index| index / 2).collect();
        let candidate: Vec<i64> = (0..25).map(|index| 3 + index / 3).collect();
        let p_value = rank_sum_test(&baseline, &candidate).unwrap().p_value;
        assert!(is_close(p_value, 0.792_700_945_088, 1e-6), "{p_value}");
        assert_eq!(rank_sum_test(&[5; 30], &[5; 30]).unwrap().p_value, 1.0, "all values tied");
    }

    #[test]
    fn computes_min_p_value() {
        for (baseline, candidate, expected) in [(1, 1, 1.0), (2, 2, 1.0 / 3.0), (3, 3, 0.1), (5, 5, 2.0 / 252.0)] {
            let low_values: Vec<i64> = (0..baseline).collect();
            let high_values: Vec<i64> = (100..100 + candidate).collect();
            let test = rank_sum_test(&low_values, &high_values).unwrap();
            assert!(is_close(test.min_p_value, expected, 1e-12));
            assert!(is_close(test.p_value, expected, 1e-12));
            assert!(test.is_separated());
        }
        assert!(!rank_sum_test(&[1, 2, 3], &[2, 5, 6]).unwrap().is_separated());
        assert_eq!(rank_sum_test(&[], &[1]), None);
    }
}
