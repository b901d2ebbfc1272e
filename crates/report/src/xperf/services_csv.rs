//! `xperf -a services`: the automatic-start window, then one row per service transition, in ms.

use std::io::{self, Write};

use onoff_analysis::services::Service;
use onoff_analysis::transition::boot::BootReport;
use onoff_trace::ServiceChange;

use super::milliseconds;
use crate::text::printable::printable;

/// Writes the services of a boot.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    let window = &report.auto_start;
    writeln!(out, "AutoStart, StartTime, EndTime, Duration")?;
    writeln!(
        out,
        "AutoStart, {}, {}, {}",
        milliseconds(window.start_ns),
        milliseconds(window.end_ns),
        milliseconds(window.duration_ns)
    )?;
    writeln!(
        out,
        "Transition, ServiceName, Group, TotalTime, ContTime, LoadTime, InitTime, \
         StartedAt, ContDoneAt, LoadDoneAt, EndedAt, Container"
    )?;
    for service in &report.services {
        write_service(service, out)?;
    }
    Ok(())
}

fn write_service(service: &Service, out: &mut dyn Write) -> io::Result<()> {
    let transition = match service.kind {
        ServiceChange::Start => "Start",
        ServiceChange::Stop => "Stop",
    };
    // A step that was not recorded took no time of its own: it ends where the step before did.
    let container_done = service.container_done_ns.unwrap_or(service.start_ns);
    let load_done = service.load_done_ns.unwrap_or(container_done);
    writeln!(
        out,
        "{transition}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}",
        printable(&service.name),
        printable(&service.group),
        milliseconds(service.total_ns),
        milliseconds(Some(container_done.saturating_sub(service.start_ns))),
        milliseconds(Some(load_done.saturating_sub(container_done))),
        milliseconds(service.end_ns.map(|end| end.saturating_sub(load_done))),
        milliseconds(Some(service.start_ns)),
        milliseconds(Some(container_done)),
        milliseconds(Some(load_done)),
        milliseconds(service.end_ns),
        printable(&service.container),
    )
}
