//! The phases on one axis, and what set their ends.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::transition::linux::boot::{LinuxBootReport, LinuxPhase, LinuxPhaseName};

use crate::text::bar::Axis;
use crate::text::losses;
use crate::text::printable::printable;
use crate::text::quantity::{duration, duration_or_dash, percent, share};
use crate::text::section::title;
use crate::text::style::{BAR, DOUBT, MISSING, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

/// Characters of the axis.
const AXIS_CELLS: usize = 32;

/// Accounts of firmware and loader that differ by more than this disagree, ns: 100 ms.
const NOTABLE_DIFFERENCE_NS: u64 = 100_000_000;

/// What a phase cost: PostBoot's required idle time is nobody's.
fn cost(report: &LinuxBootReport, phase: &LinuxPhase) -> Option<i64> {
    match phase.name {
        LinuxPhaseName::PostBoot if report.post_boot.slices.is_empty() => None,
        LinuxPhaseName::PostBoot => report.post_boot.start_ns.map(|_| report.post_boot.busy_ns),
        LinuxPhaseName::TraceTail => None,
        _ => phase.duration_ns,
    }
}

pub(super) fn write(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    title("Phases", "", out)?;
    let shown = || {
        report.phases.iter().filter(|phase| match phase.name {
            // Nobody misses an initial file system that there was not.
            LinuxPhaseName::Initrd => phase.start_ns.is_some(),
            LinuxPhaseName::TraceTail => phase.start_ns.is_some(),
            _ => true,
        })
    };
    let on_axis = || shown().filter(|phase| phase.name != LinuxPhaseName::TraceTail);
    let begin = on_axis().filter_map(|phase| phase.start_ns).min();
    let end = on_axis().filter_map(|phase| phase.end_ns).max();
    let axis = Axis::new(begin.unwrap_or(0), end.unwrap_or(0), AXIS_CELLS);
    let total = report.total_ns.or(report.startup_ns);
    let longest = shown().filter_map(|phase| cost(report, phase)).max();
    let mut table = Table::new()
        .left("phase", 16)
        .right("begins")
        .right("ends")
        .right("took")
        .right("share")
        .left("", AXIS_CELLS)
        .left("ended by", 90);
    for phase in shown() {
        let took = cost(report, phase);
        let style = if took.is_some() && took == longest { WORST } else { anstyle::Style::new() };
        let part = match (took, total) {
            (Some(took), Some(total)) if phase.name != LinuxPhaseName::PostBoot || report.total_ns.is_some() => {
                percent(share(took, total))
            }
            _ => String::new(),
        };
        let bar = match (phase.start_ns, phase.end_ns) {
            (Some(start), Some(end)) if phase.name != LinuxPhaseName::TraceTail => axis.bar(start, end),
            _ => String::new(),
        };
        let (rule_style, rule) = ended_by(report, phase);
        table.row([
            styled_cell(style, phase.name.words()),
            cell(duration_or_dash(phase.start_ns)),
            cell(duration_or_dash(phase.end_ns)),
            styled_cell(style, duration_or_dash(took.or(phase.duration_ns))),
            cell(part),
            styled_cell(BAR, bar),
            styled_cell(rule_style, rule),
        ]);
    }
    table.write(out)?;
    write_initial_file_system(report, out)?;
    write_manager(report, out)?;
    write_firmware(report, out)?;
    write_settling(report, out)?;
    losses::write_touching(&touched_by(report), out)
}

/// Names of the losses that touch any phase, each once.
pub(super) fn touched_by(report: &LinuxBootReport) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in report.phases.iter().flat_map(|phase| &phase.touched_by) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn ended_by(report: &LinuxBootReport, phase: &LinuxPhase) -> (anstyle::Style, String) {
    let rule = match (phase.name, report.post_boot.end_ns) {
        // The whole rule of the metric is a paragraph.
        (LinuxPhaseName::PostBoot, Some(_)) => {
            format!("{} of idle time found", duration(report.post_boot.idle_ns))
        }
        _ => printable(&phase.rule).into_owned(),
    };
    match phase.ends.certainty {
        Certainty::Measured => (QUIET, rule),
        Certainty::Inferred => (DOUBT, format!("inferred: {rule}")),
        Certainty::Missing => (MISSING, "not found".to_owned()),
    }
}

fn write_initial_file_system(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    let Some((start, took)) = report.initial_file_system.as_ref().and_then(|span| span.start_ns.zip(span.duration_ns))
    else {
        return Ok(());
    };
    writeln!(
        out,
        "  {QUIET}The last {} of the kernel's phase, from {} on, ran the initial file system, which has no service manager.{QUIET:#}",
        duration(took),
        duration(start)
    )
}

fn write_manager(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    let manager = &report.manager;
    let Some(whole) = manager.whole.duration_ns else {
        return Ok(());
    };
    let mut parts = Vec::new();
    for (name, span) in [("generators", &manager.generators), ("reading units", &manager.units_load)] {
        if let Some(took) = span.duration_ns {
            parts.push(format!("{name} {}", duration(took)));
        }
    }
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    writeln!(
        out,
        "  {QUIET}User space began with {} of the service manager's own{parts} before the first unit.{QUIET:#}",
        duration(whole)
    )
}

/// The firmware's own table, beside what the service manager tells of firmware and loader.
fn write_firmware(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(table) = &report.firmware_table else {
        return Ok(());
    };
    for stage in &table.stages {
        writeln!(
            out,
            "  {QUIET}Firmware table: {} took {}.{QUIET:#}",
            stage.name.words(),
            duration(stage.duration_ns)
        )?;
    }
    if let Some(difference) = report.firmware_table_difference_ns {
        let agree = difference.unsigned_abs() <= NOTABLE_DIFFERENCE_NS;
        let style = if agree { QUIET } else { DOUBT };
        writeln!(
            out,
            "  {style}The firmware's table ({}) ends {} {} the service manager's firmware and loader: they {}.{style:#}",
            printable(&table.from),
            duration(difference.saturating_abs()),
            if difference < 0 { "before" } else { "after" },
            if agree { "agree" } else { "disagree" }
        )?;
    }
    for fault in &table.faults {
        writeln!(out, "  {DOUBT}Firmware, {}: {}.{DOUBT:#}", fault.kind.as_str(), printable(&fault.text))?;
    }
    Ok(())
}

fn write_settling(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    let settling = &report.post_boot;
    if settling.slices.is_empty() {
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
    let disk = if settling.disk_recorded { "" } else { "; disk requests were not recorded" };
    writeln!(
        out,
        "  {QUIET}PostBoot took {} of work, {found} ({} metric{disk}).{QUIET:#}",
        duration(settling.busy_ns),
        settling.metric.name,
    )
}
