//! Boot-start drivers whose entry routine takes long.

use onoff_trace::{DeviceOperationKind, DevicePhase};

use super::pending::by_driver;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot-start driver whose initialization (`DriverEntry`) takes 500 ms or more.
    ///
    /// # Why it costs time
    /// Boot-start drivers are initialized one after the other, before anything else of the system runs.
    ///
    /// # Evidence needed
    /// Initialization of boot drivers: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records of it.
    ///
    /// # What to do
    /// Do in `DriverEntry` only what must be done there. Mark drivers as boot-start only when the boot needs them, as storage
    /// drivers are; a driver whose ErrorControl is 3 stays as it is.
    ///
    /// # When it is wrong
    /// A driver that waits for the boot disk to spin up is held by the hardware, not by its code.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Boot Transition: Summary": mark drivers as BOOT_START only when required.
    "boot/boot-driver-slow", "boot-start drivers that take long to initialize", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Kernel-PnP")?;
    let drivers = by_driver(facts, |device| {
        device.details.phase == DevicePhase::BootStart
            && matches!(device.details.kind, DeviceOperationKind::BootInit | DeviceOperationKind::DriverInit)
    });
    Ok(drivers
        .into_iter()
        .filter(|work| {
            covered_ns(work.whole(), (i64::MIN, i64::MAX)) >= thresholds::BOOT_DRIVER_NS
        })
        .map(|work| {
            let first = work.operations.first().map(|device| device.start_ns);
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Driver, work.driver.clone()),
                format!(
                    "boot-start driver {} takes {} to initialize",
                    work.driver,
                    time(work.longest_ns())
                ),
            )
            .costs(facts.device_cost(work.whole(), &work.tids(facts)))
            .because(
                first,
                format!("{}: initialization, {}", work.driver, time(work.longest_ns())),
            )
            .advise(
                "look for a newer driver; its author moves work out of DriverEntry. Change its start type only if 'sc qc' shows \
                 that its ERROR_CONTROL is not 3 and the boot disk does not hang on it",
            )
        })
        .collect())
}
