//! Computes statistics for 3 to 10 runs, distribution-free, and exact where counting is feasible.
//!
//! Samples are sorted in ascending order.

mod bootstrap;
mod rank_sum;

pub use bootstrap::confidence_interval;
pub use rank_sum::{RankSumTest, rank_sum_test};

/// Returns the arithmetic mean, truncated to an integer. `None` if empty.
#[must_use]
pub fn mean(values: &[i64]) -> Option<i64> {
    let sum: i128 = values.iter().map(|&value| i128::from(value)).sum();
    let count = i128::try_from(values.len()).ok().filter(|&count| count > 0)?;
    i64::try_from(sum / count).ok()
}

/// Returns the median; for an even count, the mean of the middle two values, truncated to an integer. `None` if empty.
#[must_use]
pub fn median(ascending: &[i64]) -> Option<i64> {
    let upper = *ascending.get(ascending.len() / 2)?;
    if ascending.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *ascending.get(ascending.len() / 2 - 1)?;
    Some(midpoint(lower, upper))
}

/// Returns the mean of two values, truncated to an integer.
fn midpoint(lower: i64, upper: i64) -> i64 {
    let midpoint = (i128::from(lower) + i128::from(upper)) / 2;
    i64::try_from(midpoint).unwrap_or(upper)
}

/// Returns the spread of values when nothing changed: the range of up to five values, or the range of more values
/// without the lowest and highest quarter, so that one disturbed run does not mask the others.
#[must_use]
pub fn spread(ascending: &[i64]) -> i64 {
    let count = ascending.len();
    let trimmed = if count > 5 { count / 4 } else { 0 };
    let low = ascending.get(trimmed);
    let high = ascending.get(count.saturating_sub(1 + trimmed));
    low.zip(high).map_or(0, |(low, high)| high.saturating_sub(*low))
}

/// Returns Cliff's delta: the share of pairs in which the candidate's value is larger, minus the share in which it is
/// smaller.
#[must_use]
pub fn cliffs_delta(baseline: &[i64], candidate: &[i64]) -> Option<f64> {
    if baseline.is_empty() || candidate.is_empty() {
        return None;
    }
    let mut balance = 0_i64;
    for value in candidate {
        let smaller = baseline.partition_point(|other| other < value);
        let larger = baseline.len() - baseline.partition_point(|other| other <= value);
        balance += smaller as i64 - larger as i64;
    }
    Some(balance as f64 / (baseline.len() * candidate.len()) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_median() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7]), Some(7));
        assert_eq!(median(&[1, 4]), Some(2));
        assert_eq!(median(&[1, 4, 9]), Some(4));
        assert_eq!(median(&[i64::MAX - 1, i64::MAX]), Some(i64::MAX - 1));
        assert_eq!(median(&[i64::MIN, i64::MAX]), Some(0));
    }

    #[test]
    fn computes_mean() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1, 2, 6]), Some(3));
        assert_eq!(mean(&[i64::MAX, i64::MAX]), Some(i64::MAX));
    }

    #[test]
    fn spread_ignores_outer_quarters() {
        assert_eq!(spread(&[]), 0);
        assert_eq!(spread(&[5]), 0);
        assert_eq!(spread(&[1, 2, 50]), 49);
        assert_eq!(spread(&[1, 2, 3, 4, 50]), 49);
        assert_eq!(spread(&[1, 2, 3, 4, 5, 50]), 3);
        assert_eq!(spread(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 900]), 5);
        assert_eq!(spread(&[i64::MIN, 0, i64::MAX]), i64::MAX);
    }

    #[test]
    fn computes_cliffs_delta() {
        assert_eq!(cliffs_delta(&[1, 2, 3], &[4, 5, 6]), Some(1.0));
        assert_eq!(cliffs_delta(&[4, 5, 6], &[1, 2, 3]), Some(-1.0));
        assert_eq!(cliffs_delta(&[1, 2, 3], &[1, 2, 3]), Some(0.0));
        // 2 beats 1, ties 2, loses to 3; 3 beats 1 and 2, ties 3: (1 − 1) + (2 − 0) of 6 pairs.
        assert_eq!(cliffs_delta(&[1, 2, 3], &[2, 3]), Some(2.0 / 6.0));
        assert_eq!(cliffs_delta(&[], &[1]), None);
    }
}
