//! Drivers that enumerate child devices synchronously.

use onoff_trace::DeviceOperationKind;

use super::pending::blocking_drivers;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A driver that blocks for 5 % of the boot or more (at least 300 ms, at most 700 ms) in total in its dispatch
    /// routine while enumerating child devices
    /// (`IRP_MN_QUERY_DEVICE_RELATIONS`).
    ///
    /// # Why it costs time
    /// As with start requests, no other device is started or enumerated meanwhile. In Microsoft's test, pending this
    /// request alone shortened a boot by 1.4 s.
    ///
    /// # Evidence needed
    /// Start, pend and completion of enumerations: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records.
    ///
    /// # What to do
    /// In the driver, return `STATUS_PENDING` and complete the request when the bus has been scanned. Otherwise, look
    /// for a newer driver, or disable the bus in the firmware setup if nothing is attached to it.
    ///
    /// # When it is wrong
    /// If the boot disk is on that bus, the rest of the boot has to wait in any case.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PreSMSS Performance Vulnerabilities", tables 6 and A-1.
    "boot/driver-enumeration-not-pended", "drivers that block while enumerating child devices", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Kernel-PnP")?;
    Ok(blocking_drivers(
        facts,
        DeviceOperationKind::DeviceEnum,
        "enumerating its child devices",
        "IRP_MN_QUERY_DEVICE_RELATIONS",
    ))
}
