//! The phases of a shutdown, and the time between them.

use onoff_evidence::activity::NamedActivity;
use onoff_trace::ActivityKind;
use onoff_trace::duration::ExactTime;
use onoff_transitions::Variant;
use onoff_transitions::shutdown::{ShutdownInterval, ShutdownReport};

use super::work::words;
use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::QUIET;
use onoff_sections::section::{Line, Section};

pub(super) fn section(report: &ShutdownReport) -> Section<'_> {
    let start_ns = report.details.starts.time_ns;
    let first_phase_ns = || report.phases.iter().filter_map(|phase| phase.start_ns).min();
    let origin_ns = start_ns.or_else(first_phase_ns).unwrap_or(0);
    let origin = if start_ns.is_some() { "the start of the shutdown" } else { "the first record of the shutdown" };
    let note = format!("times are relative to {origin}, {} into the recording", ExactTime(origin_ns));
    let is_partial = matches!(report.variant, Variant::FastStartup | Variant::Logoff);
    let mut rows: Vec<(i64, PhaseRow)> = report
        .phases
        .iter()
        .map(|phase| {
            let row = PhaseRow::from_phase(phase);
            // A logoff has no kernel phase: nothing is missing from the recording.
            let is_expected = is_partial && phase.start_ns.is_none();
            let note =
                if is_expected { (QUIET, printable(&phase.ends.rule.to_string()).into_owned()) } else { row.note };
            (phase.start_ns.unwrap_or(i64::MAX), PhaseRow { note, ..row })
        })
        .collect();
    let gap_row = |row: &ShutdownInterval| (row.start_ns, PhaseRow::gap(row.start_ns, row.end_ns, work_names(row)));
    rows.extend(report.details.intervals.iter().map(gap_row));
    rows.sort_by_key(|row| row.0);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    PhaseTable { origin_ns, total_ns: Some(report.total_at_least_ns), rows, ..PhaseTable::default() }
        .section(note)
        .lines(difference(report))
        .affected_by(&phases::affecting_losses(&report.phases), &[])
}

/// Lists the work between two phases.
fn work_names(interval: &ShutdownInterval) -> String {
    let work_name = |work: &NamedActivity| match work.kind {
        // The name of a notification is its number.
        ActivityKind::LogonNotification => format!("notification {}", work.name),
        ActivityKind::GroupPolicyScript => format!("{} script", words(&work.name)),
        _ => words(&work.name),
    };
    let names: Vec<String> = interval
        .work
        .iter()
        .filter_map(|work| Some((work_name(work), work.duration_ns?)))
        .map(|(name, length)| format!("{} {}", printable(&name), duration(length)))
        .collect();
    names.join(", ")
}

/// Returns the kernel time by subtraction, as usually computed from xperf output, if it was not measured.
fn difference(report: &ShutdownReport) -> Option<Line> {
    let difference = &report.details.difference;
    let measured = difference.ended && report.phases.iter().all(|phase| phase.duration_ns.is_some());
    let is_logged = !report.details.channels.is_empty();
    if measured || is_logged || matches!(report.variant, Variant::FastStartup | Variant::Logoff) {
        return None;
    }
    let bound = if difference.ended { "" } else { "at least " };
    let text = format!(
        "Kernel time by subtraction, as usually computed from xperf output: {} total − {} sessions = {bound}{}.",
        duration(difference.shutdown_ns),
        duration(difference.sessions_ns),
        duration(difference.kernel_ns),
    );
    Some(Line { style: QUIET, text })
}
