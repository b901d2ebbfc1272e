//! Units that took long to stop, who waited for whom, and processes.

use onoff_evidence::Certainty;
use onoff_transitions::linux::shutdown::{LinuxShutdownReport, ProcessStop};
use onoff_usage::units::{Unit, UnitProcess};

use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration};
use crate::text::style::{DOUBT, MISSING, QUIET};
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

/// Processes named with a unit.
const PROCESSES: usize = 3;

/// What times count from, ns.
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
    let section = Section::of("units", "Units", units)
        .note(format!("{} stopped; longest first", counted(report.units.len() as u64, "unit")))
        .top(top)
        .name("name", "unit", 48, |row| Value::text(&row.1.name))
        .id("order", "no", |row| Value::Id(row.0).styled(QUIET))
        .time("start_ns", "requested", |row| Cell::since(row.1.start_ns, origin_ns))
        .quantity("duration_ns", "took", |row| Cell::duration_or_dash(row.1.duration_ns))
        .quantity("limit_ns", "time-out", |row| Value::of(row.1.limit_ns, Value::Duration).styled(QUIET))
        .name("", "", 24, |(_, unit)| match (unit.time_out.is_some(), unit.end_ns) {
            (true, _) => Cell::words(MISSING, "time was up"),
            (_, None) => Cell::words(MISSING, "did not stop"),
            _ if !unit.result.is_empty() => Cell::words(DOUBT, unit.result.clone()),
            _ if unit.on_path => Cell::words(QUIET, "waited for"),
            _ => Value::Nothing.into(),
        })
        .data("result", |row| Value::text(&row.1.result))
        .data("on_path", |row| Value::Flag(row.1.on_path))
        .name("waited_for", "waited for", 44, |row| {
            Value::text(row.1.waited_for.as_ref().map_or("", |wait| &wait.name)).styled(QUIET)
        })
        .name("", "processes", 90, |row| Cell::words(QUIET, processes_of(row.1)))
        .done();
    Some(section)
}

fn processes_of(unit: &Unit) -> String {
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
pub(super) fn path(report: &LinuxShutdownReport, top: usize) -> Option<Section<'_>> {
    let path = &report.details.path;
    let mut steps: Vec<(usize, _)> =
        path.iter().enumerate().filter(|(_, step)| step.duration_ns > 0 || step.gap_ns > 0).collect();
    if steps.is_empty() {
        return None;
    }
    let declared = path.iter().any(|step| step.certainty == Certainty::Measured);
    let note = if declared {
        "from the end of stopping back; steps that took most"
    } else {
        "from the end of stopping back, inferred from the order of stops; steps that took most"
    };
    steps.sort_by_key(|(_, step)| std::cmp::Reverse(step.duration_ns.saturating_add(step.gap_ns)));
    steps.truncate(top);
    steps.sort_by_key(|&(at, _)| at);
    let then = |at: usize, certainty: Certainty| {
        let next = match at.checked_sub(1).and_then(|before| path.get(before)) {
            Some(next) => format!("then {}", printable(&next.name)),
            None => "then units are stopped".to_owned(),
        };
        let doubt = if certainty == Certainty::Inferred && declared { " (inferred)" } else { "" };
        next + doubt
    };
    let origin_ns = origin_ns(report);
    let section = Section::of("path", "Who waited for whom", steps)
        .note(note)
        .name("name", "unit", 56, |row| Value::text(&row.1.name))
        .time("end_ns", "stopped after", |row| Cell::since(row.1.end_ns, origin_ns))
        .column(Heading::quantity("duration_ns", "took").sparse(), |row| Value::Duration(row.1.duration_ns))
        .quantity("gap_ns", "until the next was requested", |row| Value::Duration(row.1.gap_ns))
        .name("", "", 60, |row| Cell::words(QUIET, then(row.0, row.1.certainty)))
        .done();
    Some(section)
}

pub(super) fn killed(report: &LinuxShutdownReport) -> Option<Section<'_>> {
    let origin_ns = origin_ns(report);
    Section::of("killed", "Ended by force", &report.details.killed)
        .note("after their time was up")
        .name("image", "process", 30, |process| {
            let name = if process.image.is_empty() { &process.name } else { &process.image };
            Cell::shown(Value::text(&process.image), name.as_str())
        })
        .id("pid", "pid", |process| Value::id(process.pid))
        .time("time_ns", "after", |process| Cell::since(process.time_ns, origin_ns))
        .name("unit", "unit", 48, |process| Value::text(&process.name))
        .if_any()
}

pub(super) fn processes(report: &LinuxShutdownReport, top: usize) -> Option<Section<'_>> {
    let processes = &report.details.processes;
    let number = match processes.len() {
        0 => return None,
        1 => "1 process".to_owned(),
        many => format!("{} processes", count(many as u64)),
    };
    let origin_ns = origin_ns(report);
    Section::of("processes", "Processes", processes)
        .note(format!("{number} requested to end by a signal; longest first"))
        .top(top)
        .name("image", "process", 30, |process| Value::text(&process.image))
        .id("pid", "pid", |process| Value::Id(process.pid.into()))
        .name("signal", "signal", 10, |process| Value::Text(signal(process).into()).styled(QUIET))
        .time("asked_ns", "requested", |process| Cell::since(process.asked_ns, origin_ns))
        .quantity("duration_ns", "took", |process| Cell::duration_or_dash(process.duration_ns))
        .data("killed", |process| Value::Flag(process.killed))
        .name("", "", 20, |process| match (process.killed, process.end_ns) {
            (true, _) => Cell::words(MISSING, "ended by force"),
            (_, None) => Cell::words(DOUBT, "end not recorded"),
            _ => Value::Nothing.into(),
        })
        .name("unit", "unit", 48, |process| Value::text(&process.unit))
        .if_any()
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
