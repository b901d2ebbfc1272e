//! Drivers that handle a start request synchronously.

use onoff_trace::DeviceOperationKind;

use super::pending::blocking_drivers;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A driver that blocks for 5 % of the boot or more (at least 300 ms, at most 700 ms) in total in its dispatch
    /// routine while starting devices (`IRP_MN_START_DEVICE`). USB devices have a separate rule, `boot/usb-device-slow`.
    ///
    /// # Why it costs time
    /// The Plug and Play manager starts no other device while a driver is in its dispatch routine. If the driver pends
    /// the request, the others start in parallel: in Microsoft's test, pending two requests of 3 s shortened a boot by
    /// 9.5 s.
    ///
    /// # Evidence needed
    /// Start, pend and completion of device starts: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records.
    ///
    /// # What to do
    /// In the driver, return `STATUS_PENDING` and complete the request later; Windows Driver Framework drivers can do
    /// the work in a queue. Otherwise, look for a newer driver, or remove the device if it is not needed.
    ///
    /// # When it is wrong
    /// If only the driver's own child devices wait for it, pending gains little. The blocking time is measured; whether
    /// other devices could have started meanwhile is not.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PreSMSS Performance Vulnerabilities", tables 6 and A-1.
    "boot/driver-start-not-pended", "drivers that do not pend their start request", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Kernel-PnP")?;
    Ok(blocking_drivers(facts, DeviceOperationKind::DeviceStart, "in its start request", "IRP_MN_START_DEVICE"))
}
