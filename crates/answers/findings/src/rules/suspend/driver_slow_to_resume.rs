//! Drivers that delay the resume.

use onoff_evidence::missing_evidence::UnknownFact;
use onoff_transitions::SuspendStage;
use onoff_transitions::suspend::PowerTransition;

use super::devices::slow_devices;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A device that delays the resume alone for 500 ms or more: its driver completes the power-up request only when
    /// the device is ready (no fast resume).
    ///
    /// # Why it costs time
    /// Programs continue only after all devices have completed. A driver with fast resume completes the request at once
    /// and powers up its device in the background.
    ///
    /// # Evidence needed
    /// Device power requests: provider Microsoft-Windows-Kernel-Power, or kernel flag POWER.
    ///
    /// # What to do
    /// Look for a newer driver. The driver should complete the system request at once and power up the device
    /// afterwards; the Windows Driver Framework does this by default.
    ///
    /// # When it is wrong
    /// The disk that memory pages are read from must be powered up first.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "ResumeDevices Performance Vulnerabilities"; the threshold is
    /// onoff's.
    "suspend/driver-slow-to-resume", "drivers without fast resume", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    if transition.details.devices.is_empty() {
        facts.require_power_events()?;
        return Err(missing_kernel_flags(UnknownFact::DevicePowerRequests, &["POWER"]));
    }
    Ok(slow_devices(
        transition,
        SuspendStage::Resume,
        thresholds::DEVICE_RESUME_NS,
        true,
        "resume",
        "look for a newer driver; the driver should complete the system request at once and power up the device afterwards (fast resume)",
    ))
}
