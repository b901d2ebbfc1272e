//! `xperf -a shutdown`: summary of a shutdown as XML, in ms.
//!
//! Times are truncated to whole milliseconds. In Microsoft's paper, a session from 448 to 7091 took 6642, and in
//! published output, a session from 197 to 745 took 547; rounding cannot produce both.

use onoff_transitions::Phase;
use std::io::{self, Write};

use onoff_transitions::shutdown::{ApplicationEnd, SessionEnd, ShutdownInterval, ShutdownReport};
use onoff_usage::units::ServiceNotification;

use super::boot_xml::write_service;
use super::interval_xml::{attribute, write_cpu, write_disk};
use super::truncated_milliseconds;

/// Thresholds below which entries are omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShutdownXmlOptions {
    /// Minimum share of an interval's CPU time for a process, in percent of all processors.
    pub min_cpu_percent: f64,
    /// Maximum number of files, and of extensions, per interval; `None` for no limit.
    pub max_files: Option<usize>,
}

pub fn write(report: &ShutdownReport, options: &ShutdownXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<results timeFormat=\"msec\">")?;
    writeln!(out, "<shutdown>")?;
    writeln!(
        out,
        "<timing shutdownTime=\"{}\" servicesShutdownDuration=\"{}\">",
        truncated_milliseconds(Some(report.total_at_least_ns)),
        truncated_milliseconds(report.details.service_shutdown.duration_ns),
    )?;
    write_sessions(report, out)?;
    write_intervals(report, options, out)?;
    writeln!(out, "</timing>")?;
    write_services(report, out)?;
    writeln!(out, "</shutdown>")?;
    writeln!(out, "</results>")
}

/// Writes the user sessions, then the system session, as in published output.
fn write_sessions(report: &ShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<perSessionInfo>")?;
    let mut sessions: Vec<&SessionEnd> = report.details.sessions.iter().collect();
    sessions.sort_by_key(|session| (session.session == Some(0), session.start_ns));
    for session in sessions {
        writeln!(
            out,
            "<sessionShutdown sessionID=\"{}\" startTime=\"{}\" endTime=\"{}\" duration=\"{}\">",
            session.session.map_or(-1, i64::from),
            truncated_milliseconds(Some(session.start_ns)),
            truncated_milliseconds(session.end_ns),
            truncated_milliseconds(session.duration_ns),
        )?;
        for application in &session.applications {
            write_application(application, out)?;
        }
        writeln!(out, "</sessionShutdown>")?;
    }
    writeln!(out, "</perSessionInfo>")
}

fn write_application(application: &ApplicationEnd, out: &mut dyn Write) -> io::Result<()> {
    let number = |value: Option<u32>| value.map_or(-1, i64::from);
    let name = if application.name.is_empty() { "Unknown" } else { &application.name };
    writeln!(
        out,
        "<shutdownProcess name=\"{}\" shutdownStartTime=\"{}\" shutdownEndTime=\"{}\"",
        attribute(name),
        truncated_milliseconds(Some(application.start_ns)),
        truncated_milliseconds(application.end_ns),
    )?;
    writeln!(
        out,
        "processEndTime=\"{}\" shutdownDuration=\"{}\"",
        truncated_milliseconds(application.details.process_end_ns),
        truncated_milliseconds(application.duration_ns),
    )?;
    writeln!(
        out,
        "shutdownLevel=\"{}\" shutdownFlags=\"{}\"/>",
        number(application.details.level),
        number(application.details.flags),
    )
}

/// Writes the phases and the gaps between them, by time.
fn write_intervals(report: &ShutdownReport, options: &ShutdownXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    enum Interval<'a> {
        Phase(&'a Phase),
        Gap(&'a ShutdownInterval),
    }
    let phases = report.phases.iter().filter_map(|phase| Some((phase.start_ns?, Interval::Phase(phase))));
    let gaps = report.details.intervals.iter().map(|interval| (interval.start_ns, Interval::Gap(interval)));
    let mut intervals: Vec<(i64, Interval<'_>)> = phases.chain(gaps).collect();
    intervals.sort_by_key(|&(start_ns, _)| start_ns);
    writeln!(out, "<intervals>")?;
    for (start, interval) in intervals {
        let (name, end, duration, phase) = match &interval {
            Interval::Phase(phase) => (phase.name.as_str(), phase.end_ns, phase.duration_ns, Some(phase)),
            Interval::Gap(interval) => {
                (interval.name.as_str(), Some(interval.end_ns), Some(interval.duration_ns), None)
            }
        };
        writeln!(
            out,
            "<interval name=\"{}\" startTime=\"{}\" endTime=\"{}\" duration=\"{}\">",
            attribute(name),
            truncated_milliseconds(Some(start)),
            truncated_milliseconds(end),
            truncated_milliseconds(duration),
        )?;
        if let Some(cpu) = phase.and_then(|phase| phase.cpu.as_ref()) {
            write_cpu(cpu, options.min_cpu_percent, out)?;
        }
        if let Some(disk) = phase.and_then(|phase| phase.disk.as_ref()) {
            write_disk(disk, options.max_files, out)?;
        }
        writeln!(out, "</interval>")?;
    }
    writeln!(out, "</intervals>")
}

fn write_services(report: &ShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    let notified = || report.units.iter().filter(|service| service.notification != ServiceNotification::Earlier);
    writeln!(out, "<unresponsiveServices>")?;
    for service in notified().filter(|service| service.time_out.is_some()) {
        write_service(service, out)?;
    }
    writeln!(out, "</unresponsiveServices>")?;
    writeln!(out, "<services>")?;
    for service in notified() {
        write_service(service, out)?;
    }
    writeln!(out, "</services>")
}
