//! Sleep, hibernation and fast startup, led through by one thread of the kernel.
//!
//! ```text
//! decided ─► who runs is asked and told ─► devices are asked ─► volumes flushed ─► devices sleep
//!                                                                                       │
//!   over ◄─ who runs is told, nobody waits for them ◄─ devices wake ◄─ (asleep) ◄───────┘
//! ```

use super::Stage;
use super::account::{self, ms};
use super::applications::Planned;
use super::devices::{self, Telling};
use super::telling::{Message, tell_applications, tell_services};
use crate::plan::BOOT_PRIORITY;
use crate::program::SYSTEM;
use crate::program::{Edge, Note, Step};
use crate::scenario::power::{ImageRecord, Power, PowerKind};
use crate::span::Span;
use onoff_testkit::events::power as events;

/// The build that first names what woke the system, and by how much the clock was set.
const NAMES_WAKE_SOURCE: u32 = 22621;

/// The build that first says why the clock was set.
const SAYS_WHY_CLOCK_WAS_SET: u32 = 10240;

/// System power states.
const WORKING: u8 = 1;
const SLEEPING: u8 = 4;
const HIBERNATED: u8 = 5;

impl Power {
    /// State aimed at, and the state that devices are prepared for.
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

/// Plans a transition; `first` waits for what came before, `last` says that it is over.
pub(super) fn plan(
    stage: &mut Stage<'_>,
    power: &Power,
    planned: &[Planned],
    number: usize,
    (before, last): (Option<&str>, bool),
) -> String {
    let over = format!("power {number} over");
    let mut steps = Vec::new();
    steps.extend(before.map(|before| stage.wait(before)));
    steps.push(Step::Until(power.at.0));
    let transition = stage.activity("power_transition", &power.reason.to_string(), &power.flags.to_string());
    if !power.begins_recording {
        steps.extend(suspend(stage, power, planned, number, transition));
    }
    if power.ends_recording {
        steps.push(Step::Finish);
        steps.push(stage.wait("never"));
    } else {
        steps.extend(resume(stage, power, planned, number, transition));
        if last {
            steps.push(Step::Finish);
        }
        steps.push(stage.set(&over));
        steps.push(stage.wait("never"));
    }
    let thread = stage.plan.thread(SYSTEM, BOOT_PRIORITY, steps);
    if let Some(id) = power.thread_id {
        stage.plan.threads[thread].id = id;
    }
    over
}

/// Down to the last record before the computer sleeps.
fn suspend(stage: &mut Stage<'_>, power: &Power, planned: &[Planned], number: usize, transition: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    if stage.records_power() {
        let begin = stage.milestone("power.begin_utc", None, "");
        steps.push(Step::Tell(
            Box::new(events::transition_start(power.reason, power.flags)),
            vec![Note::Activity(transition, Edge::Begin), stage.wall(begin)],
        ));
    }
    let logger = stage.logger_transition(&mut steps, power.states().0);
    stage.logger_transitions.push(logger);
    if power.asks {
        let told = tell_applications(stage, power, planned, number, Message::Query);
        steps.extend(phase(stage, 3, "query_apps", told));
        let told = tell_services(stage, power, number, Message::Query);
        steps.extend(phase(stage, 5, "query_services", told));
    }
    let mut told = tell_applications(stage, power, planned, number, Message::Suspend);
    told.push(Step::Sleep(power.fade_out.0));
    steps.extend(phase(stage, 22, "suspend_apps", told));
    let told = tell_services(stage, power, number, Message::Suspend);
    steps.extend(phase(stage, 24, "suspend_services", told));
    let optional = [
        (57, "show_ui", power.show_ui),
        (64, "superfetch", power.superfetch),
        (66, "winlogon", power.winlogon),
        (68, "pre_sleep_callbacks", power.callbacks),
    ];
    for (first, name, time) in optional {
        steps.extend(timed(stage, first, name, time));
    }
    let states = power.states();
    steps.extend(devices::all(stage, number, Telling::Query, states));
    let mut flush = stage.plan.steps(&power.flush_work);
    flush.push(Step::Flush);
    steps.extend(phase(stage, 45, "flush_volumes", flush));
    steps.extend(timed(stage, 102, "build_notify_list", power.notify_list));
    steps.extend(devices::all(stage, number, Telling::Suspend, states));
    if power.writes_image() && stage.records_power() {
        steps.extend(timed(stage, 100, "flush_all_pages", power.flush_pages));
        if power.image_record != ImageRecord::After {
            steps.push(image_record(stage));
        }
        if power.image_record == ImageRecord::Within {
            steps.push(Step::Sleep(power.write.0));
        }
    }
    if stage.records_power() {
        let (target, effective) = (u32::from(states.0), u32::from(states.1));
        let sleep = stage.milestone("power.sleep", Some(target.into()), &effective.to_string());
        let event = events::pre_sleep(target, effective, power.reason, power.flags);
        steps.push(Step::tell_note(event, sleep));
    }
    steps
}

/// From the first record after the sleep to the end.
fn resume(stage: &mut Stage<'_>, power: &Power, planned: &[Planned], number: usize, transition: usize) -> Vec<Step> {
    let mut off = power.asleep.0 + power.firmware.0;
    if power.writes_image() && power.image_record != ImageRecord::Within {
        off += power.write.0;
    }
    if power.reads_image() {
        off += power.boot_manager.0 + power.loader.0 + power.read.0;
    }
    let mut steps = Vec::new();
    if !power.begins_recording {
        steps.push(Step::Off { ticks: off, clock_stands_still: power.clock_stands_still });
    }
    let (target, effective) = power.states();
    if stage.records_power() {
        let wake = stage.milestone("power.wake", Some(target.into()), &target.to_string());
        let event = events::post_sleep(target.into(), effective.into(), target.into());
        steps.push(Step::tell_note(event, wake));
        if power.writes_image() && power.image_record == ImageRecord::After {
            steps.push(image_record(stage));
        }
        if stage.scenario.machine.build >= SAYS_WHY_CLOCK_WAS_SET {
            let delta = i64::from(ms(Span(off)));
            let reason = events::clock_set_reason::SLEEP.into();
            let notes = vec![
                stage.milestone("clock.set", Some(delta), ""),
                stage.milestone("clock.set_reason", Some(reason), ""),
            ];
            steps.push(match stage.scenario.machine.build {
                NAMES_WAKE_SOURCE.. => Step::Tell(Box::new(events::clock_set(delta)), notes),
                _ => Step::SetAfterSleep { ticks: off, notes },
            });
        }
    }
    let states = (WORKING, WORKING);
    steps.extend(devices::all(stage, number, Telling::Resume, states));
    steps.extend(account::devices_back(stage, power));
    let resumed = format!("power {number} resumed");
    steps.push(stage.set(&resumed));
    let apps = tell_applications(stage, power, planned, number, Message::Resume);
    let apps = phase(stage, 26, "resume_apps", apps);
    let services = tell_services(stage, power, number, Message::Resume);
    let services = phase(stage, 27, "resume_services", services);
    // Nobody waits for those who are told of the resume.
    for (name, mut told) in [("apps", apps), ("services", services)] {
        let told_all = format!("power {number} {name} told of the resume");
        told.insert(0, stage.wait(&resumed));
        told.push(stage.set(&told_all));
        told.push(stage.wait("never"));
        stage.plan.thread(SYSTEM, BOOT_PRIORITY, told);
    }
    steps.extend(timed(stage, 70, "hide_ui", power.hide_ui));
    if let Some(logger) = stage.logger_transitions.pop().flatten() {
        stage.logger_transition_end(&mut steps, logger);
    }
    if stage.records_power() {
        let end = stage.milestone("power.end_utc", None, "");
        let names = stage.scenario.machine.build >= NAMES_WAKE_SOURCE;
        let mut notes = vec![Note::Activity(transition, Edge::End), stage.wall(end)];
        if names && !power.wake_source.is_empty() {
            notes.push(stage.milestone("power.wake_source", None, &power.wake_source));
        }
        let source = names.then_some(power.wake_source.as_str());
        let event = events::transition_stop(0, source);
        steps.push(Step::Tell(Box::new(event), notes));
    }
    let told: Vec<Step> = ["apps", "services"]
        .into_iter()
        .map(|name| stage.wait(&format!("power {number} {name} told of the resume")))
        .collect();
    steps.extend(told);
    steps.extend(account::all_told(stage, power));
    steps.extend(account::idle_detection(stage, power));
    steps
}

/// The kernel's record of the memory image.
fn image_record(stage: &mut Stage<'_>) -> Step {
    let hibernate = stage.milestone("power.hibernate", None, "");
    Step::tell_note(events::hibernate(), hibernate)
}

/// A phase that only takes its time; absent = it is not there.
fn timed(stage: &mut Stage<'_>, first: u16, name: &'static str, time: Option<Span>) -> Vec<Step> {
    match time {
        Some(time) => phase(stage, first, name, vec![Step::Sleep(time.0)]),
        None => Vec::new(),
    }
}

/// A phase around steps; the steps alone where the provider is not recorded.
fn phase(stage: &mut Stage<'_>, first: u16, name: &str, inner: Vec<Step>) -> Vec<Step> {
    if !stage.records_power() {
        return inner;
    }
    let row = stage.activity("power_phase", name, "");
    let (begin, end) = (events::phase(first, true), events::phase(first, false));
    stage.within(row, begin, inner, end)
}
