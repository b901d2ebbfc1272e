//! The phases of a boot, with firmware and loader before the kernel.

use onoff_transitions::PhaseName;
use onoff_transitions::boot::{BootReport, EarlierTime};

use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Line, Section};

pub(super) fn section(report: &BootReport) -> Section<'_> {
    let before = &report.details.before_kernel;
    let stages = before.firmware_table.as_ref().map_or(&[][..], |table| &table.stages);
    // Firmware tables give absolute times. What only the kernel reports later has a duration but no position.
    let mut rows: Vec<PhaseRow> = stages
        .iter()
        .map(|stage| PhaseRow {
            name: stage.name.display_name().to_owned(),
            start_ns: Some(stage.start_ns),
            end_ns: Some(stage.end_ns),
            duration_ns: Some(stage.duration_ns),
            has_bar: true,
            ..earlier(stage.name.end_event())
        })
        .collect();
    let firmware = Some(("firmware", &before.firmware)).filter(|_| stages.is_empty());
    let earlier_times = [("boot manager", &before.boot_manager), ("OSLoader", &before.os_loader)];
    rows.extend(firmware.into_iter().chain(earlier_times).filter_map(|(name, time)| earlier_row(name, time)));
    rows.extend(report.phases.iter().map(|phase| match phase.name {
        PhaseName::PostBoot => PhaseRow::of(phase).settled(report.settling.as_ref()),
        _ => PhaseRow::of(phase),
    }));
    let named = phases::affecting_losses(&report.phases);
    let lost = report.settling.as_ref().map_or(&[][..], |settling| &settling.affecting_losses);
    PhaseTable { total_ns: report.total_ns, rows, ..PhaseTable::default() }
        .section("")
        .lines(firmware_lines(report))
        .lines(phases::inexact_ends(&report.phases))
        .lines(phases::settling("PostBoot", report.settling.as_ref()))
        .affected_by(lost, &named)
        .affected_by(&named, &[])
}

/// A row for time before the kernel, which is not part of the boot.
fn earlier(note: &str) -> PhaseRow {
    PhaseRow {
        name: String::new(),
        start_ns: None,
        end_ns: None,
        duration_ns: None,
        is_lower_bound: false,
        is_part_of_total: false,
        has_bar: false,
        is_gap: false,
        note: (QUIET, printable(note).into_owned()),
    }
}

fn earlier_row(name: &str, time: &EarlierTime) -> Option<PhaseRow> {
    let took_ns = Some(time.duration_ns?);
    Some(PhaseRow { name: format!("{name} (before 0)"), duration_ns: took_ns, ..earlier(&time.rule.to_string()) })
}

/// The source of the stages before the kernel, and any problems with it.
fn firmware_lines(report: &BootReport) -> Vec<Line> {
    let Some(table) = &report.details.before_kernel.firmware_table else { return Vec::new() };
    let from = format!("Times before 0 are from firmware tables ({}): {}.", printable(&table.from), table.rule);
    let mut lines = vec![Line { style: QUIET, text: from }];
    lines.extend(table.disagreements.first().map(|first| Line {
        style: DOUBT,
        text: format!("The firmware tables disagree with the recording: {}.", printable(first)),
    }));
    lines.extend(table.faults.iter().map(phases::fault));
    lines
}
