//! Finds change points in a sequence of values, by ranks, so that one outlier moves only one rank.
//!
//! Every segment of the sequence with at least [`MIN_SEGMENT_LEN`] values (or none) on each side is compared with the rest by
//! its rank sum (Pettitt, A Non-Parametric Approach to the Change-Point Problem, 1979, for one change; inner segments,
//! for a change and its reversal, as in Olshen et al., Circular binary segmentation, 2004). The most significant
//! segment is tested against [`PERMUTATIONS`] random permutations of the same values. The segments between changes are then
//! searched again.

use std::ops::Range;

/// Minimum number of values on either side of a change: of two, one outlier is half.
pub const MIN_SEGMENT_LEN: usize = 3;
/// Number of random permutations.
pub const PERMUTATIONS: usize = 1_999;
/// Maximum probability of a false change, over all sequences searched.
const MAX_CHANCE: f64 = 0.05;
/// Maximum number of values: the last ones are used.
const MAX_VALUES: usize = 300;
/// Fixed seed, for reproducible results.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A change point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Start of the searched segment.
    pub start: usize,
    /// First value after the change.
    pub at: usize,
    /// End of the searched segment.
    pub end: usize,
    /// Share of permutations with an equally significant change.
    pub p_value: f64,
}

/// The changes in `values`, by position. `tries` is the number of sequences searched for one answer. Segments extend
/// from one change to the next.
#[must_use]
pub fn changes(values: &[i64], tries: usize) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(MAX_VALUES);
    let limit = MAX_CHANCE / tries.max(1) as f64;
    let mut found: Vec<ChangePoint> = Vec::new();
    let mut segments = vec![(skipped, values.len())];
    while let Some((from, until)) = segments.pop() {
        let Some((segment, p_value)) = values.get(from..until).and_then(most_significant_segment) else { continue };
        if p_value <= limit {
            let (start, end) = (from + segment.start, from + segment.end);
            let positions = [start, end].into_iter().filter(|&at| at > from && at < until);
            found.extend(positions.map(|at| ChangePoint { start: from, at, end: until, p_value }));
            segments
                .extend([(from, start), (start, end), (end, until)].into_iter().filter(|(from, until)| from < until));
        }
    }
    found.sort_by_key(|change| change.at);
    // Changes found later subdivide a segment; then each change is moved to the most significant split between its
    // neighbors.
    let mut positions: Vec<usize> = found.iter().map(|change| change.at).collect();
    for index in 0..positions.len() {
        let from = index.checked_sub(1).and_then(|before| positions.get(before)).copied().unwrap_or(skipped);
        let until = positions.get(index + 1).copied().unwrap_or(values.len());
        let split = values.get(from..until).and_then(most_significant_split);
        if let (Some(known), Some(change), Some(split)) = (positions.get_mut(index), found.get_mut(index), split) {
            *known = from + split;
            change.at = *known;
        }
    }
    for (index, change) in found.iter_mut().enumerate() {
        change.start = index.checked_sub(1).and_then(|before| positions.get(before)).copied().unwrap_or(skipped);
        change.end = positions.get(index + 1).copied().unwrap_or(values.len());
    }
    found
}

/// The segment that differs most from the rest, and the share of permutations with an equally significant one.
fn most_significant_segment(values: &[i64]) -> Option<(Range<usize>, f64)> {
    let mut ranks = doubled_ranks(values);
    let mut sums = Vec::with_capacity(ranks.len() + 1);
    let (segment, score) = most_significant_of_ranks(&ranks, &mut sums)?;
    let mut random = SEED;
    let mut as_significant = 1_usize;
    for _ in 0..PERMUTATIONS {
        // Fisher-Yates shuffle.
        for last in (1..ranks.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = ((random >> 33) as usize) % (last + 1);
            ranks.swap(last, other);
        }
        if most_significant_of_ranks(&ranks, &mut sums).is_some_and(|(_, other)| other >= score * (1.0 - 1e-12)) {
            as_significant += 1;
        }
    }
    Some((segment, as_significant as f64 / (PERMUTATIONS + 1) as f64))
}

/// The position that splits `values` most significantly.
fn most_significant_split(values: &[i64]) -> Option<usize> {
    let ranks = doubled_ranks(values);
    let all = ranks.len() as i64;
    let mut sum = 0_i64;
    let splits = ranks.iter().zip(1_i64..).filter_map(|(rank, size)| {
        sum += rank;
        let is_side = |values: i64| values >= MIN_SEGMENT_LEN as i64;
        let deviation = (sum - size * (all + 1)) as f64;
        (is_side(size) && is_side(all - size))
            .then(|| (deviation * deviation / (size * (all - size)) as f64, size as usize))
    });
    splits.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, at)| at)
}

/// Twice the rank of each value; ties get their midrank.
fn doubled_ranks(values: &[i64]) -> Vec<i64> {
    let mut sorted = values.to_vec();
    sorted.sort();
    values
        .iter()
        .map(|value| {
            let below = sorted.partition_point(|other| other < value) as i64;
            let upto = sorted.partition_point(|other| other <= value) as i64;
            below + upto + 1
        })
        .collect()
}

/// The segment whose rank sum deviates most from its expectation, as a squared deviation over the variance. `sums` is
/// scratch space.
fn most_significant_of_ranks(ranks: &[i64], sums: &mut Vec<i64>) -> Option<(Range<usize>, f64)> {
    let count = ranks.len();
    sums.clear();
    sums.push(0);
    sums.extend(ranks.iter().scan(0_i64, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    let is_side = |values: usize| values == 0 || values >= MIN_SEGMENT_LEN;
    let mut best: Option<(Range<usize>, f64)> = None;
    for (start, before) in sums.iter().enumerate().filter(|(start, _)| is_side(*start)) {
        for (end, sum) in sums.iter().enumerate().skip(start + MIN_SEGMENT_LEN) {
            let size = end - start;
            if !is_side(count - end) || count - size < MIN_SEGMENT_LEN {
                continue;
            }
            // The sum of doubled ranks has expectation k (n + 1) and variance k (n − k) (n + 1) / 3.
            let (size, all) = (size as i64, count as i64);
            let deviation = (sum - before - size * (all + 1)) as f64;
            let score = deviation * deviation / (size * (all - size) * (all + 1)) as f64;
            if best.as_ref().is_none_or(|(_, known)| score > *known) {
                best = Some((start..end, score));
            }
        }
    }
    best.filter(|(_, score)| *score > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproducible values around `middle`, within about 5 %.
    fn about(middle: i64, count: usize, seed: u64) -> Vec<i64> {
        let mut random = seed.wrapping_mul(2) | 1;
        std::iter::repeat_with(|| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            middle + (random % 1_000) as i64 * middle / 20_000
        })
        .take(count)
        .collect()
    }

    #[test]
    fn finds_single_step() {
        let values = [about(2_000, 12, 3), about(2_600, 18, 5)].concat();
        let found = changes(&values, 5);
        let [change] = found[..] else { panic!("{found:?}") };
        assert_eq!((change.start, change.at, change.end), (0, 12, 30));
        assert!(change.p_value <= 0.001, "{change:?}");
    }

    #[test]
    fn finds_two_steps() {
        let values = [about(2_000, 12, 3), about(2_600, 14, 5), about(1_500, 12, 8)].concat();
        let positions: Vec<_> =
            changes(&values, 5).iter().map(|change| (change.start, change.at, change.end)).collect();
        assert_eq!(positions, [(0, 12, 26), (12, 26, 38)]);
    }

    #[test]
    fn finds_change_and_reversal() {
        let values = [about(2_000, 10, 3), about(2_600, 10, 5), about(2_000, 10, 8)].concat();
        let positions: Vec<_> = changes(&values, 5).iter().map(|change| change.at).collect();
        assert_eq!(positions, [10, 20]);
    }

    #[test]
    fn ignores_single_outlier() {
        for at in 0..30 {
            let mut values = about(2_000, 30, 7);
            values[at] = 40_000;
            assert_eq!(changes(&values, 5), [], "{at}");
        }
    }

    #[test]
    fn false_positive_rate_is_within_limit() {
        // 5 % of 400 sequences are 20; 31 or more have a probability of 1 %.
        let wrong = (0..400).filter(|&seed| !changes(&about(2_000, 30, seed * 977 + 13), 1).is_empty()).count();
        assert!(wrong <= 30, "{wrong} of 400");
    }

    #[test]
    fn few_or_equal_values_have_no_change() {
        assert_eq!(changes(&[], 1), []);
        assert_eq!(changes(&[7; 30], 1), []);
        assert_eq!(changes(&[1, 1, 1, 9, 9, 9], 1), [], "20 permutations are too few");
        assert_eq!(changes(&[i64::MIN, i64::MAX, 0, i64::MIN, i64::MAX, 3, 9], 1), []);
    }
}
