//! Helpers for the driver rules: operations grouped by driver, and how long each of them blocked its caller.

use std::collections::BTreeMap;

use onoff_trace::DeviceOperationKind;
use onoff_usage::devices::Device;

use crate::rules::prelude::*;

/// The operations of one driver.
pub(super) struct DriverWork<'a> {
    pub(super) driver: String,
    pub(super) operations: Vec<&'a Device>,
}

impl DriverWork<'_> {
    /// Intervals in which the driver blocked its caller, before it returned.
    pub(super) fn blocking(&self) -> Vec<Interval> {
        let blocking_interval = |device: &&Device| {
            let length = device.details.pre_pend_ns?;
            Some((device.start_ns, device.start_ns.saturating_add(length)))
        };
        self.operations.iter().filter_map(blocking_interval).collect()
    }

    /// Intervals from request to completion.
    pub(super) fn request_intervals(&self) -> Vec<Interval> {
        let interval = |device: &&Device| Some((device.start_ns, device.end_ns?));
        self.operations.iter().filter_map(interval).collect()
    }

    pub(super) fn tids(&self, facts: &BootFacts<'_>) -> Vec<u32> {
        tids(facts, &self.operations)
    }

    pub(super) fn longest_ns(&self) -> i64 {
        let lengths = self.operations.iter().filter_map(|device| device.duration_ns);
        lengths.max().unwrap_or(0)
    }
}

/// Strips the object folder, so that the driver object (`\Driver\disk`) and its service (`disk`) compare equal.
pub(super) fn driver_name(driver: &str) -> &str {
    let name = driver.strip_prefix(r"\Driver\");
    name.or_else(|| driver.strip_prefix(r"\FileSystem\")).unwrap_or(driver)
}

/// Groups the `wanted` operations of a boot by driver, or by device if the driver is unknown.
pub(super) fn by_driver<'a>(facts: &BootFacts<'a>, is_wanted: impl Fn(&Device) -> bool) -> Vec<DriverWork<'a>> {
    let mut drivers: Vec<DriverWork<'a>> = Vec::new();
    let mut indexes: BTreeMap<String, usize> = BTreeMap::new();
    for device in facts.report.details.devices.iter().filter(|device| is_wanted(device)) {
        let name = match driver_name(&device.driver) {
            "" => device.device.as_str(),
            name => name,
        };
        // The case of driver names varies between Windows events.
        let index = *indexes.entry(name.to_ascii_lowercase()).or_insert(drivers.len());
        match drivers.get_mut(index) {
            Some(work) => work.operations.push(device),
            None => drivers.push(DriverWork { driver: name.to_owned(), operations: vec![device] }),
        }
    }
    drivers
}

/// The recorded threads of these operations.
pub(super) fn tids(facts: &BootFacts<'_>, operations: &[&Device]) -> Vec<u32> {
    let mut tids: Vec<u32> = facts
        .trace
        .device_operations
        .iter()
        .filter(|row| {
            operations.iter().any(|operation| operation.start_ns == row.start_ns && operation.details.kind == row.kind)
        })
        .filter_map(|row| row.tid)
        .collect();
    tids.sort();
    tids.dedup();
    tids
}

/// True for devices on a USB bus, which have a separate rule. Host controllers are not on a USB bus.
pub(super) fn is_usb(device: &Device) -> bool {
    let instance = device.device.to_ascii_uppercase();
    instance.starts_with(r"USB\") || instance.starts_with(r"USBSTOR\")
}

/// True if the driver did at least half of the work before it returned.
pub(super) fn not_pended(device: &Device) -> bool {
    match (device.duration_ns, device.details.pre_pend_ns) {
        (Some(duration), Some(blocking)) => duration > 0 && blocking >= duration / 2,
        _ => false,
    }
}

/// Reports drivers that block for long in requests of `kind`.
pub(super) fn blocking_drivers(
    facts: &BootFacts<'_>,
    kind: DeviceOperationKind,
    activity: &str,
    irp: &str,
) -> Vec<RuleFinding> {
    let is_wanted = |device: &Device| device.details.kind == kind && not_pended(device) && !is_usb(device);
    by_driver(facts, is_wanted)
        .into_iter()
        .filter_map(|work| {
            let blocking = work.blocking();
            let blocked_ns = covered_ns(blocking.clone(), (i64::MIN, i64::MAX));
            if blocked_ns < facts.report.min_cause_ns().min(thresholds::NOT_PENDED_NS) {
                return None;
            }
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Driver, work.driver.clone()),
                format!(
                    "driver {} blocked for {} {activity}",
                    work.driver,
                    time(blocked_ns)
                ),
            )
            .cost(facts.device_cost(blocking, &work.tids(facts)))
            .advice(format!(
                "have the driver return STATUS_PENDING for {irp} and complete it later; look for a newer driver; remove the \
                 device if it is not needed"
            ));
            for device in work.operations.iter().take(3) {
                let device_name = match device.description.as_str() {
                    "" => device.device.as_str(),
                    description => description,
                };
                let pend_state = if device.details.pend_ns.is_some() {
                    "pended late"
                } else {
                    "not pended"
                };
                finding = finding.evidence(
                    device.start_ns,
                    format!(
                        "{device_name}: {} {activity}, {pend_state}",
                        time(device.duration_ns.unwrap_or(0))
                    ),
                );
            }
            Some(finding)
        })
        .collect()
}
