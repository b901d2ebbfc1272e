//! The stages from reset to the operating system on one axis, and the firmware's phases below.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::firmware::FirmwareReport;

use super::headline::stage;
use super::title;
use crate::text::bar::Axis;
use crate::text::printable::printable;
use crate::text::quantity::{duration, duration_or_dash, percent, share};
use crate::text::style::{BAR, DOUBT, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

/// Characters of the axis.
const AXIS_CELLS: usize = 32;

pub(super) fn write(report: &FirmwareReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(end_ns) = report.stages.iter().map(|stage| stage.end_ns).max() else {
        return Ok(());
    };
    title("From reset to the operating system", "", out)?;
    let axis = Axis::new(0, end_ns, AXIS_CELLS);
    let longest = report.stages.iter().map(|stage| stage.duration_ns).max();
    let mut table = Table::new()
        .left("stage", 20)
        .right("begins")
        .right("ends")
        .right("took")
        .right("share")
        .left("", AXIS_CELLS)
        .left("ended when", 60);
    for row in &report.stages {
        let style = if longest == Some(row.duration_ns) { WORST } else { anstyle::Style::new() };
        table.row([
            styled_cell(style, stage(row.name)),
            cell(duration(row.start_ns)),
            cell(duration(row.end_ns)),
            styled_cell(style, duration(row.duration_ns)),
            cell(percent(share(row.duration_ns, end_ns))),
            styled_cell(BAR, axis.bar(row.start_ns, row.end_ns)),
            styled_cell(QUIET, row.name.ended_by()),
        ]);
    }
    table.write(out)?;
    let intervals = &report.intervals;
    writeln!(
        out,
        "  {QUIET}Time1 {}, Time2 {}: {}.{QUIET:#}",
        duration_or_dash(intervals.time1_ns),
        duration_or_dash(intervals.time2_ns),
        intervals.definition
    )?;
    if !intervals.ready_to_boot_rule.is_empty() {
        writeln!(
            out,
            "  {QUIET}By ready-to-boot: Time1 {}, Time2 {} ({}).{QUIET:#}",
            duration_or_dash(intervals.ready_to_boot_time1_ns),
            duration_or_dash(intervals.ready_to_boot_time2_ns),
            intervals.ready_to_boot_rule
        )?;
    }
    Ok(())
}

pub(super) fn write_phases(report: &FirmwareReport, out: &mut dyn Write) -> io::Result<()> {
    if report.measurements == 0 {
        if report.checkpoints.is_some() {
            writeln!(
                out,
                "\n  {QUIET}This input has no measurements of the firmware's modules: no phases, drivers or devices.{QUIET:#}"
            )?;
        }
        return Ok(());
    }
    let note = report.coverage.map_or_else(String::new, |coverage| {
        format!(
            "measurements account for {} of Time1 ({})",
            percent(coverage.measured_percent),
            duration(coverage.measured_ns)
        )
    });
    title("Phases", &note, out)?;
    if report.phases.is_empty() {
        return writeln!(out, "  {QUIET}None was measured.{QUIET:#}");
    }
    let end_ns = report.phases.iter().map(|phase| phase.end_ns).max().unwrap_or(0);
    let axis = Axis::new(0, end_ns, AXIS_CELLS);
    let mut table = Table::new()
        .left("phase", 16)
        .right("begins")
        .right("ends")
        .right("took")
        .right("share")
        .right("unexplained")
        .left("", AXIS_CELLS)
        .left("", 90);
    for phase in &report.phases {
        let indent = if phase.inside.is_empty() { "" } else { "  " };
        let rule = match phase.certainty {
            Certainty::Measured => styled_cell(QUIET, ""),
            _ => styled_cell(DOUBT, format!("inferred: {}", printable(&phase.rule))),
        };
        let part = report.intervals.time1_ns.map_or_else(String::new, |time1| percent(share(phase.duration_ns, time1)));
        table.row([
            cell(format!("{indent}{}", phase.name)),
            cell(duration(phase.start_ns)),
            cell(duration(phase.end_ns)),
            cell(duration(phase.duration_ns)),
            cell(part),
            cell(duration(phase.self_ns)),
            styled_cell(BAR, axis.bar(phase.start_ns, phase.end_ns)),
            rule,
        ]);
    }
    table.write(out)
}
