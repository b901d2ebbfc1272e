//! Drivers and initialization functions of the kernel that take long.

use onoff_trace::DeviceOperationKind;
use onoff_usage::devices::Device;

use super::initrd_unpack_slow;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An initialization function, a module's load or a driver's probe that takes 500 ms or more.
    ///
    /// # Why it costs time
    /// Functions built into the kernel run one after the other before anything else; a probe holds what waits for its device.
    ///
    /// # Evidence needed
    /// A trace of the kernel's start (`initcall_debug`, or the trace events of initcalls, modules and probes).
    ///
    /// # What to do
    /// Of a function built into the kernel: build it as a module, or leave it out if no hardware needs it. Of a module: see which of its
    /// functions takes so long (`initcall_debug`), load it later, or deny it in `modprobe.d`. Of a probe: have the driver probe
    /// asynchronously (`driver_async_probe=`).
    ///
    /// # When it is wrong
    /// An asynchronous probe disturbs nobody unless its device is waited for: the cost is an upper bound.
    ///
    /// # Source
    /// The kernel's admin guide, `initcall_debug` and `driver_async_probe`; the limit is onoff's.
    "linux/driver-slow", "initialization functions and probes that take long", LinuxBoot(check)
}

/// Operations looked at, the longest.
const MAX_NAMED: usize = 100;

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let report = facts.report;
    if report.details.devices.is_empty() {
        return Err(lacks_other("how long the kernel's initialization functions and probes took"));
    }
    let is_unpacking_known = initrd_unpack_slow::unpacking(facts).is_some();
    // A module's own function runs within its load: one piece of work, which the module names.
    let is_within_load = |device: &Device| {
        device.details.kind == DeviceOperationKind::Initcall
            && report.details.devices.iter().any(|load| {
                load.details.kind == DeviceOperationKind::ModuleLoad
                    && load.start_ns <= device.start_ns
                    && load.end_ns.is_some()
                    && load.end_ns >= device.end_ns
            })
    };
    Ok(report
        .details
        .devices
        .iter()
        .filter(|device| device.duration_ns.is_some_and(|ns| ns >= thresholds::LINUX_DRIVER_NS))
        // They are longest first: what comes later is no news.
        .take(MAX_NAMED)
        .filter(|device| !is_within_load(device))
        // What unpacks the initial file system has another rule, where the log says from when to when.
        .filter(|device| device.driver != initrd_unpack_slow::FUNCTION || !is_unpacking_known)
        .filter_map(|device| {
            let (end, length) = device.end_ns.zip(device.duration_ns)?;
            let name = if device.driver.is_empty() { device.device.as_str() } else { device.owner() };
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Driver, name),
                    match device.details.kind {
                        DeviceOperationKind::Initcall if name != device.driver => {
                            format!("the module {name} takes {} to start ({})", time(length), device.driver)
                        }
                        DeviceOperationKind::Initcall => {
                            format!("the initialization function {name} takes {}", time(length))
                        }
                        DeviceOperationKind::ModuleLoad => {
                            format!("the module {name} takes {} to load", time(length))
                        }
                        _ => format!("the probe of {name} takes {}", time(length)),
                    },
                )
                .costs(facts.cost((device.start_ns, end)))
                .because(device.start_ns, format!("begins ({})", device.event))
                .because(end, "is done")
                .advise(advice(device.details.kind, name != device.driver)),
            )
        })
        .collect())
}

const fn advice(kind: DeviceOperationKind, is_of_module: bool) -> &'static str {
    match kind {
        DeviceOperationKind::Initcall if is_of_module => {
            "see what its function waits for, load it later, or deny it in modprobe.d if nothing needs it"
        }
        DeviceOperationKind::Initcall => {
            "build it as a module, so that it runs when somebody needs it, or leave it out if no hardware does"
        }
        DeviceOperationKind::ModuleLoad => {
            "see which of its functions takes so long (boot with 'initcall_debug'), load it later, or deny it in modprobe.d if nothing needs it"
        }
        _ => "have the driver probe asynchronously ('driver_async_probe='), or see what it waits for in its device",
    }
}
