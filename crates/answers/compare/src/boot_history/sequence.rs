//! Finds the changes in one part of a sequence of boots or sleeps, and what explains each change.

use hashbrown::{HashMap, HashSet};

use super::ChangedUnit;
use super::change_point::find_changes;
use crate::statistics::{confidence_interval, median, rank_sum_test};

/// Minimum change relative to the duration: 1/30, about 3 %.
const MIN_SHARE_DIVISOR: i64 = 30;
/// A unit or device explains a change if at most 1/4 of the change remains without it; onoff's choice.
const MAX_REMAINDER_DIVISOR: i64 = 4;
/// Maximum number of units or devices listed per change.
const MAX_SUBJECTS: usize = 5;

/// A boot or a sleep of a sequence.
pub(crate) trait Sample {
    /// Returns the duration of a part, in ns.
    fn duration_ns(&self, part: &str) -> Option<i64>;
    /// Returns the own times of units, drivers or devices by (part, name), in ns.
    fn own_ns(&self) -> &HashMap<(String, String), i64>;
}

/// A change between two samples of a sequence.
pub(crate) struct PartChange {
    /// Index of the last sample before the change.
    pub last_before: usize,
    /// Index of the first sample after the change.
    pub first_after: usize,
    pub runs_before: u64,
    pub runs_after: u64,
    pub before_ns: i64,
    pub after_ns: i64,
    pub difference_ns: i64,
    pub low_ns: i64,
    pub high_ns: i64,
    pub p_value: f64,
    /// Units, drivers or devices whose own time changed along with the part.
    pub subjects: Vec<ChangedUnit>,
}

/// Finds the changes of a part in `samples`. `tries` is the number of parts searched for one result.
pub(crate) fn part_changes<S: Sample>(samples: &[S], part: &str, tries: usize, min_change_ns: i64) -> Vec<PartChange> {
    let (sample_indices, durations): (Vec<usize>, Vec<i64>) =
        samples.iter().enumerate().filter_map(|(index, sample)| Some((index, sample.duration_ns(part)?))).unzip();
    let mut part_changes = Vec::new();
    for change in find_changes(&durations, tries) {
        let (Some(durations_before), Some(durations_after)) =
            (durations.get(change.start..change.position), durations.get(change.position..change.end))
        else {
            continue;
        };
        let (sorted_before, sorted_after) = (sorted(durations_before), sorted(durations_after));
        let (Some(before_ns), Some(after_ns), Some(interval)) =
            (median(&sorted_before), median(&sorted_after), confidence_interval(&sorted_before, &sorted_after))
        else {
            continue;
        };
        let difference_ns = after_ns.saturating_sub(before_ns);
        let is_significant = difference_ns.abs() >= min_change_ns.max(before_ns / MIN_SHARE_DIVISOR);
        let last_position = change.position.checked_sub(1);
        let (Some(&last_before), Some(&first_after), true) = (
            last_position.and_then(|position| sample_indices.get(position)),
            sample_indices.get(change.position),
            is_significant,
        ) else {
            continue;
        };
        let samples_in = |range: std::ops::Range<usize>| -> Vec<&S> {
            sample_indices.get(range).unwrap_or_default().iter().filter_map(|&index| samples.get(index)).collect()
        };
        let (samples_before, samples_after) =
            (samples_in(change.start..change.position), samples_in(change.position..change.end));
        part_changes.push(PartChange {
            last_before,
            first_after,
            runs_before: sorted_before.len() as u64,
            runs_after: sorted_after.len() as u64,
            before_ns,
            after_ns,
            difference_ns,
            low_ns: interval.low,
            high_ns: interval.high,
            p_value: change.p_value,
            subjects: changed_subjects((&samples_before, &samples_after), part, difference_ns, min_change_ns),
        });
    }
    part_changes
}

fn sorted(values: &[i64]) -> Vec<i64> {
    let mut values = values.to_vec();
    values.sort();
    values
}

/// Returns the units, drivers or devices of a part whose own time changed along with it.
fn changed_subjects<S: Sample>(
    (samples_before, samples_after): (&[&S], &[&S]),
    part: &str,
    difference_ns: i64,
    min_change_ns: i64,
) -> Vec<ChangedUnit> {
    let names: HashSet<&str> = samples_before
        .iter()
        .chain(samples_after)
        .flat_map(|sample| sample.own_ns().keys())
        .filter(|(name_part, _)| name_part == part)
        .map(|(_, name)| name.as_str())
        .collect();
    let min_ns = min_change_ns.max(difference_ns.abs() / MAX_REMAINDER_DIVISOR);
    let mut subjects: Vec<ChangedUnit> = names
        .into_iter()
        .filter_map(|name| {
            let key = (part.to_owned(), name.to_owned());
            let own_ns = |sample: &&S| sample.own_ns().get(&key).copied().unwrap_or(0);
            let remaining_ns = |sample: &&S| sample.duration_ns(part).unwrap_or(0).saturating_sub(own_ns(sample));
            let sorted_values =
                |samples: &[&S], value: &dyn Fn(&&S) -> i64| sorted(&samples.iter().map(value).collect::<Vec<i64>>());
            let (own_before, own_after) =
                (sorted_values(samples_before, &own_ns), sorted_values(samples_after, &own_ns));
            let (before_ns, after_ns) = (median(&own_before)?, median(&own_after)?);
            let own_difference_ns = after_ns.saturating_sub(before_ns);
            let remaining_before_ns = median(&sorted_values(samples_before, &remaining_ns))?;
            let remaining_difference_ns =
                median(&sorted_values(samples_after, &remaining_ns))?.saturating_sub(remaining_before_ns);
            let is_same_direction = own_difference_ns.signum() == difference_ns.signum();
            let has_changed = is_same_direction
                && own_difference_ns.abs() >= min_ns
                && rank_sum_test(&own_before, &own_after)?.is_separated();
            has_changed.then(|| ChangedUnit {
                name: name.to_owned(),
                before_ns,
                after_ns,
                difference_ns: own_difference_ns,
                remaining_ns: remaining_difference_ns,
                explains: remaining_difference_ns.abs() <= min_ns,
            })
        })
        .collect();
    // A device unit appears once another unit has found the device. Among equal explanations, list device units last.
    subjects.sort_by(|a, b| {
        let key = |unit: &ChangedUnit| (!unit.explains, unit.name.ends_with(".device"), unit.remaining_ns.abs());
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    subjects.truncate(MAX_SUBJECTS);
    subjects
}
