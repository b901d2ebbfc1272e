//! Slow units of a Linux shutdown, the critical path, and processes.

use onoff_evidence::Certainty;
use onoff_transitions::linux::shutdown::{LinuxShutdownReport, ProcessStop};
use onoff_usage::units::{Unit, UnitProcess};

use crate::text::printable::printable;
use crate::text::quantity::{counted, duration};
use crate::text::style::{DOUBT, MISSING, QUIET};
use crate::text::usage::ProcessNames;
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

/// Maximum number of processes named per unit.
const MAX_PROCESSES: usize = 3;

/// Returns the start of the shutdown, the origin of the times in the tables, in ns.
fn origin_ns(report: &LinuxShutdownReport) -> i64 {
    report.details.starts.time_ns.unwrap_or(0)
}

pub(super) fn units(report: &LinuxShutdownReport, top: usize) -> Option<Section<'_>> {
    if report.units.is_empty() {
        return None;
    }
    let origin_ns = origin_ns(report);
    let mut units: Vec<(i64, &Unit)> =
        (1..).zip(&report.units).filter(|(_, unit)| unit.duration_ns != Some(0)).collect();
    units.sort_by_key(|(_, unit)| std::cmp::Reverse(unit.duration_ns.unwrap_or(i64::MAX)));
    let stopped = counted(report.units.len() as u64, "unit");
    let note = match report.units.len().saturating_sub(units.len()) {
        0 => format!("{stopped} stopped; longest first"),
        at_once => format!("{stopped} stopped, {at_once} of them at once; longest first"),
    };
    let section = Section::builder("units", "Units", units)
        .note(note)
        .top(top)
        .name("name", "unit", 48, |row| Value::text(&row.1.name))
        .id("order", "no", |row| Value::Id(row.0).styled(QUIET))
        .time("start_ns", "requested", |row| Cell::since(row.1.start_ns, origin_ns))
        .quantity("duration_ns", "duration", |row| Cell::duration_or_dash(row.1.duration_ns))
        .quantity("limit_ns", "timeout", |row| Value::from_option(row.1.limit_ns, Value::Duration).styled(QUIET))
        .name("", "", 24, |(_, unit)| match (unit.time_out.is_some(), unit.end_ns) {
            (true, _) => Cell::text_only(MISSING, "timed out"),
            (_, None) => Cell::text_only(MISSING, "did not stop"),
            _ if !unit.result.is_empty() => Cell::text_only(DOUBT, unit.result.clone()),
            _ if unit.on_path => Cell::text_only(QUIET, "on path"),
            _ => Value::Nothing.into(),
        })
        .data("result", |row| Value::text(&row.1.result))
        .data("on_path", |row| Value::Flag(row.1.on_path))
        .name("waited_for", "waited for", 44, |row| {
            Value::text(row.1.waited_for.as_ref().map_or("", |wait| &wait.name)).styled(QUIET)
        })
        .name("", "processes", 90, |row| Cell::text_only(QUIET, processes_of(row.1)))
        .build();
    Some(section)
}

fn processes_of(unit: &Unit) -> String {
    let length = |process: &UnitProcess| {
        let start_ns = process.start_ns.unwrap_or(unit.start_ns).max(unit.start_ns);
        process.end_ns.map(|end| end.saturating_sub(start_ns).max(0))
    };
    let mut processes: Vec<&UnitProcess> = unit.processes.iter().collect();
    processes.sort_by_key(|process| std::cmp::Reverse(length(process)));
    let process_names =
        ProcessNames::new(unit.processes.iter().map(|process| (process.image.as_str(), Some(process.pid))));
    let names: Vec<String> = processes
        .into_iter()
        .take(MAX_PROCESSES)
        .map(|process| {
            let certainty_note = match process.certainty {
                Certainty::Measured => "",
                _ => " (inferred)",
            };
            let length_text = length(process).map_or_else(String::new, |ns| format!(" {}", duration(ns)));
            format!("{}{length_text}{certainty_note}", process_names.name(&process.image, Some(process.pid)))
        })
        .collect();
    names.join(", ")
}

/// Lists the critical path of stopping, backwards.
pub(super) fn path(report: &LinuxShutdownReport, top: usize) -> Option<Section<'_>> {
    let path = &report.details.path;
    let mut steps: Vec<(usize, _)> =
        path.iter().enumerate().filter(|(_, step)| step.duration_ns > 0 || step.gap_ns > 0).collect();
    if steps.is_empty() {
        return None;
    }
    let has_dependencies = path.iter().any(|step| step.certainty == Certainty::Measured);
    let note = if has_dependencies {
        "backwards; longest steps"
    } else {
        "backwards, inferred from the order of stops; longest steps"
    };
    steps.sort_by_key(|(_, step)| std::cmp::Reverse(step.duration_ns.saturating_add(step.gap_ns)));
    steps.truncate(top);
    steps.sort_by_key(|&(index, _)| index);
    let successor = |index: usize, certainty: Certainty| {
        let next = match index.checked_sub(1).and_then(|previous| path.get(previous)) {
            Some(next) => format!("then {}", printable(&next.name)),
            None => "then all units are stopped".to_owned(),
        };
        let certainty_note = if certainty == Certainty::Inferred && has_dependencies { " (inferred)" } else { "" };
        next + certainty_note
    };
    let origin_ns = origin_ns(report);
    let section = Section::builder("path", "Critical path", steps)
        .note(note)
        .name("name", "unit", 56, |row| Value::text(&row.1.name))
        .time("end_ns", "stopped at", |row| Cell::since(row.1.end_ns, origin_ns))
        .column(Heading::quantity("duration_ns", "duration").sparse(), |row| Value::Duration(row.1.duration_ns))
        .quantity("gap_ns", "gap to next", |row| Value::Duration(row.1.gap_ns))
        .name("", "", 60, |row| Cell::text_only(QUIET, successor(row.0, row.1.certainty)))
        .build();
    Some(section)
}

pub(super) fn killed(report: &LinuxShutdownReport) -> Option<Section<'_>> {
    let origin_ns = origin_ns(report);
    Section::builder("killed", "Killed processes", &report.details.killed)
        .note("after the timeout")
        .name("image", "process", 30, |process| {
            let name = if process.image.is_empty() { &process.name } else { &process.image };
            Cell::with_display_text(Value::text(&process.image), name.as_str())
        })
        .id("pid", "pid", |process| Value::id(process.pid))
        .time("time_ns", "time", |process| Cell::since(process.time_ns, origin_ns))
        .name("unit", "unit", 48, |process| Value::text(&process.name))
        .build_if_any()
}

pub(super) fn processes(report: &LinuxShutdownReport, top: usize) -> Option<Section<'_>> {
    let processes = &report.details.processes;
    if processes.is_empty() {
        return None;
    }
    let number = counted(processes.len() as u64, "process");
    let origin_ns = origin_ns(report);
    Section::builder("processes", "Processes", processes)
        .note(format!("{number} signaled to exit; longest first"))
        .top(top)
        .name("image", "process", 30, |process| Value::text(&process.image))
        .id("pid", "pid", |process| Value::Id(process.pid.into()))
        .name("signal", "signal", 10, |process| Value::Text(signal(process).into()).styled(QUIET))
        .time("signaled_ns", "signaled", |process| Cell::since(process.signaled_ns, origin_ns))
        .quantity("duration_ns", "duration", |process| Cell::duration_or_dash(process.duration_ns))
        .data("killed", |process| Value::Flag(process.killed))
        .name("", "", 20, |process| match (process.killed, process.end_ns) {
            (true, _) => Cell::text_only(MISSING, "killed"),
            (_, None) => Cell::text_only(DOUBT, "end not recorded"),
            _ => Value::Nothing.into(),
        })
        .name("unit", "unit", 48, |process| Value::text(&process.unit))
        .build_if_any()
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
