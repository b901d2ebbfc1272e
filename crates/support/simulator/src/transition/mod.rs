//! Transitions of a machine that runs: shutdown, sleep and what else turns it on and off.
//!
//! Each actor is a thread of the process that acts in Windows. They hand work on by events, so
//! that the recording's context switches show who waited for whom:
//!
//! ```text
//! wininit ─► winlogon ─► csrss of the user's session ─► applications, one after the other
//!    │                                                     (Windows 10: a level side by side)
//!    ├────► services.exe ─► services notified before all others
//!    ├────► csrss of the system's session ─► services.exe ─► all other services, side by side
//!    └────► the kernel's steps
//! ```

mod account;
mod applications;
mod devices;
mod fast_start;
mod kernel;
mod power;
pub(super) mod running;
mod services;
mod shutdown;
mod standby;
mod telling;

use super::plan::{Cast, Plan};
use super::program::{Edge, Note, Step};
use super::scenario::power::{Power, PowerKind, Standby};
use super::scenario::{Scenario, ScenarioError};
use super::transition_truth::{Activity, Milestone, NOT_YET, Notification};
use onoff_testkit::events::Occurrence;
use onoff_testkit::events::power as events;

/// Versions before this one name nobody in the ends of their records.
const NAMES_IN_ENDS: u32 = 10240;

/// What transitions are planned with.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a mut Plan,
    pub(super) scenario: &'a Scenario,
    pub(super) cast: Cast,
    /// Version of the records that gained fields with Windows 10.
    pub(super) version: u8,
    /// Transitions in the kernel logger's records that have not ended.
    logger_transitions: Vec<Option<usize>>,
}

/// Plans every transition of a scenario.
pub(super) fn plan(plan: &mut Plan, scenario: &Scenario, cast: Cast) -> Result<(), ScenarioError> {
    let mut stage = Stage {
        plan,
        scenario,
        cast,
        version: u8::from(scenario.machine.build >= NAMES_IN_ENDS),
        logger_transitions: Vec::new(),
    };
    let applications = applications::plan(&mut stage);
    let mut before = None;
    if let Some(shutdown) = scenario.shutdown.as_ref().filter(|shutdown| shutdown.fast_startup) {
        before = Some(shutdown::user_session(&mut stage, shutdown, &applications));
        stage.cast.teller = stage.cast.csrss_system;
    }
    let whole = scenario.shutdown.as_ref().filter(|shutdown| !shutdown.fast_startup);
    let count = scenario.power.len() + scenario.standby.len();
    for (number, one) in in_order(scenario).into_iter().enumerate() {
        let last = number + 1 == count && whole.is_none();
        let chained = (before.as_deref(), last);
        before = Some(match one {
            One::Power(power) => {
                if power.kind == PowerKind::FastStartup && !power.ends_recording {
                    fast_start::plan(&mut stage, &format!("power {number} resumed"));
                }
                power::plan(&mut stage, power, &applications, number, chained)
            }
            One::Standby(standby) => standby::plan(&mut stage, standby, number, chained),
        });
    }
    if let Some(shutdown) = whole {
        shutdown::plan(&mut stage, shutdown, &applications, before.as_deref());
    }
    for planned in applications {
        let never = stage.wait("never");
        stage.plan.threads[planned.thread].steps.push(never);
    }
    Ok(())
}

enum One<'s> {
    Power(&'s Power),
    Standby(&'s Standby),
}

/// Sleeps and standbys by the time at which they are wanted.
fn in_order(scenario: &Scenario) -> Vec<One<'_>> {
    let powers = scenario.power.iter().map(|one| (one.at, One::Power(one)));
    let standbys = scenario.standby.iter().map(|one| (one.at, One::Standby(one)));
    let mut all: Vec<_> = powers.chain(standbys).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, one)| one).collect()
}

impl Stage<'_> {
    /// Whether the provider records power transitions, and not the kernel's logger.
    fn records_power(&self) -> bool {
        !self.scenario.recording.power_by_logger
    }

    /// A milestone's note as one whose quantity is the wall clock's time.
    fn wall(&self, note: Note) -> Note {
        match note {
            Note::Milestone(row) => Note::WallClock(row),
            other => other,
        }
    }

    /// The kernel logger records that a transition is decided; returns its row.
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
            notes: vec![Note::Activity(row, Edge::Begin)],
        });
        Some(row)
    }

    /// The kernel logger records that it is over.
    fn logger_transition_end(&self, steps: &mut Vec<Step>, row: usize) {
        steps.push(Step::Kernel {
            hook: 0x1223,
            payload: events::logger_action_stop(0),
            notes: vec![Note::Activity(row, Edge::End)],
        });
    }

    /// An event that begins or ends a row of the truth.
    fn tell(&mut self, event: Occurrence, note: Note) -> Step {
        Step::tell_note(event, note)
    }

    /// A new row of the truth: somebody is told.
    fn notification(&mut self, row: Notification) -> usize {
        self.plan.transitions.notifications.push(Notification { start_ns: NOT_YET, ..row });
        self.plan.transitions.notifications.len() - 1
    }

    /// A new row of the truth: an activity.
    fn activity(&mut self, kind: &'static str, name: &str, detail: &str) -> usize {
        self.plan.transitions.activities.push(Activity {
            kind,
            name: name.to_owned(),
            detail: detail.to_owned(),
            start_ns: NOT_YET,
            end_ns: None,
        });
        self.plan.transitions.activities.len() - 1
    }

    /// A new row of the truth: a milestone.
    fn milestone(&mut self, name: &'static str, value: Option<i64>, detail: &str) -> Note {
        self.plan.transitions.milestones.push(Milestone { name, time_ns: NOT_YET, value, detail: detail.to_owned() });
        Note::Milestone(self.plan.transitions.milestones.len() - 1)
    }

    /// An activity around steps.
    fn within(&mut self, row: usize, begin: Occurrence, steps: Vec<Step>, end: Occurrence) -> Vec<Step> {
        let mut all = vec![self.tell(begin, Note::Activity(row, Edge::Begin))];
        all.extend(steps);
        all.push(self.tell(end, Note::Activity(row, Edge::End)));
        all
    }

    fn wait(&mut self, signal: &str) -> Step {
        Step::Wait(self.plan.signal(signal))
    }

    fn set(&mut self, signal: &str) -> Step {
        Step::Set(self.plan.signal(signal))
    }
}
