//! Boot-start drivers with a slow entry routine.

use onoff_trace::{DeviceOperationKind, DevicePhase};

use super::pending::by_driver;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot-start driver whose initialization (`DriverEntry`) takes 5 % of the boot or more (at least
    /// 300 ms, at most 500 ms).
    ///
    /// # Why it costs time
    /// Boot-start drivers are initialized one at a time, before any other part of the system runs.
    ///
    /// # Evidence needed
    /// Boot driver initialization: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records.
    ///
    /// # What to do
    /// Keep `DriverEntry` to the work that must happen there. Make a driver boot-start only if the boot needs it, as
    /// storage drivers are. Do not change a driver whose ErrorControl is 3.
    ///
    /// # When it is wrong
    /// A driver that waits for the boot disk to spin up is slow because of the hardware, not its code.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Boot Transition: Summary": mark drivers as BOOT_START only when
    /// required.
    "boot/boot-driver-slow", "boot-start drivers that are slow to initialize", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Kernel-PnP")?;
    let drivers = by_driver(facts, |device| {
        device.details.phase == DevicePhase::BootStart
            && matches!(device.details.kind, DeviceOperationKind::BootInit | DeviceOperationKind::DriverInit)
    });
    Ok(drivers
        .into_iter()
        .filter(|work| {
            covered_ns(work.request_intervals(), (i64::MIN, i64::MAX))
                >= facts.report.min_cause_ns().min(thresholds::BOOT_DRIVER_NS)
        })
        .map(|work| {
            let first_start_ns = work.operations.first().map(|device| device.start_ns);
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Driver, work.driver.clone()),
                format!("boot-start driver {} took {} to initialize", work.driver, time(work.longest_ns())),
            )
            .cost(facts.device_cost(work.request_intervals(), &work.tids(facts)))
            .evidence(first_start_ns, format!("{}: initialization {}", work.driver, time(work.longest_ns())))
            .advice(
                "look for a newer driver that does less in DriverEntry. Change its start type only if 'sc qc' shows an \
                 ERROR_CONTROL other than 3 and the boot disk does not depend on it",
            )
        })
        .collect())
}
