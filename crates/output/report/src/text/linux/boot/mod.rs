//! The text report of a Linux boot: headline, phases, critical path, then the slowest units, drivers and functions.

mod bring_up;
mod headline;
mod path;
mod phases;

use std::io::{self, Write};

use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::linux::boot::{LinuxBoot, LinuxBootReport, OtherUnit};

use crate::text::linux::call_graphs;
use crate::text::phases::affecting_losses;
use crate::text::quantity::{count, duration};
use crate::text::style::{DOUBT, QUIET};
use crate::text::transition::SingleReport;
use crate::text::{boot_axis, device_work, printable::printable, unit_starts, usage};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

impl SingleReport for LinuxBoot {
    fn headline(report: &LinuxBootReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
        headline::write(report, recording, out)
    }

    fn sections(report: &LinuxBootReport, top: usize) -> Vec<Section<'_>> {
        let reported_losses = affecting_losses(&report.phases);
        let mut sections = vec![phases::section(report)];
        sections.extend(bring_up::section(report));
        // The table of phases has no rows for firmware stages.
        sections.extend(report.details.axis.as_ref().map(boot_axis::section));
        sections.extend(path::section(report));
        let units = unit_starts::section(report, "", top);
        sections
            .extend(units.map(|section| section.affected_by(&report.details.losses_affecting_units, &reported_losses)));
        sections.extend(other_units(report, top));
        sections.extend(drivers(report, top, &reported_losses));
        sections.extend(call_graphs::section(&report.details.call_graphs, top));
        sections.extend(usage::sections(&report.phases, &reported_losses));
        sections
    }
}

/// Units of user service managers and containers; `None` if there are none.
fn other_units(report: &LinuxBootReport, top: usize) -> Option<Section<'_>> {
    let mut units: Vec<&OtherUnit> = report.details.other_units.iter().collect();
    units.sort_by_key(|unit| std::cmp::Reverse(unit.duration_ns.unwrap_or(i64::MAX)));
    let note = format!("slowest of {}; the boot does not wait for these", count(units.len() as u64));
    Section::builder("other_units", "User and container units", units)
        .note(note)
        .top(top)
        .name("name", "unit", 44, |unit| Value::text(&unit.name))
        .name("of", "owner", 28, |unit| Value::text(&unit.owner))
        .quantity("duration_ns", "duration", |unit| match unit.failed {
            true => Cell::text_only(DOUBT, "failed"),
            false => Cell::duration_or_unfinished(unit.duration_ns),
        })
        .time("start_ns", "start", |unit| Cell::since(unit.start_ns, 0))
        .data("end_ns", |unit| Value::from_option(unit.end_ns, Value::Time))
        .build_if_any()
}

/// Lists the slowest initcalls, modules and driver probes.
fn drivers<'a>(report: &'a LinuxBootReport, top: usize, reported_losses: &[String]) -> Option<Section<'a>> {
    // Operations without an end come last: the trace has only the start of many.
    let (ended, unfinished): (Vec<_>, Vec<_>) =
        report.details.devices.iter().partition(|device| device.end_ns.is_some());
    let devices = ended.into_iter().chain(unfinished).collect();
    let section = device_work::section("Initcalls, modules and drivers", devices, "", top)?;
    let sums: Vec<String> = report
        .details
        .drivers
        .iter()
        .filter(|driver| driver.operations > 1 && driver.duration_ns > 0)
        .take(3)
        .map(|driver| {
            format!("{} {} in {} operations", driver.name, duration(driver.duration_ns), count(driver.operations))
        })
        .collect();
    let sums_note = (!sums.is_empty()).then(|| format!("Largest totals: {}.", printable(&sums.join(", "))));
    Some(section.line_if(QUIET, sums_note).affected_by(&report.details.losses_affecting_devices, reported_losses))
}
