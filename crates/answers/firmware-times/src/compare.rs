//! Compares the firmware times of two boots.

use std::collections::BTreeMap;

use onoff_trace::firmware::FirmwareGuid;
use serde::Serialize;

use super::report::{FirmwareDriver, FirmwareReport};

/// Changes of firmware times between two boots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareComparison {
    /// Input of the boot to compare with.
    pub before: String,
    /// Input of the boot being compared.
    pub after: String,
    /// Durations between the checkpoints, in order.
    pub intervals: Vec<FirmwareChange>,
    /// Phases, in order.
    pub phases: Vec<FirmwareChange>,
    /// Drivers by exclusive time, largest increase first.
    pub drivers: Vec<FirmwareChange>,
    /// Devices by exclusive time, largest increase first.
    pub devices: Vec<FirmwareChange>,
    /// The innermost phase with the largest increase; `None` if none increased.
    pub grown_phase: Option<FirmwareChange>,
    /// The driver with the largest increase; `None` if none increased.
    pub grown_driver: Option<FirmwareChange>,
}

/// The change of one part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareChange {
    pub name: String,
    /// GUID of a driver; empty for other parts.
    pub guid: String,
    /// Duration in the boot to compare with, ns; `None` if absent.
    pub before_ns: Option<i64>,
    /// Duration in the boot being compared, ns; `None` if absent.
    pub after_ns: Option<i64>,
    /// Change, ns; an absent part counts as zero. `None` if both boots lack it.
    pub change_ns: Option<i64>,
}

impl FirmwareChange {
    fn new(name: &str, guid: &str, before_ns: Option<i64>, after_ns: Option<i64>) -> Self {
        let change_ns = match (before_ns, after_ns) {
            (None, None) => None,
            _ => Some(after_ns.unwrap_or(0).saturating_sub(before_ns.unwrap_or(0))),
        };
        Self { name: name.to_owned(), guid: guid.to_owned(), before_ns, after_ns, change_ns }
    }
}

/// Compares the boot `current` with the boot `baseline`.
#[must_use]
pub fn compare(baseline: &FirmwareReport, current: &FirmwareReport) -> FirmwareComparison {
    let interval_durations = |report: &FirmwareReport| {
        let intervals = &report.intervals;
        [
            ("reset", intervals.firmware_init_ns),
            ("Time1, firmware", intervals.time1_ns),
            ("loader load", intervals.loader_load_ns),
            ("loader", intervals.loader_run_ns),
            ("ExitBootServices", intervals.exit_boot_services_ns),
            ("Time2, loader", intervals.time2_ns),
            ("total", intervals.total_ns),
        ]
    };
    let interval_pairs = interval_durations(baseline).into_iter().zip(interval_durations(current));
    // A duration that only one boot has is not a change: it was not measured in the other boot.
    let intervals = interval_pairs.map(|((name, before_ns), (_, after_ns))| FirmwareChange {
        change_ns: before_ns.zip(after_ns).map(|(before_ns, after_ns)| after_ns.saturating_sub(before_ns)),
        ..FirmwareChange::new(name, "", before_ns, after_ns)
    });
    let mut phase_names: Vec<&str> = Vec::new();
    for phase in baseline.phases.iter().chain(&current.phases) {
        if !phase_names.contains(&phase.name.as_str()) {
            phase_names.push(&phase.name);
        }
    }
    let phase_order =
        |name: &str| ["SEC", "PEI", "PreMem", "PostMem", "DXE", "BDS"].iter().position(|phase| *phase == name);
    phase_names.sort_by_key(|name| phase_order(name));
    let phase_duration = |report: &FirmwareReport, name: &str| {
        let found = report.phases.iter().find(|phase| phase.name == name);
        found.map(|phase| phase.duration_ns)
    };
    let phases: Vec<FirmwareChange> = phase_names
        .iter()
        .map(|name| FirmwareChange::new(name, "", phase_duration(baseline, name), phase_duration(current, name)))
        .collect();
    let has_subphases = |name: &str| baseline.phases.iter().chain(&current.phases).any(|phase| phase.parent == name);
    let grown_phase = largest_increase(phases.iter().filter(|phase| !has_subphases(&phase.name)));
    // Some inputs have names and GUIDs, others only names.
    let mut drivers =
        compare_times(baseline.drivers.iter().map(driver_entry), current.drivers.iter().map(driver_entry));
    for change in drivers.iter_mut().filter(|change| change.guid == change.name) {
        change.guid = FirmwareGuid::parse(&change.guid).map(|guid| guid.to_string()).unwrap_or_default();
    }
    let devices = compare_times(
        baseline.devices.iter().map(|device| (device.path.as_str(), device.path.as_str(), device.self_ns)),
        current.devices.iter().map(|device| (device.path.as_str(), device.path.as_str(), device.self_ns)),
    );
    FirmwareComparison {
        before: baseline.boot_from.clone(),
        after: current.boot_from.clone(),
        intervals: intervals.collect(),
        grown_phase,
        grown_driver: largest_increase(drivers.iter()),
        phases,
        drivers,
        devices: devices.into_iter().map(|device| FirmwareChange { guid: String::new(), ..device }).collect(),
    }
}

/// Returns the key, the name and the exclusive time of a driver.
fn driver_entry(driver: &FirmwareDriver) -> (&str, &str, i64) {
    let key = if driver.guid.is_empty() { &driver.name } else { &driver.guid };
    (key, &driver.name, driver.self_ns)
}

fn largest_increase<'a>(changes: impl Iterator<Item = &'a FirmwareChange>) -> Option<FirmwareChange> {
    let increases = changes.filter(|change| change.change_ns.is_some_and(|ns| ns > 0));
    increases.max_by_key(|change| change.change_ns).cloned()
}

fn compare_times<'a>(
    baseline: impl Iterator<Item = (&'a str, &'a str, i64)>,
    current: impl Iterator<Item = (&'a str, &'a str, i64)>,
) -> Vec<FirmwareChange> {
    let mut by_key: BTreeMap<&str, (&str, Option<i64>, Option<i64>)> = BTreeMap::new();
    for (key, name, ns) in baseline {
        by_key.insert(key, (name, Some(ns), None));
    }
    for (key, name, ns) in current {
        let (_, _, after_ns) = by_key.entry(key).or_insert((name, None, None));
        *after_ns = Some(ns);
    }
    let mut changes: Vec<FirmwareChange> = by_key
        .into_iter()
        .map(|(key, (name, before_ns, after_ns))| FirmwareChange::new(name, key, before_ns, after_ns))
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.change_ns));
    changes
}
