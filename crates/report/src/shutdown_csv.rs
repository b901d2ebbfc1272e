//! A shutdown as comma-separated values: one row per phase, interval, session, application, service and step, by begin.

use std::io::{self, Write};

use onoff_analysis::transition::shutdown::ShutdownReport;
use onoff_analysis::units::TimeOut;

use crate::table::csv::quoted;
use crate::text::printable::printable;

/// A row, with what is not known left empty.
#[derive(Default)]
struct Row<'a> {
    kind: &'static str,
    name: &'a str,
    pid: Option<u32>,
    session: Option<u32>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    duration_ns: Option<i64>,
    time_out: Option<&'a TimeOut>,
}

/// Writes the table. Names and units are those of the JSON.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &ShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "kind,name,pid,session,start_ns,end_ns,duration_ns,time_out_ns")?;
    let mut rows = rows(report);
    rows.sort_by_key(|row| row.start_ns);
    let number = |value: Option<i64>| value.map_or_else(String::new, |value| value.to_string());
    for row in rows {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{}",
            row.kind,
            quoted(&printable(row.name)),
            number(row.pid.map(i64::from)),
            number(row.session.map(i64::from)),
            number(row.start_ns),
            number(row.end_ns),
            number(row.duration_ns),
            number(row.time_out.and_then(|time_out| time_out.limit_ns)),
        )?;
    }
    Ok(())
}

fn rows(report: &ShutdownReport) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    rows.extend(report.phases.iter().map(|phase| Row {
        kind: "phase",
        name: phase.name.as_str(),
        start_ns: phase.start_ns,
        end_ns: phase.end_ns,
        duration_ns: phase.duration_ns,
        ..Row::default()
    }));
    rows.extend(report.details.intervals.iter().map(|interval| Row {
        kind: "interval",
        name: &interval.name,
        start_ns: Some(interval.start_ns),
        end_ns: Some(interval.end_ns),
        duration_ns: Some(interval.duration_ns),
        ..Row::default()
    }));
    for session in &report.details.sessions {
        rows.push(Row {
            kind: "session",
            session: session.session,
            start_ns: Some(session.start_ns),
            end_ns: session.end_ns,
            duration_ns: session.duration_ns,
            ..Row::default()
        });
        rows.extend(session.applications.iter().map(|application| Row {
            kind: "application",
            name: &application.image,
            pid: application.pid,
            session: session.session,
            start_ns: Some(application.start_ns),
            end_ns: application.end_ns,
            duration_ns: application.duration_ns,
            time_out: application.time_outs.first(),
        }));
    }
    rows.extend(report.units.iter().map(|service| Row {
        kind: "service",
        name: &service.name,
        pid: service.pid,
        session: Some(0),
        start_ns: Some(service.start_ns),
        end_ns: service.end_ns,
        duration_ns: service.duration_ns,
        time_out: service.time_out.as_ref(),
    }));
    for (kind, works) in [
        ("script", &report.details.scripts),
        ("notification", &report.details.notifications),
        ("subscriber", &report.details.subscribers),
        ("session_step", &report.details.session_steps),
        ("kernel_step", &report.details.kernel_steps),
    ] {
        rows.extend(works.iter().map(|work| Row {
            kind,
            name: &work.name,
            pid: work.pid,
            session: work.session,
            start_ns: Some(work.start_ns),
            end_ns: work.end_ns,
            duration_ns: work.duration_ns,
            time_out: None,
        }));
    }
    rows.extend(report.details.exits.processes.iter().map(|exit| Row {
        kind: "exit",
        name: &exit.image,
        pid: Some(exit.pid),
        session: exit.session,
        start_ns: Some(exit.end_ns),
        end_ns: Some(exit.end_ns),
        ..Row::default()
    }));
    rows
}
