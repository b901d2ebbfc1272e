//! Drivers slow to put their device to sleep.

use onoff_evidence::missing_evidence::Unanswered;
use onoff_transitions::Half;
use onoff_transitions::suspend::PowerTransition;

use super::devices::slow;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A device that takes 500 ms or more to answer the question whether it can sleep, or to go to sleep.
    ///
    /// # Why it costs time
    /// The computer sleeps when the last device does; a device that others depend on is suspended after those.
    ///
    /// # Evidence needed
    /// Power requests to devices: provider Microsoft-Windows-Kernel-Power, or the kernel's flag POWER.
    ///
    /// # What to do
    /// Look for a newer driver. Its author saves context without waiting for timers, and completes the request as soon as the device is quiet;
    /// drivers made with the Windows Driver Framework do most of it by themselves.
    ///
    /// # When it is wrong
    /// A device that has to write its cache, such as a disk, needs the time.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Identifying Driver Delays in the SuspendDevices and ResumeDevices Phases" (a driver
    /// that holds the sleep for 20 s); the limit is onoff's.
    "suspend/driver-slow-to-suspend", "drivers slow to put their device to sleep", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    if transition.details.devices.is_empty() {
        facts.needs_power()?;
        return Err(lacks_kernel(Unanswered::DevicePowerRequests, &["POWER"]));
    }
    Ok(slow(
        transition,
        Half::Suspend,
        thresholds::DEVICE_SUSPEND_NS,
        false,
        "go to sleep",
        "look for a newer driver; its author completes the request as soon as the device is quiet and waits for no timer",
    ))
}
