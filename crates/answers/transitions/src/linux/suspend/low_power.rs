//! How deep a suspend to idle slept, what a sleep took from the battery, and when the network was back.

use hashbrown::HashMap;
use onoff_trace::{Milestone, Trace, milestone};

use super::Cycle;
use super::report::{BatteryUse, LinuxAsleep, LowPower, Reconnection};
use crate::{Phase, PhaseName, Variant};
use onoff_evidence::Span;

/// Readings that are farther from the sleep are of another one, ns: 10 min.
const NEAREST_NS: i64 = 600_000_000_000;
/// A log's clock may be off by this much against that of the readings, ns: tens of milliseconds.
const SLACK_NS: i64 = 100_000_000;
/// What becomes of the network later than this after the machine is back is no part of the resume, ns: 2 min.
const LATEST_NS: i64 = 120_000_000_000;

/// What counters said, by time.
pub(super) fn readings(trace: &Trace) -> Vec<Milestone> {
    let name = trace.strings.find(milestone::POWER_READING);
    let mut rows: Vec<Milestone> = trace.milestones.iter().filter(|row| Some(row.name) == name).collect();
    rows.sort_by_key(|row| row.time_ns);
    rows
}

/// What counters said before and after a sleep.
pub(super) struct Readings<'t> {
    /// By counter: before, and after where it was read again.
    values: HashMap<&'t str, (i64, Option<i64>)>,
}

impl<'t> Readings<'t> {
    /// The last of each before the sleep, and the first after it, of `rows`, which are by time.
    pub(super) fn of(trace: &'t Trace, rows: &[Milestone], cycle: &Cycle) -> Self {
        let mut values: HashMap<&str, (i64, Option<i64>)> = HashMap::new();
        let Some(end_ns) = cycle.whole.end_ns else { return Self { values } };
        let start_ns = cycle.whole.start_ns;
        let first = rows.partition_point(|row| row.time_ns < start_ns.saturating_sub(NEAREST_NS));
        let last_ns = start_ns.saturating_add(SLACK_NS).max(end_ns.saturating_add(NEAREST_NS));
        for row in rows.iter().skip(first).take_while(|row| row.time_ns <= last_ns) {
            let Some(value) = row.value else { continue };
            let which = trace.text(row.detail);
            if row.time_ns <= start_ns.saturating_add(SLACK_NS) && start_ns.saturating_sub(row.time_ns) <= NEAREST_NS {
                values.insert(which, (value, None));
            } else if row.time_ns.saturating_add(SLACK_NS) >= end_ns
                && row.time_ns.saturating_sub(end_ns) <= NEAREST_NS
                && row.time_ns < cycle.until_ns
                && let Some((_, after @ None)) = values.get_mut(which)
            {
                *after = Some(value);
            }
        }
        Self { values }
    }

    /// By how much a counter grew; `None` where it was not read twice, or began anew.
    fn grew(&self, which: &str) -> Option<i64> {
        let (before, after) = *self.values.get(which)?;
        after?.checked_sub(before).filter(|&grew| grew >= 0)
    }

    fn after(&self, which: &str) -> Option<i64> {
        self.values.get(which)?.1
    }
}

/// How deep a suspend to idle slept; `None` for other sleeps, in which the machine is off but for its memory.
pub(super) fn low_power(
    trace: &Trace,
    cycle: &Cycle,
    variant: Variant,
    (phases, asleep): (&[Phase], &LinuxAsleep),
    readings: &Readings<'_>,
) -> Option<LowPower> {
    if variant != Variant::SuspendToIdle {
        return None;
    }
    let entered: Vec<i64> =
        phases.iter().filter(|phase| phase.name == PhaseName::Machine).filter_map(|phase| phase.duration_ns).collect();
    let ns = |us: i64| us.checked_mul(1_000);
    // The sum over all sleeps first: the count of the last one may be of another.
    let hardware_ns = readings
        .grew("total_hw_sleep_us")
        .or_else(|| readings.after("last_hw_sleep_us"))
        .or_else(|| readings.grew("low_power_idle_us"))
        .and_then(ns);
    let slept_ns = asleep.slept_ns.filter(|&slept| slept > 0);
    let percent = |ns: i64| slept_ns.map(|slept| (ns as f64 * 100.0 / slept as f64).min(100.0));
    let missed = cycle.milestones(trace, milestone::LOW_POWER_MISSED).map(|row| trace.text(row.detail).to_owned());
    Some(LowPower {
        entries: entered.len() as u64,
        entered_ns: (!entered.is_empty()).then(|| entered.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns))),
        hardware_ns,
        hardware_percent: hardware_ns.and_then(percent),
        missed: missed.collect(),
    })
}

/// What the sleep took from each battery whose charge was read before and after.
pub(super) fn batteries(asleep: &LinuxAsleep, readings: &Readings<'_>) -> Vec<BatteryUse> {
    let mut batteries: Vec<BatteryUse> = readings
        .values
        .iter()
        .filter_map(|(which, (before_uwh, after))| {
            let name = which.strip_suffix(".energy_uwh")?;
            let used_uwh = before_uwh.checked_sub((*after)?)?;
            // µWh over ns: 3.6 × 10¹² ns are an hour and a thousand.
            let mean_mw =
                asleep.slept_ns.filter(|&slept| slept > 0).map(|slept| used_uwh as f64 * 3.6e9 / slept as f64);
            Some(BatteryUse { name: name.to_owned(), used_uwh, mean_mw })
        })
        .collect();
    batteries.sort_by(|a, b| a.name.cmp(&b.name));
    batteries
}

/// When each interface that something is recorded of was back.
pub(super) fn reconnections(trace: &Trace, cycle: &Cycle, resume: &Span) -> Vec<Reconnection> {
    let Some(back_ns) = resume.start_ns else { return Vec::new() };
    let mut found: Vec<Reconnection> = Vec::new();
    let rows = cycle
        .milestones(trace, milestone::NETWORK_STEP)
        .filter(|row| row.time_ns >= back_ns && row.time_ns.saturating_sub(back_ns) <= LATEST_NS);
    for row in rows {
        let Some((interface, step)) = trace.text(row.detail).split_once(' ') else { continue };
        let at = match found.iter().position(|known| known.interface == interface) {
            Some(at) => at,
            None => {
                found.push(Reconnection { interface: interface.to_owned(), ..Reconnection::default() });
                found.len() - 1
            }
        };
        let Some(known) = found.get_mut(at) else { continue };
        let time = match step {
            milestone::NETWORK_ASSOCIATED => &mut known.associated_ns,
            milestone::NETWORK_READY => &mut known.ready_ns,
            milestone::NETWORK_ADDRESS => &mut known.address_ns,
            milestone::NETWORK_CONNECTED => &mut known.connected_ns,
            // It was given up again: what came before does not count.
            milestone::NETWORK_LOST => {
                *known = Reconnection { interface: interface.to_owned(), ..Reconnection::default() };
                continue;
            }
            _ => continue,
        };
        time.get_or_insert(row.time_ns);
    }
    // A line without an interface is of the only one.
    if let [named, unnamed] = &mut found[..]
        && (named.interface.is_empty() || unnamed.interface.is_empty())
    {
        if named.interface.is_empty() {
            std::mem::swap(named, unnamed);
        }
        named.associated_ns = named.associated_ns.or(unnamed.associated_ns);
        named.address_ns = named.address_ns.or(unnamed.address_ns);
        found.truncate(1);
    }
    for known in &mut found {
        // With an address it can be used; of one without a lease in the log, what is said of it last.
        let usable = known.address_ns.or(known.connected_ns).or(known.ready_ns).or(known.associated_ns);
        known.took_ns = usable.map(|at| at.saturating_sub(back_ns));
    }
    found.retain(|known| known.took_ns.is_some());
    found
}
