//! Drivers and initialisation functions of the kernel that take long.

use onoff_analysis::devices::Device;
use onoff_trace::DeviceOperationKind;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An initialisation function, a module's load or a driver's probe that takes 500 ms or more.
    ///
    /// # Why it costs time
    /// Functions built into the kernel run one after the other before anything else; a probe holds what waits for its device.
    ///
    /// # Evidence needed
    /// A trace of the kernel's start (`initcall_debug`, or the trace events of initcalls, modules and probes).
    ///
    /// # What to do
    /// Build the driver as a module, have it probe asynchronously (`driver_async_probe=`), or leave it out if no hardware needs it.
    ///
    /// # When it is wrong
    /// An asynchronous probe disturbs nobody unless its device is waited for: the cost is an upper bound.
    ///
    /// # Source
    /// The kernel's admin guide, `initcall_debug` and `driver_async_probe`; the limit is onoff's.
    "linux/driver-slow", "initialisation functions and probes that take long", LinuxBoot(check)
}

/// Operations looked at, the longest.
const MOST_NAMED: usize = 100;

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let report = facts.report;
    if report.devices.is_empty() {
        return Err(lacks_other(
            "how long the kernel's initialisation functions and probes took",
        ));
    }
    // A module's own function runs within its load: one piece of work, which the module names.
    let is_within_load = |device: &Device| {
        device.kind == DeviceOperationKind::Initcall
            && report.devices.iter().any(|load| {
                load.kind == DeviceOperationKind::ModuleLoad
                    && load.start_ns <= device.start_ns
                    && load.end_ns.is_some()
                    && load.end_ns >= device.end_ns
            })
    };
    Ok(report
        .devices
        .iter()
        .filter(|device| {
            device
                .duration_ns
                .is_some_and(|ns| ns >= thresholds::LINUX_DRIVER_NS)
        })
        // They are longest first: what comes later is no news.
        .take(MOST_NAMED)
        .filter(|device| !is_within_load(device))
        .filter_map(|device| {
            let (end, length) = device.end_ns.zip(device.duration_ns)?;
            let name = if device.driver.is_empty() {
                device.device.as_str()
            } else {
                device.driver.as_str()
            };
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Driver, name),
                    format!("{} {name} takes {}", device.kind.as_str(), time(length)),
                )
                .costs(facts.cost((device.start_ns, end)))
                .because(device.start_ns, format!("begins ({})", device.event))
                .because(end, "is done")
                .advise(
                    "build it as a module, have it probe asynchronously ('driver_async_probe='), or leave it out if no hardware needs it",
                ),
            )
        })
        .collect())
}
