//! The kernel's steps of a shutdown.

use super::Planner;
use crate::program::Step;
use crate::scenario::transition::Shutdown;
use crate::units::TickDuration;
use onoff_testkit::events::EventTemplate;
use onoff_testkit::events::shutdown as events;

/// First build that records the shutdown of file systems separately.
const RECORDS_FILE_SYSTEMS: u32 = 14393;

pub(super) fn steps(planner: &mut Planner<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let kernel = &shutdown.kernel;
    let reason = shutdown.reason;
    let action = planner.milestone("shutdown.action", Some(shutdown.action.into()), &reason.to_string());
    let stopped = planner.milestone("system.stop", None, "");
    let mut graceful_steps = timed(planner, 53, "wait_for_processes", Some(kernel.processes));
    graceful_steps.extend(timed(planner, 49, "zero_page_file", kernel.page_file));
    graceful_steps.extend(timed(planner, 51, "io_system", Some(kernel.io_system)));
    let mut work = vec![Step::Begin];
    work.extend(planner.plan.steps(&kernel.work));
    work.push(Step::PadTo(kernel.registry.0));
    let mut closing = step(planner, 55, "registry", work);
    if planner.scenario.machine.build >= RECORDS_FILE_SYSTEMS {
        closing.extend(timed(planner, 518, "file_systems", kernel.file_systems));
    }
    if let Some(time) = shutdown.end_at {
        closing.push(Step::Until(time.0));
    }
    let late_steps = if kernel.closes_late {
        closing
    } else {
        graceful_steps.extend(closing);
        Vec::new()
    };
    let mut steps = vec![
        Step::emit_noted(events::shutdown_action(shutdown.action, 0, reason), action),
        Step::emit_noted(events::system_stopped(), stopped),
    ];
    steps.extend(step(planner, 47, "graceful_shutdown", graceful_steps));
    steps.extend(late_steps);
    steps
}

fn timed(planner: &mut Planner<'_>, start_id: u16, name: &'static str, time: Option<TickDuration>) -> Vec<Step> {
    match time {
        Some(time) => step(planner, start_id, name, vec![Step::Sleep(time.0)]),
        None => Vec::new(),
    }
}

fn step(planner: &mut Planner<'_>, start_id: u16, name: &str, inner: Vec<Step>) -> Vec<Step> {
    let row = planner.activity("kernel_shutdown_step", name, "");
    let event = |begin| -> EventTemplate { events::kernel_step(start_id, begin) };
    planner.wrap_in_activity(row, event(true), inner, event(false))
}
