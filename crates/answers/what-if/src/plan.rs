//! Searches for the best changes, each on top of the ones before.
//!
//! The candidates are the subjects on the critical path of the replay with the changes so far. The search is greedy: it
//! takes the change that saves the most, then looks again. If no single change helps, it tries pairs: subjects that work
//! in parallel save nothing alone. Of the changes of one subject it takes the mildest that gets most of the saving.

use onoff_evidence::account_model::AccountSubjectKind;
use onoff_evidence::significance::NOISE_NS;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_trace::{Losses, Trace};
use serde::Serialize;

use crate::bottleneck::Bottleneck;
use crate::changes::Change;
use crate::graph::Graph;
use crate::identity::Identity;
use crate::prediction::{
    Durations, NoPrediction, PredictedDuration, Predictor, WhatIfError, WhatIfQuestion, first_culprit, with_predictor,
};
use crate::replay::Replay;

/// Minimum saving of a step, ns: 300 ms, the variation between two boots of one computer (table 5 of the paper).
pub const MIN_SAVING_NS: i64 = NOISE_NS;
/// Share of a subject's largest saving that a milder change must get, percent.
pub const MIN_MILD_PERCENT: i64 = 80;
/// Maximum number of steps.
pub const MAX_STEPS: u32 = 20;
/// Maximum number of subjects that are tried in a step.
const MAX_SUBJECTS: usize = 8;
/// Maximum number of subjects that are tried as the first of a pair, and as the second.
const MAX_PAIRED_SUBJECTS: usize = 3;

/// Programs that run the services and tasks of others.
const HOST_PROGRAMS: [&str; 5] = ["svchost.exe", "taskhost.exe", "taskhostw.exe", "taskhostex.exe", "dllhost.exe"];

/// A change that saves more than the one proposed, but is harder to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrongerChange {
    pub change: Change,
    /// Saving, ns, with external waits as long as recorded.
    pub saving_ns: i64,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanStep {
    /// The change; two if only both together save time.
    pub changes: Vec<Change>,
    /// Saving on top of the steps before, ns.
    pub saving: PredictedDuration,
    /// Predicted duration with this step and those before.
    pub predicted: PredictedDuration,
    /// The first culprit afterwards; `None` if not known.
    pub bottleneck: Option<Bottleneck>,
    /// The change of the same subject that saves the most, if a milder one is proposed. `None` if it does not save at
    /// least `min_saving_ns` more, and for two changes.
    pub stronger: Option<StrongerChange>,
}

/// Why a plan has no more steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanEnd {
    /// It has as many steps as requested.
    Complete,
    /// No further change saves more than the variation between two boots.
    NoSaving,
}

/// The best changes of a transition, in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WhatIfPlan"))]
pub struct Plan {
    pub transition: TransitionKind,
    /// Number among the transitions of its kind in the recording, from 1.
    pub number: u32,
    /// Duration of the transition in the recording, ns, without required idle time and time asleep.
    pub measured_ns: i64,
    /// The first culprit before any change; `None` if not known.
    pub bottleneck: Option<Bottleneck>,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// Why there are no more steps; `None` if there is no prediction.
    pub end: Option<PlanEnd>,
    /// Minimum saving of a step, ns.
    pub min_saving_ns: i64,
    /// Number of changes and pairs of changes that were replayed.
    pub replayed: u64,
    /// Why there is no prediction; `None` if there is one.
    pub no_prediction: Option<NoPrediction>,
    /// The replay without a change.
    pub identity: Identity,
    /// Share of the phases' critical path that is unknown, percent.
    pub unknown_percent: f64,
    /// Number of waits that are replayed both with their recorded length and with their recorded end.
    pub uncertain_waits: u64,
    /// All losses of the recording.
    pub losses: Losses,
}

/// Searches for the best `steps` changes of a transition. The question's own changes are not used.
///
/// # Errors
/// The recording has no such transition or no context switches.
pub fn plan(trace: &Trace, question: &WhatIfQuestion, steps: u32) -> Result<Plan, WhatIfError> {
    with_predictor(trace, question, |predictor| Ok(predictor.plan(steps)))
}

/// Changes on top of those before, with their saving.
#[derive(Clone, Debug)]
struct Trial {
    changes: Vec<Change>,
    saving_ns: i64,
    stronger: Option<StrongerChange>,
}

/// The state of a search.
struct Search<'p, 'm, 'w, 't> {
    predictor: &'p mut Predictor<'m, 'w, 't>,
    /// The changes so far.
    changes: Vec<Change>,
    /// Predicted duration with them, ns.
    predicted_ns: i64,
    /// Number of changes replayed.
    replayed: u64,
}

impl Predictor<'_, '_, '_> {
    /// Searches for the best `steps` changes.
    pub fn plan(&mut self, steps: u32) -> Plan {
        let no_prediction = self.no_prediction();
        let mut plan = Plan {
            transition: self.kind,
            number: self.number,
            measured_ns: self.measured_ns,
            bottleneck: None,
            steps: Vec::new(),
            end: None,
            min_saving_ns: MIN_SAVING_NS,
            replayed: 0,
            no_prediction,
            identity: self.identity.clone(),
            unknown_percent: self.unknown_percent,
            uncertain_waits: self.uncertain_waits(),
            losses: self.model.trace.losses.clone(),
        };
        if no_prediction.is_some() {
            return plan;
        }
        let mut before: Durations = [self.measured_ns; 2];
        let mut shares = {
            let replay = self.logged_replay(&self.model.graph);
            self.shares(&self.model.graph, &replay)
        };
        plan.bottleneck = first_culprit(&shares);
        let predicted_ns = self.measured_ns;
        let mut search = Search { predictor: self, changes: Vec::new(), predicted_ns, replayed: 0 };
        plan.end = Some(PlanEnd::Complete);
        while plan.steps.len() < steps.min(MAX_STEPS) as usize {
            let trial = search.best_single(&shares).or_else(|| search.best_pair(&shares));
            let Some((trial, (graph, replay))) = trial.and_then(|trial| {
                let logged = search.logged(&trial.changes)?;
                Some((trial, logged))
            }) else {
                plan.end = Some(PlanEnd::NoSaving);
                break;
            };
            let Some(after) = search.predictor.durations(&graph, &replay) else {
                plan.end = Some(PlanEnd::NoSaving);
                break;
            };
            shares = search.predictor.shares(&graph, &replay);
            let [before_ns, before_absolute_ns] = before;
            let [after_ns, after_absolute_ns] = after;
            plan.steps.push(PlanStep {
                saving: range(before_ns.saturating_sub(after_ns), before_absolute_ns.saturating_sub(after_absolute_ns)),
                predicted: range(after_ns, after_absolute_ns),
                bottleneck: first_culprit(&shares),
                stronger: trial.stronger,
                changes: trial.changes.clone(),
            });
            search.changes.extend(trial.changes);
            search.predicted_ns = after_ns;
            before = after;
        }
        plan.replayed = search.replayed;
        plan
    }
}

impl Search<'_, '_, '_, '_> {
    /// Returns the best change of one subject, if it saves enough.
    fn best_single(&mut self, shares: &[Bottleneck]) -> Option<Trial> {
        let mut best: Option<Trial> = None;
        for subject in candidates(shares).take(MAX_SUBJECTS) {
            // A subject rarely saves more than its time on the path.
            if subject.ns < MIN_SAVING_NS || best.as_ref().is_some_and(|best| best.saving_ns >= subject.ns) {
                break;
            }
            let trials = alternatives(subject).into_iter().filter_map(|change| self.trial(vec![change])).collect();
            if let Some(trial) = mildest(trials)
                && best.as_ref().is_none_or(|best| trial.saving_ns > best.saving_ns)
            {
                best = Some(trial);
            }
        }
        best
    }

    /// Returns the best pair of changes of two subjects that save nothing alone, if they save enough together.
    fn best_pair(&mut self, shares: &[Bottleneck]) -> Option<Trial> {
        let mut best: Option<Trial> = None;
        for first in candidates(shares).take(MAX_PAIRED_SUBJECTS) {
            // Without the first, the path leads through whatever worked in parallel.
            let strongest = alternatives(first).into_iter().rev().find_map(|change| self.logged(&[change]));
            let Some((graph, replay)) = strongest else { continue };
            let exposed = self.predictor.shares(&graph, &replay);
            let exposed: Vec<&Bottleneck> = candidates(&exposed)
                .filter(|second| second.name != first.name && second.ns >= MIN_SAVING_NS)
                .take(MAX_PAIRED_SUBJECTS)
                .collect();
            for second in exposed {
                let mut trials = Vec::new();
                for change in alternatives(first) {
                    for other in alternatives(second) {
                        trials.extend(self.trial(vec![change.clone(), other]));
                    }
                }
                if let Some(trial) = mildest(trials)
                    && best.as_ref().is_none_or(|best| trial.saving_ns > best.saving_ns)
                {
                    best = Some(Trial { stronger: None, ..trial });
                }
            }
        }
        best
    }

    /// Replays changes on top of those so far; `None` if they cannot be made.
    fn trial(&mut self, changes: Vec<Change>) -> Option<Trial> {
        let graph = self.graph(&changes)?;
        self.replayed += 1;
        let replay = self.predictor.replay(&graph);
        let predicted_ns = self.predictor.predicted_ns(&graph, &replay)?;
        Some(Trial { changes, saving_ns: self.predicted_ns.saturating_sub(predicted_ns), stronger: None })
    }

    fn logged(&mut self, changes: &[Change]) -> Option<(Graph, Replay)> {
        let graph = self.graph(changes)?;
        let replay = self.predictor.logged_replay(&graph);
        Some((graph, replay))
    }

    fn graph(&mut self, changes: &[Change]) -> Option<Graph> {
        if changes.iter().any(|change| self.changes.contains(change)) {
            return None;
        }
        let all: Vec<Change> = self.changes.iter().chain(changes).cloned().collect();
        self.predictor.changes.apply(&all).ok()
    }
}

/// Returns the subjects that a change may concern.
fn candidates(shares: &[Bottleneck]) -> impl Iterator<Item = &Bottleneck> {
    let is_host = |name: &str| HOST_PROGRAMS.iter().any(|host| host.eq_ignore_ascii_case(name));
    shares.iter().filter(move |share| share.is_changeable() && !is_host(&share.name))
}

/// Returns the changes that apply to a kind of subject, mildest first.
fn alternatives(subject: &Bottleneck) -> Vec<Change> {
    let name = || subject.name.clone();
    let (ungroup, pend) = (Change::Ungroup { service: name() }, Change::Pend { driver: name() });
    let (delay, without) = (Change::Delay { name: name() }, Change::Without { name: name() });
    match subject.kind {
        AccountSubjectKind::Service => vec![ungroup, delay, without],
        AccountSubjectKind::Driver => vec![pend, without],
        AccountSubjectKind::Process => vec![delay, without],
        _ => vec![without],
    }
}

/// Returns the first trial that gets most of the largest saving, if that is enough. Milder trials come first.
fn mildest(trials: Vec<Trial>) -> Option<Trial> {
    let largest = trials.iter().max_by_key(|trial| trial.saving_ns)?.clone();
    if largest.saving_ns < MIN_SAVING_NS {
        return None;
    }
    let is_enough = |saving_ns: i64| {
        saving_ns >= MIN_SAVING_NS
            && i128::from(saving_ns) * 100 >= i128::from(largest.saving_ns) * i128::from(MIN_MILD_PERCENT)
    };
    let mut chosen = trials.into_iter().find(|trial| is_enough(trial.saving_ns))?;
    if largest.saving_ns.saturating_sub(chosen.saving_ns) >= MIN_SAVING_NS
        && let [change] = largest.changes.as_slice()
    {
        chosen.stronger = Some(StrongerChange { change: change.clone(), saving_ns: largest.saving_ns });
    }
    Some(chosen)
}

const fn range(ns: i64, other_ns: i64) -> PredictedDuration {
    if ns < other_ns {
        PredictedDuration { ns, min_ns: ns, max_ns: other_ns }
    } else {
        PredictedDuration { ns, min_ns: other_ns, max_ns: ns }
    }
}
