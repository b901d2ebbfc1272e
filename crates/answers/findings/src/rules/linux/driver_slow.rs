//! Kernel drivers and initcalls that are slow.

use onoff_trace::DeviceOperationKind;
use onoff_usage::devices::Device;

use super::initrd_unpack_slow;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An initcall, a module load or a driver probe that takes 5 % of the boot or more (at least 300 ms, at most
    /// 500 ms).
    ///
    /// # Why it costs time
    /// Built-in initcalls run one at a time, before anything else; a probe blocks whatever waits for its device.
    ///
    /// # Evidence needed
    /// A trace of the kernel's start (`initcall_debug`, or the trace events for initcalls, modules and probes).
    ///
    /// # What to do
    /// For a built-in initcall: build it as a module, or leave it out if no hardware needs it. For a module: find the
    /// slow function (`initcall_debug`), load the module later, or deny it in `modprobe.d`. For a probe: let the driver
    /// probe asynchronously (`driver_async_probe=`).
    ///
    /// # When it is wrong
    /// An asynchronous probe delays nothing unless something waits for its device: the cost is an upper bound.
    ///
    /// # Source
    /// The kernel's admin guide, `initcall_debug` and `driver_async_probe`; the threshold is onoff's.
    "linux/driver-slow", "slow initcalls, module loads and probes", LinuxBoot(check)
}

/// Maximum number of operations to check, longest first.
const MAX_OPERATIONS: usize = 100;

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let report = facts.report;
    if report.details.devices.is_empty() {
        return Err(missing_input("initcall and probe times"));
    }
    let is_unpacking_known = initrd_unpack_slow::unpacking(facts).is_some();
    // A module's initcall runs within its load, so the two are reported once, by module.
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
        .filter(|device| {
            device.duration_ns.is_some_and(|ns| ns >= facts.report.min_cause_ns().min(thresholds::LINUX_DRIVER_NS))
        })
        // Operations are sorted longest first.
        .take(MAX_OPERATIONS)
        .filter(|device| !is_within_load(device))
        // If the log has the times of unpacking the initramfs, another rule covers it.
        .filter(|device| device.driver != initrd_unpack_slow::FUNCTION || !is_unpacking_known)
        .filter_map(|device| {
            let (end, length) = device.end_ns.zip(device.duration_ns)?;
            let name = if device.driver.is_empty() { device.device.as_str() } else { device.owner() };
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Driver, name),
                    match device.details.kind {
                        DeviceOperationKind::Initcall if name != device.driver => {
                            format!("module {name} took {} to initialize ({})", time(length), device.driver)
                        }
                        DeviceOperationKind::Initcall => {
                            format!("initcall {name} took {}", time(length))
                        }
                        DeviceOperationKind::ModuleLoad => {
                            format!("module {name} took {} to load", time(length))
                        }
                        _ => format!("the probe of {name} took {}", time(length)),
                    },
                )
                .cost(facts.cost((device.start_ns, end)))
                .evidence(device.start_ns, format!("start ({})", device.event))
                .evidence(end, "end")
                .advice(advice(device.details.kind, name != device.driver)),
            )
        })
        .collect())
}

const fn advice(kind: DeviceOperationKind, is_module_initcall: bool) -> &'static str {
    match kind {
        DeviceOperationKind::Initcall if is_module_initcall => {
            "find out what its initcall waits for, load it later, or deny it in modprobe.d if nothing needs it"
        }
        DeviceOperationKind::Initcall => {
            "build it as a module, so that it runs only when needed, or leave it out if no hardware needs it"
        }
        DeviceOperationKind::ModuleLoad => {
            "find the slow function (boot with 'initcall_debug'), load the module later, or deny it in modprobe.d if nothing needs it"
        }
        _ => "let the driver probe asynchronously ('driver_async_probe='), or find out what it waits for in the device",
    }
}
