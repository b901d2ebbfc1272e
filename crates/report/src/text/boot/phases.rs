//! The phases on one axis, and what set their ends.

use std::borrow::Cow;
use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::cpu::CpuSource;
use onoff_analysis::transition::boot::{BootReport, EarlierTime, Phase, PhaseName};

use super::headline::cost;
use super::{title, write_touching};
use crate::text::bar::Axis;
use crate::text::losses;
use crate::text::printable::printable;
use crate::text::quantity::{duration, duration_or_dash, percent, share};
use crate::text::style::{BAR, DOUBT, MISSING, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

/// Characters of the axis.
const AXIS_CELLS: usize = 32;

pub(super) fn write(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    title("Phases", "", out)?;
    let end =
        report.phases.iter().filter(|phase| phase.name != PhaseName::TraceTail).filter_map(|phase| phase.end_ns).max();
    let firmware = report.before_kernel.firmware_table.as_ref();
    let stages = firmware.map_or(&[][..], |table| &table.stages);
    let begin = stages.first().map_or(0, |stage| stage.start_ns.min(0));
    let axis = Axis::new(begin, end.unwrap_or(0), AXIS_CELLS);
    let mut table = Table::new()
        .left("phase", 16)
        .right("begins")
        .right("ends")
        .right("took")
        .right("share")
        .left("", AXIS_CELLS)
        .left("ended by", 100);
    // What the firmware timed itself has a place; of what only the kernel tells of it later, the length is known.
    for stage in stages {
        table.row([
            cell(stage.name.words()),
            cell(duration(stage.start_ns)),
            cell(duration(stage.end_ns)),
            cell(duration(stage.duration_ns)),
            cell(""),
            styled_cell(BAR, axis.bar(stage.start_ns, stage.end_ns)),
            styled_cell(QUIET, stage.name.ended_by()),
        ]);
    }
    if stages.is_empty() {
        earlier_row("firmware", &report.before_kernel.firmware, &mut table);
    }
    for (name, earlier) in
        [("boot manager", &report.before_kernel.boot_manager), ("OSLoader", &report.before_kernel.os_loader)]
    {
        earlier_row(name, earlier, &mut table);
    }
    let longest = report.phases.iter().filter_map(|phase| cost(report, phase)).max();
    for phase in &report.phases {
        let took = cost(report, phase);
        let style = if took.is_some() && took == longest { WORST } else { anstyle::Style::new() };
        let part = match (took, report.total_ns) {
            (Some(took), Some(total)) => percent(share(took, total)),
            _ => String::new(),
        };
        let bar = match (phase.start_ns, phase.end_ns) {
            (Some(start), Some(end)) if phase.name != PhaseName::TraceTail => axis.bar(start, end),
            _ => String::new(),
        };
        let (rule_style, rule) = ended_by(report, phase);
        table.row([
            styled_cell(style, phase.name.as_str()),
            cell(duration_or_dash(phase.start_ns)),
            cell(duration_or_dash(phase.end_ns)),
            styled_cell(style, duration_or_dash(took.or(phase.duration_ns))),
            cell(part),
            styled_cell(BAR, bar),
            styled_cell(rule_style, rule),
        ]);
    }
    table.write(out)?;
    write_firmware(report, out)?;
    write_doubts(report, out)?;
    write_settling(report, out)?;
    losses::write_touching(&touched_by(report), out)
}

/// Where the stages before the kernel come from, and what is wrong with them.
fn write_firmware(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(table) = &report.before_kernel.firmware_table else {
        return Ok(());
    };
    writeln!(
        out,
        "  {QUIET}Before 0: the firmware's own times, from {}; {}.{QUIET:#}",
        printable(&table.from),
        table.rule
    )?;
    if let Some(first) = table.disagreements.first() {
        writeln!(out, "  {DOUBT}These and the recording's own times disagree: {}.{DOUBT:#}", printable(first))?;
    }
    for fault in &table.faults {
        writeln!(out, "  {DOUBT}Firmware, {}: {}.{DOUBT:#}", fault.kind.as_str(), printable(&fault.text))?;
    }
    Ok(())
}

/// Names of the losses that touch any phase, each once.
pub(super) fn touched_by(report: &BootReport) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in report.phases.iter().flat_map(|phase| &phase.touched_by) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn earlier_row(name: &str, earlier: &EarlierTime, table: &mut Table) {
    if let Some(took) = earlier.duration_ns {
        let rule = printable(&earlier.rule);
        table.row([
            cell(name),
            cell("before 0"),
            cell(""),
            cell(duration(took)),
            cell(""),
            cell(""),
            styled_cell(QUIET, rule),
        ]);
    }
}

fn ended_by(report: &BootReport, phase: &Phase) -> (anstyle::Style, String) {
    let rule = match (phase.name, report.post_boot.end_ns) {
        // The whole rule of the metric is a paragraph.
        (PhaseName::PostBoot, Some(_)) => {
            Cow::Owned(format!("{} of idle time found", duration(report.post_boot.idle_ns)))
        }
        _ => printable(&phase.rule),
    };
    match phase.ends.certainty {
        Certainty::Measured => (QUIET, rule.into_owned()),
        Certainty::Inferred => (DOUBT, format!("inferred: {rule}")),
        Certainty::Missing => (MISSING, "not found".to_owned()),
    }
}

/// What the inferred ends would have needed, each thing once.
fn write_doubts(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    // The first is the best: what defines the end. The others only stand in for it.
    let best = report
        .phases
        .iter()
        .filter(|phase| phase.ends.certainty != Certainty::Measured)
        .filter_map(|phase| phase.ends.missing.first());
    let mut missing: Vec<&str> = Vec::new();
    for name in best {
        if !missing.contains(&name.as_str()) {
            missing.push(name);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {DOUBT}Better answers need: {}.{DOUBT:#}", printable(&missing.join("; ")))
}

fn write_settling(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    let settling = &report.post_boot;
    if settling.start_ns.is_none() {
        return Ok(());
    }
    let found = match settling.end_ns {
        Some(_) => format!("and the {} of idle time that end it are left out", duration(settling.idle_ns)),
        None => format!(
            "but only {} of the {} of idle time that end it are recorded",
            duration(settling.idle_ns),
            duration(settling.metric.required_idle_ns)
        ),
    };
    let source = match settling.cpu_source {
        CpuSource::ContextSwitches => "context switches",
        CpuSource::Samples => "samples, an estimate",
        CpuSource::None => "nothing: processor time was not recorded",
    };
    let disk = if settling.disk_recorded { "" } else { "; disk requests were not recorded" };
    writeln!(
        out,
        "  {QUIET}PostBoot took {} of work, {found} ({} metric, from {source}{disk}).{QUIET:#}",
        duration(settling.busy_ns),
        settling.metric.name,
    )?;
    write_touching(report, &settling.touched_by, out)
}
