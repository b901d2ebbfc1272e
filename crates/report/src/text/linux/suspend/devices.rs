//! Devices, the paths of the phases that waited for them, and tasks that were frozen.

use onoff_analysis::transition::{CallbackReason, Phase};
use std::io::{self, Write};

use onoff_analysis::transition::linux::suspend::LinuxSleep;

use crate::text::phases::{self, device};
use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration, duration_or_dash};
use crate::text::section::title;
use crate::text::style::{MISSING, QUIET};
use crate::text::table::{Table, cell, styled_cell};

/// Phases whose path is shown: those that took longest.
const PATHS: usize = 3;

pub(super) fn write_devices(sleep: &LinuxSleep, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if sleep.details.devices.is_empty() {
        return Ok(());
    }
    let callbacks: u64 = sleep.details.devices.iter().map(|device| device.callbacks).sum();
    let note = format!(
        "{}, {}; longest first, all phases together",
        counted(sleep.details.devices.len() as u64, "device"),
        counted(callbacks, "callback")
    );
    title("Devices", &note, out)?;
    let mut table = Table::new()
        .left("device", 40)
        .left("driver", 24)
        .left("under", 24)
        .right("down")
        .right("up")
        .right("both")
        .right("waited for")
        .left("", 16);
    for row in sleep.details.devices.iter().take(top) {
        table.row([
            cell(printable(&row.device)),
            cell(printable(&row.driver)),
            styled_cell(QUIET, printable(&row.parent)),
            cell(some(row.suspend_ns)),
            cell(some(row.resume_ns)),
            cell(duration(row.total_ns)),
            cell(some(row.on_path_ns)),
            styled_cell(MISSING, if row.failed { "failed" } else { "" }),
        ]);
    }
    table.write(out)?;
    let mut longest: Vec<_> =
        sleep.details.callbacks.iter().filter(|row| row.duration_ns.is_none_or(|ns| ns > 0)).collect();
    longest.sort_by_key(|row| std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)));
    title("Callbacks", "longest first", out)?;
    let mut table = Table::new()
        .left("phase", 34)
        .left("device", 40)
        .left("driver", 24)
        .left("callback", 34)
        .right("took")
        .right("waited for")
        .left("", 20);
    for row in longest.into_iter().take(top) {
        table.row([
            cell(row.phase.map_or_else(|| "-".to_owned(), phases::name)),
            cell(printable(&row.device)),
            cell(printable(&row.driver)),
            styled_cell(QUIET, printable(&row.callback)),
            cell(duration_or_dash(row.duration_ns)),
            cell(some(row.on_path_ns)),
            styled_cell(
                MISSING,
                match (row.error, row.duration_ns) {
                    (_, None) => "did not return".to_owned(),
                    (Some(error), _) if error != 0 => format!("error {error}"),
                    _ => String::new(),
                },
            ),
        ]);
    }
    table.write(out)
}

fn some(ns: i64) -> String {
    if ns > 0 { duration(ns) } else { String::new() }
}

/// What the ends of the longest phases of devices waited for.
pub(super) fn write_paths(sleep: &LinuxSleep, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut phases: Vec<&Phase> = sleep.phases.iter().filter(|phase| phase.work.path_ns > 0).collect();
    phases.sort_by_key(|phase| std::cmp::Reverse(phase.duration_ns));
    if phases.is_empty() {
        return Ok(());
    }
    title("What phases waited for", "from the end back; steps that took most", out)?;
    for phase in phases.into_iter().take(PATHS) {
        let length = phase.duration_ns.unwrap_or_default();
        writeln!(
            out,
            "  {}, {}: {} in {} callbacks, {} before and between them",
            phases::name(phase.name),
            duration(length),
            duration(phase.work.path_ns),
            count(phase.work.path.len() as u64),
            duration(length.saturating_sub(phase.work.path_ns).max(0)),
        )?;
        let mut steps: Vec<(usize, _)> = phase.work.path.iter().enumerate().collect();
        steps.sort_by_key(|(_, step)| std::cmp::Reverse(step.duration_ns));
        steps.truncate(top);
        steps.sort_by_key(|&(at, _)| at);
        let mut table = Table::new().left("", 60).right("").left("", 40);
        for (_, step) in steps {
            table.row([
                cell(format!("  {}", device(&step.device, &step.driver))),
                cell(duration(step.duration_ns)),
                styled_cell(QUIET, reason(step.because)),
            ]);
        }
        table.write(out)?;
    }
    Ok(())
}

const fn reason(because: CallbackReason) -> &'static str {
    match because {
        CallbackReason::EndedLast => "ended last",
        CallbackReason::Child => "a device under the next",
        CallbackReason::Parent => "the next hangs on it",
        CallbackReason::SameThread => "before the next on its thread",
    }
}

pub(super) fn write_tasks(sleep: &LinuxSleep, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if sleep.details.tasks.is_empty() {
        return Ok(());
    }
    let note = format!(
        "{} seen to stop; those that kept the freezing waiting first",
        counted(sleep.details.tasks.len() as u64, "task")
    );
    title("Frozen", &note, out)?;
    let mut table =
        Table::new().left("task", 24).right("pid").right("stopped after").right("ran again after the sleep");
    for task in sleep.details.tasks.iter().rev().take(top) {
        let back = sleep.details.resume.start_ns;
        let again = task.thawed_ns.zip(back).map(|(thawed, back)| thawed.saturating_sub(back));
        table.row([
            cell(printable(&task.name)),
            cell(task.tid.to_string()),
            cell(duration(task.after_ns)),
            cell(duration_or_dash(again)),
        ]);
    }
    table.write(out)
}
