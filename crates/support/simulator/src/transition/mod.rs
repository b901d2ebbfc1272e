//! Transitions of a running machine: shutdown, sleep, hibernation, fast startup, standby.
//!
//! Each actor is a thread of the process that acts in Windows. Actors signal each other, so that the recording's
//! context switches show which thread waited for which:
//!
//! ```text
//! wininit ─► winlogon ─► csrss of the user session ─► applications, one at a time
//!    │                                                   (Windows 10: each level in parallel)
//!    ├────► services.exe ─► pre-shutdown services
//!    ├────► csrss of the system session ─► services.exe ─► all other services, in parallel
//!    └────► the kernel's steps
//! ```

mod account;
mod applications;
mod devices;
mod fast_start;
mod kernel;
mod notifications;
mod power;
pub(super) mod running;
mod services;
mod shutdown;
mod standby;

use super::plan::{Actors, Plan};
use super::program::{Edge, Step, TruthNote};
use super::scenario::power::{Power, PowerKind, Standby};
use super::scenario::{Scenario, ScenarioError};
use super::transition_truth::{Activity, Milestone, NOT_STARTED, Notification};
use onoff_testkit::events::EventTemplate;
use onoff_testkit::events::power as events;

/// First build whose end events name the process, thread or service.
const FIRST_BUILD_WITH_NAMED_ENDS: u32 = 10240;

/// State while transitions are planned.
pub(super) struct Planner<'a> {
    pub(super) plan: &'a mut Plan,
    pub(super) scenario: &'a Scenario,
    pub(super) actors: Actors,
    /// Version of the events that gained fields in Windows 10: 0 before, 1 since.
    pub(super) version: u8,
    /// Rows of transitions that the kernel logger has not ended yet.
    logger_transitions: Vec<Option<usize>>,
}

/// Plans every transition of a scenario.
pub(super) fn plan(plan: &mut Plan, scenario: &Scenario, actors: Actors) -> Result<(), ScenarioError> {
    let mut planner = Planner {
        plan,
        scenario,
        actors,
        version: u8::from(scenario.machine.build >= FIRST_BUILD_WITH_NAMED_ENDS),
        logger_transitions: Vec::new(),
    };
    let applications = applications::plan(&mut planner);
    let mut previous_done = None;
    if let Some(shutdown) = scenario.shutdown.as_ref().filter(|shutdown| shutdown.fast_startup) {
        previous_done = Some(shutdown::user_session(&mut planner, shutdown, &applications));
        planner.actors.notifier = planner.actors.csrss_system;
    }
    let full_shutdown = scenario.shutdown.as_ref().filter(|shutdown| !shutdown.fast_startup);
    let count = scenario.power.len() + scenario.standby.len();
    for (number, transition) in sorted_transitions(scenario).into_iter().enumerate() {
        let is_last = number + 1 == count && full_shutdown.is_none();
        let position = (previous_done.as_deref(), is_last);
        previous_done = Some(match transition {
            Transition::Power(power) => {
                if power.kind == PowerKind::FastStartup && !power.ends_recording {
                    fast_start::plan(&mut planner, &format!("power {number} resumed"));
                }
                power::plan(&mut planner, power, &applications, number, position)
            }
            Transition::Standby(standby) => standby::plan(&mut planner, standby, number, position),
        });
    }
    if let Some(shutdown) = full_shutdown {
        shutdown::plan(&mut planner, shutdown, &applications, previous_done.as_deref());
    }
    for planned in applications {
        let never = planner.wait("never");
        planner.plan.threads[planned.thread].steps.push(never);
    }
    Ok(())
}

enum Transition<'s> {
    Power(&'s Power),
    Standby(&'s Standby),
}

/// Sleeps and standbys, sorted by planned time.
fn sorted_transitions(scenario: &Scenario) -> Vec<Transition<'_>> {
    let powers = scenario.power.iter().map(|power| (power.at, Transition::Power(power)));
    let standbys = scenario.standby.iter().map(|standby| (standby.at, Transition::Standby(standby)));
    let mut transitions: Vec<_> = powers.chain(standbys).collect();
    transitions.sort_by_key(|(at, _)| *at);
    transitions.into_iter().map(|(_, transition)| transition).collect()
}

impl Planner<'_> {
    /// Returns true if the Kernel-Power provider records power transitions instead of the kernel logger.
    fn records_power(&self) -> bool {
        !self.scenario.recording.power_by_logger
    }

    /// Converts a milestone's note so that its value becomes the wall clock.
    fn with_wall_clock(&self, note: TruthNote) -> TruthNote {
        match note {
            TruthNote::Milestone(row) => TruthNote::WallClock(row),
            note => note,
        }
    }

    /// Records the start of a transition in the kernel logger; returns its row.
    fn logger_transition(&mut self, steps: &mut Vec<Step>, state: u8) -> Option<usize> {
        if self.records_power() {
            return None;
        }
        // Power actions: 2 sleep, 3 hibernate.
        let action = if state == 5 { 3 } else { 2 };
        let row = self.activity("power_transition", &action.to_string(), "");
        steps.push(Step::Kernel {
            hook: 0x1222,
            payload: events::logger_action_start(action, state.into()),
            notes: vec![TruthNote::Activity(row, Edge::Begin)],
        });
        Some(row)
    }

    /// Records the end of a transition in the kernel logger.
    fn logger_transition_end(&self, steps: &mut Vec<Step>, row: usize) {
        steps.push(Step::Kernel {
            hook: 0x1223,
            payload: events::logger_action_stop(0),
            notes: vec![TruthNote::Activity(row, Edge::End)],
        });
    }

    /// Returns a step that records an event that starts or ends a row of the truth.
    fn emit(&mut self, event: EventTemplate, note: TruthNote) -> Step {
        Step::emit_noted(event, note)
    }

    /// Adds a notification to the truth.
    fn notification(&mut self, row: Notification) -> usize {
        self.plan.transitions.notifications.push(Notification { start_ns: NOT_STARTED, ..row });
        self.plan.transitions.notifications.len() - 1
    }

    /// Adds an activity to the truth.
    fn activity(&mut self, kind: &'static str, name: &str, detail: &str) -> usize {
        self.plan.transitions.activities.push(Activity {
            kind,
            name: name.to_owned(),
            detail: detail.to_owned(),
            start_ns: NOT_STARTED,
            end_ns: None,
        });
        self.plan.transitions.activities.len() - 1
    }

    /// Adds a milestone to the truth.
    fn milestone(&mut self, name: &'static str, value: Option<i64>, detail: &str) -> TruthNote {
        self.plan.transitions.milestones.push(Milestone {
            name,
            time_ns: NOT_STARTED,
            value,
            detail: detail.to_owned(),
        });
        TruthNote::Milestone(self.plan.transitions.milestones.len() - 1)
    }

    /// Wraps steps in an activity.
    fn wrap_in_activity(
        &mut self,
        row: usize,
        begin: EventTemplate,
        steps: Vec<Step>,
        end: EventTemplate,
    ) -> Vec<Step> {
        let mut wrapped = vec![self.emit(begin, TruthNote::Activity(row, Edge::Begin))];
        wrapped.extend(steps);
        wrapped.push(self.emit(end, TruthNote::Activity(row, Edge::End)));
        wrapped
    }

    fn wait(&mut self, signal: &str) -> Step {
        Step::Wait(self.plan.signal(signal))
    }

    fn set(&mut self, signal: &str) -> Step {
        Step::Set(self.plan.signal(signal))
    }
}
