//! What the rules about drivers share: operations of one kind by driver, and how long each held the caller.

use std::collections::BTreeMap;

use onoff_trace::DeviceOperationKind;
use onoff_usage::devices::Device;

use crate::rules::prelude::*;

/// The operations of one driver, longest first.
pub(super) struct DriverWork<'a> {
    pub(super) driver: String,
    pub(super) operations: Vec<&'a Device>,
}

impl DriverWork<'_> {
    /// The stretches in which the driver held the caller, before it returned.
    pub(super) fn held(&self) -> Vec<Stretch> {
        let held = |device: &&Device| {
            let length = device.details.pre_pend_ns?;
            Some((device.start_ns, device.start_ns.saturating_add(length)))
        };
        self.operations.iter().filter_map(held).collect()
    }

    /// The stretches from begin to end.
    pub(super) fn whole(&self) -> Vec<Stretch> {
        let whole = |device: &&Device| Some((device.start_ns, device.end_ns?));
        self.operations.iter().filter_map(whole).collect()
    }

    /// The threads that did the operations.
    pub(super) fn tids(&self, facts: &BootFacts<'_>) -> Vec<u32> {
        tids(facts, &self.operations)
    }

    pub(super) fn longest_ns(&self) -> i64 {
        let lengths = self.operations.iter().filter_map(|device| device.duration_ns);
        lengths.max().unwrap_or(0)
    }
}

/// What a driver is called where its object (`\Driver\disk`) and its service (`disk`) are the same.
pub(super) fn driver_name(driver: &str) -> &str {
    let name = driver.strip_prefix(r"\Driver\");
    name.or_else(|| driver.strip_prefix(r"\FileSystem\")).unwrap_or(driver)
}

/// The operations of a boot that are `wanted`, by driver; those without a driver by device.
pub(super) fn by_driver<'a>(facts: &BootFacts<'a>, wanted: impl Fn(&Device) -> bool) -> Vec<DriverWork<'a>> {
    let mut drivers: Vec<DriverWork<'a>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for device in facts.report.details.devices.iter().filter(|device| wanted(device)) {
        let name = match driver_name(&device.driver) {
            "" => device.device.as_str(),
            name => name,
        };
        // Windows' names of drivers differ in case from record to record.
        let place = *places.entry(name.to_ascii_lowercase()).or_insert(drivers.len());
        match drivers.get_mut(place) {
            Some(known) => known.operations.push(device),
            None => drivers.push(DriverWork { driver: name.to_owned(), operations: vec![device] }),
        }
    }
    drivers
}

/// The threads that did these operations, as far as recorded.
pub(super) fn tids(facts: &BootFacts<'_>, operations: &[&Device]) -> Vec<u32> {
    let mut tids: Vec<u32> = facts
        .trace
        .device_operations
        .iter()
        .filter(|row| operations.iter().any(|one| one.start_ns == row.start_ns && one.details.kind == row.kind))
        .filter_map(|row| row.tid)
        .collect();
    tids.sort();
    tids.dedup();
    tids
}

/// Whether an operation is about a device on USB; those have a rule of their own. Host controllers are not on USB.
pub(super) fn is_usb(device: &Device) -> bool {
    let instance = device.device.to_ascii_uppercase();
    instance.starts_with(r"USB\") || instance.starts_with(r"USBSTOR\")
}

/// Whether the driver did the work before it returned, or most of it.
pub(super) fn not_pended(device: &Device) -> bool {
    match (device.duration_ns, device.details.pre_pend_ns) {
        (Some(duration), Some(held)) => duration > 0 && held >= duration / 2,
        _ => false,
    }
}

/// Drivers that hold requests of `kind` for long before they return.
pub(super) fn holding(
    facts: &BootFacts<'_>,
    kind: DeviceOperationKind,
    request: &str,
    code_of_request: &str,
) -> Vec<RuleFinding> {
    let wanted = |device: &Device| device.details.kind == kind && not_pended(device) && !is_usb(device);
    by_driver(facts, wanted)
        .into_iter()
        .filter_map(|work| {
            let held = work.held();
            let held_ns = covered_ns(held.clone(), (i64::MIN, i64::MAX));
            if held_ns < thresholds::NOT_PENDED_NS {
                return None;
            }
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Driver, work.driver.clone()),
                format!(
                    "driver {} holds the {request} for {} before it returns",
                    work.driver,
                    time(held_ns)
                ),
            )
            .costs(facts.device_cost(held, &work.tids(facts)))
            .advise(format!(
                "have the driver return STATUS_PENDING for {code_of_request} and complete it later; look for a newer driver; \
                 take the device out if nobody needs it"
            ));
            for device in work.operations.iter().take(3) {
                let what = match device.description.as_str() {
                    "" => device.device.as_str(),
                    description => description,
                };
                let returned = if device.details.pend_ns.is_some() {
                    "pended late"
                } else {
                    "not pended"
                };
                finding = finding.because(
                    device.start_ns,
                    format!(
                        "{what}: {} in the {request}, {returned}",
                        time(device.duration_ns.unwrap_or(0))
                    ),
                );
            }
            Some(finding)
        })
        .collect()
}
