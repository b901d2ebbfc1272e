//! Drivers that are slow to suspend their device.

use onoff_evidence::missing_evidence::UnknownFact;
use onoff_transitions::SuspendStage;
use onoff_transitions::suspend::PowerTransition;

use super::devices::slow_devices;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A device that takes 500 ms or more to respond to a power query or to suspend.
    ///
    /// # Why it costs time
    /// The computer sleeps only when the last device does; a device is suspended after the devices that depend on it.
    ///
    /// # Evidence needed
    /// Device power requests: provider Microsoft-Windows-Kernel-Power, or kernel flag POWER.
    ///
    /// # What to do
    /// Look for a newer driver. The driver should save its context without waiting for timers and complete the request
    /// as soon as the device is idle; Windows Driver Framework drivers get most of this by default.
    ///
    /// # When it is wrong
    /// A device that has to write back its cache, such as a disk, needs the time.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Identifying Driver Delays in the SuspendDevices and
    /// ResumeDevices Phases" (a driver that delays the sleep by 20 s); the threshold is onoff's.
    "suspend/driver-slow-to-suspend", "drivers that are slow to suspend their device", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    if transition.details.devices.is_empty() {
        facts.require_power_events()?;
        return Err(missing_kernel_flags(UnknownFact::DevicePowerRequests, &["POWER"]));
    }
    Ok(slow_devices(
        transition,
        SuspendStage::Suspend,
        thresholds::DEVICE_SUSPEND_NS,
        false,
        "suspend",
        "look for a newer driver; the driver should complete the request as soon as the device is idle, without waiting for a timer",
    ))
}
