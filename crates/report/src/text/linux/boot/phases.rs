//! The phases on one axis, and what set their ends.

use std::io::{self, Write};

use onoff_analysis::transition::PhaseName;
use onoff_analysis::transition::linux::boot::LinuxBootReport;

use crate::text::losses;
use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::section::title;
use crate::text::style::{DOUBT, QUIET};

/// Accounts of firmware and loader that differ by more than this disagree, ns: 100 ms.
const NOTABLE_DIFFERENCE_NS: u64 = 100_000_000;

pub(super) fn write(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    title("Phases", "", out)?;
    // Nobody misses an initial file system that there was not.
    let is_shown = |name| !matches!(name, PhaseName::Initrd | PhaseName::TraceTail);
    let shown = report.phases.iter().filter(|phase| is_shown(phase.name) || phase.start_ns.is_some());
    let rows = shown
        .map(|phase| match phase.name {
            PhaseName::PostBoot => {
                let row = PhaseRow::of(phase).settled(report.settling.as_ref());
                PhaseRow { counts: report.total_ns.is_some(), ..row }
            }
            _ => PhaseRow::of(phase),
        })
        .collect();
    PhaseTable { whole_ns: report.total_ns.or(report.details.startup_ns), rows, ..PhaseTable::default() }.write(out)?;
    write_initial_file_system(report, out)?;
    write_manager(report, out)?;
    write_firmware(report, out)?;
    let looked_at = report.settling.as_ref().filter(|settling| !settling.slices.is_empty());
    phases::write_settling("PostBoot", looked_at, out)?;
    losses::write_touching(&phases::touched_by(&report.phases), out)
}

fn write_initial_file_system(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    let Some((start, took)) =
        report.details.initial_file_system.as_ref().and_then(|span| span.start_ns.zip(span.duration_ns))
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
    let manager = &report.details.manager;
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

/// How the firmware's own table agrees with the service manager's account; its stages are on the axis.
fn write_firmware(report: &LinuxBootReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(table) = &report.details.firmware_table else {
        return Ok(());
    };
    if let Some(difference) = report.details.firmware_table_difference_ns {
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
