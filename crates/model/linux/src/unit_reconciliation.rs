//! Merges duplicate unit rows from several parts: the service manager's times take precedence over the times of
//! messages, and each change is kept once.

use std::cmp::Reverse;

use hashbrown::HashMap;
use onoff_trace::{Milestone, ServiceChange, ServiceOutcome, ServiceTransition, StringId, milestone};

use super::assembly::Assembly;
use super::journal_rows::WALL_CLOCK_EVENT;
use super::{blame, critical_chain, startup_plot, units};
use onoff_linux_log::unit_names::is_unit;

/// Maximum distance between a message and the change it reports: 1 s. Messages wait for journald while it starts, and
/// the kernel log's clock is accurate only to some milliseconds.
const MAX_DISTANCE_NS: i64 = 1_000_000_000;

/// Maximum distance between a line with a wall-clock time, which may be in whole seconds, and the change it reports.
const MAX_WALL_CLOCK_DISTANCE_NS: i64 = 2_000_000_000;

/// Maximum delay of a line with a wall-clock time: 2 min. A syslog daemon stamps messages from before its start with
/// the time at which it read them.
const MAX_DELAY_NS: i64 = 120_000_000_000;

/// Number of units whose lines must agree on the distance between two clocks.
const MIN_AGREEING_UNITS: usize = 3;
/// Maximum difference between distances that agree.
const AGREEMENT_TOLERANCE_NS: i64 = 1_500_000_000;

/// Merges the rows of all parts; called after all parts are read.
pub(super) fn reconcile(assembly: &mut Assembly) {
    critical_chain::add_missing_starts(assembly);
    let properties = assembly.intern(units::EVENT);
    let chart = assembly.intern(startup_plot::EVENT);
    resolve_descriptions(assembly);
    let bounds = merge_wall_clock_rows(assembly);
    merge_transitions(&mut assembly.service_transitions, properties, chart);
    blame::apply(assembly, properties);
    drop_wall_clock_duplicates(assembly, &bounds);
    merge_milestones(assembly, properties);
    mark_startup(assembly);
}

/// Builds the trace for tests.
#[cfg(test)]
pub(super) fn reconciled_trace(mut assembly: Assembly) -> onoff_trace::Trace {
    reconcile(&mut assembly);
    let mut trace = onoff_trace::Trace::default();
    assembly.finish(&mut trace);
    trace
}

/// Replaces unit descriptions by unit names where the unit properties identify them.
fn resolve_descriptions(assembly: &mut Assembly) {
    let mut rows = std::mem::take(&mut assembly.service_transitions);
    for row in &mut rows {
        let name = assembly.texts.get(row.service);
        if !is_unit(name)
            && let Some(unit) = assembly.unit_with_description(name).map(str::to_owned)
        {
            row.service = assembly.intern(&unit);
        }
    }
    assembly.service_transitions = rows;
}

/// Bounds of the delay between a line with a wall-clock time and the change it reports.
struct DelayBounds {
    min_ns: i64,
    max_ns: i64,
}

/// Moves rows from lines with wall-clock times to the clock of the service manager's times, and drops duplicates:
/// within a boot, a start with exact times replaces a message about it.
fn merge_wall_clock_rows(assembly: &mut Assembly) -> DelayBounds {
    let mut bounds = DelayBounds { min_ns: -MAX_DELAY_NS, max_ns: MAX_DELAY_NS };
    let Some(event) = assembly.texts.find(WALL_CLOCK_EVENT) else { return bounds };
    let rows = std::mem::take(&mut assembly.service_transitions);
    let (mut by_wall_clock, exact): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.event == event);
    let mut exact_times: HashMap<(StringId, u8), Vec<(i64, i64)>> = HashMap::new();
    for row in &exact {
        let times = exact_times.entry((row.service, row.kind as u8)).or_default();
        times.push((row.start_ns, row.end_ns.unwrap_or(row.start_ns)));
    }
    let clock_distance = clock_distance(&by_wall_clock, &exact_times);
    // If the clocks cannot be compared, a line may also be early, because the text's first line was taken for the
    // kernel's start.
    if clock_distance.is_some() {
        bounds.min_ns = -MAX_WALL_CLOCK_DISTANCE_NS;
    }
    if let Some(distance) = clock_distance.filter(|distance| distance.abs() > MAX_DISTANCE_NS) {
        let shift = |time_ns: i64| time_ns.saturating_sub(distance).max(0);
        for row in &mut by_wall_clock {
            row.start_ns = shift(row.start_ns);
            row.end_ns = row.end_ns.map(shift);
        }
        for row in assembly.milestones.iter_mut().filter(|row| row.event == event) {
            row.time_ns = shift(row.time_ns);
        }
    }
    by_wall_clock.sort_by_key(|row| (row.service, row.kind as u8, row.start_ns));
    let mut merged = exact;
    for rows in by_wall_clock.chunk_by(|a, b| (a.service, a.kind) == (b.service, b.kind)) {
        let Some(first_row) = rows.first() else { continue };
        let mut unmatched: Vec<Option<&ServiceTransition>> = rows.iter().map(Some).collect();
        if let Some(times) = exact_times.get_mut(&(first_row.service, first_row.kind as u8)) {
            times.sort();
            // Several parts may have recorded the same start.
            times.dedup_by(|(start, _), (previous_start, _)| start.saturating_sub(*previous_start) <= MAX_DISTANCE_NS);
            for &(start_ns, end_ns) in times.iter() {
                let distance = |row: &ServiceTransition| row.start_ns.saturating_sub(start_ns);
                let is_near = |row: &ServiceTransition| {
                    row.start_ns <= end_ns.saturating_add(MAX_WALL_CLOCK_DISTANCE_NS)
                        && row.end_ns.unwrap_or(row.start_ns) >= start_ns.saturating_sub(MAX_WALL_CLOCK_DISTANCE_NS)
                };
                let is_delayed = |row: &ServiceTransition| (bounds.min_ns..=bounds.max_ns).contains(&distance(row));
                let nearest = unmatched
                    .iter_mut()
                    .filter(|slot| slot.is_some_and(|row| is_near(row) || is_delayed(row)))
                    .min_by_key(|slot| slot.map(|row| (!is_near(row), distance(row).abs())));
                if let Some(slot) = nearest {
                    *slot = None;
                }
            }
        }
        merged.extend(unmatched.into_iter().flatten().copied());
    }
    assembly.service_transitions = merged;
    bounds
}

/// Returns the distance between the clock of lines with wall-clock times and the clock of exact times, ns: the smallest
/// distance on which several units agree, among units that occur once in each source.
fn clock_distance(
    by_wall_clock: &[ServiceTransition],
    exact_times: &HashMap<(StringId, u8), Vec<(i64, i64)>>,
) -> Option<i64> {
    let mut lines: HashMap<StringId, Option<i64>> = HashMap::new();
    for row in by_wall_clock.iter().filter(|row| row.kind == ServiceChange::Start) {
        lines.entry(row.service).and_modify(|time| *time = None).or_insert(Some(row.start_ns));
    }
    let mut distances: Vec<i64> = lines
        .into_iter()
        .filter_map(|(service, line_ns)| {
            let times = exact_times.get(&(service, ServiceChange::Start as u8))?;
            let (first_ns, last_ns) = (times.iter().min()?.0, times.iter().max()?.0);
            (last_ns.saturating_sub(first_ns) <= MAX_DISTANCE_NS).then_some(line_ns?.saturating_sub(first_ns))
        })
        .filter(|distance| distance.abs() <= MAX_DELAY_NS)
        .collect();
    distances.sort();
    let agreeing = distances.windows(MIN_AGREEING_UNITS).find(|window| match window {
        [nearest, .., farthest] => farthest.saturating_sub(*nearest) <= AGREEMENT_TOLERANCE_NS,
        _ => false,
    })?;
    agreeing.get(MIN_AGREEING_UNITS / 2).copied()
}

/// Drops target milestones from lines with a wall-clock time if another part has them.
fn drop_wall_clock_duplicates(assembly: &mut Assembly, bounds: &DelayBounds) {
    let Some(event) = assembly.texts.find(WALL_CLOCK_EVENT) else { return };
    let mut exact_times: HashMap<(StringId, StringId), Vec<i64>> = HashMap::new();
    let target_milestones =
        [milestone::TARGET_REACHED, milestone::TARGET_STOPPED].map(|name| assembly.texts.find(name));
    for row in
        assembly.milestones.iter().filter(|row| row.event != event && target_milestones.contains(&Some(row.name)))
    {
        exact_times.entry((row.name, row.detail)).or_default().push(row.time_ns);
    }
    assembly.milestones.retain(|row| {
        let is_duplicate =
            |time_ns: &i64| (bounds.min_ns..=bounds.max_ns).contains(&row.time_ns.saturating_sub(*time_ns));
        row.event != event
            || !exact_times.get(&(row.name, row.detail)).is_some_and(|times| times.iter().any(is_duplicate))
    });
}

fn merge_transitions(rows: &mut Vec<ServiceTransition>, properties: StringId, chart: StringId) {
    // The startup chart has the same times as the properties, rounded.
    let rank = |row: &ServiceTransition| match row.event {
        event if event == properties => 0,
        event if event == chart => 1,
        _ => 2,
    };
    rows.sort_by_key(|row| (row.service, row.kind as u8, rank(row), row.start_ns, Reverse(row.end_ns)));
    let mut merged: Vec<ServiceTransition> = Vec::with_capacity(rows.len());
    // The manager's rows of the current unit and change: start and the latest end so far.
    let mut manager_times: Vec<(i64, i64)> = Vec::new();
    for row in rows.drain(..) {
        let is_same_change =
            |candidate: &&ServiceTransition| (candidate.service, candidate.kind) == (row.service, row.kind);
        let previous = merged.last().filter(is_same_change);
        if previous.is_none() {
            manager_times.clear();
        }
        if previous.is_some_and(|previous| previous.start_ns == row.start_ns) {
            continue;
        }
        let end_ns = row.end_ns.unwrap_or(row.start_ns);
        if row.event == properties {
            let latest = manager_times.last().map_or(end_ns, |&(_, latest)| latest.max(end_ns));
            manager_times.push((row.start_ns, latest));
        } else {
            let max_start_ns = end_ns.saturating_add(MAX_DISTANCE_NS);
            let started_count = manager_times.partition_point(|&(start, _)| start <= max_start_ns);
            let is_known = started_count
                .checked_sub(1)
                .and_then(|index| manager_times.get(index))
                .is_some_and(|&(_, latest)| latest >= row.start_ns.saturating_sub(MAX_DISTANCE_NS));
            if is_known {
                continue;
            }
            if row.event == chart {
                manager_times
                    .push((row.start_ns, manager_times.last().map_or(end_ns, |&(_, latest)| latest.max(end_ns))));
                manager_times.sort();
            }
        }
        merged.push(row);
    }
    *rows = merged;
}

/// Removes duplicate milestones of the service manager.
fn merge_milestones(assembly: &mut Assembly, properties: StringId) {
    let [reached, stopped] = [milestone::TARGET_REACHED, milestone::TARGET_STOPPED].map(|name| assembly.intern(name));
    let mut rows = std::mem::take(&mut assembly.milestones);
    rows.sort_by_key(|row| (row.name, row.detail, row.event != properties, row.time_ns));
    let mut merged: Vec<Milestone> = Vec::with_capacity(rows.len());
    for row in rows {
        let previous = merged.last().filter(|previous| (previous.name, previous.detail) == (row.name, row.detail));
        let is_duplicate = previous.is_some_and(|previous| {
            let is_target = row.name == reached || row.name == stopped;
            previous.time_ns == row.time_ns && previous.value == row.value
                || is_target
                    && previous.event == properties
                    && previous.time_ns.abs_diff(row.time_ns) <= MAX_DISTANCE_NS.unsigned_abs()
        });
        if !is_duplicate {
            merged.push(row);
        }
    }
    assembly.milestones = merged;
}

/// Sets the default target on the end of the startup, and marks the units that were started before it.
fn mark_startup(assembly: &mut Assembly) {
    let finished = assembly.intern(milestone::STARTUP_FINISHED);
    let target = assembly.default_target.clone();
    let target = assembly.intern(&target);
    let mut finished_ns = None;
    for row in &mut assembly.milestones {
        if row.name == finished {
            row.detail = target;
            finished_ns = finished_ns.max(Some(row.time_ns));
        }
    }
    // If the manager did not report the end, the usual targets define it. If none was reached either, all starts belong
    // to the boot.
    let usual_targets = ["graphical.target", "multi-user.target"].map(|unit| assembly.texts.find(unit));
    let reached_name = assembly.texts.find(milestone::TARGET_REACHED);
    let until_ns = finished_ns.or_else(|| {
        let rows = assembly.milestones.iter().filter(|row| Some(row.name) == reached_name);
        rows.filter(|row| usual_targets.contains(&Some(row.detail))).map(|row| row.time_ns).min()
    });
    for row in &mut assembly.service_transitions {
        row.automatic = row.kind == ServiceChange::Start
            && row.outcome != ServiceOutcome::Unfinished
            && until_ns.is_none_or(|until| row.start_ns <= until);
    }
}
