//! The slowest services, and who waited for them.

use std::io::{self, Write};

use onoff_analysis::transition::boot::BootReport;
use onoff_analysis::units::Unit;
use onoff_trace::ServiceOutcome;

use super::{title, write_touching};
use crate::text::printable::printable;
use crate::text::quantity::{counted, duration, duration_or_dash};
use crate::text::style::{DOUBT, QUIET};
use crate::text::table::{Table, cell, styled_cell};

pub(super) fn write(report: &BootReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.units.is_empty() {
        return Ok(());
    }
    let window = match (report.details.auto_start.start_ns, report.details.auto_start.end_ns) {
        (Some(start), Some(end)) => {
            format!(
                "; automatic start {} to {} ({})",
                duration(start),
                duration(end),
                duration(end.saturating_sub(start))
            )
        }
        _ => String::new(),
    };
    let note = format!("slowest of {}{window}", counted(report.units.len() as u64, "service"));
    title("Services", &note, out)?;
    let mut services: Vec<&Unit> = report.units.iter().collect();
    // What never ended is worse than whatever did.
    services.sort_by_key(|service| std::cmp::Reverse(service.duration_ns.unwrap_or(i64::MAX)));
    let mut table = Table::new()
        .left("service", 32)
        .right("took")
        .right("container")
        .right("image load")
        .right("init")
        .right("begins")
        .left("group", 28)
        .left("", 90);
    for service in services.into_iter().take(top) {
        let took = match (service.duration_ns, service.outcome) {
            (Some(took), _) => cell(duration(took)),
            (None, ServiceOutcome::Failed) => styled_cell(DOUBT, "failed"),
            (None, _) => styled_cell(DOUBT, "unfinished"),
        };
        table.row([
            cell(&*service.name),
            took,
            cell(duration_or_dash(service.container_ns)),
            cell(duration_or_dash(service.image_load_ns)),
            cell(duration_or_dash(service.initialisation_ns)),
            cell(duration(service.start_ns)),
            cell(&*service.group),
            styled_cell(QUIET, waits(service)),
        ]);
    }
    table.write(out)?;
    write_touching(report, &report.details.units_touched_by, out)
}

fn waits(service: &Unit) -> String {
    let mut parts = Vec::new();
    match service.held_up.as_slice() {
        [] => {}
        names if names.len() <= 3 => parts.push(format!("held up {}", names.join(", "))),
        [first, second, rest @ ..] => {
            parts.push(format!("held up {first}, {second} and {} more", rest.len()));
        }
        [one] => parts.push(format!("held up {one}")),
    }
    if let Some(waited) = &service.waited_for {
        parts.push(format!("waited for {}", waited.name));
    }
    if service.outcome == ServiceOutcome::Failed && service.duration_ns.is_some() {
        parts.push("failed".to_owned());
    }
    printable(&parts.join("; ")).into_owned()
}
