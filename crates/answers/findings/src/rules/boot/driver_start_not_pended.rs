//! Drivers that do the work of a start request before they return.

use onoff_trace::DeviceOperationKind;

use super::pending::holding;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A driver that holds start requests (`IRP_MN_START_DEVICE`) for 700 ms or more in all before it returns from its
    /// dispatch routine. USB devices have the rule `boot/usb-device-slow`.
    ///
    /// # Why it costs time
    /// While a driver works in its dispatch routine, the Plug and Play manager starts no other device. A driver that
    /// returns "pending" lets the others start meanwhile: in Microsoft's test two pended requests of 3 s made a boot 9.5 s shorter.
    ///
    /// # Evidence needed
    /// Begin, pending and end of device starts: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records of it.
    ///
    /// # What to do
    /// The driver's author returns `STATUS_PENDING` and completes the request later; drivers made with the Windows Driver
    /// Framework can do the work in a queue. Everybody else looks for a newer driver, or takes the device out if nobody needs it.
    ///
    /// # When it is wrong
    /// When the driver's own children are all that waits for it, little is gained. The time until it returns is measured;
    /// that others would have had something to do is not.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PreSMSS Performance Vulnerabilities", tables 6 and A-1.
    "boot/driver-start-not-pended", "drivers that do not pend their start request", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Kernel-PnP")?;
    Ok(holding(facts, DeviceOperationKind::DeviceStart, "start request", "IRP_MN_START_DEVICE"))
}
