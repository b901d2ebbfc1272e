//! Transitions of a machine that runs: shutdown, sleep and what else turns it on and off.
//!
//! Each actor is a thread of the process that acts in Windows. They hand work on by events, so
//! that the recording's context switches show who waited for whom:
//!
//! ```text
//! wininit ─► winlogon ─► csrss of the user's session ─► applications, one after the other
//!    │                                                     (Windows 10: a level side by side)
//!    ├────► services.exe ─► services told before all others
//!    ├────► csrss of the system's session ─► services.exe ─► all other services, side by side
//!    └────► the kernel's steps
//! ```

mod applications;
mod kernel;
pub(super) mod running;
pub(super) mod scenario;
mod services;
mod shutdown;
pub(super) mod truth;

use super::plan::Plan;
use super::program::{Edge, Note, Step};
use super::scenario::{Scenario, ScenarioError};
use crate::events::Occurrence;
use truth::{Activity, Milestone, NOT_YET, Notification};

/// The processes that transitions need, by their index in the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cast {
    pub(super) csrss_system: usize,
    pub(super) csrss_user: usize,
    pub(super) wininit: usize,
    pub(super) winlogon: usize,
    pub(super) manager: usize,
    pub(super) explorer: usize,
}

/// Versions before this one name nobody in the ends of their records.
const NAMES_IN_ENDS: u32 = 10240;

/// What transitions are planned with.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a mut Plan,
    pub(super) scenario: &'a Scenario,
    pub(super) cast: Cast,
    /// Version of the records that gained fields with Windows 10.
    pub(super) version: u8,
}

/// Plans every transition of a scenario.
pub(super) fn plan(plan: &mut Plan, scenario: &Scenario, cast: Cast) -> Result<(), ScenarioError> {
    let mut stage = Stage {
        plan,
        scenario,
        cast,
        version: u8::from(scenario.machine.build >= NAMES_IN_ENDS),
    };
    let applications = applications::plan(&mut stage);
    if let Some(shutdown) = &scenario.shutdown {
        shutdown::plan(&mut stage, shutdown, &applications);
    }
    Ok(())
}

impl Stage<'_> {
    /// An event that begins or ends a row of the truth.
    fn tell(&mut self, event: Occurrence, note: Note) -> Step {
        Step::tell_note(event, note)
    }

    /// A new row of the truth: somebody is told.
    fn notification(&mut self, row: Notification) -> usize {
        self.plan.transitions.notifications.push(Notification {
            start_ns: NOT_YET,
            ..row
        });
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
        self.plan.transitions.milestones.push(Milestone {
            name,
            time_ns: NOT_YET,
            value,
            detail: detail.to_owned(),
        });
        Note::Milestone(self.plan.transitions.milestones.len() - 1)
    }

    /// An activity around steps.
    fn within(
        &mut self,
        row: usize,
        begin: Occurrence,
        steps: Vec<Step>,
        end: Occurrence,
    ) -> Vec<Step> {
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
