//! `xperf -a pnp`: one row per device or driver operation, in µs, then sums per device and per driver.

use std::io::{self, Write};

use onoff_usage::devices::{Device, DeviceTotal, by_device, by_driver};

use super::microseconds;
use onoff_report::text::printable::printable;

/// Writes device and driver operations and their sums.
pub fn write(operations: &[Device], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "EventType, StartTS, PendTS, EndTS, InstancePath")?;
    let mut devices: Vec<&Device> = operations.iter().collect();
    devices.sort_by_key(|device| device.start_ns);
    for device in devices {
        let path = if device.device.is_empty() { &device.driver } else { &device.device };
        writeln!(
            out,
            "{}, {}, {}, {}, {}",
            device.details.kind,
            microseconds(Some(device.start_ns)),
            microseconds(device.details.pend_ns.or(device.end_ns)),
            microseconds(device.end_ns),
            printable(path),
        )?;
    }
    write_totals("Device", &by_device(operations), out)?;
    write_totals("Driver", &by_driver(operations), out)
}

fn write_totals(title: &str, totals: &[DeviceTotal], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "{title}, Operations, TotalInitTime, PrePendInitTime, PostPendInitTime")?;
    for total in totals {
        writeln!(
            out,
            "{}, {}, {}, {}, {}",
            printable(&total.name),
            total.operations,
            microseconds(Some(total.duration_ns)),
            microseconds(Some(total.pre_pend_ns)),
            microseconds(Some(total.post_pend_ns)),
        )?;
    }
    Ok(())
}
