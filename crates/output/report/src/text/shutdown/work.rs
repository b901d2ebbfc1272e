//! Logoff work, kernel steps, and explicit flushes.

use onoff_evidence::activity::NamedActivity;
use onoff_trace::{ActivityKind, shutdown_step};
use onoff_transitions::shutdown::ShutdownReport;

use crate::text::quantity::count;
use crate::text::style::QUIET;
use crate::text::usage::ProcessNames;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Describes a step in words.
pub(super) fn words(name: &str) -> String {
    match name {
        shutdown_step::IO_SYSTEM => "notify drivers".to_owned(),
        shutdown_step::ZERO_PAGE_FILE => "clear page file".to_owned(),
        shutdown_step::SHUTDOWN_WINDOWS => "shut down Windows".to_owned(),
        shutdown_step::PRE_SHUTDOWN_NOTIFICATION => "preshutdown notification".to_owned(),
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
    .flat_map(|(kind, activities)| activities.iter().take(top).map(move |activity| (kind, activity)))
    .collect();
    let name = |activity: &NamedActivity| match activity.kind {
        ActivityKind::LogonNotification => format!("number {}", activity.name),
        ActivityKind::ShutdownStep => words(&activity.name),
        _ => activity.name.clone(),
    };
    let detail = |activity: &NamedActivity| match activity.kind {
        ActivityKind::NotificationSubscriber => format!("notification {}", activity.detail),
        _ => activity.detail.clone(),
    };
    let origin_ns = details.starts.time_ns.unwrap_or(0);
    Section::builder("logoff", "Logoff and Group Policy", rows)
        .name("what", "what", 24, |row| Value::text(row.0))
        .name("name", "name", 60, |row| Cell::with_display_text(Value::text(&row.1.name), name(row.1)))
        .quantity("duration_ns", "duration", |row| Cell::duration_or_unfinished(row.1.duration_ns))
        .time("start_ns", "start", |row| Cell::since(row.1.start_ns, origin_ns))
        .name("detail", "", 60, |row| {
            Cell::with_display_text(Value::text(&row.1.detail), detail(row.1)).with_style(QUIET)
        })
        .build_if_any()
}

pub(super) fn kernel(report: &ShutdownReport, top: usize) -> Option<Section<'_>> {
    let steps = report.details.kernel_steps.iter().map(|step| {
        let name = Cell::with_display_text(Value::text(&step.name), words(&step.name));
        ("step", name, step.start_ns, step.duration_ns)
    });
    let devices = report.details.devices.iter().take(top).map(|device| {
        let name = device.name();
        (
            "device",
            Cell::with_display_text(Value::text(name), format!("device {name}")),
            device.start_ns,
            device.duration_ns,
        )
    });
    let rows: Vec<_> = steps.chain(devices).collect();
    let origin_ns = report.details.starts.time_ns.unwrap_or(0);
    Section::builder("kernel", "Kernel", rows)
        .data("kind", |row| Value::text(row.0))
        .name("name", "step", 60, |row| row.1.clone())
        .quantity("duration_ns", "duration", |row| Cell::duration_or_unfinished(row.3))
        .time("start_ns", "start", |row| Cell::since(row.2, origin_ns))
        .build_if_any()
}

/// Lists the explicit flushes of the disk caches by process. The data could have been written before the shutdown.
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
    let names = ProcessNames::new(rows.iter().map(|&(_, process, _)| (process.image.as_str(), process.pid)));
    Section::builder("flushes", "Flushes", rows)
        .note(note)
        .top(top)
        .name("image", "process", 40, |row| {
            Cell::with_display_text(Value::text(&row.1.image), names.name(&row.1.image, row.1.pid))
        })
        .data("pid", |row| Value::id(row.1.pid))
        .quantity("flushes", "flushes", |row| Value::Count(row.2.operations))
        .quantity("service_ns", "duration", |row| Value::Duration(row.2.service_ns))
        .name("phase", "phase", 16, |row| Value::text(row.0.as_str()))
        .build_if_any()
}
