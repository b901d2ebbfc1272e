//! The kernel's initialisation functions, modules and probes that took longest.

use std::io::{self, Write};

use onoff_analysis::devices::Device;
use onoff_analysis::transition::linux::boot::LinuxBootReport;

use crate::text::phases::touched_by;
use crate::text::quantity::{count, duration};
use crate::text::section::{title, write_news};
use crate::text::style::{DOUBT, QUIET};
use crate::text::table::{Table, cell, styled_cell};

pub(super) fn write(report: &LinuxBootReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.details.devices.is_empty() {
        return Ok(());
    }
    let note = format!("slowest of {} operations", count(report.details.devices.len() as u64));
    title("Kernel functions, modules and drivers", &note, out)?;
    let mut table =
        Table::new().left("function or driver", 44).left("operation", 12).right("took").right("begins").left("", 60);
    // What has no end is listed last: the trace tells only the begin of many.
    let ended = report.details.devices.iter().filter(|it| it.end_ns.is_some());
    let others = report.details.devices.iter().filter(|it| it.end_ns.is_none());
    for device in ended.chain(others).take(top) {
        let took = match device.duration_ns {
            Some(took) => cell(duration(took)),
            None => styled_cell(DOUBT, "unfinished"),
        };
        table.row([
            cell(name(device)),
            cell(device.kind.as_str()),
            took,
            cell(duration(device.start_ns)),
            styled_cell(QUIET, detail(device)),
        ]);
    }
    table.write(out)?;
    let sums: Vec<String> = report
        .details
        .drivers
        .iter()
        .filter(|driver| driver.operations > 1 && driver.duration_ns > 0)
        .take(3)
        .map(|driver| format!("{} {} in {}", driver.name, duration(driver.duration_ns), count(driver.operations)))
        .collect();
    if !sums.is_empty() {
        let sums = crate::text::printable::printable(&sums.join(", ")).into_owned();
        writeln!(out, "  {QUIET}Most in several operations: {sums}.{QUIET:#}")?;
    }
    write_news(&touched_by(&report.phases), &report.details.devices_touched_by, out)
}

fn name(device: &Device) -> &str {
    let names = [&device.driver, &device.description, &device.device];
    let name = names.into_iter().find(|name| !name.is_empty());
    name.map_or("unnamed", String::as_str)
}

fn detail(device: &Device) -> &str {
    let names = [&device.device, &device.description];
    let detail = names.into_iter().find(|text| !text.is_empty() && **text != name(device));
    detail.map_or("", String::as_str)
}
