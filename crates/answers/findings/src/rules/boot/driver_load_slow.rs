//! Drivers that are slow to load.

use onoff_trace::DeviceOperationKind;

use super::pending::by_driver;
use crate::rules::prelude::*;
use crate::shell_argument::quote_argument;

rule! {
    /// # What it finds
    /// A driver other than a boot-start driver that takes 5 % of the boot or more (at least 300 ms, at most 1 s) to
    /// load and initialize, before it starts any device.
    ///
    /// # Why it costs time
    /// The image is read, its signature is checked and `DriverEntry` runs, all before the boot continues.
    ///
    /// # Evidence needed
    /// Driver loads: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records.
    ///
    /// # What to do
    /// Find out whether the time goes to disk reads, signature checks or driver code (use stacks), and look for a newer
    /// driver.
    ///
    /// # When it is wrong
    /// A load that waits for a busy disk is the disk's fault: see `boot/disk-slow` and `boot/background-disk`.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PreSMSS Subphase", steps 2 and 3; the threshold is onoff's.
    "boot/driver-load-slow", "drivers that are slow to load", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Kernel-PnP")?;
    let drivers = by_driver(facts, |device| device.details.kind == DeviceOperationKind::DriverLoad);
    Ok(drivers
        .into_iter()
        .filter(|work| {
            covered_ns(work.request_intervals(), (i64::MIN, i64::MAX)) >= facts.report.min_cause_ns()
        })
        .map(|work| {
            let first_start_ns = work.operations.first().map(|device| device.start_ns);
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Driver, work.driver.clone()),
                format!(
                    "driver {} took {} to load",
                    work.driver,
                    time(work.longest_ns())
                ),
            )
            .cost(facts.device_cost(work.request_intervals(), &work.tids(facts)))
            .evidence(
                first_start_ns,
                format!(
                    "{}: load and entry routine {}",
                    work.driver,
                    time(work.longest_ns())
                ),
            )
            .advice(format!(
                "find out what it does while loading ('onoff why FILE --device {}', with stacks), look for a newer driver, and \
                 move work that can wait until after the device start",
                quote_argument(&work.driver)
            ))
        })
        .collect())
}
