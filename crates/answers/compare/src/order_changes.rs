//! Finds services, applications and devices that started in a different order. Starts are relative to their phase. Only
//! changes found in every run count.

use hashbrown::HashMap;

use super::match_key;
use super::report::OrderChange;
use super::run::{Category, Run};
use super::statistics::median;

/// Maximum number of items per category, because all pairs are compared.
const MAX_ITEMS: usize = 1_000;

/// Start of an item in a run: (index of its phase, time since the start of that phase in ns).
type StartPosition = (usize, i64);

/// An item that all runs on both sides have.
struct Item<'a> {
    key: &'a str,
    baseline_starts: Vec<StartPosition>,
    candidate_starts: Vec<StartPosition>,
}

/// Returns the order changes of services, applications and devices. Items that passed most others come first.
pub(super) fn order_changes(baseline: &[&Run], candidate: &[&Run], configuration: &str) -> Vec<OrderChange> {
    let mut changes = Vec::new();
    for category in [Category::Service, Category::Application, Category::Device] {
        let mut items = common_items(baseline, candidate, category);
        items.truncate(MAX_ITEMS);
        changes.extend(moved_items(&items, baseline, candidate, configuration));
    }
    changes
}

/// Returns the items of a category that all runs have.
fn common_items<'a>(baseline: &[&'a Run], candidate: &[&'a Run], category: Category) -> Vec<Item<'a>> {
    let mut items: HashMap<String, Item<'a>> = HashMap::new();
    for (run_index, run) in baseline.iter().chain(candidate).enumerate() {
        let phases: HashMap<&str, usize> = run
            .measures
            .iter()
            .filter(|measure| measure.category == Category::Phase)
            .enumerate()
            .map(|(index, measure)| (measure.name(), index))
            .collect();
        for measure in &run.measures {
            let start =
                measure.phase.as_deref().and_then(|phase| phases.get(phase).copied()).zip(measure.since_phase_ns);
            let (Some(start), true) = (start, measure.category == category) else { continue };
            let item = items.entry(match_key(&measure.key, run.is_case_sensitive())).or_insert_with(|| Item {
                key: &measure.key,
                baseline_starts: Vec::new(),
                candidate_starts: Vec::new(),
            });
            if run_index < baseline.len() {
                item.baseline_starts.push(start);
            } else {
                item.candidate_starts.push(start);
            }
        }
    }
    let mut items: Vec<Item<'a>> = items
        .into_values()
        .filter(|item| item.baseline_starts.len() == baseline.len() && item.candidate_starts.len() == candidate.len())
        .collect();
    items.sort_by_key(|item| item.key);
    items
}

/// Returns the items that moved. In each pair that changed order in every run, the item with more such pairs is the
/// item that moved.
fn moved_items(items: &[Item<'_>], baseline: &[&Run], candidate: &[&Run], configuration: &str) -> Vec<OrderChange> {
    let mut swaps_by_item: Vec<Vec<(usize, bool)>> = vec![Vec::new(); items.len()];
    for (first_index, first) in items.iter().enumerate() {
        for (second_index, second) in items.iter().enumerate().skip(first_index + 1) {
            if let Some(first_is_later) = order_swap(first, second) {
                swaps_by_item[first_index].push((second_index, first_is_later));
                swaps_by_item[second_index].push((first_index, !first_is_later));
            }
        }
    }
    let mut rows: Vec<(usize, OrderChange)> = Vec::new();
    let swap_count = |index: usize| swaps_by_item[index].len();
    for (index, swaps) in swaps_by_item.iter().enumerate() {
        let passed: Vec<(usize, bool)> = swaps
            .iter()
            .copied()
            .filter(|&(other_index, _)| {
                swap_count(other_index) < swap_count(index)
                    || (swap_count(other_index) == swap_count(index) && other_index > index)
            })
            .collect();
        let Some(&(nearest_index, _)) =
            passed.iter().min_by_key(|&&(other_index, _)| (swap_count(other_index), other_index))
        else {
            continue;
        };
        let item = &items[index];
        let (was_phase, was_since_phase_ns) = typical_start(&item.baseline_starts, baseline);
        let (is_phase, is_since_phase_ns) = typical_start(&item.candidate_starts, candidate);
        rows.push((
            passed.len(),
            OrderChange {
                configuration: configuration.to_owned(),
                key: item.key.to_owned(),
                was_phase,
                is_phase,
                was_since_phase_ns,
                is_since_phase_ns,
                now_after: passed.iter().filter(|(_, is_later)| *is_later).count() as u64,
                now_before: passed.iter().filter(|(_, is_later)| !*is_later).count() as u64,
                passed: items[nearest_index].key.to_owned(),
            },
        ));
    }
    rows.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Returns whether the first item now starts later, if the two items changed order in every run.
fn order_swap(first: &Item<'_>, second: &Item<'_>) -> Option<bool> {
    let starts_before = |a: &[StartPosition], b: &[StartPosition]| a.iter().zip(b).all(|(a, b)| a < b);
    if starts_before(&first.baseline_starts, &second.baseline_starts)
        && starts_before(&second.candidate_starts, &first.candidate_starts)
    {
        Some(true)
    } else if starts_before(&second.baseline_starts, &first.baseline_starts)
        && starts_before(&first.candidate_starts, &second.candidate_starts)
    {
        Some(false)
    } else {
        None
    }
}

/// Returns the phase in which most runs start the item, and the median start time in it.
fn typical_start(starts: &[StartPosition], runs: &[&Run]) -> (String, i64) {
    let mut ascending = starts.to_vec();
    ascending.sort();
    let phase = ascending.get(ascending.len() / 2).map_or(0, |&(phase, _)| phase);
    let mut since_phase: Vec<i64> = ascending
        .iter()
        .filter(|&&(start_phase, _)| start_phase == phase)
        .map(|&(_, since_phase_ns)| since_phase_ns)
        .collect();
    since_phase.sort();
    let phase_measure = runs
        .first()
        .and_then(|run| run.measures.iter().filter(|measure| measure.category == Category::Phase).nth(phase));
    (phase_measure.map(|measure| measure.name().to_owned()).unwrap_or_default(), median(&since_phase).unwrap_or(0))
}
