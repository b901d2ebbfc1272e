//! The phases of a boot, with what happened before the kernel.

use onoff_transitions::PhaseName;
use onoff_transitions::boot::{BootReport, EarlierTime};

use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Line, Section};

pub(super) fn section(report: &BootReport) -> Section<'_> {
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
    let named = phases::touched_by(&report.phases);
    let lost = report.settling.as_ref().map_or(&[][..], |settling| &settling.touched_by);
    PhaseTable { whole_ns: report.total_ns, rows, ..PhaseTable::default() }
        .section("")
        .lines(firmware_lines(report))
        .lines(phases::doubts(&report.phases))
        .lines(phases::settling("PostBoot", report.settling.as_ref()))
        .touched_by(lost, &named)
        .touched_by(&named, &[])
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
    Some(PhaseRow { name: format!("{name} (before 0)"), took_ns, ..earlier(&time.rule.to_string()) })
}

/// Where the stages before the kernel come from, and what is wrong with them.
fn firmware_lines(report: &BootReport) -> Vec<Line> {
    let Some(table) = &report.details.before_kernel.firmware_table else { return Vec::new() };
    let from = format!("Before 0: the firmware's own times, from {}; {}.", printable(&table.from), table.rule);
    let mut lines = vec![Line { style: QUIET, text: from }];
    lines.extend(table.disagreements.first().map(|first| Line {
        style: DOUBT,
        text: format!("These and the recording's own times disagree: {}.", printable(first)),
    }));
    lines.extend(table.faults.iter().map(phases::fault));
    lines
}
