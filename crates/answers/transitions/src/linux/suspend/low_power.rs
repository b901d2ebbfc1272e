//! Measures the depth of a suspend-to-idle, battery use during a sleep, and the time until the network reconnected.

use hashbrown::HashMap;
use onoff_trace::{Milestone, Trace, milestone};

use super::Cycle;
use super::report::{BatteryUse, LinuxAsleep, LowPower, Reconnection};
use crate::{Phase, PhaseName, Variant};
use onoff_evidence::DerivedInterval;

/// Maximum distance of a reading from the sleep, ns: 10 min. Later readings belong to another sleep.
const MAX_DISTANCE_NS: i64 = 600_000_000_000;
/// Tolerance between the clock of the log and the clock of the readings, ns.
const TOLERANCE_NS: i64 = 100_000_000;
/// Maximum time from the resume to a network event that still counts as a reconnection, ns: 2 min.
const MAX_RECONNECTION_NS: i64 = 120_000_000_000;

/// Returns the counter readings, ordered by time.
pub(super) fn readings(trace: &Trace) -> Vec<Milestone> {
    let name = trace.strings.find(milestone::POWER_READING);
    let mut rows: Vec<Milestone> = trace.milestones.iter().filter(|row| Some(row.name) == name).collect();
    rows.sort_by_key(|row| row.time_ns);
    rows
}

/// Counter readings before and after a sleep.
pub(super) struct Readings<'t> {
    /// The values before and after the sleep, by counter.
    values: HashMap<&'t str, (i64, Option<i64>)>,
}

impl<'t> Readings<'t> {
    /// Takes the last reading of each counter before the sleep and the first reading after it; `rows` must be sorted by
    /// time.
    pub(super) fn new(trace: &'t Trace, rows: &[Milestone], cycle: &Cycle) -> Self {
        let mut values: HashMap<&str, (i64, Option<i64>)> = HashMap::new();
        let Some(end_ns) = cycle.transition.end_ns else { return Self { values } };
        let start_ns = cycle.transition.start_ns;
        let first_index = rows.partition_point(|row| row.time_ns < start_ns.saturating_sub(MAX_DISTANCE_NS));
        let last_ns = start_ns.saturating_add(TOLERANCE_NS).max(end_ns.saturating_add(MAX_DISTANCE_NS));
        for row in rows.iter().skip(first_index).take_while(|row| row.time_ns <= last_ns) {
            let Some(value) = row.value else { continue };
            let counter = trace.text(row.detail);
            if row.time_ns <= start_ns.saturating_add(TOLERANCE_NS)
                && start_ns.saturating_sub(row.time_ns) <= MAX_DISTANCE_NS
            {
                values.insert(counter, (value, None));
            } else if row.time_ns.saturating_add(TOLERANCE_NS) >= end_ns
                && row.time_ns.saturating_sub(end_ns) <= MAX_DISTANCE_NS
                && row.time_ns < cycle.until_ns
                && let Some((_, last_value @ None)) = values.get_mut(counter)
            {
                *last_value = Some(value);
            }
        }
        Self { values }
    }

    /// Returns by how much a counter increased; `None` if it was not read twice or was reset.
    fn increase(&self, counter: &str) -> Option<i64> {
        let (value_before, value_after) = *self.values.get(counter)?;
        value_after?.checked_sub(value_before).filter(|&increase| increase >= 0)
    }

    fn value_after(&self, counter: &str) -> Option<i64> {
        self.values.get(counter)?.1
    }
}

/// Measures the depth of a suspend-to-idle; `None` for other sleeps, in which only memory is powered.
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
    let entry_durations: Vec<i64> =
        phases.iter().filter(|phase| phase.name == PhaseName::Machine).filter_map(|phase| phase.duration_ns).collect();
    let us_to_ns = |us: i64| us.checked_mul(1_000);
    // Prefer the total: the counter of the last sleep may belong to another sleep.
    let hardware_ns = readings
        .increase("total_hw_sleep_us")
        .or_else(|| readings.value_after("last_hw_sleep_us"))
        .or_else(|| readings.increase("low_power_idle_us"))
        .and_then(us_to_ns);
    let slept_ns = asleep.slept_ns.filter(|&slept| slept > 0);
    let percent = |ns: i64| slept_ns.map(|slept| (ns as f64 * 100.0 / slept as f64).min(100.0));
    let missed_states =
        cycle.milestones(trace, milestone::LOW_POWER_NOT_REACHED).map(|row| trace.text(row.detail).to_owned());
    Some(LowPower {
        entries: entry_durations.len() as u64,
        entered_ns: (!entry_durations.is_empty())
            .then(|| entry_durations.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns))),
        hardware_ns,
        hardware_percent: hardware_ns.and_then(percent),
        missed: missed_states.collect(),
    })
}

/// Returns the charge that each battery lost during the sleep, if it was read before and after.
pub(super) fn batteries(asleep: &LinuxAsleep, readings: &Readings<'_>) -> Vec<BatteryUse> {
    let mut batteries: Vec<BatteryUse> = readings
        .values
        .iter()
        .filter_map(|(counter, (first_uwh, last_uwh))| {
            let name = counter.strip_suffix(".energy_uwh")?;
            let used_uwh = first_uwh.checked_sub((*last_uwh)?)?;
            // µWh/ns to mW: an hour has 3.6 × 10¹² ns, and 1 mW is 1000 µW.
            let mean_mw =
                asleep.slept_ns.filter(|&slept| slept > 0).map(|slept| used_uwh as f64 * 3.6e9 / slept as f64);
            Some(BatteryUse { name: name.to_owned(), used_uwh, mean_mw })
        })
        .collect();
    batteries.sort_by(|a, b| a.name.cmp(&b.name));
    batteries
}

/// Returns when each network interface in the log reconnected.
pub(super) fn reconnections(trace: &Trace, cycle: &Cycle, resume: &DerivedInterval) -> Vec<Reconnection> {
    let Some(resume_ns) = resume.start_ns else { return Vec::new() };
    let mut reconnections: Vec<Reconnection> = Vec::new();
    let rows = cycle
        .milestones(trace, milestone::NETWORK_STEP)
        .filter(|row| row.time_ns >= resume_ns && row.time_ns.saturating_sub(resume_ns) <= MAX_RECONNECTION_NS);
    for row in rows {
        let Some((interface, step)) = trace.text(row.detail).split_once(' ') else { continue };
        let index = match reconnections.iter().position(|reconnection| reconnection.interface == interface) {
            Some(index) => index,
            None => {
                reconnections.push(Reconnection { interface: interface.to_owned(), ..Reconnection::default() });
                reconnections.len() - 1
            }
        };
        let Some(reconnection) = reconnections.get_mut(index) else { continue };
        let step_ns = match step {
            milestone::NETWORK_ASSOCIATED => &mut reconnection.associated_ns,
            milestone::NETWORK_READY => &mut reconnection.ready_ns,
            milestone::NETWORK_ADDRESS => &mut reconnection.address_ns,
            milestone::NETWORK_CONNECTED => &mut reconnection.connected_ns,
            // The connection was lost again: earlier steps do not count.
            milestone::NETWORK_LOST => {
                *reconnection = Reconnection { interface: interface.to_owned(), ..Reconnection::default() };
                continue;
            }
            _ => continue,
        };
        step_ns.get_or_insert(row.time_ns);
    }
    // A line without an interface belongs to the only interface.
    if let [named, unnamed] = &mut reconnections[..]
        && (named.interface.is_empty() || unnamed.interface.is_empty())
    {
        if named.interface.is_empty() {
            std::mem::swap(named, unnamed);
        }
        named.associated_ns = named.associated_ns.or(unnamed.associated_ns);
        named.address_ns = named.address_ns.or(unnamed.address_ns);
        reconnections.truncate(1);
    }
    for reconnection in &mut reconnections {
        // An interface is usable once it has an address; without a lease in the log, the last recorded step counts.
        let usable_ns = reconnection
            .address_ns
            .or(reconnection.connected_ns)
            .or(reconnection.ready_ns)
            .or(reconnection.associated_ns);
        reconnection.took_ns = usable_ns.map(|time_ns| time_ns.saturating_sub(resume_ns));
    }
    reconnections.retain(|reconnection| reconnection.took_ns.is_some());
    reconnections
}
