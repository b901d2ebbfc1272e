//! The drivers and devices that kept others waiting longest.

use std::io::{self, Write};

use onoff_analysis::devices::Device;
use onoff_analysis::transition::boot::BootReport;

use super::headline::driver_name;
use super::{title, write_touching};
use crate::text::quantity::{count, counted, duration, duration_or_dash};
use crate::text::style::{DOUBT, QUIET};
use crate::text::table::{Table, cell, styled_cell};

pub(super) fn write(report: &BootReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.details.devices.is_empty() {
        return Ok(());
    }
    let phases: Vec<String> = report
        .details
        .device_phases
        .iter()
        .filter_map(|phase| Some(format!("{} {}", phase.name, duration(phase.span.duration_ns?))))
        .collect();
    let mut note = format!("slowest of {} operations", count(report.details.devices.len() as u64));
    for phase in phases {
        note += "; ";
        note += &phase;
    }
    title("Drivers and devices", &note, out)?;
    let mut table = Table::new()
        .left("driver or device", 44)
        .left("operation", 12)
        .right("took")
        .right("until pending")
        .right("begins")
        .left("", 60);
    let mut devices: Vec<&Device> = report.details.devices.iter().collect();
    devices.sort_by_key(|device| std::cmp::Reverse(device.pre_pend_ns.or(device.duration_ns).unwrap_or(i64::MAX)));
    for device in devices.into_iter().take(top) {
        let took = match device.duration_ns {
            Some(took) => cell(duration(took)),
            None => styled_cell(DOUBT, "unfinished"),
        };
        let until_pending = match (device.pend_ns, device.pre_pend_ns) {
            (None, Some(_)) => styled_cell(DOUBT, "never pended"),
            (_, ns) => cell(duration_or_dash(ns)),
        };
        let name = driver_name(device);
        let detail = [&device.friendly_name, &device.description, &device.device]
            .into_iter()
            .find(|text| !text.is_empty() && **text != name);
        table.row([
            cell(name),
            cell(device.kind.as_str()),
            took,
            until_pending,
            cell(duration(device.start_ns)),
            styled_cell(QUIET, detail.map_or("", |text| text.as_str())),
        ]);
    }
    table.write(out)?;
    let unfinished = report.details.devices.iter().filter(|device| device.end_ns.is_none()).count();
    if unfinished > 0 {
        writeln!(out, "  {QUIET}{} did not end in the recording.{QUIET:#}", counted(unfinished as u64, "operation"))?;
    }
    write_touching(report, &report.details.devices_touched_by, out)
}
