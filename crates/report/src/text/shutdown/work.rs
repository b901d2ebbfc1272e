//! Logoff work, the kernel's steps, and explicit flushes.

use std::io::{self, Write};

use onoff_analysis::activity::Work;
use onoff_analysis::transition::shutdown::ShutdownReport;
use onoff_trace::{ActivityKind, shutdown_step};

use super::phases::since;
use crate::text::printable::printable;
use crate::text::quantity::{count, duration};
use crate::text::section::title;
use crate::text::style::{DOUBT, QUIET};
use crate::text::table::{Cell, Table, cell, styled_cell};
use crate::text::usage::process_name;

/// A step's name in words.
pub(super) fn words(name: &str) -> String {
    match name {
        shutdown_step::IO_SYSTEM => "drivers told".to_owned(),
        shutdown_step::ZERO_PAGE_FILE => "page file zeroed".to_owned(),
        name => name.replace('_', " "),
    }
}

fn took(work: &Work) -> Cell {
    match work.duration_ns {
        Some(length) => cell(duration(length)),
        None => styled_cell(DOUBT, "unfinished"),
    }
}

pub(super) fn write_logoff(report: &ShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new().left("what", 24).left("name", 60).right("took").right("begins").left("", 60);
    for (what, works) in [
        ("policy script", &report.details.scripts),
        ("notification", &report.details.notifications),
        ("subscriber", &report.details.subscribers),
        ("step", &report.details.session_steps),
    ] {
        for work in works.iter().take(top) {
            let name = match work.kind {
                ActivityKind::LogonNotification => format!("number {}", work.name),
                ActivityKind::ShutdownStep => words(&work.name),
                _ => work.name.clone(),
            };
            let detail = match work.kind {
                ActivityKind::NotificationSubscriber => format!("of notification {}", work.detail),
                _ => work.detail.clone(),
            };
            table.row([
                cell(what),
                cell(name),
                took(work),
                cell(duration(since(report, work.start_ns))),
                styled_cell(QUIET, detail),
            ]);
        }
    }
    if table.is_empty() {
        return Ok(());
    }
    title("Logoff and policy", "", out)?;
    table.write(out)
}

pub(super) fn write_kernel(report: &ShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.details.kernel_steps.is_empty() && report.details.devices.is_empty() {
        return Ok(());
    }
    title("The kernel", "", out)?;
    let mut table = Table::new().left("step", 60).right("took").right("begins");
    for work in &report.details.kernel_steps {
        table.row([cell(words(&work.name)), took(work), cell(duration(since(report, work.start_ns)))]);
    }
    for device in report.details.devices.iter().take(top) {
        let names = [&device.description, &device.device, &device.driver];
        let name = names.into_iter().find(|name| !name.is_empty());
        table.row([
            cell(format!("device {}", name.map_or("unnamed", |name| name))),
            match device.duration_ns {
                Some(length) => cell(duration(length)),
                None => styled_cell(DOUBT, "unfinished"),
            },
            cell(duration(since(report, device.start_ns))),
        ]);
    }
    table.write(out)
}

/// Who had the disks' caches flushed: what is flushed while the computer shuts down could have been written before.
pub(super) fn write_flushes(report: &ShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = Vec::new();
    let mut flushes = 0_u64;
    for phase in &report.phases {
        for process in phase.disk.iter().flat_map(|disk| &disk.by_process) {
            let flush = &process.operations.flush;
            if flush.operations > 0 {
                flushes = flushes.saturating_add(flush.operations);
                rows.push((phase.name, process, flush));
            }
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by_key(|(.., flush)| std::cmp::Reverse(flush.service_ns));
    let note = match flushes {
        1 => "1 explicit flush of a disk's cache".to_owned(),
        _ => format!("{} explicit flushes of the disks' caches", count(flushes)),
    };
    title("Flushes", &note, out)?;
    let mut table = Table::new().left("process", 40).right("flushes").right("took").left("phase", 16);
    for (phase, process, flush) in rows.into_iter().take(top) {
        table.row([
            cell(printable(&process_name(&process.image, process.pid)).into_owned()),
            cell(count(flush.operations)),
            cell(duration(flush.service_ns)),
            cell(phase.as_str()),
        ]);
    }
    table.write(out)
}
