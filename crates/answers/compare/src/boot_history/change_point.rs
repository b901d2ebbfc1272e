//! Finds change points in a sequence of values.
//!
//! Values far from their neighbors are left out. The sequence is first split in two so that the values are nearest to
//! the median of their side. Values far from the median of the whole sequence are limited, so that outliers do not
//! decide. If no split is significant, every inner segment with at least [`MIN_SEGMENT_LEN`] values is compared with
//! the other values by its rank sum: a change and its reversal (as in Olshen et al., Circular binary segmentation,
//! 2004). Both are tested against [`PERMUTATIONS`] random permutations of the same values. The segments between changes
//! are then searched in the same way. The position of a change is the split with the least spread on both sides, where
//! no value counts more than the change itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Minimum number of values on either side of a change. Of two values, one outlier would be half.
pub const MIN_SEGMENT_LEN: usize = 3;
/// Number of random permutations.
pub const PERMUTATIONS: usize = 1_999;
/// Maximum probability of a false change, over all sequences searched.
const MAX_CHANCE: f64 = 0.05;
/// Maximum number of values. From longer sequences, only the last values are used.
const MAX_VALUES: usize = 300;
/// Fixed seed, for reproducible results.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A change point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Start of the searched segment.
    pub start: usize,
    /// Index of the first value after the change.
    pub position: usize,
    /// End of the searched segment.
    pub end: usize,
    /// Share of permutations with an equally significant change.
    pub p_value: f64,
}

/// Returns the changes in `values`, by position. `tries` is the number of sequences searched for one result. Segments
/// extend from one change to the next.
#[must_use]
pub fn find_changes(values: &[i64], tries: usize) -> Vec<ChangePoint> {
    let kept = without_outliers(values);
    let kept_values: Vec<i64> = kept.iter().filter_map(|&index| values.get(index)).copied().collect();
    // An outlier next to a change belongs to either side.
    let index_of = |position: usize| match position {
        0 => 0,
        _ => kept.get(position).copied().unwrap_or(values.len()),
    };
    let changes = changes_of(&kept_values, tries).into_iter().map(|change| ChangePoint {
        start: index_of(change.start),
        position: index_of(change.position),
        end: index_of(change.end),
        ..change
    });
    changes.collect()
}

/// Returns the indexes of the values that are near the median of their neighbors. Outliers in a row, of which at most
/// [`MAX_OUTLIERS`] are recognized, would otherwise hide a change or move it.
fn without_outliers(values: &[i64]) -> Vec<usize> {
    /// The median of five values is one of the majority.
    const MAX_OUTLIERS: usize = 2;
    /// Maximum distance from the neighbors, as a multiple of the median difference of two successive values.
    const MAX_DIFFERENCES: i64 = 5;
    let differences: Vec<i64> =
        values.iter().zip(values.iter().skip(1)).map(|(&value, &next)| saturating_distance(value, next)).collect();
    // If most values are equal, the others are no outliers.
    let max_distance = median(&differences).filter(|&difference| difference > 0);
    let max_distance = max_distance.map_or(i64::MAX, |difference| difference.saturating_mul(MAX_DIFFERENCES));
    let is_near = |(index, value): &(usize, &i64)| {
        let (start, end) = (index.saturating_sub(MAX_OUTLIERS), (index + MAX_OUTLIERS + 1).min(values.len()));
        let middle = values.get(start..end).and_then(median);
        middle.is_none_or(|middle| saturating_distance(**value, middle) <= max_distance)
    };
    values.iter().enumerate().filter(is_near).map(|(index, _)| index).collect()
}

fn changes_of(values: &[i64], tries: usize) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(MAX_VALUES);
    // Each segment is searched in two ways, and the parts of a segment share its chance of a false change.
    let whole_limit = MAX_CHANCE / tries.max(1) as f64 / 2.0;
    let part_limit = whole_limit / 2.0;
    let mut changes: Vec<ChangePoint> = Vec::new();
    let mut segments = vec![(skipped, values.len(), whole_limit)];
    while let Some((segment_start, segment_end, limit)) = segments.pop() {
        let Some(segment) = values.get(segment_start..segment_end) else { continue };
        let found = most_significant_split(segment, limit)
            .map(|(split, p_value)| (split..segment.len(), p_value))
            .or_else(|| most_significant_segment(segment, limit));
        let Some((part, p_value)) = found else { continue };
        let (start, end) = (segment_start + part.start, segment_start + part.end);
        let positions = [start, end].into_iter().filter(|&position| position > segment_start && position < segment_end);
        changes.extend(positions.map(|position| ChangePoint {
            start: segment_start,
            position,
            end: segment_end,
            p_value,
        }));
        let parts = [(segment_start, start), (start, end), (end, segment_end)];
        segments
            .extend(parts.into_iter().filter(|(start, end)| start < end).map(|(start, end)| (start, end, part_limit)));
    }
    changes.sort_by_key(|change| change.position);
    // Changes found later subdivide segments. Therefore move each change to the split between its neighbors that leaves
    // the least spread.
    let mut positions: Vec<usize> = changes.iter().map(|change| change.position).collect();
    for index in 0..positions.len() {
        let start = index.checked_sub(1).and_then(|previous| positions.get(previous)).copied().unwrap_or(skipped);
        let end = positions.get(index + 1).copied().unwrap_or(values.len());
        if let (Some(position), Some(change)) = (positions.get_mut(index), changes.get_mut(index))
            && let Some(split) = values.get(start..end).and_then(|part| least_spread_split(part, *position - start))
        {
            *position = start + split;
            change.position = *position;
        }
    }
    for (index, change) in changes.iter_mut().enumerate() {
        change.start = index.checked_sub(1).and_then(|previous| positions.get(previous)).copied().unwrap_or(skipped);
        change.end = positions.get(index + 1).copied().unwrap_or(values.len());
    }
    changes
}

/// Returns the segment that differs most from the other values, and the share of permutations with an equally
/// significant segment; `None` if that share is above `limit`.
fn most_significant_segment(values: &[i64], limit: f64) -> Option<(Range<usize>, f64)> {
    let mut ranks = doubled_ranks(values);
    let mut sums = Vec::with_capacity(ranks.len() + 1);
    let (segment, score) = most_significant_of_ranks(&ranks, &mut sums)?;
    let p_value = permutation_share(&mut ranks, limit, |permuted| {
        most_significant_of_ranks(permuted, &mut sums)
            .is_some_and(|(_, permuted_score)| permuted_score >= score * (1.0 - 1e-12))
    })?;
    Some((segment, p_value))
}

/// Returns the share of random permutations of `values` that are as significant; `None` if it is above `limit`.
fn permutation_share(values: &mut [i64], limit: f64, mut is_significant: impl FnMut(&[i64]) -> bool) -> Option<f64> {
    let max_count = (limit * (PERMUTATIONS + 1) as f64) as usize;
    let mut random = Shuffle::default();
    let mut significant_count = 1_usize;
    for _ in 0..PERMUTATIONS {
        random.shuffle(values);
        significant_count += usize::from(is_significant(values));
        if significant_count > max_count {
            return None;
        }
    }
    Some(significant_count as f64 / (PERMUTATIONS + 1) as f64)
}

/// Returns the split with the least spread on both sides, and the share of permutations with an equally small spread;
/// `None` if that share is above `limit`.
fn most_significant_split(values: &[i64], limit: f64) -> Option<(usize, f64)> {
    /// Values are limited to this multiple of the median deviation from the median.
    const MAX_DEVIATIONS: i64 = 6;
    let center = median(values)?;
    let deviations: Vec<i64> = values.iter().map(|value| saturating_distance(*value, center)).collect();
    let mut limited = values.to_vec();
    // If most values are equal, the others are no outliers.
    if let Some(deviation) = median(&deviations).filter(|deviation| *deviation > 0) {
        let max = deviation.saturating_mul(MAX_DEVIATIONS);
        for value in &mut limited {
            *value = (*value).clamp(center.saturating_sub(max), center.saturating_add(max));
        }
    }
    let (split, spread) = tightest_split(&limited)?;
    if spread >= *spreads_of_prefixes(&limited).last()? {
        return None;
    }
    let p_value = permutation_share(&mut limited, limit, |permuted| {
        tightest_split(permuted).is_some_and(|(_, permuted_spread)| permuted_spread <= spread)
    })?;
    Some((split, p_value))
}

/// Returns the split with the smallest sum of distances of the values from the median of their side, and that sum.
fn tightest_split(values: &[i64]) -> Option<(usize, i128)> {
    let before = spreads_of_prefixes(values);
    let reversed: Vec<i64> = values.iter().rev().copied().collect();
    let after = spreads_of_prefixes(&reversed);
    (MIN_SEGMENT_LEN..values.len().saturating_sub(MIN_SEGMENT_LEN - 1))
        .filter_map(|split| Some((split, before.get(split)?.saturating_add(*after.get(values.len() - split)?))))
        .min_by_key(|(_, spread)| *spread)
}

/// Returns the spread of the first n values for every n, from 0: the sum of their distances from their median.
fn spreads_of_prefixes(values: &[i64]) -> Vec<i128> {
    let mut spreads = Vec::with_capacity(values.len() + 1);
    spreads.push(0);
    // The values below the median and those from it on, with their sums.
    let (mut below, mut above) = (BinaryHeap::new(), BinaryHeap::new());
    let (mut sum_below, mut sum_above) = (0_i128, 0_i128);
    for &value in values {
        if below.peek().is_some_and(|highest| value < *highest) {
            below.push(value);
            sum_below += i128::from(value);
        } else {
            above.push(Reverse(value));
            sum_above += i128::from(value);
        }
        while below.len() > above.len()
            && let Some(value) = below.pop()
        {
            above.push(Reverse(value));
            sum_below -= i128::from(value);
            sum_above += i128::from(value);
        }
        while above.len() > below.len() + 1
            && let Some(Reverse(value)) = above.pop()
        {
            below.push(value);
            sum_above -= i128::from(value);
            sum_below += i128::from(value);
        }
        let middle = above.peek().map_or(0, |Reverse(value)| i128::from(*value));
        spreads.push(sum_above - middle * above.len() as i128 + middle * below.len() as i128 - sum_below);
    }
    spreads
}

/// Returns the position that splits `values` with the least spread on both sides: the sum of the distances of the values
/// from the median of their side. A distance counts at most as much as the change at `found`, so that an outlier near
/// the change belongs to either side alike.
fn least_spread_split(values: &[i64], found: usize) -> Option<usize> {
    let (before, after) = values.split_at_checked(found)?;
    let change = saturating_distance(median(before)?, median(after)?);
    let spread = |side: &[i64]| -> i128 {
        let middle = median(side).unwrap_or(0);
        side.iter().map(|&value| i128::from(saturating_distance(value, middle).min(change))).sum()
    };
    let positions = MIN_SEGMENT_LEN..values.len().saturating_sub(MIN_SEGMENT_LEN - 1);
    positions
        .filter_map(|position| Some((values.split_at_checked(position)?, position)))
        .min_by_key(|((before, after), _)| spread(before).saturating_add(spread(after)))
        .map(|(_, position)| position)
}

fn median(values: &[i64]) -> Option<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

fn saturating_distance(value: i64, other: i64) -> i64 {
    i64::try_from(value.abs_diff(other)).unwrap_or(i64::MAX)
}

/// A reproducible random order.
struct Shuffle(u64);

impl Default for Shuffle {
    fn default() -> Self {
        Self(SEED)
    }
}

impl Shuffle {
    /// Fisher-Yates shuffle.
    fn shuffle(&mut self, values: &mut [i64]) {
        for last_index in (1..values.len()).rev() {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random_index = ((self.0 >> 33) as usize) % (last_index + 1);
            values.swap(last_index, random_index);
        }
    }
}

/// Returns twice the rank of each value; ties get their midrank.
fn doubled_ranks(values: &[i64]) -> Vec<i64> {
    let mut sorted = values.to_vec();
    sorted.sort();
    values
        .iter()
        .map(|value| {
            let below = sorted.partition_point(|other| other < value) as i64;
            let up_to = sorted.partition_point(|other| other <= value) as i64;
            below + up_to + 1
        })
        .collect()
}

/// Returns the segment whose rank sum deviates most from its expectation, and its score: the squared deviation divided
/// by the variance. `sums` is scratch space.
fn most_significant_of_ranks(ranks: &[i64], sums: &mut Vec<i64>) -> Option<(Range<usize>, f64)> {
    let count = ranks.len();
    sums.clear();
    sums.push(0);
    sums.extend(ranks.iter().scan(0_i64, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    let is_valid_side = |len: usize| len == 0 || len >= MIN_SEGMENT_LEN;
    let mut best: Option<(Range<usize>, f64)> = None;
    for (start, sum_before) in sums.iter().enumerate().filter(|(start, _)| is_valid_side(*start)) {
        for (end, sum) in sums.iter().enumerate().skip(start + MIN_SEGMENT_LEN) {
            let size = end - start;
            if !is_valid_side(count - end) || count - size < MIN_SEGMENT_LEN {
                continue;
            }
            // The sum of doubled ranks has expectation k (n + 1) and variance k (n − k) (n + 1) / 3.
            let (size, total_count) = (size as i64, count as i64);
            let deviation = (sum - sum_before - size * (total_count + 1)) as f64;
            let score = deviation * deviation / (size * (total_count - size) * (total_count + 1)) as f64;
            if best.as_ref().is_none_or(|(_, best_score)| score > *best_score) {
                best = Some((start..end, score));
            }
        }
    }
    best.filter(|(_, score)| *score > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns reproducible values from `middle` to about 5 % above.
    fn values_near(middle: i64, count: usize, seed: u64) -> Vec<i64> {
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
        let values = [values_near(2_000, 12, 3), values_near(2_600, 18, 5)].concat();
        let changes = find_changes(&values, 5);
        let [change] = changes[..] else { panic!("{changes:?}") };
        assert_eq!((change.start, change.position, change.end), (0, 12, 30));
        assert!(change.p_value <= 0.001, "{change:?}");
    }

    #[test]
    fn finds_position_of_step_despite_noise() {
        // A step of ten times the noise, with one outlier. Too near to an end, ranks do not find it.
        let mut missed = 0;
        for position in 8..23 {
            for seed in 0..4 {
                let mut values =
                    [values_near(2_000, position, seed * 31 + 3), values_near(3_000, 30 - position, seed * 17 + 5)]
                        .concat();
                let outlier = (seed as usize * 7 + position) % 30;
                values[outlier] += 20_000;
                let positions: Vec<_> = find_changes(&values, 5).iter().map(|change| change.position).collect();
                // An outlier next to the change belongs to neither side.
                if outlier.abs_diff(position) > 1 {
                    assert!(positions.is_empty() || positions.contains(&position), "{position}, {seed}: {positions:?}");
                    missed += usize::from(positions.is_empty());
                }
            }
        }
        assert!(missed <= 2, "{missed}");
    }

    /// Returns values with normal noise of `deviation`, as a sum of twelve uniform numbers.
    fn noisy(count: usize, deviation: i64, random: &mut u64) -> Vec<i64> {
        let mut uniform = || {
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            (*random % 10_001) as i64 - 5_000
        };
        (0..count).map(|_| 20_000 + (0..12).map(|_| uniform()).sum::<i64>() * deviation / 10_000).collect()
    }

    /// Boots of 60 computers, which became slower by ten times the noise once; every other one has a single slow boot.
    #[test]
    fn finds_position_in_histories_of_normal_noise() {
        let mut random = SEED | 1;
        let mut right = 0;
        let mut wrong = Vec::new();
        for number in 0..60_usize {
            let count = 16 + number * 7 % 25;
            let position = 5 + number * 11 % (count - 9);
            let mut values = noisy(count, 100, &mut random);
            for value in &mut values[position..] {
                *value += 1_000;
            }
            if number % 2 == 1 {
                let outlier = (position + 3 + number % (count - 6)) % count;
                values[outlier] += 15_000;
            }
            let positions: Vec<usize> = find_changes(&values, 5).iter().map(|change| change.position).collect();
            if positions == [position] {
                right += 1;
            } else {
                wrong.push((count, position, positions));
            }
        }
        assert!(right >= 57, "{right} of 60 are right, not {wrong:?}");
    }

    /// Boots of 60 computers that did not change; every other one has a single slow boot.
    #[test]
    fn names_no_change_in_histories_of_normal_noise() {
        let mut random = SEED | 1;
        let with_change = (0..60_usize).filter(|number| {
            let mut values = noisy(16 + number * 7 % 25, 100, &mut random);
            if number % 2 == 1 {
                let outlier = number * 13 % values.len();
                values[outlier] += 15_000;
            }
            !find_changes(&values, 5).is_empty()
        });
        let count = with_change.count();
        assert!(count <= 3, "{count} of 60");
    }

    /// Boots of 300 computers, of which every tenth is slow by 30 to 150 times the noise, with a step in each history.
    /// Returns how many changes were found within one boot, and in how many histories any was found.
    fn found_despite_slow_boots(step: i64) -> (usize, usize) {
        let mut random = SEED | 1;
        let (mut right, mut with_change) = (0, 0);
        for number in 0..300_usize {
            let count = 16 + number * 7 % 25;
            let position = 5 + number * 11 % (count - 9);
            let mut values = noisy(count, 100, &mut random);
            for value in &mut values[position..] {
                *value += step;
            }
            let delays = noisy(count, 2_000, &mut random);
            for (value, delay) in values.iter_mut().zip(delays) {
                random = random.rotate_left(13).wrapping_mul(SEED);
                if random.is_multiple_of(10) {
                    *value += 3_000 + (delay - 20_000).abs() * 2;
                }
            }
            let positions: Vec<usize> = find_changes(&values, 5).iter().map(|change| change.position).collect();
            right += usize::from(matches!(positions[..], [found] if found.abs_diff(position) <= 1));
            with_change += usize::from(!positions.is_empty());
        }
        (right, with_change)
    }

    #[test]
    fn slow_boots_neither_hide_nor_make_changes() {
        let (right, _) = found_despite_slow_boots(1_000);
        assert!(right >= 275, "{right} of 300");
        let (_, invented) = found_despite_slow_boots(0);
        assert!(invented <= 15, "{invented} of 300");
    }

    #[test]
    fn finds_two_steps() {
        let values = [values_near(2_000, 12, 3), values_near(2_600, 14, 5), values_near(1_500, 12, 8)].concat();
        let positions: Vec<_> =
            find_changes(&values, 5).iter().map(|change| (change.start, change.position, change.end)).collect();
        assert_eq!(positions, [(0, 12, 26), (12, 26, 38)]);
    }

    #[test]
    fn finds_change_and_reversal() {
        let values = [values_near(2_000, 10, 3), values_near(2_600, 10, 5), values_near(2_000, 10, 8)].concat();
        let positions: Vec<_> = find_changes(&values, 5).iter().map(|change| change.position).collect();
        assert_eq!(positions, [10, 20]);
    }

    #[test]
    fn ignores_single_outlier() {
        for index in 0..30 {
            let mut values = values_near(2_000, 30, 7);
            values[index] = 40_000;
            assert_eq!(find_changes(&values, 5), [], "{index}");
        }
    }

    #[test]
    fn false_positive_rate_is_within_limit() {
        // 5 % of 400 sequences are 20. The probability of 31 or more is 1 %.
        let false_positives =
            (0..400).filter(|&seed| !find_changes(&values_near(2_000, 30, seed * 977 + 13), 1).is_empty()).count();
        assert!(false_positives <= 30, "{false_positives} of 400");
    }

    #[test]
    fn few_or_equal_values_have_no_change() {
        assert_eq!(find_changes(&[], 1), []);
        assert_eq!(find_changes(&[7; 30], 1), []);
        assert_eq!(find_changes(&[1, 1, 1, 9, 9, 9], 1), [], "20 permutations are too few");
        assert_eq!(find_changes(&[i64::MIN, i64::MAX, 0, i64::MIN, i64::MAX, 3, 9], 1), []);
    }
}
