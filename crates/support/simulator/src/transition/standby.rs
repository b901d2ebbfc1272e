//! Modern standby.

use super::Stage;
use crate::plan::BOOT_PRIORITY;
use crate::program::SYSTEM;
use crate::program::Step;
use crate::scenario::power::Standby;
use crate::span::Span;
use onoff_testkit::events::power as events;

/// Plans a modern standby.
pub(super) fn plan(
    stage: &mut Stage<'_>,
    standby: &Standby,
    number: usize,
    (before, last): (Option<&str>, bool),
) -> String {
    let us = |span: Span| span.0 / 10;
    let over = format!("standby {number} over");
    let enter = stage.milestone("power.standby.enter", Some(standby.enter_reason.into()), "");
    let exit = [
        ("power.standby.exit", i64::from(standby.exit_reason)),
        ("power.standby.total", standby.time.nanoseconds()),
        ("power.standby.deepest", standby.deepest.nanoseconds()),
        ("power.standby.hardware", standby.hardware.nanoseconds()),
        ("power.standby.exit_latency", standby.exit.nanoseconds()),
    ];
    let exit = exit.into_iter().map(|(name, value)| stage.milestone(name, Some(value), "")).collect();
    let idle = stage.milestone("idle_detection.begin", None, "modern_standby");
    let mut steps: Vec<Step> = before.map(|before| stage.wait(before)).into_iter().collect();
    steps.extend([
        Step::Until(standby.at.0),
        Step::tell_note(events::standby_enter(standby.enter_reason), enter),
        Step::Sleep(standby.time.0),
        Step::Tell(
            Box::new(events::standby_exit(
                standby.exit_reason,
                us(standby.time),
                us(standby.deepest),
                us(standby.hardware),
                us(standby.exit),
            )),
            exit,
        ),
        Step::tell_note(events::idle_detection(1112), idle),
    ]);
    steps.extend(stage.plan.steps(&standby.after));
    if last {
        steps.push(Step::Finish);
    }
    steps.push(stage.set(&over));
    steps.push(stage.wait("never"));
    stage.plan.thread(SYSTEM, BOOT_PRIORITY, steps);
    over
}
