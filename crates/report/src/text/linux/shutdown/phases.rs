//! The phases on one axis, and what set their begins.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::transition::linux::shutdown::{LinuxShutdownPhase, LinuxShutdownPhaseName, LinuxShutdownReport};

use crate::text::bar::Axis;
use crate::text::printable::printable;
use crate::text::quantity::{duration, duration_or_dash, percent, share};
use crate::text::section::title;
use crate::text::style::{BAR, DOUBT, MISSING, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

/// Characters of the axis.
const AXIS_CELLS: usize = 32;

/// A phase in words.
pub(super) const fn words_of(name: LinuxShutdownPhaseName) -> &'static str {
    match name {
        LinuxShutdownPhaseName::StopUnits => "stop units",
        LinuxShutdownPhaseName::Sync => "last program starts, sync",
        LinuxShutdownPhaseName::TerminateRemaining => "SIGTERM to what still runs",
        LinuxShutdownPhaseName::KillRemaining => "SIGKILL to what still runs",
        LinuxShutdownPhaseName::Unmount => "unmount",
        LinuxShutdownPhaseName::Hooks => "shutdown hooks",
        LinuxShutdownPhaseName::Kernel => "kernel",
    }
}

/// A phase in words, for a sentence.
pub(super) fn words(name: LinuxShutdownPhaseName) -> String {
    match name {
        LinuxShutdownPhaseName::Sync => "sync".to_owned(),
        LinuxShutdownPhaseName::TerminateRemaining => "SIGTERM".to_owned(),
        LinuxShutdownPhaseName::KillRemaining => "SIGKILL".to_owned(),
        name => words_of(name).to_owned(),
    }
}

pub(super) fn write(report: &LinuxShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    let start = report.starts.time_ns.unwrap_or(0);
    let whole = report.total_at_least_ns;
    let end = start.saturating_add(whole);
    let axis = Axis::new(start, end, AXIS_CELLS);
    let note = format!("times count from the begin of the shutdown, {} of the recording", exact(start));
    title("Phases", &note, out)?;
    let mut table = Table::new()
        .left("phase", 28)
        .right("begins")
        .right("took")
        .right("share")
        .left("", AXIS_CELLS)
        .left("begins with", 150);
    let longest = report.phases.iter().map(|phase| phase.recorded_ns).max();
    for phase in &report.phases {
        let is_longest = phase.recorded_ns > 0 && Some(phase.recorded_ns) == longest;
        let style = if is_longest { WORST } else { anstyle::Style::new() };
        let (rule_style, rule) = begins_with(phase);
        table.row([
            styled_cell(style, words_of(phase.name)),
            cell(duration_or_dash(phase.start_ns.map(|ns| since(report, ns)))),
            styled_cell(style, took(phase)),
            cell(if phase.recorded_ns > 0 { percent(share(phase.recorded_ns, whole)) } else { String::new() }),
            styled_cell(
                BAR,
                phase.start_ns.map_or_else(String::new, |start| axis.bar(start, phase.end_ns.unwrap_or(end))),
            ),
            styled_cell(rule_style, rule),
        ]);
    }
    table.write(out)
}

/// A time as seen from the begin of the shutdown, ns.
pub(super) fn since(report: &LinuxShutdownReport, time_ns: i64) -> i64 {
    time_ns.saturating_sub(report.starts.time_ns.unwrap_or(0))
}

fn took(phase: &LinuxShutdownPhase) -> String {
    match (phase.duration_ns, phase.start_ns) {
        (Some(length), _) => duration(length),
        (None, Some(_)) => format!("≥ {}", duration(phase.recorded_ns)),
        (None, None) => "-".to_owned(),
    }
}

fn begins_with(phase: &LinuxShutdownPhase) -> (anstyle::Style, String) {
    let rule = printable(&phase.starts.rule);
    match phase.starts.certainty {
        Certainty::Measured if phase.end_ns.is_none() => (DOUBT, format!("{rule}; the recording stops in it")),
        Certainty::Measured => (QUIET, rule.into_owned()),
        Certainty::Inferred => (DOUBT, format!("inferred: {rule}")),
        Certainty::Missing => (MISSING, "not in the recording".to_owned()),
    }
}

/// A time of the recording to the microsecond, so that other reports can be asked about it.
fn exact(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let us = ns.unsigned_abs() / 1_000;
    format!("{sign}{}.{:06} s", us / 1_000_000, us % 1_000_000)
}
