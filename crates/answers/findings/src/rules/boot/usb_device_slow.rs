//! USB devices that are slow to start.

use onoff_trace::DeviceOperationKind;
use onoff_usage::devices::Device;

use super::pending::{driver_name, is_usb, not_pended, tids};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A USB device whose start and enumeration take
    /// 5 % of the boot or more (at least 300 ms, at most 1 s) in total.
    ///
    /// # Why it costs time
    /// USB devices are often slow to respond after power-on, and a USB stick or disk can delay everything that comes
    /// before the first session.
    ///
    /// # Evidence needed
    /// Device starts and enumerations: provider Microsoft-Windows-Kernel-PnP, or the kernel's own records.
    ///
    /// # What to do
    /// Boot once with the device unplugged and compare. If it is needed, look for newer firmware for the device and the
    /// host controller, or connect it after the boot.
    ///
    /// # When it is wrong
    /// The computer boots from that device.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services": "USB devices can have a big effect on your
    /// boot time".
    "boot/usb-device-slow", "USB devices that are slow to start", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Kernel-PnP")?;
    let operations: Vec<&Device> = facts
        .report
        .details
        .devices
        .iter()
        .filter(|device| {
            is_usb(device)
                && !device.device.is_empty()
                && matches!(device.details.kind, DeviceOperationKind::DeviceStart | DeviceOperationKind::DeviceEnum)
        })
        .collect();
    let mut names: Vec<&str> = operations.iter().map(|operation| operation.device.as_str()).collect();
    names.sort();
    names.dedup();
    let mut findings = Vec::new();
    for name in names {
        let device_operations: Vec<&Device> =
            operations.iter().copied().filter(|operation| operation.device == name).collect();
        let request_intervals: Vec<Interval> =
            device_operations.iter().filter_map(|operation| Some((operation.start_ns, operation.end_ns?))).collect();
        // Time it blocked others: a pended request blocks only its child devices.
        let blocking: Vec<Interval> = device_operations
            .iter()
            .filter_map(|operation| {
                Some((operation.start_ns, operation.start_ns.saturating_add(operation.details.pre_pend_ns?)))
            })
            .collect();
        let total_ns = covered_ns(request_intervals.clone(), (i64::MIN, i64::MAX));
        let Some(first_operation) = device_operations.first().filter(|_| total_ns >= facts.report.min_cause_ns())
        else {
            continue;
        };
        let pends = device_operations.iter().all(|operation| !not_pended(operation));
        let display_name = match first_operation.description.as_str() {
            "" => name,
            description => description,
        };
        let last_end_ns = request_intervals.iter().map(|&(_, end_ns)| end_ns).max();
        let cost_intervals = if pends { blocking } else { request_intervals };
        let mut finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Device, name),
            format!("USB device {display_name} took {} to start", time(total_ns)),
        )
        .cost(facts.device_cost(cost_intervals, &tids(facts, &device_operations)))
        .active_during((first_operation.start_ns, last_end_ns.unwrap_or(first_operation.start_ns)))
        .advice(
            "boot once with the device unplugged and compare; if it is needed, look for newer firmware for the device and the \
             host controller, or plug it in after the boot",
        );
        for operation in device_operations.iter().take(3) {
            let pend_state = match operation.details.pend_ns {
                Some(_) => "pended",
                None => "not pended",
            };
            finding = finding.evidence(
                operation.start_ns,
                format!(
                    "{} by {}: {}, {pend_state}",
                    operation.details.kind.as_str(),
                    driver_name(&operation.driver),
                    time(operation.duration_ns.unwrap_or(0))
                ),
            );
        }
        findings.push(finding);
    }
    Ok(findings)
}
