//! Where in a sequence of values something changed, by ranks: one value that is far off moves one rank only.
//!
//! Every stretch of the sequence that leaves [`MIN_SIDE`] values or none on each side is compared with the rest: its rank sum against what
//! chance would give (Pettitt, A Non-Parametric Approach to the Change-Point Problem, 1979, for one change; a stretch within, for a change
//! and a change back, as Olshen and others, Circular binary segmentation, 2004). The clearest counts. How sure that is, random orders of the
//! same values say: of [`ORDERS`], how many show a stretch as clear. The boots between changes are then looked through again.

use std::ops::Range;

/// Values on either side of a change, at least: of two, one disturbed one is half.
pub const MIN_SIDE: usize = 3;
/// Random orders that a change is compared with.
pub const ORDERS: usize = 1_999;
/// How likely a change may be in values that did not change, of all that is tried.
const MAX_CHANCE: f64 = 0.05;
/// Values looked through at most; of more, the last.
const MAX_VALUES: usize = 300;
/// The orders are the same at every run.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A place where values changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first value of the stretch that was looked through.
    pub from: usize,
    /// The first value after the change.
    pub at: usize,
    /// The end of the stretch.
    pub until: usize,
    /// Share of random orders that show a change as clear.
    pub p_value: f64,
}

/// The changes in `values`, by place; `tries` is how many such sequences are looked through for one answer. Stretches go from one change to
/// the next.
#[must_use]
pub fn changes(values: &[i64], tries: usize) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(MAX_VALUES);
    let limit = MAX_CHANCE / tries.max(1) as f64;
    let mut found: Vec<ChangePoint> = Vec::new();
    let mut stretches = vec![(skipped, values.len())];
    while let Some((from, until)) = stretches.pop() {
        let Some((stretch, p_value)) = values.get(from..until).and_then(clearest) else { continue };
        if p_value <= limit {
            let (start, end) = (from + stretch.start, from + stretch.end);
            let places = [start, end].into_iter().filter(|&at| at > from && at < until);
            found.extend(places.map(|at| ChangePoint { from, at, until, p_value }));
            stretches
                .extend([(from, start), (start, end), (end, until)].into_iter().filter(|(from, until)| from < until));
        }
    }
    found.sort_by_key(|change| change.at);
    // What was found within a stretch later divides it; between its neighbors each change is where its two sides are clearest apart.
    let mut places: Vec<usize> = found.iter().map(|change| change.at).collect();
    for place in 0..places.len() {
        let from = place.checked_sub(1).and_then(|before| places.get(before)).copied().unwrap_or(skipped);
        let until = places.get(place + 1).copied().unwrap_or(values.len());
        let split = values.get(from..until).and_then(clearest_split);
        if let (Some(known), Some(change), Some(split)) = (places.get_mut(place), found.get_mut(place), split) {
            *known = from + split;
            change.at = *known;
        }
    }
    for (place, change) in found.iter_mut().enumerate() {
        change.from = place.checked_sub(1).and_then(|before| places.get(before)).copied().unwrap_or(skipped);
        change.until = places.get(place + 1).copied().unwrap_or(values.len());
    }
    found
}

/// The stretch that is clearest apart from the rest, and how many random orders have one as clear.
fn clearest(values: &[i64]) -> Option<(Range<usize>, f64)> {
    let mut ranks = doubled_ranks(values);
    let mut sums = Vec::with_capacity(ranks.len() + 1);
    let (stretch, clear) = clearest_of_ranks(&ranks, &mut sums)?;
    let mut random = SEED;
    let mut as_clear = 1_usize;
    for _ in 0..ORDERS {
        // Fisher and Yates' shuffle.
        for last in (1..ranks.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = ((random >> 33) as usize) % (last + 1);
            ranks.swap(last, other);
        }
        if clearest_of_ranks(&ranks, &mut sums).is_some_and(|(_, other)| other >= clear * (1.0 - 1e-12)) {
            as_clear += 1;
        }
    }
    Some((stretch, as_clear as f64 / (ORDERS + 1) as f64))
}

/// The place that divides `values` into the two sides that are clearest apart.
fn clearest_split(values: &[i64]) -> Option<usize> {
    let ranks = doubled_ranks(values);
    let all = ranks.len() as i64;
    let mut sum = 0_i64;
    let splits = ranks.iter().zip(1_i64..).filter_map(|(rank, size)| {
        sum += rank;
        let is_side = |values: i64| values >= MIN_SIDE as i64;
        let off = (sum - size * (all + 1)) as f64;
        (is_side(size) && is_side(all - size)).then(|| (off * off / (size * (all - size)) as f64, size as usize))
    });
    splits.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, at)| at)
}

/// Twice the rank of each value; equal ones have their middle.
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

/// The stretch whose rank sum is farthest from what chance gives, in units of how far that varies, squared. `sums` is scratch space.
fn clearest_of_ranks(ranks: &[i64], sums: &mut Vec<i64>) -> Option<(Range<usize>, f64)> {
    let count = ranks.len();
    sums.clear();
    sums.push(0);
    sums.extend(ranks.iter().scan(0_i64, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    let is_side = |values: usize| values == 0 || values >= MIN_SIDE;
    let mut best: Option<(Range<usize>, f64)> = None;
    for (start, before) in sums.iter().enumerate().filter(|(start, _)| is_side(*start)) {
        for (end, sum) in sums.iter().enumerate().skip(start + MIN_SIDE) {
            let size = end - start;
            if !is_side(count - end) || count - size < MIN_SIDE {
                continue;
            }
            // The sum of doubled ranks is k (n + 1) by chance, and varies by k (n − k) (n + 1) / 3.
            let (size, all) = (size as i64, count as i64);
            let off = (sum - before - size * (all + 1)) as f64;
            let clear = off * off / (size * (all - size) * (all + 1)) as f64;
            if best.as_ref().is_none_or(|(_, known)| clear > *known) {
                best = Some((start..end, clear));
            }
        }
    }
    best.filter(|(_, clear)| *clear > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values about `middle`, some 5 % apart, the same at every run.
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
    fn a_step_is_found_where_it_is_and_no_other() {
        let values = [about(2_000, 12, 3), about(2_600, 18, 5)].concat();
        let found = changes(&values, 5);
        let [change] = found[..] else { panic!("{found:?}") };
        assert_eq!((change.from, change.at, change.until), (0, 12, 30));
        assert!(change.p_value <= 0.001, "{change:?}");
    }

    #[test]
    fn two_steps_are_two_changes() {
        let values = [about(2_000, 12, 3), about(2_600, 14, 5), about(1_500, 12, 8)].concat();
        let places: Vec<_> = changes(&values, 5).iter().map(|change| (change.from, change.at, change.until)).collect();
        assert_eq!(places, [(0, 12, 26), (12, 26, 38)]);
    }

    #[test]
    fn a_change_and_a_change_back_are_two() {
        let values = [about(2_000, 10, 3), about(2_600, 10, 5), about(2_000, 10, 8)].concat();
        let places: Vec<_> = changes(&values, 5).iter().map(|change| change.at).collect();
        assert_eq!(places, [10, 20]);
    }

    #[test]
    fn one_slow_value_is_no_change_wherever_it_is() {
        for at in 0..30 {
            let mut values = about(2_000, 30, 7);
            values[at] = 40_000;
            assert_eq!(changes(&values, 5), [], "{at}");
        }
    }

    #[test]
    fn steady_values_show_a_change_no_more_often_than_said() {
        // 5 % of 400 sequences are 20; 31 or more of them have a probability of 1 %.
        let wrong = (0..400).filter(|&seed| !changes(&about(2_000, 30, seed * 977 + 13), 1).is_empty()).count();
        assert!(wrong <= 30, "{wrong} of 400");
    }

    #[test]
    fn few_and_equal_values_say_nothing() {
        assert_eq!(changes(&[], 1), []);
        assert_eq!(changes(&[7; 30], 1), []);
        assert_eq!(changes(&[1, 1, 1, 9, 9, 9], 1), [], "20 orders are too few");
        assert_eq!(changes(&[i64::MIN, i64::MAX, 0, i64::MIN, i64::MAX, 3, 9], 1), []);
    }
}
