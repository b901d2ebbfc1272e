//! The answer: predicted total and phases beside the measured ones, and what the prediction rests on.

use onoff_blame::account::{AccountBuilder, ThreadWork};
use onoff_blame::waits::{TransitionPhase, Waits};
use onoff_evidence::phase_name::SETTLING_PHASES;
use onoff_evidence::significance::NOISE_NS;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_trace::{SystemKind, Trace};
use onoff_transitions::{Transition, TransitionOptions, find_all};

pub use crate::answer::{
    Assumption, Basis, MAX_UNKNOWN_PERCENT, NoPrediction, PredictedDuration, PredictedPhase, Prediction, WhatIfError,
    WhatIfQuestion,
};
use crate::bottleneck::{Bottleneck, SettlingInterval, Shares};
use crate::changes::{Change, ChangeError, Changes};
use crate::graph::{Graph, Segment};
use crate::identity::{Identity, PhaseIdentity};
use crate::linux;
use crate::model::{Model, ModelPhase, signal_time};
use crate::replay::{ExternalRule, Replay};

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
    answer(&mut Predictor::new(&model, transition).ok_or(WhatIfError::NoTransition)?)
}

fn transition_of(trace: &Trace, question: &WhatIfQuestion) -> Result<Transition, WhatIfError> {
    find_all(trace, &TransitionOptions::default())
        .into_iter()
        .filter(|transition| question.kind.is_none_or(|kind| kind == transition.kind))
        .find(|transition| question.number.is_none_or(|number| number == transition.number))
        .ok_or(WhatIfError::NoTransition)
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
    /// The replays without a change: with external waits as long as recorded, ending at their recorded times, and on
    /// Linux with ready threads in the order in which they became ready.
    bases: Vec<Replay>,
    /// Durations of the first two without required idle time, ns.
    base_totals: [Option<i64>; 2],
    pub(crate) unknown_percent: f64,
    work: ThreadWork<'w, 't>,
}

/// Predicted durations of a transition: with external waits as long as recorded, and ending at their recorded times.
pub(crate) type Durations = [i64; 2];

impl<'m, 'w, 't> Predictor<'m, 'w, 't> {
    /// Returns `None` if no phase of the transition is known.
    #[must_use]
    pub fn new(model: &'m Model<'w, 't>, transition: &Transition) -> Option<Self> {
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
        let (identity, base) = model.identity();
        let is_shown = |row: &PhaseIdentity| {
            phases.iter().any(|phase| {
                phase.phase.name == row.phase && model.clock.awake(phase.phase.range.end_ns) == row.measured_end_ns
            })
        };
        let mut identity = identity.of_phases(is_shown);
        let absolute = match model.graph.external_waits.is_empty() {
            true => base.clone(),
            false => model.replay(&model.graph, ExternalRule::AbsoluteTime),
        };
        let mut bases = vec![base, absolute];
        if model.has_recorded_order() {
            let free = model.replay_freely(&model.graph);
            identity.free_running_error_ns = model.identity_of(&free).of_phases(is_shown).max_error_ns;
            bases.push(free);
        }
        let mut predictor = Self {
            changes: Changes::new(model),
            kind: transition.kind,
            number: transition.number,
            measured_ns: transition.duration_ns().unwrap_or(transition.total_at_least_ns),
            work: ThreadWork::new(model.waits),
            unknown_percent: unknown_percent(model.waits, phases.iter().map(|phase| &phase.phase)),
            phases,
            model,
            identity,
            bases,
            base_totals: [None; 2],
        };
        predictor.base_totals = [0, 1].map(|index| predictor.total(&model.graph, predictor.bases.get(index)?));
        Some(predictor)
    }

    /// Predicts the effect of the changes.
    ///
    /// # Errors
    /// A change cannot be made.
    pub fn predict(&mut self, changes: &[Change]) -> Result<Prediction, WhatIfError> {
        let graph = self.changes.apply(changes)?;
        let no_prediction = self.no_prediction();
        let replays = match no_prediction {
            Some(_) => Vec::new(),
            None => {
                let mut replays = vec![(self.model.logged_replay(&graph), 0)];
                if !graph.external_waits.is_empty() {
                    replays.push((self.model.replay(&graph, ExternalRule::AbsoluteTime), 1));
                }
                if self.model.has_recorded_order() {
                    replays.push((self.model.replay_freely(&graph), 2));
                }
                replays
            }
        };
        // The change from the replay without it, so that the replay's own error cancels out.
        let predict = |measured_ns: i64, duration_of: &dyn Fn(&Graph, &Replay) -> Option<i64>| {
            let durations = replays.iter().map(|(replay, base)| {
                let base = self.bases.get(*base)?;
                let change_ns = duration_of(&graph, replay)?.saturating_sub(duration_of(&self.model.graph, base)?);
                Some(measured_ns.saturating_add(change_ns).max(0))
            });
            let durations = durations.collect::<Option<Vec<i64>>>()?;
            let (&ns, &min_ns, &max_ns) = (durations.first()?, durations.iter().min()?, durations.iter().max()?);
            Some(PredictedDuration { ns, min_ns, max_ns })
        };
        let phases: Vec<PredictedPhase> = self
            .phases
            .iter()
            .map(|phase| {
                let measured_ns = self.measured(phase);
                let predicted = predict(measured_ns, &|graph, replay| self.duration(phase, graph, replay));
                PredictedPhase { phase: phase.phase.name.clone(), measured_ns, predicted }
            })
            .collect();
        let predicted = predict(self.measured_ns, &|graph, replay| self.total(graph, replay));
        let saving = predicted.map(|predicted| predicted.saving_from(self.measured_ns));
        let end_reached = predicted.is_some();
        let shares = replays.first().filter(|_| end_reached).map(|(replay, _)| self.shares(&graph, replay));
        Ok(Prediction {
            transition: self.kind,
            number: self.number,
            basis: Basis::Threads,
            assumptions: Vec::new(),
            changes: changes.to_vec(),
            measured_ns: self.measured_ns,
            predicted,
            saving,
            removed_ns: Some(self.changes.removed_ns()),
            no_prediction: no_prediction.or_else(|| (!end_reached).then_some(NoPrediction::EndNotReached)),
            phases,
            bottleneck: shares.and_then(|shares| first_culprit(&shares)),
            identity: self.identity.clone(),
            unknown_percent: self.unknown_percent,
            uncertain_waits: self.uncertain_waits(),
            losses: self.model.trace.losses.clone(),
        })
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
        let [base_ns, _] = self.base_totals;
        self.predicted_from(graph, replay, base_ns)
    }

    /// Returns the predicted durations for a changed graph, ns; `None` if the end is not reached.
    pub(crate) fn durations(&self, graph: &Graph, delay: &Replay) -> Option<Durations> {
        let ns = self.predicted_ns(graph, delay)?;
        if graph.external_waits.is_empty() {
            return Some([ns; 2]);
        }
        let [_, base_ns] = self.base_totals;
        let absolute = self.model.replay(graph, ExternalRule::AbsoluteTime);
        Some([ns, self.predicted_from(graph, &absolute, base_ns)?])
    }

    fn predicted_from(&self, graph: &Graph, replay: &Replay, base_ns: Option<i64>) -> Option<i64> {
        let change_ns = self.total(graph, replay)?.saturating_sub(base_ns?);
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
        let segments = self.model.graph.tasks.iter().flat_map(|task| &task.segments);
        let waits = segments.filter(|timed| {
            matches!(timed.segment, Segment::External(_)) && (start_ns..end_ns).contains(&timed.recorded_ns)
        });
        waits.count() as u64
    }

    /// Returns the recorded duration of a phase without required idle time and time asleep, ns.
    fn measured(&self, phase: &ModelPhase) -> i64 {
        let (range, clock) = (phase.phase.range, &self.model.clock);
        let base = self.bases.first();
        let idle_ns = base.map_or(0, |base| self.model.replayed_phase(phase, &self.model.graph, base).idle_ns);
        clock.awake(range.end_ns).saturating_sub(clock.awake(range.start_ns)).saturating_sub(idle_ns).max(0)
    }

    /// Returns the duration of a phase in a replay without required idle time, ns.
    fn duration(&self, phase: &ModelPhase, graph: &Graph, replay: &Replay) -> Option<i64> {
        let replayed = self.model.replayed_phase(phase, graph, replay);
        Some(replayed.end_ns?.saturating_sub(replayed.start_ns?).saturating_sub(replayed.idle_ns))
    }

    /// Returns the time from the start of the first phase to the end of the last in a replay, without required idle
    /// time, ns.
    fn total(&self, graph: &Graph, replay: &Replay) -> Option<i64> {
        let (mut first_ns, mut last_ns, mut idle_ns) = (i64::MAX, i64::MIN, 0_i64);
        for phase in &self.phases {
            let replayed = self.model.replayed_phase(phase, graph, replay);
            first_ns = first_ns.min(replayed.start_ns?);
            last_ns = last_ns.max(replayed.end_ns?);
            idle_ns = idle_ns.saturating_add(replayed.idle_ns);
        }
        Some(last_ns.saturating_sub(first_ns).saturating_sub(idle_ns))
    }
}

/// Returns the share of the phases' critical path that is unknown, percent.
fn unknown_percent<'p>(waits: &Waits<'_>, phases: impl Iterator<Item = &'p TransitionPhase>) -> f64 {
    let mut builder = AccountBuilder::new(waits);
    let (mut unknown_ns, mut total_ns) = (0_i64, 0_i64);
    for phase in phases.filter(|phase| !SETTLING_PHASES.contains(&phase.name.as_str())) {
        let account = builder.phase(phase);
        unknown_ns = unknown_ns.saturating_add(account.unknown_ns);
        total_ns = total_ns.saturating_add(account.duration_ns);
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
