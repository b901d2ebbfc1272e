//! The answer: predicted total and phases beside the measured ones, and what the prediction rests on.

use onoff_blame::account::{AccountBuilder, AccountedPhase, ThreadWork};
use onoff_blame::waits::{TransitionPhase, Waits};
use onoff_evidence::phase_name::SETTLING_PHASES;
use onoff_evidence::significance::NOISE_NS;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_trace::{SystemKind, Trace};
use onoff_transitions::{Transition, TransitionOptions, find_all};
use rayon::iter::{IntoParallelIterator, ParallelExtend, ParallelIterator};

pub use crate::answer::{
    Assumption, Basis, MAX_UNKNOWN_PERCENT, NoPrediction, PredictedDuration, PredictedPhase, Prediction, WhatIfError,
    WhatIfQuestion,
};
use crate::bottleneck::{Bottleneck, SettlingInterval, Shares};
use crate::changes::{Change, ChangeError, Changes};
use crate::graph::Graph;
use crate::identity::Identity;
use crate::linux;
use crate::model::{Model, ModelPhase, ReplayedPhase, signal_time};
use crate::replay::{ExternalRule, Horizon, Replay};

/// Predicts the effect of the changes on a transition.
///
/// # Errors
/// The recording has no such transition or no context switches, or a change cannot be made.
pub fn predict(trace: &Trace, question: &WhatIfQuestion) -> Result<Prediction, WhatIfError> {
    let transition = transition_of(trace, question)?;
    let changes = &question.changes;
    let is_linux_boot = trace.system.kind == SystemKind::Linux && transition.kind == TransitionKind::Boot;
    let has_switches = !trace.context_switches.is_empty();
    if is_linux_boot && (!has_switches || changes.iter().any(Change::is_of_units)) {
        match linux::predict(trace, &transition, changes) {
            // The order of units is unknown, or a program has this name.
            Err(
                WhatIfError::NoUnitOrder | WhatIfError::NoSwitches | WhatIfError::Change(ChangeError::Unknown { .. }),
            ) if has_switches && changes.iter().all(Change::is_of_threads) => {}
            answer => return answer,
        }
    }
    let mut prediction = predict_threads(trace, &transition, |predictor| predictor.predict(changes))?;
    if is_linux_boot && changes.iter().any(Change::is_of_units) {
        prediction.assumptions.push(Assumption::ManagerWaitsForLast);
    }
    Ok(prediction)
}

/// Calls `answer` with a predictor for the question's transition.
pub(crate) fn with_predictor<R>(
    trace: &Trace,
    question: &WhatIfQuestion,
    answer: impl FnOnce(&mut Predictor<'_, '_, '_>) -> Result<R, WhatIfError>,
) -> Result<R, WhatIfError> {
    predict_threads(trace, &transition_of(trace, question)?, answer)
}

fn predict_threads<R>(
    trace: &Trace,
    transition: &Transition,
    answer: impl FnOnce(&mut Predictor<'_, '_, '_>) -> Result<R, WhatIfError>,
) -> Result<R, WhatIfError> {
    if trace.context_switches.is_empty() {
        return Err(WhatIfError::NoSwitches);
    }
    let waits = Waits::new(trace);
    let model = Model::new(trace, &waits);
    answer(&mut Predictor::new(&model, transition, &[]).ok_or(WhatIfError::NoTransition)?)
}

fn transition_of(trace: &Trace, question: &WhatIfQuestion) -> Result<Transition, WhatIfError> {
    find_all(trace, &TransitionOptions::default())
        .into_iter()
        .filter(|transition| question.kind.is_none_or(|kind| kind == transition.kind))
        .find(|transition| question.number.is_none_or(|number| number == transition.number))
        .ok_or(WhatIfError::NoTransition)
}

/// Maximum number of replays at the same time. Each takes 24 bytes for each wake-up, among others.
const MAX_CONCURRENT_REPLAYS: usize = 4;

/// A changed graph.
struct Changed {
    changes: Vec<Change>,
    graph: Graph,
    /// Recorded length of the work and waits that the changes removed, ns.
    removed_ns: i64,
}

/// The best of several alternatives: the first that saves something, or the first that is possible if none does (a part
/// of the system, for example, cannot be removed).
#[derive(Clone, Debug, PartialEq)]
pub struct BestChange {
    pub changes: Vec<Change>,
    pub prediction: Prediction,
    /// Alternatives before it that save nothing.
    pub useless: Vec<(Vec<Change>, Prediction)>,
}

/// Predicts changes of one transition. Build it once and reuse it.
#[derive(Debug)]
pub struct Predictor<'m, 'w, 't> {
    pub(crate) model: &'m Model<'w, 't>,
    pub(crate) changes: Changes<'m, 'w, 't>,
    pub(crate) kind: TransitionKind,
    pub(crate) number: u32,
    pub(crate) measured_ns: i64,
    /// Phases of the transition, in order.
    pub(crate) phases: Vec<&'m ModelPhase>,
    pub(crate) identity: Identity,
    /// The end of the transition.
    horizon: Horizon,
    /// The replays without a change: with external waits as long as recorded, ending at their recorded times, and on
    /// Linux with ready threads in the order in which they became ready.
    bases: Vec<Outcome>,
    pub(crate) unknown_percent: f64,
    work: ThreadWork<'w, 't>,
}

/// Predicted durations of a transition: with external waits as long as recorded, and ending at their recorded times.
pub(crate) type Durations = [i64; 2];

/// When the phases of a transition ran in a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    phases: Vec<ReplayedPhase>,
    /// Time from the start of the first phase to the end of the last, without required idle time, ns; `None` if a phase
    /// did not end.
    total_ns: Option<i64>,
}

/// Indexes of [`Predictor::bases`].
const BY_DELAY: usize = 0;
const BY_TIME: usize = 1;

impl<'m, 'w, 't> Predictor<'m, 'w, 't> {
    /// Returns `None` if no phase of the transition is known. `accounts` are accounts of its phases; missing ones are
    /// computed.
    #[must_use]
    pub fn new(model: &'m Model<'w, 't>, transition: &Transition, accounts: &[AccountedPhase]) -> Option<Self> {
        let is_of_transition = |phase: &&ModelPhase| {
            phase.phase.transition == transition.kind
                && transition.phases.iter().any(|row| {
                    row.name.as_str() == phase.phase.name
                        && row.start_ns == Some(phase.phase.range.start_ns)
                        && row.end_ns == Some(phase.phase.range.end_ns)
                })
        };
        let phases: Vec<&ModelPhase> = model.phases.iter().filter(is_of_transition).collect();
        if phases.is_empty() {
            return None;
        }
        let mut changes = Changes::new(model);
        let ((identity, base), ()) = rayon::join(|| model.identity_of_phases(&phases), || changes.prepare());
        let mut predictor = Self {
            changes,
            kind: transition.kind,
            number: transition.number,
            measured_ns: transition.duration_ns().unwrap_or(transition.total_at_least_ns),
            work: ThreadWork::new(model.waits),
            unknown_percent: unknown_percent(model.waits, phases.iter().map(|phase| &phase.phase), accounts),
            horizon: model.horizon(&phases),
            phases,
            model,
            identity,
            bases: Vec::new(),
        };
        let free = predictor.free_replay(&model.graph);
        predictor.bases = predictor.outcomes(&model.graph, &base, free.as_ref());
        predictor.identity.free_running_error_ns =
            free.and_then(|free| model.identity_of(&free, &predictor.phases).max_error_ns);
        Some(predictor)
    }

    /// Predicts the effect of the changes, and names what would then be the first culprit.
    ///
    /// # Errors
    /// A change cannot be made.
    pub fn predict(&mut self, changes: &[Change]) -> Result<Prediction, WhatIfError> {
        let changed = self.change(changes)?;
        let (mut prediction, replay) = self.predict_changed(&changed, |graph| self.logged_replay(graph));
        if let Some(replay) = replay.filter(|_| prediction.predicted.is_some()) {
            prediction.bottleneck = first_culprit(&self.shares(&changed.graph, &replay));
        }
        Ok(prediction)
    }

    /// Like [`Self::predict`], without the first culprit, in less time.
    ///
    /// # Errors
    /// A change cannot be made.
    pub fn predict_duration(&mut self, changes: &[Change]) -> Result<Prediction, WhatIfError> {
        let changed = self.change(changes)?;
        Ok(self.predict_changed(&changed, |graph| self.replay(graph)).0)
    }

    /// Predicts the first alternative of each list that saves something; `None` if none is possible.
    pub fn predict_best(&mut self, lists: Vec<Vec<Vec<Change>>>) -> Vec<Option<BestChange>> {
        let first: Vec<Vec<Change>> = lists.iter().map(|list| list.first().cloned().unwrap_or_default()).collect();
        let first = self.predict_durations(&first);
        lists.into_iter().zip(first).map(|(alternatives, first)| self.best_of(alternatives, first)).collect()
    }

    /// Predicts alternatives up to the first that saves something. `first` is the prediction of the first.
    fn best_of(
        &mut self,
        alternatives: Vec<Vec<Change>>,
        first: Result<Prediction, WhatIfError>,
    ) -> Option<BestChange> {
        let mut first = Some(first);
        let mut useless = Vec::new();
        for changes in alternatives {
            let predicted = first.take().unwrap_or_else(|| self.predict_duration(&changes));
            let Ok(prediction) = predicted else { continue };
            if prediction.saving.is_some_and(|saving| saving.ns >= NOISE_NS) {
                return Some(BestChange { changes, prediction, useless });
            }
            useless.push((changes, prediction));
        }
        let (changes, prediction) = useless.into_iter().next()?;
        Some(BestChange { changes, prediction, useless: Vec::new() })
    }

    /// Like [`Self::predict_duration`], for several alternatives, some at the same time.
    fn predict_durations(&mut self, alternatives: &[Vec<Change>]) -> Vec<Result<Prediction, WhatIfError>> {
        let batch_len = rayon::current_num_threads().clamp(1, MAX_CONCURRENT_REPLAYS);
        let mut predictions = Vec::with_capacity(alternatives.len());
        for batch in alternatives.chunks(batch_len) {
            let batch: Vec<_> = batch.iter().map(|changes| self.change(changes)).collect();
            let predict = |changed: Result<Changed, WhatIfError>| {
                changed.map(|changed| self.predict_changed(&changed, |graph| self.replay(graph)).0)
            };
            predictions.par_extend(batch.into_par_iter().map(predict));
        }
        predictions
    }

    /// Applies the changes.
    fn change(&mut self, changes: &[Change]) -> Result<Changed, WhatIfError> {
        let graph = self.changes.apply(changes)?;
        Ok(Changed { changes: changes.to_vec(), graph, removed_ns: self.changes.removed_ns() })
    }

    /// Predicts the effect of changes, without the first culprit. Returns the replay, if one was made.
    fn predict_changed(
        &self,
        changed: &Changed,
        replay: impl FnOnce(&Graph) -> Replay,
    ) -> (Prediction, Option<Replay>) {
        let graph = &changed.graph;
        let no_prediction = self.no_prediction();
        let replay = no_prediction.is_none().then(|| replay(graph));
        let outcomes = replay.as_ref().map_or_else(Vec::new, |replay| {
            let free = self.free_replay(graph);
            self.outcomes(graph, replay, free.as_ref())
        });
        // The change from the replay without it, so that the replay's own error cancels out.
        let predict = |measured_ns: i64, duration_of: &dyn Fn(&Outcome) -> Option<i64>| {
            let durations = outcomes.iter().zip(self.bases_of(graph)).map(|(outcome, base)| {
                let change_ns = duration_of(outcome)?.saturating_sub(duration_of(base)?);
                Some(measured_ns.saturating_add(change_ns).max(0))
            });
            let durations = durations.collect::<Option<Vec<i64>>>()?;
            let (&ns, &min_ns, &max_ns) = (durations.first()?, durations.iter().min()?, durations.iter().max()?);
            Some(PredictedDuration { ns, min_ns, max_ns })
        };
        let phases: Vec<PredictedPhase> = self
            .phases
            .iter()
            .enumerate()
            .map(|(index, phase)| {
                let measured_ns = self.measured(index, phase);
                let predicted = predict(measured_ns, &|outcome| outcome.phases.get(index)?.duration_ns());
                PredictedPhase { phase: phase.phase.name.clone(), measured_ns, predicted }
            })
            .collect();
        let predicted = predict(self.measured_ns, &|outcome| outcome.total_ns);
        let saving = predicted.map(|predicted| predicted.saving_from(self.measured_ns));
        let end_reached = predicted.is_some();
        let prediction = Prediction {
            transition: self.kind,
            number: self.number,
            basis: Basis::Threads,
            assumptions: Vec::new(),
            changes: changed.changes.clone(),
            measured_ns: self.measured_ns,
            predicted,
            saving,
            removed_ns: Some(changed.removed_ns),
            no_prediction: no_prediction.or_else(|| (!end_reached).then_some(NoPrediction::EndNotReached)),
            phases,
            bottleneck: None,
            identity: self.identity.clone(),
            unknown_percent: self.unknown_percent,
            uncertain_waits: self.uncertain_waits(),
            losses: self.model.trace.losses.clone(),
        };
        (prediction, replay)
    }

    /// Replays a changed graph up to the end of the transition.
    pub(crate) fn replay(&self, graph: &Graph) -> Replay {
        self.model.replay(graph, ExternalRule::Delay, &self.horizon)
    }

    /// Like [`Self::replay`], and logs what every task did.
    pub(crate) fn logged_replay(&self, graph: &Graph) -> Replay {
        self.model.logged_replay(graph, &self.horizon)
    }

    fn free_replay(&self, graph: &Graph) -> Option<Replay> {
        self.model.has_recorded_order().then(|| self.model.replay_freely(graph, &self.horizon))
    }

    /// Returns the outcomes of all rules for a graph, in the order of [`Self::bases`].
    fn outcomes(&self, graph: &Graph, replay: &Replay, free: Option<&Replay>) -> Vec<Outcome> {
        let by_delay = self.outcome(graph, replay);
        let other = self.outcome_by_other_rule(graph, replay).unwrap_or_else(|| by_delay.clone());
        let free = free.map(|free| self.outcome(graph, free));
        [by_delay, other].into_iter().chain(free).collect()
    }

    /// Returns the replay without a change for each of [`Self::outcomes`].
    fn bases_of(&self, graph: &Graph) -> impl Iterator<Item = &Outcome> {
        let other = if graph.processor_percent.is_some() { BY_DELAY } else { BY_TIME };
        self.bases.get(BY_DELAY).into_iter().chain(self.bases.get(other)).chain(self.bases.iter().skip(BY_TIME + 1))
    }

    /// Returns when the phases ran in a replay.
    fn outcome(&self, graph: &Graph, replay: &Replay) -> Outcome {
        let replayed = self.phases.iter().map(|phase| self.model.replayed_phase(phase, graph, replay));
        let phases: Vec<ReplayedPhase> = replayed.collect();
        let (mut first_ns, mut last_ns, mut idle_ns) = (i64::MAX, i64::MIN, 0_i64);
        let mut is_complete = true;
        for phase in &phases {
            let (Some(start_ns), Some(end_ns)) = (phase.start_ns, phase.end_ns) else {
                is_complete = false;
                break;
            };
            (first_ns, last_ns) = (first_ns.min(start_ns), last_ns.max(end_ns));
            idle_ns = idle_ns.saturating_add(phase.idle_ns);
        }
        let total_ns = is_complete.then(|| last_ns.saturating_sub(first_ns).saturating_sub(idle_ns));
        Outcome { phases, total_ns }
    }

    /// Replays a graph with external waits that end at their recorded times, or scale with the processors' speed if it
    /// changes; `None` if the replay with waits as long as recorded, `replay`, is the same.
    fn outcome_by_other_rule(&self, graph: &Graph, replay: &Replay) -> Option<Outcome> {
        let scaled = graph.processor_percent.map(|percent| ExternalRule::Scaled { percent });
        let rule = scaled.unwrap_or(ExternalRule::AbsoluteTime);
        replay.depends_on_rule.then(|| self.outcome(graph, &self.model.replay(graph, rule, &self.horizon)))
    }

    /// Returns why nothing can be predicted.
    pub(crate) fn no_prediction(&self) -> Option<NoPrediction> {
        if !self.identity.holds {
            Some(NoPrediction::IdentityFailed)
        } else if self.unknown_percent > MAX_UNKNOWN_PERCENT {
            Some(NoPrediction::PathUnknown)
        } else {
            None
        }
    }

    /// Returns the predicted duration for a changed graph with external waits as long as recorded, ns; `None` if the
    /// end is not reached.
    pub(crate) fn predicted_ns(&self, graph: &Graph, replay: &Replay) -> Option<i64> {
        self.predicted_from(&self.outcome(graph, replay), BY_DELAY)
    }

    /// Returns the predicted durations for a changed graph, ns; `None` if the end is not reached.
    pub(crate) fn durations(&self, graph: &Graph, delay: &Replay) -> Option<Durations> {
        let by_delay = self.outcome(graph, delay);
        let ns = self.predicted_from(&by_delay, BY_DELAY)?;
        let by_time = self.outcome_by_other_rule(graph, delay).unwrap_or(by_delay);
        Some([ns, self.predicted_from(&by_time, BY_TIME)?])
    }

    fn predicted_from(&self, outcome: &Outcome, base: usize) -> Option<i64> {
        let change_ns = outcome.total_ns?.saturating_sub(self.bases.get(base)?.total_ns?);
        Some(self.measured_ns.saturating_add(change_ns).max(0))
    }

    /// Returns the subjects that determine the duration of the transition in a logged replay, longest first.
    pub(crate) fn shares(&mut self, graph: &Graph, replay: &Replay) -> Vec<Bottleneck> {
        let first_ns = self.phases.first().map(|phase| self.model.replayed_phase(phase, graph, replay));
        let first_ns = first_ns.and_then(|phase| phase.start_ns).unwrap_or(0);
        let ends = self.phases.iter().filter_map(|phase| phase.end);
        let last = ends.filter_map(|end| Some((signal_time(replay, end)?, end))).max_by_key(|&(time_ns, _)| time_ns);
        let settling: Vec<SettlingInterval> = self
            .phases
            .iter()
            .filter(|phase| phase.end.is_none())
            .filter_map(|phase| {
                let replayed = self.model.replayed_phase(phase, graph, replay);
                let (start_ns, end_ns) = (replayed.start_ns?, replayed.end_ns?);
                Some(SettlingInterval { start_ns, end_ns, idle_ns: replayed.idle_ns })
            })
            .collect();
        let mut shares = Shares::new(graph, replay, &mut self.work);
        if let Some((_, end)) = last {
            shares.add_path(end, first_ns.max(0));
        }
        for interval in &settling {
            shares.add_settling(interval);
        }
        shares.finish()
    }

    /// Returns the number of waits in the transition that are replayed both ways.
    pub(crate) fn uncertain_waits(&self) -> u64 {
        let start_ns = self.phases.iter().map(|phase| phase.phase.range.start_ns).min().unwrap_or(0);
        let end_ns = self.phases.iter().map(|phase| phase.phase.range.end_ns).max().unwrap_or(0);
        let waits = self.model.graph.external_waits.iter();
        waits.filter(|wait| (start_ns..end_ns).contains(&wait.recorded_ns)).count() as u64
    }

    /// Returns the recorded duration of a phase without required idle time and time asleep, ns.
    fn measured(&self, index: usize, phase: &ModelPhase) -> i64 {
        let (range, clock) = (phase.phase.range, &self.model.clock);
        let base = self.bases.get(BY_DELAY).and_then(|base| base.phases.get(index));
        let idle_ns = base.map_or(0, |phase| phase.idle_ns);
        clock.awake(range.end_ns).saturating_sub(clock.awake(range.start_ns)).saturating_sub(idle_ns).max(0)
    }
}

/// Returns the share of the phases' critical path that is unknown, percent.
fn unknown_percent<'p>(
    waits: &Waits<'_>,
    phases: impl Iterator<Item = &'p TransitionPhase>,
    accounts: &[AccountedPhase],
) -> f64 {
    let mut builder = None;
    let (mut unknown_ns, mut total_ns) = (0_i64, 0_i64);
    for phase in phases.filter(|phase| !SETTLING_PHASES.contains(&phase.name.as_str())) {
        let is_account = |accounted: &&AccountedPhase| {
            let account = &accounted.account;
            accounted.transition == phase.transition.as_str()
                && accounted.phase == phase.name
                && (account.start_ns, account.end_ns) == (phase.range.start_ns, phase.range.end_ns)
        };
        let (unknown, duration) = match accounts.iter().find(is_account).map(|accounted| &accounted.account) {
            Some(account) => (account.unknown_ns, account.duration_ns),
            None => {
                let account = builder.get_or_insert_with(|| AccountBuilder::new(waits)).phase(phase);
                (account.unknown_ns, account.duration_ns)
            }
        };
        unknown_ns = unknown_ns.saturating_add(unknown);
        total_ns = total_ns.saturating_add(duration);
    }
    onoff_usage::cpu::percent_of(unknown_ns, total_ns)
}

/// Minimum time of a subject to be named as a bottleneck, ns: 1 ms.
const MIN_BOTTLENECK_NS: i64 = 1_000_000;

/// Returns the subject with the most time; parts of the system only if there is no other.
pub(crate) fn first_culprit(shares: &[Bottleneck]) -> Option<Bottleneck> {
    let mut shares = shares.iter().filter(|share| share.ns >= MIN_BOTTLENECK_NS);
    let first = shares.clone().find(|share| share.ns >= NOISE_NS && !share.is_system);
    first.or_else(|| shares.next()).cloned()
}
