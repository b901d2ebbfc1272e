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

/// Compares the boot `is` with the boot `was`.
#[must_use]
pub fn compare(was: &FirmwareReport, is: &FirmwareReport) -> FirmwareComparison {
    let lengths = |report: &FirmwareReport| {
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
    let intervals = lengths(was).into_iter().zip(lengths(is));
    // A duration that only one boot has is not a change: the other one was not measured.
    let intervals = intervals.map(|((name, was), (_, is))| FirmwareChange {
        change_ns: was.zip(is).map(|(was, is)| is.saturating_sub(was)),
        ..FirmwareChange::new(name, "", was, is)
    });
    let mut phase_names: Vec<&str> = Vec::new();
    for phase in was.phases.iter().chain(&is.phases) {
        if !phase_names.contains(&phase.name.as_str()) {
            phase_names.push(&phase.name);
        }
    }
    let order = |name: &str| ["SEC", "PEI", "PreMem", "PostMem", "DXE", "BDS"].iter().position(|known| *known == name);
    phase_names.sort_by_key(|name| order(name));
    let length = |report: &FirmwareReport, name: &str| {
        let found = report.phases.iter().find(|phase| phase.name == name);
        found.map(|phase| phase.duration_ns)
    };
    let phases: Vec<FirmwareChange> =
        phase_names.iter().map(|name| FirmwareChange::new(name, "", length(was, name), length(is, name))).collect();
    let has_parts = |name: &str| was.phases.iter().chain(&is.phases).any(|phase| phase.parent == name);
    let grown_phase = most_grown(phases.iter().filter(|phase| !has_parts(&phase.name)));
    // Some inputs have names and GUIDs, others only names.
    let mut drivers = changes(was.drivers.iter().map(driver), is.drivers.iter().map(driver));
    for change in drivers.iter_mut().filter(|change| change.guid == change.name) {
        change.guid = FirmwareGuid::parse(&change.guid).map(|guid| guid.to_string()).unwrap_or_default();
    }
    let devices = changes(
        was.devices.iter().map(|device| (device.path.as_str(), device.path.as_str(), device.self_ns)),
        is.devices.iter().map(|device| (device.path.as_str(), device.path.as_str(), device.self_ns)),
    );
    FirmwareComparison {
        before: was.boot_from.clone(),
        after: is.boot_from.clone(),
        intervals: intervals.collect(),
        grown_phase,
        grown_driver: most_grown(drivers.iter()),
        phases,
        drivers,
        devices: devices.into_iter().map(|device| FirmwareChange { guid: String::new(), ..device }).collect(),
    }
}

/// The key of a driver, its name, and its exclusive time.
fn driver(driver: &FirmwareDriver) -> (&str, &str, i64) {
    let key = if driver.guid.is_empty() { &driver.name } else { &driver.guid };
    (key, &driver.name, driver.self_ns)
}

fn most_grown<'a>(changes: impl Iterator<Item = &'a FirmwareChange>) -> Option<FirmwareChange> {
    let grown = changes.filter(|change| change.change_ns.is_some_and(|ns| ns > 0));
    grown.max_by_key(|change| change.change_ns).cloned()
}

fn changes<'a>(
    was: impl Iterator<Item = (&'a str, &'a str, i64)>,
    is: impl Iterator<Item = (&'a str, &'a str, i64)>,
) -> Vec<FirmwareChange> {
    let mut both: BTreeMap<&str, (&str, Option<i64>, Option<i64>)> = BTreeMap::new();
    for (key, name, ns) in was {
        both.insert(key, (name, Some(ns), None));
    }
    for (key, name, ns) in is {
        both.entry(key).or_insert((name, None, None)).2 = Some(ns);
    }
    let mut changes: Vec<FirmwareChange> =
        both.into_iter().map(|(key, (name, was, is))| FirmwareChange::new(name, key, was, is)).collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.change_ns));
    changes
}
