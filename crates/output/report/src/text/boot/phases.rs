//! The phases of a boot, with firmware and loader before the kernel.

use onoff_transitions::PhaseName;
use onoff_transitions::boot::{BootReport, EarlierTime};

use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Line, Section};

pub(super) fn section(report: &BootReport) -> Section<'_> {
    let before_kernel = &report.details.before_kernel;
    let stages = before_kernel.firmware_table.as_ref().map_or(&[][..], |table| &table.stages);
    // Firmware tables give absolute times. Times that only the kernel reports have a duration but no position.
    let mut rows: Vec<PhaseRow> = stages
        .iter()
        .map(|stage| PhaseRow {
            name: stage.name.display_name().to_owned(),
            start_ns: Some(stage.start_ns),
            end_ns: Some(stage.end_ns),
            duration_ns: Some(stage.duration_ns),
            has_bar: true,
            ..row_before_kernel(stage.name.end_event())
        })
        .collect();
    let firmware = Some(("firmware", &before_kernel.firmware)).filter(|_| stages.is_empty());
    let earlier_times = [("boot manager", &before_kernel.boot_manager), ("OSLoader", &before_kernel.os_loader)];
    rows.extend(firmware.into_iter().chain(earlier_times).filter_map(|(name, time)| earlier_row(name, time)));
    rows.extend(report.phases.iter().map(|phase| match phase.name {
        PhaseName::PostBoot => PhaseRow::from_phase(phase).with_settling(report.settling.as_ref()),
        _ => PhaseRow::from_phase(phase),
    }));
    let reported_losses = phases::affecting_losses(&report.phases);
    let settling_losses = report.settling.as_ref().map_or(&[][..], |settling| &settling.affecting_losses);
    PhaseTable { total_ns: report.total_ns, rows, ..PhaseTable::default() }
        .section("")
        .lines(firmware_lines(report))
        .lines(phases::inexact_ends(&report.phases))
        .lines(phases::settling("PostBoot", report.settling.as_ref()))
        .affected_by(settling_losses, &reported_losses)
        .affected_by(&reported_losses, &[])
}

/// Returns a row for the time before the kernel, which is not part of the boot.
fn row_before_kernel(note: &str) -> PhaseRow {
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
    Some(PhaseRow {
        name: format!("{name} (before 0)"),
        duration_ns: took_ns,
        ..row_before_kernel(&time.rule.to_string())
    })
}

/// Describes the source of the stages before the kernel, and any problems with it.
fn firmware_lines(report: &BootReport) -> Vec<Line> {
    let Some(table) = &report.details.before_kernel.firmware_table else { return Vec::new() };
    let source = format!("Times before 0 are from firmware tables ({}): {}.", printable(&table.from), table.rule);
    let mut lines = vec![Line { style: QUIET, text: source }];
    lines.extend(table.disagreements.first().map(|first| Line {
        style: DOUBT,
        text: format!("The firmware tables disagree with the recording: {}.", printable(first)),
    }));
    lines.extend(table.faults.iter().map(phases::fault));
    lines
}
