//! Measures the initialization of devices and drivers: duration and time until the driver pended, by operation, phase,
//! driver and device.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use onoff_trace::{DeviceOperation, DeviceOperationKind, DevicePhase, StringId, Trace, milestone};
use serde::Serialize;

use crate::device_work::DeviceWork;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, DerivedInterval};

/// One operation on a device or driver.
pub type Device = DeviceWork<Initialization>;

/// Fields specific to device initialization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Initialization {
    /// The kind of operation.
    pub kind: DeviceOperationKind,
    /// The phase in which it started.
    pub phase: DevicePhase,
    /// When the driver returned "pending", ns; `None` if it completed the work before it returned.
    pub pend_ns: Option<i64>,
    /// Time until the driver returned "pending", ns, during which it blocked other devices. Equal to `duration_ns` if
    /// it did not pend.
    pub pre_pend_ns: Option<i64>,
    pub status: Option<u32>,
}

/// A phase of device initialization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DevicePhaseInterval {
    pub name: DevicePhase,
    /// The interval, and the rule that set it.
    #[serde(flatten)]
    pub interval: DerivedInterval,
    /// Number of operations that started in the phase.
    pub operations: u64,
}

/// All operations of a driver or device. Operations can overlap, so the sums can exceed elapsed time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceTotal {
    /// Driver, or device instance.
    pub name: String,
    /// Device description; empty for a driver or if unknown.
    pub description: String,
    /// Number of operations.
    pub operations: u64,
    /// Operations that did not end in the recording; the sums do not include them.
    pub unfinished: u64,
    /// Sum of durations, ns.
    pub duration_ns: i64,
    /// Sum of pre-pend times, ns.
    pub pre_pend_ns: i64,
    /// Sum of the times from "pending" to the end, ns.
    pub post_pend_ns: i64,
}

/// Returns the owner of an operation: for an initcall its module, if known; otherwise the driver.
pub fn owner(row: &DeviceOperation) -> StringId {
    match row.kind {
        DeviceOperationKind::Initcall if row.description != StringId::EMPTY => row.description,
        _ => row.driver,
    }
}

impl Device {
    /// The owner: for an initcall its module, if known; otherwise the driver.
    #[must_use]
    pub fn owner(&self) -> &str {
        match self.details.kind {
            DeviceOperationKind::Initcall if !self.description.is_empty() => &self.description,
            _ => &self.driver,
        }
    }
}

/// Returns the device and driver operations in a recording, longest first. Unfinished operations come before all
/// others.
#[must_use]
pub fn operations(trace: &Trace) -> Vec<Device> {
    let text = |id| trace.text(id).to_owned();
    let mut devices: Vec<Device> = trace
        .device_operations
        .iter()
        .map(|row| {
            let duration_ns = row.end_ns.map(|end| end.saturating_sub(row.start_ns).max(0));
            Device {
                device: text(row.device),
                driver: text(row.driver),
                description: text(row.description),
                friendly_name: text(row.friendly_name),
                start_ns: row.start_ns,
                end_ns: row.end_ns,
                duration_ns,
                event: text(row.event),
                details: Initialization {
                    kind: row.kind,
                    phase: row.phase,
                    pend_ns: row.pend_ns,
                    pre_pend_ns: row.pend_ns.map(|pend| pend.saturating_sub(row.start_ns).max(0)).or(duration_ns),
                    status: row.status,
                },
            }
        })
        .collect();
    devices.sort_by(|a, b| {
        let key = |device: &Device| {
            (
                Reverse(device.duration_ns.unwrap_or(i64::MAX)),
                Reverse(device.details.pre_pend_ns.unwrap_or(i64::MAX)),
                device.start_ns,
            )
        };
        key(a).cmp(&key(b)).then_with(|| (&a.driver, &a.device).cmp(&(&b.driver, &b.device)))
    });
    devices
}

/// Returns the three phases of device initialization: as reported by the system, otherwise the intervals that their
/// operations cover.
#[must_use]
pub fn phases(trace: &Trace, devices: &[Device]) -> Vec<DevicePhaseInterval> {
    [
        (DevicePhase::BootStart, Some((milestone::BOOT_START_BEGIN, milestone::BOOT_START_END))),
        (DevicePhase::SystemStart, Some((milestone::SYSTEM_START_BEGIN, milestone::SYSTEM_START_END))),
        (DevicePhase::Later, None),
    ]
    .into_iter()
    .map(|(name, milestones)| {
        let operations = || devices.iter().filter(move |device| device.details.phase == name);
        let first_start = operations().map(|device| device.start_ns).min();
        let last_end = operations().filter_map(|device| device.end_ns).max();
        let (start_name, end_name) = milestones.unzip();
        DevicePhaseInterval {
            name,
            interval: DerivedInterval::between(
                &boundary(trace, start_name, Rule::DevicePhaseStarts, first_start, Rule::FirstOperationStarts),
                &boundary(trace, end_name, Rule::DevicePhaseEnds, last_end, Rule::LastOperationEnds),
            ),
            operations: operations().count() as u64,
        }
    })
    .collect()
}

/// Returns the boundary at the first milestone `name`, otherwise at `fallback`.
fn boundary(trace: &Trace, name: Option<&str>, rule: Rule, fallback: Option<i64>, fallback_rule: Rule) -> Boundary {
    let row = name
        .and_then(|name| trace.strings.find(name))
        .and_then(|name| trace.milestones.iter().filter(|row| row.name == name).min_by_key(|row| row.time_ns));
    if let Some(row) = row {
        return Boundary {
            time_ns: Some(row.time_ns),
            rule,
            event: trace.text(row.event).to_owned(),
            certainty: Certainty::Measured,
            unmatched_rules: Vec::new(),
        };
    }
    let unmatched_rules = name.map(|_| rule.to_owned()).into_iter().collect();
    match fallback {
        Some(time_ns) => Boundary {
            time_ns: Some(time_ns),
            rule: fallback_rule.to_owned(),
            event: String::new(),
            certainty: Certainty::Inferred,
            unmatched_rules,
        },
        None => Boundary { rule: Rule::NotFound, unmatched_rules, ..Boundary::default() },
    }
}

/// Returns totals by driver, longest first. Skips operations with an unknown driver.
///
/// Driver work names the driver object (`\Driver\disk`), device work the driver's service (`disk`). Both count as the
/// same driver.
#[must_use]
pub fn by_driver(devices: &[Device]) -> Vec<DeviceTotal> {
    totals(devices, |device| (driver_service(&device.driver), ""))
}

/// Returns totals by device instance, longest first. Skips driver work.
#[must_use]
pub fn by_device(devices: &[Device]) -> Vec<DeviceTotal> {
    totals(devices, |device| (device.device.as_str(), device.description.as_str()))
}

/// Returns the service name of a driver, from its name or its driver object.
fn driver_service(driver: &str) -> &str {
    [r"\Driver\", r"\FileSystem\"].iter().find_map(|folder| driver.strip_prefix(folder)).unwrap_or(driver)
}

fn totals<'a>(
    devices: &'a [Device],
    name_and_description: impl Fn(&'a Device) -> (&'a str, &'a str),
) -> Vec<DeviceTotal> {
    let mut totals: BTreeMap<String, DeviceTotal> = BTreeMap::new();
    for device in devices {
        let (name, description) = name_and_description(device);
        if name.is_empty() {
            continue;
        }
        // On Windows, the case of driver and device names varies between records.
        let total = totals
            .entry(name.to_lowercase())
            .or_insert_with(|| DeviceTotal { name: name.to_owned(), ..DeviceTotal::default() });
        if total.description.is_empty() {
            total.description = description.to_owned();
        }
        total.operations += 1;
        match (device.duration_ns, device.details.pre_pend_ns) {
            (Some(duration), Some(pre_pend)) => {
                total.duration_ns = total.duration_ns.saturating_add(duration);
                total.pre_pend_ns = total.pre_pend_ns.saturating_add(pre_pend);
                total.post_pend_ns = total.post_pend_ns.saturating_add(duration.saturating_sub(pre_pend).max(0));
            }
            _ => total.unfinished += 1,
        }
    }
    let mut totals: Vec<DeviceTotal> = totals.into_values().collect();
    totals.sort_by(|a, b| b.duration_ns.cmp(&a.duration_ns).then_with(|| a.name.cmp(&b.name)));
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, device, milestone};

    const RAMDISK: (&str, &str) = (r"ROOT\RAMDISK\0000", "Ramdisk");

    /// Table A-1 of the Microsoft paper: the start pends, the enumeration does not.
    fn ramdisk() -> Trace {
        let mut trace = Trace::default();
        let phase = DevicePhase::SystemStart;
        device(&mut trace, DeviceOperationKind::DriverLoad, ("", r"\Driver\Ramdisk"), (5000, None, Some(5007)), phase);
        device(&mut trace, DeviceOperationKind::DeviceStart, RAMDISK, (5010, Some(5010), Some(8010)), phase);
        device(&mut trace, DeviceOperationKind::DeviceEnum, RAMDISK, (8010, None, Some(11_010)), phase);
        trace
    }

    #[test]
    fn pre_pend_time_is_the_blocking_part() {
        let rows = operations(&ramdisk());
        let times: Vec<_> = rows
            .iter()
            .map(|row| {
                (
                    row.details.kind.as_str(),
                    row.duration_ns.map(|ns| ns / MS),
                    row.details.pre_pend_ns.map(|ns| ns / MS),
                )
            })
            .collect();
        assert_eq!(
            times,
            [
                ("DeviceEnum", Some(3000), Some(3000)),
                ("DeviceStart", Some(3000), Some(0)),
                ("DriverLoad", Some(7), Some(7)),
            ]
        );
    }

    #[test]
    fn totals_by_driver_and_by_device() {
        let rows = operations(&ramdisk());
        let drivers = by_driver(&rows);
        assert_eq!(drivers.len(), 1);
        assert_eq!(drivers[0].name, "Ramdisk");
        assert_eq!(drivers[0].operations, 3);
        assert_eq!(
            (drivers[0].duration_ns, drivers[0].pre_pend_ns, drivers[0].post_pend_ns),
            (6007 * MS, 3007 * MS, 3000 * MS)
        );
        let devices = by_device(&rows);
        assert_eq!((devices.len(), devices[0].operations), (1, 2));
    }

    #[test]
    fn an_unfinished_operation_comes_first_and_is_not_summed() {
        let mut trace = ramdisk();
        device(
            &mut trace,
            DeviceOperationKind::DeviceStart,
            ("USB\\1", "usbhub"),
            (9000, Some(9010), None),
            DevicePhase::Later,
        );
        let rows = operations(&trace);
        assert_eq!(rows[0].driver, "usbhub");
        assert_eq!((rows[0].duration_ns, rows[0].details.pre_pend_ns), (None, Some(10 * MS)));
        let drivers = by_driver(&rows);
        assert_eq!((drivers[1].name.as_str(), drivers[1].unfinished, drivers[1].duration_ns), ("usbhub", 1, 0));
    }

    #[test]
    fn phases_are_measured_if_reported_otherwise_inferred() {
        let mut trace = ramdisk();
        milestone(&mut trace, 32 * MS, milestone::BOOT_START_BEGIN, "");
        milestone(&mut trace, 850 * MS, milestone::BOOT_START_END, "");
        let phases = phases(&trace, &operations(&trace));
        assert_eq!(phases[0].interval.duration_ns, Some(818 * MS));
        assert_eq!((phases[0].interval.certainty, phases[0].operations), (Certainty::Measured, 0));
        assert_eq!(phases[1].interval.duration_ns, Some(6010 * MS));
        assert_eq!((phases[1].interval.certainty, phases[1].operations), (Certainty::Inferred, 3));
        assert_eq!(phases[1].interval.unmatched_rules.len(), 2);
        assert_eq!(phases[2].interval.certainty, Certainty::Missing);
    }
}
