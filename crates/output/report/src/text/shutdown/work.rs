//! Logoff work, kernel steps, and explicit flushes.

use onoff_evidence::activity::NamedActivity;
use onoff_trace::{ActivityKind, shutdown_step};
use onoff_transitions::shutdown::ShutdownReport;

use crate::text::quantity::count;
use crate::text::style::QUIET;
use crate::text::usage::ProcessNames;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// A step in words.
pub(super) fn words(name: &str) -> String {
    match name {
        shutdown_step::IO_SYSTEM => "drivers notified".to_owned(),
        shutdown_step::ZERO_PAGE_FILE => "page file zeroed".to_owned(),
        name => name.replace('_', " "),
    }
}

pub(super) fn logoff(report: &ShutdownReport, top: usize) -> Option<Section<'_>> {
    let details = &report.details;
    let rows: Vec<(&str, &NamedActivity)> = [
        ("policy script", &details.scripts),
        ("notification", &details.notifications),
        ("subscriber", &details.subscribers),
        ("step", &details.session_steps),
    ]
    .into_iter()
    .flat_map(|(what, works)| works.iter().take(top).map(move |work| (what, work)))
    .collect();
    let name = |work: &NamedActivity| match work.kind {
        ActivityKind::LogonNotification => format!("number {}", work.name),
        ActivityKind::ShutdownStep => words(&work.name),
        _ => work.name.clone(),
    };
    let detail = |work: &NamedActivity| match work.kind {
        ActivityKind::NotificationSubscriber => format!("notification {}", work.detail),
        _ => work.detail.clone(),
    };
    let origin_ns = details.starts.time_ns.unwrap_or(0);
    Section::of("logoff", "Logoff and Group Policy", rows)
        .name("what", "what", 24, |row| Value::text(row.0))
        .name("name", "name", 60, |row| Cell::shown(Value::text(&row.1.name), name(row.1)))
        .quantity("duration_ns", "duration", |row| Cell::took(row.1.duration_ns))
        .time("start_ns", "start", |row| Cell::since(row.1.start_ns, origin_ns))
        .name("detail", "", 60, |row| Cell::shown(Value::text(&row.1.detail), detail(row.1)).styled(QUIET))
        .done_if_any()
}

pub(super) fn kernel(report: &ShutdownReport, top: usize) -> Option<Section<'_>> {
    let steps = report.details.kernel_steps.iter().map(|work| {
        let name = Cell::shown(Value::text(&work.name), words(&work.name));
        ("step", name, work.start_ns, work.duration_ns)
    });
    let devices = report.details.devices.iter().take(top).map(|device| {
        let name = device.name();
        ("device", Cell::shown(Value::text(name), format!("device {name}")), device.start_ns, device.duration_ns)
    });
    let rows: Vec<_> = steps.chain(devices).collect();
    let origin_ns = report.details.starts.time_ns.unwrap_or(0);
    Section::of("kernel", "Kernel", rows)
        .data("kind", |row| Value::text(row.0))
        .name("name", "step", 60, |row| row.1.clone())
        .quantity("duration_ns", "duration", |row| Cell::took(row.3))
        .time("start_ns", "start", |row| Cell::since(row.2, origin_ns))
        .done_if_any()
}

/// Explicit flushes of the disk caches by process: the data could have been written before the shutdown.
pub(super) fn flushes(report: &ShutdownReport, top: usize) -> Option<Section<'_>> {
    let disks = report.phases.iter().flat_map(|phase| phase.disk.iter().map(move |disk| (phase.name, disk)));
    let mut rows: Vec<_> = disks
        .flat_map(|(phase, disk)| disk.by_process.iter().map(move |process| (phase, process)))
        .map(|(phase, process)| (phase, process, &process.operations.flush))
        .filter(|(.., flush)| flush.operations > 0)
        .collect();
    let flushes = rows.iter().fold(0_u64, |sum, (.., flush)| sum.saturating_add(flush.operations));
    rows.sort_by_key(|(.., flush)| std::cmp::Reverse(flush.service_ns));
    let note = match flushes {
        1 => "1 explicit flush of a disk cache".to_owned(),
        _ => format!("{} explicit flushes of disk caches", count(flushes)),
    };
    let names = ProcessNames::of(rows.iter().map(|&(_, process, _)| (process.image.as_str(), process.pid)));
    Section::of("flushes", "Flushes", rows)
        .note(note)
        .top(top)
        .name("image", "process", 40, |row| Cell::shown(Value::text(&row.1.image), names.name(&row.1.image, row.1.pid)))
        .data("pid", |row| Value::id(row.1.pid))
        .quantity("flushes", "flushes", |row| Value::Count(row.2.operations))
        .quantity("service_ns", "duration", |row| Value::Duration(row.2.service_ns))
        .name("phase", "phase", 16, |row| Value::text(row.0.as_str()))
        .done_if_any()
}
