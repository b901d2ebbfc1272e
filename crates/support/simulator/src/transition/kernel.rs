//! The kernel's steps of a shutdown.

use super::Stage;
use crate::program::Step;
use crate::scenario::transition::Shutdown;
use crate::span::Span;
use onoff_testkit::events::Occurrence;
use onoff_testkit::events::shutdown as events;

/// The build that first records the file systems' shutdown by itself.
const RECORDS_FILE_SYSTEMS: u32 = 14393;

/// The steps of the kernel's thread.
pub(super) fn steps(stage: &mut Stage<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let kernel = &shutdown.kernel;
    let reason = shutdown.reason;
    let action = stage.milestone("shutdown.action", Some(shutdown.action.into()), &reason.to_string());
    let stopped = stage.milestone("system.stop", None, "");
    let mut inner = timed(stage, 53, "wait_for_processes", Some(kernel.processes));
    inner.extend(timed(stage, 49, "zero_page_file", kernel.page_file));
    inner.extend(timed(stage, 51, "io_system", Some(kernel.io_system)));
    let mut work = vec![Step::Begin];
    work.extend(stage.plan.steps(&kernel.work));
    work.push(Step::Pad(kernel.registry.0));
    let mut closing = step(stage, 55, "registry", work);
    if stage.scenario.machine.build >= RECORDS_FILE_SYSTEMS {
        closing.extend(timed(stage, 518, "file_systems", kernel.file_systems));
    }
    if let Some(at) = shutdown.end_at {
        closing.push(Step::Until(at.0));
    }
    let later = if kernel.closes_late {
        closing
    } else {
        inner.extend(closing);
        Vec::new()
    };
    let mut steps = vec![
        Step::tell_note(events::shutdown_action(shutdown.action, 0, reason), action),
        Step::tell_note(events::system_stopped(), stopped),
    ];
    steps.extend(step(stage, 47, "graceful_shutdown", inner));
    steps.extend(later);
    steps
}

fn timed(stage: &mut Stage<'_>, first: u16, name: &'static str, time: Option<Span>) -> Vec<Step> {
    match time {
        Some(time) => step(stage, first, name, vec![Step::Sleep(time.0)]),
        None => Vec::new(),
    }
}

fn step(stage: &mut Stage<'_>, first: u16, name: &str, inner: Vec<Step>) -> Vec<Step> {
    let row = stage.activity("kernel_shutdown_step", name, "");
    let event = |begin| -> Occurrence { events::kernel_step(first, begin) };
    stage.within(row, event(true), inner, event(false))
}
