//! Drivers that list their children before they return.

use onoff_trace::DeviceOperationKind;

use super::pending::holding;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A driver that holds the question for its device's children (`IRP_MN_QUERY_DEVICE_RELATIONS`) for 700 ms or more in all
    /// before it returns from its dispatch routine.
    ///
    /// # Why it costs time
    /// As with start requests: nothing else is started or asked meanwhile. In Microsoft's test the pended question alone made
    /// a boot 1.4 s shorter.
    ///
    /// # Evidence needed
    /// Begin, pending and end of enumerations: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records of it.
    ///
    /// # What to do
    /// The driver's author returns `STATUS_PENDING` and answers when the bus has been looked through. Everybody else looks for a
    /// newer driver, or turns the bus off in the firmware if nothing hangs on it.
    ///
    /// # When it is wrong
    /// When the boot disk itself is behind that bus, the others would wait all the same.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PreSMSS Performance Vulnerabilities", tables 6 and A-1.
    "boot/driver-enumeration-not-pended", "drivers that do not pend the question for their devices' children", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Kernel-PnP")?;
    Ok(holding(
        facts,
        DeviceOperationKind::DeviceEnum,
        "question for its device's children",
        "IRP_MN_QUERY_DEVICE_RELATIONS",
    ))
}
