//! The phases of a Linux boot on one axis.

use onoff_transitions::PhaseName;
use onoff_transitions::linux::boot::LinuxBootReport;

use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Line, Section};

/// Firmware and loader times from two sources disagree if they differ by more than this, in ns: 100 ms.
const NOTABLE_DIFFERENCE_NS: u64 = 100_000_000;

pub(super) fn section(report: &LinuxBootReport) -> Section<'_> {
    // A boot without an initramfs gets no row for it.
    let is_shown = |name| !matches!(name, PhaseName::Initrd | PhaseName::TraceTail);
    let shown_phases = report.phases.iter().filter(|phase| is_shown(phase.name) || phase.start_ns.is_some());
    let rows = shown_phases
        .map(|phase| match phase.name {
            PhaseName::PostBoot => {
                let row = PhaseRow::from_phase(phase).with_settling(report.settling.as_ref());
                PhaseRow { is_part_of_total: report.total_ns.is_some(), ..row }
            }
            _ => PhaseRow::from_phase(phase),
        })
        .collect();
    let settling = report.settling.as_ref().filter(|settling| !settling.slices.is_empty());
    PhaseTable { total_ns: report.total_ns.or(report.details.startup_ns), rows, ..PhaseTable::default() }
        .section("")
        .line_if(QUIET, initramfs(report))
        .line_if(QUIET, manager(report))
        .lines(firmware(report))
        .lines(phases::settling("PostBoot", settling))
        .affected_by(&phases::affecting_losses(&report.phases), &[])
}

fn initramfs(report: &LinuxBootReport) -> Option<String> {
    let interval = report.details.initial_file_system.as_ref()?;
    let (start, took) = interval.start_ns.zip(interval.duration_ns)?;
    Some(format!(
        "The initramfs took the last {} of the kernel phase (from {}) and ran without systemd.",
        duration(took),
        duration(start)
    ))
}

fn manager(report: &LinuxBootReport) -> Option<String> {
    let manager = &report.details.manager;
    let total_ns = manager.whole.duration_ns?;
    let parts: Vec<String> = [("generators", &manager.generators), ("loading units", &manager.units_load)]
        .into_iter()
        .filter_map(|(name, interval)| Some(format!("{name} {}", duration(interval.duration_ns?))))
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    Some(format!("systemd needed {} before the first unit{parts}.", duration(total_ns)))
}

/// Reports whether the firmware table agrees with systemd's times. The stages of the table are on the axis.
fn firmware(report: &LinuxBootReport) -> Vec<Line> {
    let Some(table) = &report.details.firmware_table else { return Vec::new() };
    let difference = report.details.firmware_table_difference_ns.map(|difference| {
        let agree = difference.unsigned_abs() <= NOTABLE_DIFFERENCE_NS;
        let text = format!(
            "The times in the firmware table ({}) end {} {} those from systemd: they {}.",
            printable(&table.from),
            duration(difference.saturating_abs()),
            if difference < 0 { "before" } else { "after" },
            if agree { "agree" } else { "disagree" }
        );
        Line { style: if agree { QUIET } else { DOUBT }, text }
    });
    difference.into_iter().chain(table.faults.iter().map(phases::fault)).collect()
}
