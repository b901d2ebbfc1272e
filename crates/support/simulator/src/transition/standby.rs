use super::Planner;
use crate::plan::BOOT_PRIORITY;
use crate::program::SYSTEM;
use crate::program::Step;
use crate::scenario::power::Standby;
use crate::units::TickDuration;
use onoff_testkit::events::power as events;

/// Plans a modern standby, which waits for the signal `previous_done`; returns the signal set at its end.
pub(super) fn plan(
    planner: &mut Planner<'_>,
    standby: &Standby,
    number: usize,
    (previous_done, is_last): (Option<&str>, bool),
) -> String {
    let us = |duration: TickDuration| duration.0 / 10;
    let done = format!("standby {number} done");
    let enter = planner.milestone("power.standby.enter", Some(standby.enter_reason.into()), "");
    let exit_values = [
        ("power.standby.exit", i64::from(standby.exit_reason)),
        ("power.standby.total", standby.time.as_ns()),
        ("power.standby.deepest", standby.deepest.as_ns()),
        ("power.standby.hardware", standby.hardware.as_ns()),
        ("power.standby.exit_latency", standby.exit.as_ns()),
    ];
    let exit_notes = exit_values.into_iter().map(|(name, value)| planner.milestone(name, Some(value), "")).collect();
    let idle = planner.milestone("idle_detection.begin", None, "modern_standby");
    let mut steps: Vec<Step> = previous_done.map(|signal| planner.wait(signal)).into_iter().collect();
    steps.extend([
        Step::Until(standby.at.0),
        Step::emit_noted(events::standby_enter(standby.enter_reason), enter),
        Step::Sleep(standby.time.0),
        Step::Emit(
            Box::new(events::standby_exit(
                standby.exit_reason,
                us(standby.time),
                us(standby.deepest),
                us(standby.hardware),
                us(standby.exit),
            )),
            exit_notes,
        ),
        Step::emit_noted(events::idle_detection(1112), idle),
    ]);
    steps.extend(planner.plan.steps(&standby.after));
    if is_last {
        steps.push(Step::Finish);
    }
    steps.push(planner.set(&done));
    steps.push(planner.wait("never"));
    planner.plan.thread(SYSTEM, BOOT_PRIORITY, steps);
    done
}
