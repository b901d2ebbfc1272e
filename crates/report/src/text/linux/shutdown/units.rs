//! Units that took long to stop, who waited for whom, and processes.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::transition::linux::shutdown::{LinuxShutdownReport, ProcessStop};
use onoff_analysis::units::{Unit, UnitProcess};

use super::phases::since;
use crate::text::printable::printable;
use crate::text::quantity::{counted, duration, duration_or_dash};
use crate::text::section::title;
use crate::text::style::{DOUBT, MISSING, QUIET};
use crate::text::table::{Table, cell, styled_cell};

/// Processes named beside a unit.
const PROCESSES: usize = 3;

pub(super) fn write_units(report: &LinuxShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.units.is_empty() {
        return Ok(());
    }
    let note = format!("{} stopped; longest first", counted(report.units.len() as u64, "unit"));
    title("Units", &note, out)?;
    let mut units: Vec<(usize, &Unit)> =
        (1..).zip(&report.units).filter(|(_, unit)| unit.duration_ns != Some(0)).collect();
    units.sort_by_key(|(_, unit)| std::cmp::Reverse(unit.duration_ns.unwrap_or(i64::MAX)));
    let mut table = Table::new()
        .left("unit", 48)
        .right("no")
        .right("asked")
        .right("took")
        .right("time-out")
        .left("", 24)
        .left("waited for", 40)
        .left("processes", 90);
    for (order, unit) in units.into_iter().take(top) {
        let (style, mark) = match (unit.time_out.is_some(), unit.end_ns) {
            (true, _) => (MISSING, "time was up".to_owned()),
            (_, None) => (MISSING, "did not stop".to_owned()),
            _ if !unit.result.is_empty() => (DOUBT, printable(&unit.result).into_owned()),
            _ if unit.on_path => (QUIET, "waited for".to_owned()),
            _ => (QUIET, String::new()),
        };
        table.row([
            cell(printable(&unit.name)),
            styled_cell(QUIET, order.to_string()),
            cell(duration(since(report, unit.start_ns))),
            cell(duration_or_dash(unit.duration_ns)),
            styled_cell(QUIET, unit.limit_ns.map_or_else(String::new, duration)),
            styled_cell(style, mark),
            styled_cell(
                QUIET,
                unit.waited_for.as_ref().map_or_else(String::new, |wait| printable(&wait.name).into_owned()),
            ),
            styled_cell(QUIET, processes(unit)),
        ]);
    }
    table.write(out)
}

fn processes(unit: &Unit) -> String {
    let length = |process: &UnitProcess| {
        let from = process.start_ns.unwrap_or(unit.start_ns).max(unit.start_ns);
        process.end_ns.map(|end| end.saturating_sub(from).max(0))
    };
    let mut processes: Vec<&UnitProcess> = unit.processes.iter().collect();
    processes.sort_by_key(|process| std::cmp::Reverse(length(process)));
    let names: Vec<String> = processes
        .into_iter()
        .take(PROCESSES)
        .map(|process| {
            let doubt = match process.certainty {
                Certainty::Measured => "",
                _ => " (inferred)",
            };
            let took = length(process).map_or_else(String::new, |ns| format!(" {}", duration(ns)));
            format!("{} ({}){took}{doubt}", printable(&process.image), process.pid)
        })
        .collect();
    names.join(", ")
}

/// Who waited for whom, back from the end of stopping.
pub(super) fn write_path(report: &LinuxShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut steps: Vec<(usize, _)> =
        report.details.path.iter().enumerate().filter(|(_, step)| step.duration_ns > 0 || step.gap_ns > 0).collect();
    if steps.is_empty() {
        return Ok(());
    }
    let declared = report.details.path.iter().any(|step| step.certainty == Certainty::Measured);
    let note = if declared {
        "from the end of stopping back; steps that took most"
    } else {
        "from the end of stopping back, inferred from the order of stops; steps that took most"
    };
    title("Who waited for whom", note, out)?;
    steps.sort_by_key(|(_, step)| std::cmp::Reverse(step.duration_ns.saturating_add(step.gap_ns)));
    steps.truncate(top);
    steps.sort_by_key(|&(at, _)| at);
    let mut table = Table::new()
        .left("unit", 56)
        .right("stopped after")
        .right("took")
        .right("until the next was asked")
        .left("", 60);
    for (at, step) in steps {
        let next = at
            .checked_sub(1)
            .and_then(|before| report.details.path.get(before))
            .map_or_else(|| "then units are stopped".to_owned(), |next| format!("then {}", printable(&next.name)));
        let doubt = match (step.certainty, declared) {
            (Certainty::Inferred, true) => " (inferred)",
            _ => "",
        };
        table.row([
            cell(printable(&step.name)),
            cell(duration(since(report, step.end_ns))),
            cell(if step.duration_ns > 0 { duration(step.duration_ns) } else { String::new() }),
            cell(duration(step.gap_ns)),
            styled_cell(QUIET, format!("{next}{doubt}")),
        ]);
    }
    table.write(out)
}

pub(super) fn write_killed(report: &LinuxShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    if report.details.killed.is_empty() {
        return Ok(());
    }
    title("Ended by force", "after their time was up", out)?;
    let mut table = Table::new().left("process", 30).right("pid").right("after").left("unit", 48);
    for process in &report.details.killed {
        table.row([
            cell(printable(match process.image.as_str() {
                "" => &process.name,
                image => image,
            })),
            cell(process.pid.map_or_else(String::new, |pid| pid.to_string())),
            cell(duration(since(report, process.time_ns))),
            cell(printable(&process.name)),
        ]);
    }
    table.write(out)
}

pub(super) fn write_processes(report: &LinuxShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.details.processes.is_empty() {
        return Ok(());
    }
    let note = format!(
        "{} asked to end by a signal; longest first",
        counted(report.details.processes.len() as u64, "process").replace("processs", "processes")
    );
    title("Processes", &note, out)?;
    let mut table = Table::new()
        .left("process", 30)
        .right("pid")
        .left("signal", 10)
        .right("asked")
        .right("took")
        .left("", 20)
        .left("unit", 48);
    for process in report.details.processes.iter().take(top) {
        let (style, mark) = match (process.killed, process.end_ns) {
            (true, _) => (MISSING, "ended by force"),
            (_, None) => (DOUBT, "end not recorded"),
            _ => (QUIET, ""),
        };
        table.row([
            cell(printable(&process.image)),
            cell(process.pid.to_string()),
            styled_cell(QUIET, signal(process)),
            cell(duration(since(report, process.asked_ns))),
            cell(duration_or_dash(process.duration_ns)),
            styled_cell(style, mark),
            cell(printable(&process.unit)),
        ]);
    }
    table.write(out)
}

fn signal(process: &ProcessStop) -> String {
    match process.signal {
        Some(1) => "SIGHUP".to_owned(),
        Some(2) => "SIGINT".to_owned(),
        Some(3) => "SIGQUIT".to_owned(),
        Some(6) => "SIGABRT".to_owned(),
        Some(9) => "SIGKILL".to_owned(),
        Some(15) => "SIGTERM".to_owned(),
        Some(number) => format!("signal {number}"),
        None => String::new(),
    }
}
