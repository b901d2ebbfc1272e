//! Applications and services, the slowest first.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::transition::shutdown::{ApplicationEnd, ProgramKind, SessionEnd, ShutdownReport};

use super::phases::since;
use crate::text::phases::touched_by;
use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration, duration_or_dash};
use crate::text::section::{title, write_news};
use crate::text::style::{DOUBT, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};
use crate::text::usage::process_name;
use onoff_analysis::units::{ServiceNotification, TimeOut, TimeOutKind, Unit};

pub(super) fn write_applications(report: &ShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    for session in &report.details.sessions {
        write_session(report, session, top, out)?;
    }
    if !report.details.sessions.is_empty() {
        write_news(&touched_by(&report.phases), &report.details.sessions_touched_by, out)?;
    }
    Ok(())
}

fn write_session(report: &ShutdownReport, session: &SessionEnd, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let name = match session.session {
        Some(0) => "Session 0 (the system's)".to_owned(),
        Some(number) => format!("Session {number}"),
        None => "A session of unknown number".to_owned(),
    };
    let length = match (session.duration_ns, session.other_ns) {
        (Some(length), Some(other)) => {
            format!("{}, of which nobody was asked for {}; ", duration(length), duration(other))
        }
        _ => "it did not end in the recording; ".to_owned(),
    };
    let note = format!("{length}slowest of {}", counted(session.applications.len() as u64, "application"));
    title(&name, &note, out)?;
    let mut applications: Vec<&ApplicationEnd> = session.applications.iter().collect();
    applications.sort_by_key(|row| (std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)), row.start_ns));
    let mut table = Table::new()
        .left("application", 40)
        .right("took")
        .right("told")
        .right("process ends")
        .right("level")
        .right("flags")
        .left("", 90);
    for row in applications.into_iter().take(top) {
        let took = match row.duration_ns {
            Some(length) if row.time_outs.is_empty() => cell(duration(length)),
            Some(length) => styled_cell(WORST, duration(length)),
            None => styled_cell(DOUBT, "unfinished"),
        };
        table.row([
            cell(process_name(&row.image, row.pid)),
            took,
            cell(duration(since(report, row.start_ns))),
            cell(duration_or_dash(row.process_end_ns.map(|ns| since(report, ns)))),
            cell(row.level.map_or_else(String::new, |level| level.to_string())),
            cell(row.flags.map_or_else(String::new, |flags| format!("{flags:#x}"))),
            styled_cell(QUIET, remarks(row)),
        ]);
    }
    table.write(out)
}

fn remarks(row: &ApplicationEnd) -> String {
    let mut parts = Vec::new();
    if row.program == ProgramKind::Console {
        parts.push("console".to_owned());
    }
    parts.extend(row.time_outs.iter().map(time_out));
    if row.terminated {
        parts.push("terminated".to_owned());
    }
    parts.join("; ")
}

fn time_out(row: &TimeOut) -> String {
    let what = match row.kind {
        TimeOutKind::Window => "window's time-out",
        TimeOutKind::Console => "console's time-out",
        TimeOutKind::Application => "time-out",
        TimeOutKind::Forced => "forced, time-out",
        TimeOutKind::Service => "service's time-out",
    };
    let limit = duration_or_dash(row.limit_ns);
    match row.certainty {
        Certainty::Measured => format!("{what} of {limit}"),
        _ => format!("{what} of {limit} (inferred)"),
    }
}

pub(super) fn write_services(report: &ShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let services: Vec<&Unit> =
        report.units.iter().filter(|service| service.notification != ServiceNotification::Earlier).collect();
    if services.is_empty() {
        return Ok(());
    }
    let unresponsive = services.iter().filter(|row| row.time_out.is_some()).count() as u64;
    let mut note = format!("slowest of {}", counted(services.len() as u64, "service"));
    if let Some(length) = report.details.pre_shutdown.duration_ns {
        note += &format!("; before all others {}", duration(length));
    }
    if let Some(length) = report.details.service_shutdown.duration_ns {
        note += &format!("; then side by side {}", duration(length));
    }
    title("Services", &note, out)?;
    // What did not stop comes before all that did.
    let mut rows = services;
    rows.sort_by_key(|row| {
        (row.time_out.is_none(), std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)), row.start_ns)
    });
    let mut table = Table::new()
        .left("service", 32)
        .right("took")
        .right("told")
        .right("answered in")
        .left("", 12)
        .left("host", 40)
        .left("", 90);
    for row in rows.into_iter().take(top.max(usize::try_from(unresponsive).unwrap_or(top))) {
        let took = match row.duration_ns {
            Some(length) if row.time_out.is_some() => styled_cell(WORST, duration(length)),
            Some(length) => cell(duration(length)),
            None => styled_cell(WORST, "did not stop"),
        };
        let answered = row.checkpoint_ns.map(|pending| pending.saturating_sub(row.start_ns));
        table.row([
            cell(&*row.name),
            took,
            cell(duration(since(report, row.start_ns))),
            cell(duration_or_dash(answered)),
            styled_cell(
                QUIET,
                match row.notification {
                    ServiceNotification::PreShutdown => "before all",
                    _ => "",
                },
            ),
            cell(process_name(&row.image, row.pid)),
            styled_cell(
                QUIET,
                row.time_out
                    .as_ref()
                    .map_or_else(String::new, |limit| format!("{}: {}", time_out(limit), printable(&limit.evidence))),
            ),
        ]);
    }
    table.write(out)?;
    if unresponsive > 0 {
        let limit = &report.details.service_time_out;
        let length = match limit.limit_ns {
            Some(ns) => format!("the time-out taken is {} ({})", duration(ns), limit.rule),
            None => format!("the time-out is not known: {}", limit.rule),
        };
        writeln!(
            out,
            "  {QUIET}{} did not stop in time; {}. '--service-timeout' sets another.{QUIET:#}",
            match unresponsive {
                1 => "1 service".to_owned(),
                many => format!("{} services", count(many)),
            },
            printable(&length),
        )?;
    }
    write_news(&touched_by(&report.phases), &report.details.units_touched_by, out)
}
