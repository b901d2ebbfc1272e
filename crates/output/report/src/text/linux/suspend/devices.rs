//! Devices, critical paths of the device phases, and frozen tasks.

use onoff_transitions::linux::suspend::LinuxSleep;
use onoff_transitions::{CallbackReason, Phase, PhaseName};

use crate::text::phases::{self, device};
use crate::text::quantity::{counted, duration};
use crate::text::style::{MISSING, QUIET};
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

/// Maximum number of phases whose critical path is shown, longest first.
const MAX_PATHS: usize = 3;

pub(super) fn devices(sleep: &LinuxSleep, top: usize) -> Option<Section<'_>> {
    let devices = &sleep.details.devices;
    let callbacks = devices.iter().fold(0_u64, |sum, device| sum.saturating_add(device.callbacks));
    let note = format!(
        "{}, {}; longest first, summed over all phases",
        counted(devices.len() as u64, "device"),
        counted(callbacks, "callback")
    );
    Section::builder("devices", "Devices", devices)
        .note(note)
        .top(top)
        .name("device", "device", 40, |row| Value::text(&row.device))
        .name("driver", "driver", 24, |row| Value::text(&row.driver))
        .name("parent", "parent", 24, |row| Value::text(&row.parent).styled(QUIET))
        .column(Heading::quantity("suspend_ns", "suspend").sparse(), |row| Value::Duration(row.suspend_ns))
        .column(Heading::quantity("resume_ns", "resume").sparse(), |row| Value::Duration(row.resume_ns))
        .quantity("total_ns", "total", |row| Value::Duration(row.total_ns))
        .column(Heading::quantity("on_path_ns", "on path").sparse(), |row| Value::Duration(row.on_path_ns))
        .name("failed", "", 16, |row| {
            Cell::with_display_text(Value::Flag(row.failed), if row.failed { "failed" } else { "" }).with_style(MISSING)
        })
        .build_if_any()
}

pub(super) fn callbacks(sleep: &LinuxSleep, top: usize) -> Option<Section<'_>> {
    let mut longest: Vec<_> =
        sleep.details.callbacks.iter().filter(|row| row.duration_ns.is_none_or(|ns| ns > 0)).collect();
    longest.sort_by_key(|row| std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)));
    Section::builder("callbacks", "Callbacks", longest)
        .note("longest first")
        .top(top)
        .name("phase", "phase", 34, |row| {
            let name = row.details.phase.map_or_else(|| "-".to_owned(), phases::name);
            Cell::with_display_text(Value::text(row.details.phase.map_or("", PhaseName::as_str)), name)
        })
        .name("device", "device", 40, |row| Value::text(&row.device))
        .name("driver", "driver", 24, |row| Value::text(&row.driver))
        .name("callback", "callback", 34, |row| Value::text(&row.details.callback).styled(QUIET))
        .data("start_ns", |row| Value::Time(row.start_ns))
        .quantity("duration_ns", "duration", |row| Cell::duration_or_dash(row.duration_ns))
        .column(Heading::quantity("on_path_ns", "on path").sparse(), |row| Value::Duration(row.details.on_path_ns))
        .data("error", |row| Value::id(row.details.error))
        .name("", "", 20, |row| match (row.details.error, row.duration_ns) {
            (_, None) => Cell::text_only(MISSING, "did not return"),
            (Some(error), _) if error != 0 => Cell::text_only(MISSING, format!("error {error}")),
            _ => Value::Nothing.into(),
        })
        .build_if_any()
}

/// Lists the critical paths of the longest device phases.
pub(super) fn paths(sleep: &LinuxSleep, top: usize) -> Option<Section<'_>> {
    let mut phases: Vec<&Phase> = sleep.phases.iter().filter(|phase| phase.work.path_ns > 0).collect();
    phases.sort_by_key(|phase| std::cmp::Reverse(phase.duration_ns));
    phases.truncate(MAX_PATHS);
    if phases.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for &phase in &phases {
        let mut steps: Vec<_> = phase.work.path.iter().enumerate().collect();
        steps.sort_by_key(|(_, step)| std::cmp::Reverse(step.duration_ns));
        steps.truncate(top);
        steps.sort_by_key(|&(index, _)| index);
        rows.extend(steps.into_iter().map(|(_, step)| (phase.name, step)));
    }
    let mut section = Section::builder("paths", "Critical path", rows)
        .note("backwards; longest steps")
        .name("phase", "phase", 34, |row| Cell::with_display_text(Value::text(row.0.as_str()), phases::name(row.0)))
        .name("device", "device", 60, |row| {
            Cell::with_display_text(Value::text(&row.1.device), device(&row.1.device, &row.1.driver))
        })
        .data("driver", |row| Value::text(&row.1.driver))
        .quantity("duration_ns", "duration", |row| Value::Duration(row.1.duration_ns))
        .name("", "why", 40, |row| Cell::text_only(QUIET, reason_text(row.1.reason)))
        .build();
    for phase in phases {
        let length = phase.duration_ns.unwrap_or_default();
        let text = format!(
            "{}, {}: {} in {}, {} outside them.",
            phases::name(phase.name),
            duration(length),
            duration(phase.work.path_ns),
            counted(phase.work.path.len() as u64, "callback"),
            duration(length.saturating_sub(phase.work.path_ns).max(0)),
        );
        section = section.line(QUIET, text);
    }
    Some(section)
}

const fn reason_text(reason: CallbackReason) -> &'static str {
    match reason {
        CallbackReason::FinishedLast => "ended last",
        CallbackReason::Child => "child of the next device",
        CallbackReason::Parent => "parent of the next device",
        CallbackReason::SameThread => "ran before the next on its thread",
    }
}

pub(super) fn tasks(sleep: &LinuxSleep, top: usize) -> Option<Section<'_>> {
    let tasks = &sleep.details.tasks;
    let note = format!("{} frozen, slowest first", counted(tasks.len() as u64, "task"));
    let resume_start_ns = sleep.details.resume.start_ns;
    Section::builder("tasks", "Frozen tasks", tasks.iter().rev())
        .note(note)
        .top(top)
        .name("name", "task", 24, |task| Value::text(&task.name))
        .id("tid", "pid", |task| Value::Id(task.tid.into()))
        .quantity("after_ns", "frozen after", |task| Value::Duration(task.after_ns))
        .quantity("again_ns", "thawed after resume", |task| {
            Cell::duration_or_dash(
                task.thawed_ns.zip(resume_start_ns).map(|(thawed, start)| thawed.saturating_sub(start)),
            )
        })
        .build_if_any()
}
