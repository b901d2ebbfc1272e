//! The phases of a boot, with what happened before the kernel.

use std::io::{self, Write};

use onoff_analysis::transition::PhaseName;
use onoff_analysis::transition::boot::{BootReport, EarlierTime};

use super::{title, write_touching};
use crate::text::losses;
use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::style::{DOUBT, QUIET};

pub(super) fn write(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    title("Phases", "", out)?;
    let before = &report.details.before_kernel;
    let stages = before.firmware_table.as_ref().map_or(&[][..], |table| &table.stages);
    // What the firmware timed itself has a place; of what only the kernel tells of it later, the length is known.
    let mut rows: Vec<PhaseRow> = stages
        .iter()
        .map(|stage| PhaseRow {
            name: stage.name.words().to_owned(),
            start_ns: Some(stage.start_ns),
            end_ns: Some(stage.end_ns),
            took_ns: Some(stage.duration_ns),
            drawn: true,
            ..earlier(stage.name.ended_by())
        })
        .collect();
    let firmware = Some(("firmware", &before.firmware)).filter(|_| stages.is_empty());
    let earlier_times = [("boot manager", &before.boot_manager), ("OSLoader", &before.os_loader)];
    rows.extend(firmware.into_iter().chain(earlier_times).filter_map(|(name, time)| earlier_row(name, time)));
    rows.extend(report.phases.iter().map(|phase| match phase.name {
        PhaseName::PostBoot => PhaseRow::of(phase).settled(report.settling.as_ref()),
        _ => PhaseRow::of(phase),
    }));
    PhaseTable { whole_ns: report.total_ns, rows, ..PhaseTable::default() }.write(out)?;
    write_firmware(report, out)?;
    phases::write_doubts(&report.phases, out)?;
    phases::write_settling("PostBoot", report.settling.as_ref(), out)?;
    if let Some(settling) = &report.settling {
        write_touching(report, &settling.touched_by, out)?;
    }
    losses::write_touching(&phases::touched_by(&report.phases), out)
}

/// A row of what was before the kernel, and is no part of the boot.
fn earlier(note: &str) -> PhaseRow {
    PhaseRow {
        name: String::new(),
        start_ns: None,
        end_ns: None,
        took_ns: None,
        at_least: false,
        counts: false,
        drawn: false,
        between: false,
        note: (QUIET, printable(note).into_owned()),
    }
}

fn earlier_row(name: &str, time: &EarlierTime) -> Option<PhaseRow> {
    let took_ns = Some(time.duration_ns?);
    Some(PhaseRow { name: format!("{name} (before 0)"), took_ns, ..earlier(&time.rule) })
}

/// Where the stages before the kernel come from, and what is wrong with them.
fn write_firmware(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(table) = &report.details.before_kernel.firmware_table else {
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
