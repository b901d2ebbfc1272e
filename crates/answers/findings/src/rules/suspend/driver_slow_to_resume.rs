//! Drivers that hold the resume.

use onoff_evidence::missing_evidence::Unanswered;
use onoff_transitions::Half;
use onoff_transitions::suspend::PowerTransition;

use super::devices::slow;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A device that holds the resume alone for 500 ms or more: its driver completes the request to wake only when the device is ready ("no
    /// fast resume").
    ///
    /// # Why it costs time
    /// Programs go on when all devices have answered. A driver with fast resume answers at once and wakes its device meanwhile.
    ///
    /// # Evidence needed
    /// Power requests to devices: provider Microsoft-Windows-Kernel-Power, or the kernel's flag POWER.
    ///
    /// # What to do
    /// Look for a newer driver. Its author completes the system's request at once and wakes the device after it; the Windows Driver Framework
    /// does so by itself.
    ///
    /// # When it is wrong
    /// The disk that memory's pages are read from must be awake first.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "ResumeDevices Performance Vulnerabilities"; the limit is onoff's.
    "suspend/driver-slow-to-resume", "drivers without fast resume", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    if transition.details.devices.is_empty() {
        facts.needs_power()?;
        return Err(lacks_kernel(Unanswered::DevicePowerRequests, &["POWER"]));
    }
    Ok(slow(
        transition,
        Half::Resume,
        thresholds::DEVICE_RESUME_NS,
        true,
        "wake up",
        "look for a newer driver; its author completes the system's request at once and wakes the device after it (fast resume)",
    ))
}
