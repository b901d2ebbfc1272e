//! Applications and services of a shutdown, slowest first.

use onoff_evidence::Certainty;
use onoff_transitions::shutdown::{ApplicationEnd, ProgramKind, SessionEnd, ShutdownReport};
use onoff_usage::units::{ServiceNotification, TimeOut, TimeOutKind, Unit};

use crate::text::printable::printable;
use crate::text::quantity::{counted, duration, duration_or_dash};
use crate::text::style::{QUIET, WORST};
use crate::text::usage::ProcessNames;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Builds one section per session.
pub(super) fn applications<'a>(report: &'a ShutdownReport, top: usize, reported_losses: &[String]) -> Vec<Section<'a>> {
    let sessions = report.details.sessions.iter();
    let mut sections: Vec<Section<'_>> = sessions.map(|session| session_section(report, session, top)).collect();
    if let Some(last) = sections.pop() {
        sections.push(last.affected_by(&report.details.losses_affecting_sessions, reported_losses));
    }
    sections
}

fn session_section<'a>(report: &'a ShutdownReport, session: &'a SessionEnd, top: usize) -> Section<'a> {
    let name = match session.session {
        Some(0) => "Session 0 (system)".to_owned(),
        Some(number) => format!("Session {number}"),
        None => "Session with unknown number".to_owned(),
    };
    let length = match (session.duration_ns, session.other_ns) {
        (Some(length), Some(between_ns)) => {
            format!("{} ({} between requests); ", duration(length), duration(between_ns))
        }
        _ => "end not in the recording; ".to_owned(),
    };
    let note = format!("{length}slowest of {}", counted(session.applications.len() as u64, "application"));
    let mut applications: Vec<&ApplicationEnd> = session.applications.iter().collect();
    applications.sort_by_key(|row| (std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)), row.start_ns));
    let origin_ns = report.details.starts.time_ns.unwrap_or(0);
    let names = ProcessNames::new(session.applications.iter().map(|row| (row.name.as_str(), row.pid)));
    Section::builder("applications", name, applications)
        .note(note)
        .top(top)
        .data("session", |_| Value::id(session.session))
        .name("image", "application", 40, |row| {
            Cell::with_display_text(Value::text(&row.name), names.name(&row.name, row.pid))
        })
        .data("pid", |row| Value::id(row.pid))
        .quantity("duration_ns", "duration", |row| took(row.duration_ns, !row.details.time_outs.is_empty()))
        .time("start_ns", "notified", |row| Cell::since(row.start_ns, origin_ns))
        .time("process_end_ns", "process end", |row| Cell::since_or_dash(row.details.process_end_ns, origin_ns))
        .id("level", "level", |row| Value::id(row.details.level))
        .id("flags", "flags", |row| {
            Value::from_option(row.details.flags, |flags| Value::Text(format!("{flags:#x}").into()))
        })
        .name("remarks", "", 90, |row| Value::Text(remarks(row).into()).styled(QUIET))
        .build()
}

/// Formats a duration, highlighted if a timeout expired.
fn took(ns: Option<i64>, timed_out: bool) -> Cell<'static> {
    match ns {
        Some(_) if timed_out => Cell::duration_or_unfinished(ns).with_style(WORST),
        _ => Cell::duration_or_unfinished(ns),
    }
}

fn remarks(row: &ApplicationEnd) -> String {
    let mut parts = Vec::new();
    if row.details.program == ProgramKind::Console {
        parts.push("console".to_owned());
    }
    parts.extend(row.details.time_outs.iter().map(time_out));
    if row.details.terminated {
        parts.push("terminated".to_owned());
    }
    parts.join("; ")
}

fn time_out(row: &TimeOut) -> String {
    let kind = match row.kind {
        TimeOutKind::Window => "window timeout",
        TimeOutKind::Console => "console timeout",
        TimeOutKind::Application => "timeout",
        TimeOutKind::Forced => "forced exit, timeout",
        TimeOutKind::Service => "service timeout",
    };
    let limit = duration_or_dash(row.limit_ns);
    match row.certainty {
        Certainty::Measured => format!("{kind} of {limit}"),
        _ => format!("{kind} of {limit} (inferred)"),
    }
}

pub(super) fn services<'a>(report: &'a ShutdownReport, top: usize, reported_losses: &[String]) -> Option<Section<'a>> {
    let is_notified = |service: &&Unit| service.notification != ServiceNotification::Earlier;
    let mut services: Vec<&Unit> = report.units.iter().filter(is_notified).collect();
    if services.is_empty() {
        return None;
    }
    let unresponsive = services.iter().filter(|row| row.time_out.is_some()).count();
    let mut note = format!("slowest of {}", counted(services.len() as u64, "service"));
    if let Some(length) = report.details.pre_shutdown.duration_ns {
        note += &format!("; preshutdown {}", duration(length));
    }
    if let Some(length) = report.details.service_shutdown.duration_ns {
        note += &format!("; then in parallel {}", duration(length));
    }
    // Services that did not stop come first.
    services.sort_by_key(|row| {
        (row.time_out.is_none(), std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)), row.start_ns)
    });
    let origin_ns = report.details.starts.time_ns.unwrap_or(0);
    let names = ProcessNames::new(report.units.iter().map(|row| (row.image.as_str(), row.pid)));
    let section = Section::builder("services", "Services", services)
        .note(note)
        .top(top.max(unresponsive))
        .name("name", "service", 32, |row| Value::text(&row.name))
        .quantity("duration_ns", "duration", |row| match row.duration_ns {
            None => Cell::text_only(WORST, "did not stop"),
            ns => took(ns, row.time_out.is_some()),
        })
        .time("start_ns", "notified", |row| Cell::since(row.start_ns, origin_ns))
        .quantity("answered_ns", "responded after", |row| {
            Cell::duration_or_dash(row.checkpoint_ns.map(|pending| pending.saturating_sub(row.start_ns)))
        })
        .name("", "", 12, |row| {
            let is_preshutdown = row.notification == ServiceNotification::PreShutdown;
            Cell::text_only(QUIET, if is_preshutdown { "preshutdown" } else { "" })
        })
        .name("image", "host", 40, |row| {
            Cell::with_display_text(Value::text(&row.image), names.name(&row.image, row.pid))
        })
        .data("pid", |row| Value::id(row.pid))
        .data("time_out_ns", |row| {
            Value::from_option(row.time_out.as_ref().and_then(|limit| limit.limit_ns), Value::Duration)
        })
        .name("", "", 90, |row| {
            let remark = |limit| format!("{}; {}", time_out(limit), printable(&limit.evidence.to_string()));
            Cell::text_only(QUIET, row.time_out.as_ref().map_or_else(String::new, remark))
        })
        .build();
    let section = section.line_if(QUIET, (unresponsive > 0).then(|| timeout_summary(report, unresponsive as u64)));
    Some(section.affected_by(&report.details.losses_affecting_units, reported_losses))
}

/// Says how many services exceeded the timeout, and what the timeout was.
fn timeout_summary(report: &ShutdownReport, services: u64) -> String {
    let limit = &report.details.service_time_out;
    let length = match limit.limit_ns {
        Some(ns) => format!("the timeout is {} ({})", duration(ns), limit.rule),
        None => format!("the timeout is unknown: {}", limit.rule),
    };
    let services = counted(services, "service");
    format!("{services} did not stop in time; {}. Use '--service-timeout' to specify another.", printable(&length))
}
