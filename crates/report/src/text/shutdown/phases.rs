//! The phases on one axis, what lies between them, and what set their ends.

use std::io::{self, Write};

use onoff_analysis::transition::shutdown::{ShutdownKind, ShutdownPhase, ShutdownReport};
use onoff_analysis::{Boundary, Certainty};

use super::work::words;
use crate::text::bar::Axis;
use crate::text::losses;
use crate::text::printable::printable;
use crate::text::quantity::{duration, duration_or_dash, percent, share};
use crate::text::section::title;
use crate::text::style::{BAR, DOUBT, MISSING, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

/// Characters of the axis.
const AXIS_CELLS: usize = 32;

pub(super) fn write(report: &ShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    let start = report.starts.time_ns.unwrap_or(0);
    let end = start.saturating_add(report.total_at_least_ns);
    let whole = report.total_at_least_ns;
    let axis = Axis::new(start, end, AXIS_CELLS);
    let note = format!("times count from the begin of the shutdown, {} of the recording", exact(start));
    title("Phases", &note, out)?;
    let mut table = Table::new()
        .left("phase", 28)
        .right("begins")
        .right("ends")
        .right("took")
        .right("share")
        .left("", AXIS_CELLS)
        .left("ended by", 150);
    let longest = report.phases.iter().map(|phase| phase.recorded_ns).max();
    let mut rows: Vec<(i64, Row<'_>)> =
        report.phases.iter().map(|phase| (phase.start_ns.unwrap_or(i64::MAX), Row::Phase(phase))).collect();
    rows.extend(report.intervals.iter().map(|interval| (interval.start_ns, Row::Between(interval))));
    rows.sort_by_key(|row| row.0);
    for (_, row) in rows {
        match row {
            Row::Phase(phase) => {
                let is_longest = phase.recorded_ns > 0 && Some(phase.recorded_ns) == longest;
                let style = if is_longest { WORST } else { anstyle::Style::new() };
                let until = phase.end_ns.unwrap_or(end);
                let (rule_style, rule) = ended_by(report, phase);
                table.row([
                    styled_cell(style, phase.name.as_str()),
                    cell(duration_or_dash(phase.start_ns.map(|ns| since(report, ns)))),
                    cell(duration_or_dash(phase.end_ns.map(|ns| since(report, ns)))),
                    styled_cell(style, took(phase)),
                    cell(some_share(phase.recorded_ns, whole)),
                    styled_cell(BAR, phase.start_ns.map_or_else(String::new, |start| axis.bar(start, until))),
                    styled_cell(rule_style, rule),
                ]);
            }
            Row::Between(interval) => table.row([
                styled_cell(QUIET, "  between"),
                cell(duration(since(report, interval.start_ns))),
                cell(duration(since(report, interval.end_ns))),
                cell(duration(interval.duration_ns)),
                cell(some_share(interval.duration_ns, whole)),
                styled_cell(QUIET, axis.bar(interval.start_ns, interval.end_ns)),
                styled_cell(QUIET, works(interval)),
            ]),
        }
    }
    table.write(out)?;
    write_difference(report, out)?;
    losses::write_touching(&touched_by(report), out)
}

/// A time as seen from the begin of the shutdown, ns.
pub(super) fn since(report: &ShutdownReport, time_ns: i64) -> i64 {
    time_ns.saturating_sub(report.starts.time_ns.unwrap_or(0))
}

/// A time of the recording to the microsecond, so that other reports can be asked about it.
fn exact(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let us = ns.unsigned_abs() / 1_000;
    format!("{sign}{}.{:06} s", us / 1_000_000, us % 1_000_000)
}

enum Row<'a> {
    Phase(&'a ShutdownPhase),
    Between(&'a onoff_analysis::transition::shutdown::ShutdownInterval),
}

/// Names of the losses that touch any phase, each once.
pub(super) fn touched_by(report: &ShutdownReport) -> Vec<String> {
    report.phases.first().map(|phase| phase.touched_by.clone()).unwrap_or_default()
}

fn some_share(part: i64, whole: i64) -> String {
    if part > 0 { percent(share(part, whole)) } else { String::new() }
}

fn took(phase: &ShutdownPhase) -> String {
    match (phase.duration_ns, phase.start_ns) {
        (Some(length), _) => duration(length),
        (None, Some(_)) => format!("≥ {}", duration(phase.recorded_ns)),
        (None, None) => "-".to_owned(),
    }
}

fn ended_by(report: &ShutdownReport, phase: &ShutdownPhase) -> (anstyle::Style, String) {
    let told = |boundary: &Boundary| printable(&boundary.rule).into_owned();
    let begin = match (phase.start_ns, phase.starts.certainty) {
        (Some(_), Certainty::Inferred) => format!("; begin inferred: {}", told(&phase.starts)),
        _ => String::new(),
    };
    match phase.ends.certainty {
        Certainty::Measured => (QUIET, told(&phase.ends) + &begin),
        Certainty::Inferred => (DOUBT, format!("inferred: {}{begin}", told(&phase.ends))),
        Certainty::Missing => match (phase.start_ns, report.kind) {
            (None, ShutdownKind::FastStartup | ShutdownKind::Logoff) => (QUIET, told(&phase.ends)),
            (None, _) => (MISSING, "not found".to_owned()),
            _ => (MISSING, format!("the recording stops here{begin}")),
        },
    }
}

/// What was under way between two phases.
fn works(interval: &onoff_analysis::transition::shutdown::ShutdownInterval) -> String {
    let names: Vec<String> = interval
        .work
        .iter()
        .filter_map(|work| Some((words(&work.name), work.duration_ns?)))
        .map(|(name, length)| format!("{} {}", printable(&name), duration(length)))
        .collect();
    names.join(", ")
}

/// The kernel's part as xperf's readers work it out, where it was not measured.
fn write_difference(report: &ShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    let difference = &report.difference;
    if difference.ended && report.phases.iter().all(|phase| phase.duration_ns.is_some()) {
        return Ok(());
    }
    if matches!(report.kind, ShutdownKind::FastStartup | ShutdownKind::Logoff) {
        return Ok(());
    }
    let bound = if difference.ended { "" } else { "at least " };
    writeln!(
        out,
        "  {QUIET}The kernel's part by subtraction, as xperf's readers work it out: {} - {} of all sessions = {bound}{}.{QUIET:#}",
        duration(difference.shutdown_ns),
        duration(difference.sessions_ns),
        duration(difference.kernel_ns),
    )
}
