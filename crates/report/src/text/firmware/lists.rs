//! The worst of each kind: stretches without measurement, drivers, devices.

use std::io::{self, Write};

use onoff_analysis::firmware::FirmwareReport;

use super::title;
use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration};
use crate::text::style::QUIET;
use crate::text::table::{Table, cell, styled_cell};

pub(super) fn write_gaps(report: &FirmwareReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.gaps.is_empty() {
        return Ok(());
    }
    title("Stretches that nothing but a phase accounts for", "", out)?;
    let mut table =
        Table::new().right("took").right("begins").left("in", 10).left("after the", 48).left("until the", 48);
    for gap in report.gaps.iter().take(top) {
        table.row([
            cell(duration(gap.duration_ns)),
            cell(duration(gap.start_ns)),
            cell(gap.phase.clone()),
            styled_cell(QUIET, printable(&beside(&gap.after, &gap.phase, &gap.module_before))),
            styled_cell(QUIET, printable(&beside(&gap.before, &gap.phase, &gap.module_after))),
        ]);
    }
    table.write(out)
}

/// A gap's edge; where it is only a phase's, the module on that side too.
fn beside(edge: &str, phase: &str, module: &str) -> String {
    let of_phase = !phase.is_empty() && edge.strip_suffix(phase).is_some_and(|start| start.ends_with(" of "));
    match (of_phase, module.is_empty()) {
        (true, false) => format!("{edge} ({module})"),
        _ => edge.to_owned(),
    }
}

pub(super) fn write_drivers(report: &FirmwareReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.drivers.is_empty() {
        return Ok(());
    }
    let note = format!("costliest of {}, by time of their own", count(report.drivers.len() as u64));
    title("Drivers and modules", &note, out)?;
    let mut table = Table::new()
        .left("module", 50)
        .right("own time")
        .right("load")
        .right("entry point")
        .right("support asked")
        .right("started")
        .right("other")
        .right("first at")
        .left("in", 10);
    for driver in report.drivers.iter().take(top) {
        table.row([
            cell(printable(&driver.name)),
            cell(duration(driver.self_ns)),
            cell(some(driver.load_ns)),
            cell(some(driver.entry_point_ns)),
            cell(calls(driver.support_ns, driver.support_calls)),
            cell(calls(driver.driver_start_ns, driver.driver_start_calls)),
            cell(some(driver.other_self_ns)),
            cell(duration(driver.start_ns)),
            cell(driver.phase.clone()),
        ]);
    }
    table.write(out)?;
    if report.drivers.iter().take(top).any(|driver| driver.name == driver.guid) {
        writeln!(
            out,
            "  {QUIET}--guids FILE gives GUIDs their names: a build's Guid.xref, .inf, .dec or .fdf.{QUIET:#}"
        )?;
    }
    Ok(())
}

fn some(ns: i64) -> String {
    if ns == 0 { String::new() } else { duration(ns) }
}

fn calls(ns: i64, calls: u64) -> String {
    match calls {
        0 => String::new(),
        1 => duration(ns),
        calls => format!("{}× {}", count(calls), duration(ns)),
    }
}

pub(super) fn write_devices(report: &FirmwareReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.devices.is_empty() {
        return Ok(());
    }
    let note = format!("costliest of {}, by time of their own in drivers' starts", count(report.devices.len() as u64));
    title("Devices", &note, out)?;
    let mut table =
        Table::new().left("device", 64).right("own time").right("starts").left("costliest driver", 50).left("", 40);
    for device in report.devices.iter().take(top) {
        let starts: u64 = device.drivers.iter().map(|driver| driver.calls).sum();
        let driver = device.drivers.first().map_or_else(String::new, |driver| {
            let more = device.drivers.len() - 1;
            let more = if more > 0 { format!(", and {}", counted(more as u64, "other")) } else { String::new() };
            format!("{}{more}", printable(&driver.name))
        });
        table.row([
            cell(printable(&device.path)),
            cell(duration(device.self_ns)),
            cell(count(starts)),
            cell(driver),
            styled_cell(QUIET, printable(&device.name)),
        ]);
    }
    table.write(out)
}
