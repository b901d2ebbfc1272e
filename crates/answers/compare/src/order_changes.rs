//! Finds services, applications and devices that started in a different order. Starts are relative to their phase, and
//! only changes found in every run count.

use hashbrown::HashMap;

use super::match_key;
use super::report::OrderChange;
use super::run::{Category, Run};
use super::statistics::median;

/// Maximum number of items per category: all pairs are compared.
const MAX_ITEMS: usize = 1_000;

/// Start of an item in a run: (index of its phase, time since the start of that phase in ns).
type StartPosition = (usize, i64);

/// An item that all runs on both sides have.
struct Item<'a> {
    key: &'a str,
    before: Vec<StartPosition>,
    after: Vec<StartPosition>,
}

/// The order changes of services, applications and devices, those that passed most others first.
pub(super) fn order_changes(before: &[&Run], after: &[&Run], configuration: &str) -> Vec<OrderChange> {
    let mut all = Vec::new();
    for category in [Category::Service, Category::Application, Category::Device] {
        let mut items = common(before, after, category);
        items.truncate(MAX_ITEMS);
        all.extend(movers(&items, before, after, configuration));
    }
    all
}

fn common<'a>(before: &[&'a Run], after: &[&'a Run], category: Category) -> Vec<Item<'a>> {
    let mut items: HashMap<String, Item<'a>> = HashMap::new();
    for (at, run) in before.iter().chain(after).enumerate() {
        let phases: HashMap<&str, usize> = run
            .measures
            .iter()
            .filter(|measure| measure.category == Category::Phase)
            .enumerate()
            .map(|(place, measure)| (measure.name(), place))
            .collect();
        for measure in &run.measures {
            let place =
                measure.phase.as_deref().and_then(|phase| phases.get(phase).copied()).zip(measure.since_phase_ns);
            let (Some(place), true) = (place, measure.category == category) else { continue };
            let item = items.entry(match_key(&measure.key, run.is_case_sensitive())).or_insert_with(|| Item {
                key: &measure.key,
                before: Vec::new(),
                after: Vec::new(),
            });
            if at < before.len() {
                item.before.push(place);
            } else {
                item.after.push(place);
            }
        }
    }
    let mut items: Vec<Item<'a>> = items
        .into_values()
        .filter(|item| item.before.len() == before.len() && item.after.len() == after.len())
        .collect();
    items.sort_by_key(|item| item.key);
    items
}

/// Of each pair that changed order in every run, the item with more such pairs is the one that moved.
fn movers(items: &[Item<'_>], before: &[&Run], after: &[&Run], configuration: &str) -> Vec<OrderChange> {
    let mut passed: Vec<Vec<(usize, bool)>> = vec![Vec::new(); items.len()];
    for (one, first) in items.iter().enumerate() {
        for (other, second) in items.iter().enumerate().skip(one + 1) {
            let later = swapped(first, second);
            if let Some(first_is_later) = later {
                passed[one].push((other, first_is_later));
                passed[other].push((one, !first_is_later));
            }
        }
    }
    let mut rows: Vec<(usize, OrderChange)> = Vec::new();
    for (at, swaps) in passed.iter().enumerate() {
        let weight = |at: usize| passed[at].len();
        let mine: Vec<&(usize, bool)> = swaps
            .iter()
            .filter(|(other, _)| weight(*other) < weight(at) || (weight(*other) == weight(at) && *other > at))
            .collect();
        let Some(nearest) = mine.iter().min_by_key(|(other, _)| (weight(*other), *other)) else { continue };
        let item = &items[at];
        let (was_phase, was_since_phase_ns) = typical_start(&item.before, before);
        let (is_phase, is_since_phase_ns) = typical_start(&item.after, after);
        rows.push((
            mine.len(),
            OrderChange {
                configuration: configuration.to_owned(),
                key: item.key.to_owned(),
                was_phase,
                is_phase,
                was_since_phase_ns,
                is_since_phase_ns,
                now_after: mine.iter().filter(|(_, later)| *later).count() as u64,
                now_before: mine.iter().filter(|(_, later)| !*later).count() as u64,
                passed: items[nearest.0].key.to_owned(),
            },
        ));
    }
    rows.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// If two items changed order in every run, whether the first now starts later.
fn swapped(first: &Item<'_>, second: &Item<'_>) -> Option<bool> {
    let starts_before = |a: &[StartPosition], b: &[StartPosition]| a.iter().zip(b).all(|(a, b)| a < b);
    if starts_before(&first.before, &second.before) && starts_before(&second.after, &first.after) {
        Some(true)
    } else if starts_before(&second.before, &first.before) && starts_before(&first.after, &second.after) {
        Some(false)
    } else {
        None
    }
}

/// The phase in which most runs start the item, and the median start time in it.
fn typical_start(places: &[StartPosition], runs: &[&Run]) -> (String, i64) {
    let mut ascending = places.to_vec();
    ascending.sort();
    let phase = ascending.get(ascending.len() / 2).map_or(0, |place| place.0);
    let mut since: Vec<i64> = ascending.iter().filter(|place| place.0 == phase).map(|place| place.1).collect();
    since.sort();
    let name = runs
        .first()
        .and_then(|run| run.measures.iter().filter(|measure| measure.category == Category::Phase).nth(phase));
    (name.map(|measure| measure.name().to_owned()).unwrap_or_default(), median(&since).unwrap_or(0))
}
