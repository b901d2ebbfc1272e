//! Drivers that take long to load.

use onoff_trace::DeviceOperationKind;

use super::pending::by_driver;
use crate::rules::prelude::*;
use crate::shell_argument::argument;

rule! {
    /// # What it finds
    /// A driver that is not boot-start and takes 1 s or more to be loaded and initialized, before any device is started with it.
    ///
    /// # Why it costs time
    /// Reading the image, checking its signature and its `DriverEntry` run in the place where the boot goes on afterwards.
    ///
    /// # Evidence needed
    /// Driver loads: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records of it.
    ///
    /// # What to do
    /// Look whether the time is reading (disk), signature checks or the driver's own code (stacks tell); look for a newer driver.
    ///
    /// # When it is wrong
    /// Loads that wait for a disk that others keep busy are the disk's: see `boot/disk-slow` and `boot/background-disk`.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PreSMSS Subphase", steps 2 and 3; the limit is onoff's.
    "boot/driver-load-slow", "drivers that take long to load", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Kernel-PnP")?;
    let drivers = by_driver(facts, |device| device.details.kind == DeviceOperationKind::DriverLoad);
    Ok(drivers
        .into_iter()
        .filter(|work| {
            covered_ns(work.whole(), (i64::MIN, i64::MAX)) >= thresholds::DRIVER_LOAD_NS
        })
        .map(|work| {
            let first = work.operations.first().map(|device| device.start_ns);
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Driver, work.driver.clone()),
                format!(
                    "driver {} takes {} to load",
                    work.driver,
                    time(work.longest_ns())
                ),
            )
            .costs(facts.device_cost(work.whole(), &work.tids(facts)))
            .because(
                first,
                format!(
                    "{}: load and entry routine, {}",
                    work.driver,
                    time(work.longest_ns())
                ),
            )
            .advise(format!(
                "see what it does meanwhile ('onoff why FILE --device {}', with stacks), look for a newer driver, and do work \
                 that can wait after the device was started",
                argument(&work.driver)
            ))
        })
        .collect())
}
