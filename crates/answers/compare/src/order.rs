//! What began in another order: phases aligned each at its own begin, and only what every run agrees on.

use hashbrown::HashMap;

use super::matching;
use super::report::Moved;
use super::run::{Category, Run};
use super::statistics::median;

/// Things of one category that are looked at, at most: each pair is.
const MAX_COMPARED: usize = 1_000;

/// Where something began in a run: its phase's place in the run, and the time since that phase's begin, ns.
type Place = (usize, i64);

/// A thing that all runs of both sides have.
struct Thing<'a> {
    key: &'a str,
    before: Vec<Place>,
    after: Vec<Place>,
}

/// What moved, most passed first, of services and devices.
pub(super) fn moved(before: &[&Run], after: &[&Run], configuration: &str) -> Vec<Moved> {
    let mut all = Vec::new();
    for category in [Category::Service, Category::Application, Category::Device] {
        let mut things = common(before, after, category);
        things.truncate(MAX_COMPARED);
        all.extend(movers(&things, before, after, configuration));
    }
    all
}

/// The things that every run names, by key.
fn common<'a>(before: &[&'a Run], after: &[&'a Run], category: Category) -> Vec<Thing<'a>> {
    let mut things: HashMap<String, Thing<'a>> = HashMap::new();
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
            let thing = things.entry(matching(&measure.key, run.keeps_case())).or_insert_with(|| Thing {
                key: &measure.key,
                before: Vec::new(),
                after: Vec::new(),
            });
            if at < before.len() {
                thing.before.push(place);
            } else {
                thing.after.push(place);
            }
        }
    }
    let mut things: Vec<Thing<'a>> = things
        .into_values()
        .filter(|thing| thing.before.len() == before.len() && thing.after.len() == after.len())
        .collect();
    things.sort_by_key(|thing| thing.key);
    things
}

/// Of each pair that changed places in every run, the one with more such pairs is what moved; the other was passed.
fn movers(things: &[Thing<'_>], before: &[&Run], after: &[&Run], configuration: &str) -> Vec<Moved> {
    let mut passed: Vec<Vec<(usize, bool)>> = vec![Vec::new(); things.len()];
    for (one, first) in things.iter().enumerate() {
        for (other, second) in things.iter().enumerate().skip(one + 1) {
            let later = swapped(first, second);
            if let Some(first_is_later) = later {
                passed[one].push((other, first_is_later));
                passed[other].push((one, !first_is_later));
            }
        }
    }
    let mut rows: Vec<(usize, Moved)> = Vec::new();
    for (at, swaps) in passed.iter().enumerate() {
        let weight = |at: usize| passed[at].len();
        let mine: Vec<&(usize, bool)> = swaps
            .iter()
            .filter(|(other, _)| weight(*other) < weight(at) || (weight(*other) == weight(at) && *other > at))
            .collect();
        let Some(nearest) = mine.iter().min_by_key(|(other, _)| (weight(*other), *other)) else { continue };
        let thing = &things[at];
        let (was_phase, was_since_phase_ns) = middle(&thing.before, before);
        let (is_phase, is_since_phase_ns) = middle(&thing.after, after);
        rows.push((
            mine.len(),
            Moved {
                configuration: configuration.to_owned(),
                key: thing.key.to_owned(),
                was_phase,
                is_phase,
                was_since_phase_ns,
                is_since_phase_ns,
                now_after: mine.iter().filter(|(_, later)| *later).count() as u64,
                now_before: mine.iter().filter(|(_, later)| !*later).count() as u64,
                passed: things[nearest.0].key.to_owned(),
            },
        ));
    }
    rows.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Whether two changed places in every run; if so, whether the first is now the later one.
fn swapped(first: &Thing<'_>, second: &Thing<'_>) -> Option<bool> {
    let leads = |a: &[Place], b: &[Place]| a.iter().zip(b).all(|(a, b)| a < b);
    if leads(&first.before, &second.before) && leads(&second.after, &first.after) {
        Some(true)
    } else if leads(&second.before, &first.before) && leads(&first.after, &second.after) {
        Some(false)
    } else {
        None
    }
}

/// The phase in which most runs have it, and the median begin since there.
fn middle(places: &[Place], runs: &[&Run]) -> (String, i64) {
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
