//! Sleep, hibernation and fast startup, performed by one kernel thread.
//!
//! ```text
//! start ─► query, notify applications and services ─► query devices ─► flush volumes ─► suspend devices
//!                                                                                              │
//!   end ◄─ notify applications and services (no waiting) ◄─ resume devices ◄─ (asleep) ◄───────┘
//! ```

use super::Planner;
use super::account::{self, ms};
use super::applications::PlannedApplication;
use super::devices::{self, DevicePhase};
use super::notifications::{Message, notify_applications, notify_services};
use crate::plan::BOOT_PRIORITY;
use crate::program::SYSTEM;
use crate::program::{Edge, Step, TruthNote};
use crate::scenario::power::{ImageRecord, Power, PowerKind};
use crate::units::TickDuration;
use onoff_testkit::events::power as events;

/// First build that records the wake source and the clock correction.
const FIRST_BUILD_WITH_WAKE_SOURCE: u32 = 22621;

/// First build that records why the clock was set.
const FIRST_BUILD_WITH_CLOCK_REASON: u32 = 10240;

/// System power states.
const WORKING: u8 = 1;
const SLEEPING: u8 = 4;
const HIBERNATED: u8 = 5;

impl Power {
    /// Returns the target state, and the state that devices are prepared for.
    fn states(&self) -> (u8, u8) {
        match self.kind {
            PowerKind::Sleep => (SLEEPING, SLEEPING),
            PowerKind::HybridSleep => (SLEEPING, HIBERNATED),
            PowerKind::Hibernate | PowerKind::FastStartup => (HIBERNATED, HIBERNATED),
        }
    }

    pub(super) fn writes_image(&self) -> bool {
        self.kind != PowerKind::Sleep
    }

    pub(super) fn reads_image(&self) -> bool {
        matches!(self.kind, PowerKind::Hibernate | PowerKind::FastStartup)
    }
}

/// Plans a transition, which waits for the signal `previous_done`; returns the signal set at its end.
pub(super) fn plan(
    planner: &mut Planner<'_>,
    power: &Power,
    planned: &[PlannedApplication],
    number: usize,
    (previous_done, is_last): (Option<&str>, bool),
) -> String {
    let done = format!("power {number} done");
    let mut steps = Vec::new();
    steps.extend(previous_done.map(|signal| planner.wait(signal)));
    steps.push(Step::Until(power.at.0));
    let transition = planner.activity("power_transition", &power.reason.to_string(), &power.flags.to_string());
    if !power.begins_recording {
        steps.extend(suspend(planner, power, planned, number, transition));
    }
    if power.ends_recording {
        steps.push(Step::Finish);
        steps.push(planner.wait("never"));
    } else {
        steps.extend(resume(planner, power, planned, number, transition));
        if is_last {
            steps.push(Step::Finish);
        }
        steps.push(planner.set(&done));
        steps.push(planner.wait("never"));
    }
    let thread = planner.plan.thread(SYSTEM, BOOT_PRIORITY, steps);
    if let Some(id) = power.thread_id {
        planner.plan.threads[thread].id = id;
    }
    done
}

/// Steps until the last record before the sleep.
fn suspend(
    planner: &mut Planner<'_>,
    power: &Power,
    planned: &[PlannedApplication],
    number: usize,
    transition: usize,
) -> Vec<Step> {
    let mut steps = Vec::new();
    if planner.records_power() {
        let begin = planner.milestone("power.begin_utc", None, "");
        steps.push(Step::Emit(
            Box::new(events::transition_start(power.reason, power.flags)),
            vec![TruthNote::Activity(transition, Edge::Begin), planner.with_wall_clock(begin)],
        ));
    }
    let logger = planner.logger_transition(&mut steps, power.states().0);
    planner.logger_transitions.push(logger);
    if power.asks {
        let notify = notify_applications(planner, power, planned, number, Message::Query);
        steps.extend(phase(planner, 3, "query_apps", notify));
        let notify = notify_services(planner, power, number, Message::Query);
        steps.extend(phase(planner, 5, "query_services", notify));
    }
    let mut notify = notify_applications(planner, power, planned, number, Message::Suspend);
    notify.push(Step::Sleep(power.fade_out.0));
    steps.extend(phase(planner, 22, "suspend_apps", notify));
    let notify = notify_services(planner, power, number, Message::Suspend);
    steps.extend(phase(planner, 24, "suspend_services", notify));
    let optional = [
        (57, "show_ui", power.show_ui),
        (64, "superfetch", power.superfetch),
        (66, "winlogon", power.winlogon),
        (68, "pre_sleep_callbacks", power.callbacks),
    ];
    for (start_id, name, time) in optional {
        steps.extend(timed(planner, start_id, name, time));
    }
    let states = power.states();
    steps.extend(devices::plan_phase(planner, number, DevicePhase::Query, states));
    let mut flush = planner.plan.steps(&power.flush_work);
    flush.push(Step::Flush);
    steps.extend(phase(planner, 45, "flush_volumes", flush));
    steps.extend(timed(planner, 102, "build_notify_list", power.notify_list));
    steps.extend(devices::plan_phase(planner, number, DevicePhase::Suspend, states));
    if power.writes_image() && planner.records_power() {
        steps.extend(timed(planner, 100, "flush_all_pages", power.flush_pages));
        if power.image_record != ImageRecord::After {
            steps.push(image_record(planner));
        }
        if power.image_record == ImageRecord::Within {
            steps.push(Step::Sleep(power.write.0));
        }
    }
    if planner.records_power() {
        let (target, effective) = (u32::from(states.0), u32::from(states.1));
        let sleep = planner.milestone("power.sleep", Some(target.into()), &effective.to_string());
        let event = events::last_before_sleep(target, effective, power.reason, power.flags);
        steps.push(Step::emit_noted(event, sleep));
    }
    steps
}

/// Steps from the first record after the sleep to the end.
fn resume(
    planner: &mut Planner<'_>,
    power: &Power,
    planned: &[PlannedApplication],
    number: usize,
    transition: usize,
) -> Vec<Step> {
    let mut off_ticks = power.asleep.0 + power.firmware.0;
    if power.writes_image() && power.image_record != ImageRecord::Within {
        off_ticks += power.write.0;
    }
    if power.reads_image() {
        off_ticks += power.boot_manager.0 + power.loader.0 + power.read.0;
    }
    let mut steps = Vec::new();
    if !power.begins_recording {
        steps.push(Step::Off { ticks: off_ticks, clock_stopped: power.clock_stopped });
    }
    let (target, effective) = power.states();
    if planner.records_power() {
        let wake = planner.milestone("power.wake", Some(target.into()), &target.to_string());
        let event = events::first_after_sleep(target.into(), effective.into(), target.into());
        steps.push(Step::emit_noted(event, wake));
        if power.writes_image() && power.image_record == ImageRecord::After {
            steps.push(image_record(planner));
        }
        if planner.scenario.machine.build >= FIRST_BUILD_WITH_CLOCK_REASON {
            let delta = i64::from(ms(TickDuration(off_ticks)));
            let reason = events::clock_set_reason::SLEEP.into();
            let notes = vec![
                planner.milestone("clock.set", Some(delta), ""),
                planner.milestone("clock.set_reason", Some(reason), ""),
            ];
            steps.push(match planner.scenario.machine.build {
                FIRST_BUILD_WITH_WAKE_SOURCE.. => Step::Emit(Box::new(events::clock_set(delta)), notes),
                _ => Step::SetAfterSleep { ticks: off_ticks, notes },
            });
        }
    }
    let states = (WORKING, WORKING);
    steps.extend(devices::plan_phase(planner, number, DevicePhase::Resume, states));
    steps.extend(account::after_devices(planner, power));
    let resumed = format!("power {number} resumed");
    steps.push(planner.set(&resumed));
    let apps = notify_applications(planner, power, planned, number, Message::Resume);
    let apps = phase(planner, 26, "resume_apps", apps);
    let services = notify_services(planner, power, number, Message::Resume);
    let services = phase(planner, 27, "resume_services", services);
    // Windows does not wait for responses to the resume notification.
    for (name, mut notify) in [("apps", apps), ("services", services)] {
        let all_notified = format!("power {number} {name} notified of resume");
        notify.insert(0, planner.wait(&resumed));
        notify.push(planner.set(&all_notified));
        notify.push(planner.wait("never"));
        planner.plan.thread(SYSTEM, BOOT_PRIORITY, notify);
    }
    steps.extend(timed(planner, 70, "hide_ui", power.hide_ui));
    if let Some(logger) = planner.logger_transitions.pop().flatten() {
        planner.logger_transition_end(&mut steps, logger);
    }
    if planner.records_power() {
        let end = planner.milestone("power.end_utc", None, "");
        let records_wake_source = planner.scenario.machine.build >= FIRST_BUILD_WITH_WAKE_SOURCE;
        let mut notes = vec![TruthNote::Activity(transition, Edge::End), planner.with_wall_clock(end)];
        if records_wake_source && !power.wake_source.is_empty() {
            notes.push(planner.milestone("power.wake_source", None, &power.wake_source));
        }
        let source = records_wake_source.then_some(power.wake_source.as_str());
        let event = events::transition_stop(0, source);
        steps.push(Step::Emit(Box::new(event), notes));
    }
    let notify: Vec<Step> = ["apps", "services"]
        .into_iter()
        .map(|name| planner.wait(&format!("power {number} {name} notified of resume")))
        .collect();
    steps.extend(notify);
    steps.extend(account::after_notifications(planner, power));
    steps.extend(account::idle_detection(planner, power));
    steps
}

fn image_record(planner: &mut Planner<'_>) -> Step {
    let hibernate = planner.milestone("power.hibernate", None, "");
    Step::emit_noted(events::hibernate(), hibernate)
}

/// Returns the steps of a phase that only takes time; no steps if `time` is `None`.
fn timed(planner: &mut Planner<'_>, start_id: u16, name: &'static str, time: Option<TickDuration>) -> Vec<Step> {
    match time {
        Some(time) => phase(planner, start_id, name, vec![Step::Sleep(time.0)]),
        None => Vec::new(),
    }
}

/// Wraps steps in a phase; without the provider, returns the steps alone.
fn phase(planner: &mut Planner<'_>, start_id: u16, name: &str, inner: Vec<Step>) -> Vec<Step> {
    if !planner.records_power() {
        return inner;
    }
    let row = planner.activity("power_phase", name, "");
    let (begin, end) = (events::phase(start_id, true), events::phase(start_id, false));
    planner.wrap_in_activity(row, begin, inner, end)
}
