//! What fixing each finding would save, predicted by a replay of the recorded work.

use onoff_blame::account::AccountedPhase;
use onoff_blame::waits::Waits;
use onoff_evidence::significance::NOISE_NS;
use onoff_trace::{Severity, SystemKind, TableName, Trace};
use onoff_transitions::Transition;
use onoff_what_if::bottleneck::Bottleneck;
use onoff_what_if::changes::Change;
use onoff_what_if::model::Model;
use onoff_what_if::prediction::{BestChange, NoPrediction, PredictedDuration, Prediction, Predictor};
use serde::Serialize;

use crate::cost::CostBasis;
use crate::finding::{FindingEvidence, FindingSubjectKind, RuleFinding};
use crate::quantities::time;

/// Maximum number of findings with a prediction per transition. The other findings, of lower cost, keep their time on
/// the critical path.
const MAX_PREDICTED: usize = 12;

/// A removal that leaves more than half of the subject's time in place is not a prediction.
const MIN_REMOVED_PART: i64 = 2;
/// Widest range of a predicted cost, percent of the cost: 15 % up and down. A wider one says less than the measured time.
const MAX_RANGE_PERCENT: i64 = 30;

/// What all predicted changes together would bring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CombinedSaving {
    /// The changes, as in `onoff what-if`.
    pub changes: Vec<Change>,
    /// What they would save together.
    pub saving: PredictedDuration,
    /// Duration of the transition with all changes.
    pub predicted: PredictedDuration,
    /// What would then determine the duration; `None` if no subject does.
    pub bottleneck: Option<Bottleneck>,
    /// The phase that would then be the longest.
    pub longest_phase: String,
    /// Its predicted duration, ns.
    pub longest_phase_ns: i64,
}

/// The predictions for one transition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outlook {
    pub(crate) combined: Option<CombinedSaving>,
    /// Why costs are not predicted, as a clause; empty if they are, or if no finding has a change to predict.
    pub(crate) no_prediction: String,
}

/// Predicts the costs of findings. The model is built when the first finding needs it.
#[derive(Debug)]
pub(crate) struct CostPredictions<'w, 't> {
    trace: &'t Trace,
    waits: &'w Waits<'t>,
    model: Option<Model<'w, 't>>,
}

impl<'w, 't> CostPredictions<'w, 't> {
    pub(crate) const fn new(trace: &'t Trace, waits: &'w Waits<'t>) -> Self {
        Self { trace, waits, model: None }
    }

    pub(crate) const fn waits(&self) -> &'w Waits<'t> {
        self.waits
    }

    /// Replaces the costs of findings about one transition with predictions where the recording allows them.
    ///
    /// `accounts` are the accounts of its phases. `parallel` names what was active for longest at the same time as a
    /// finding's subject.
    pub(crate) fn apply(
        &mut self,
        transition: &Transition,
        accounts: &[AccountedPhase],
        findings: &mut [RuleFinding],
        parallel: impl Fn(&RuleFinding) -> Option<String>,
    ) -> Outlook {
        let mut predictable: Vec<&mut RuleFinding> =
            findings.iter_mut().filter(|finding| finding.cost_ns.is_some() && !changes(finding).is_empty()).collect();
        if predictable.is_empty() {
            return Outlook::default();
        }
        if let Some(reason) = self.obstacle(transition) {
            return Outlook::unknown(reason);
        }
        let model = self.model.get_or_insert_with(|| Model::new(self.trace, self.waits));
        let Some(mut predictor) = Predictor::new(model, transition, accounts) else { return Outlook::default() };
        predictable.sort_by_key(|finding| std::cmp::Reverse(finding.cost_ns));
        let mut combined: Vec<Change> = Vec::new();
        let mut add = |changes: Vec<Change>| {
            for change in changes {
                if !combined.contains(&change) {
                    combined.push(change);
                }
            }
        };
        predictable.truncate(MAX_PREDICTED);
        let predictions = predictor.predict_best(predictable.iter().map(|finding| changes(finding)).collect());
        for (finding, best) in predictable.into_iter().zip(predictions) {
            let Some(BestChange { changes, prediction, useless }) = best else { continue };
            match (prediction.no_prediction, prediction.saving) {
                (Some(NoPrediction::IdentityFailed | NoPrediction::PathUnknown), _) => {
                    return Outlook::unknown(&prediction.reason().unwrap_or_default());
                }
                (None, Some(saving)) if is_reliable(finding, &changes, saving, &prediction) => {
                    for (changes, prediction) in useless.iter().rev() {
                        finding.evidence.splice(0..0, replayed(changes, prediction));
                    }
                    set_cost(finding, &changes, saving, &prediction);
                    if let Some(other) = parallel(finding).filter(|_| is_shadowed(finding)) {
                        let both = [changes.as_slice(), &[Change::Without { name: other.clone() }]].concat();
                        if let Some(text) = together(&mut predictor, &both, &other, saving.ns) {
                            finding.evidence.insert(1, FindingEvidence { time_ns: None, text });
                            add(both);
                        }
                    }
                    add(changes);
                }
                _ => {}
            }
        }
        Outlook { combined: combine(&mut predictor, combined), no_prediction: String::new() }
    }
}

impl CostPredictions<'_, '_> {
    /// Returns why no change of the transition can be predicted, as a clause.
    fn obstacle(&self, transition: &Transition) -> Option<&'static str> {
        let needed = [TableName::ContextSwitches, TableName::ReadyThreads];
        let mut losses = self.trace.losses.affecting(&needed);
        if self.trace.context_switches.is_empty() {
            Some("context switches were not recorded")
        } else if self.trace.system.kind == SystemKind::Linux {
            Some("on Linux, 'onoff what-if' predicts one change at a time")
        } else if losses.any(|loss| loss.severity == Severity::Error) {
            Some("context switches or ready-thread events were lost")
        } else if transition.duration_ns().is_none() {
            Some("the recording does not show the whole transition")
        } else {
            None
        }
    }
}

impl Outlook {
    fn unknown(reason: &str) -> Self {
        Self { combined: None, no_prediction: reason.to_owned() }
    }
}

/// Returns the changes that a finding's advice amounts to, best first; empty if no change of the model does.
fn changes(finding: &RuleFinding) -> Vec<Vec<Change>> {
    let name = || finding.subject.name.clone();
    let names = match finding.members.as_slice() {
        [] => vec![name()],
        members => members.to_vec(),
    };
    if names.iter().any(String::is_empty) {
        return Vec::new();
    }
    let without = || names.iter().map(|name| Change::Without { name: name.clone() }).collect();
    match (finding.code, finding.subject.kind) {
        // Without the driver, more than its long DPCs would be gone.
        ("boot/long-dpc" | "suspend/long-dpc", _) => Vec::new(),
        ("boot/driver-start-not-pended" | "boot/driver-enumeration-not-pended", _) => {
            vec![vec![Change::Pend { driver: name() }], without()]
        }
        ("boot/service-in-group-slow", _) => vec![vec![Change::Ungroup { service: name() }], without()],
        ("boot/service-could-start-later", _) => {
            vec![names.iter().map(|name| Change::Delay { name: name.clone() }).collect()]
        }
        (
            _,
            FindingSubjectKind::Service
            | FindingSubjectKind::Driver
            | FindingSubjectKind::Device
            | FindingSubjectKind::Process
            | FindingSubjectKind::Work,
        ) => vec![without()],
        _ => Vec::new(),
    }
}

fn set_cost(finding: &mut RuleFinding, changes: &[Change], saving: PredictedDuration, prediction: &Prediction) {
    let at_least_zero = |ns: i64| ns.max(0);
    finding.cost_ns = Some(at_least_zero(saving.ns));
    finding.cost_min_ns = Some(at_least_zero(saving.min_ns));
    finding.cost_max_ns = Some(at_least_zero(saving.max_ns));
    finding.cost_basis = CostBasis::Predicted;
    finding.changes = changes.to_vec();
    finding.evidence.splice(0..0, replayed(changes, prediction));
}

/// Describes a prediction as evidence; `None` if nothing is predicted.
fn replayed(changes: &[Change], prediction: &Prediction) -> Option<FindingEvidence> {
    let duration = range(prediction.predicted?);
    let text = format!("replayed {}: {duration} instead of {}", phrase(changes), time(prediction.measured_ns));
    Some(FindingEvidence { time_ns: None, text })
}

/// True if a prediction can replace the measured time of a finding.
fn is_reliable(finding: &RuleFinding, changes: &[Change], saving: PredictedDuration, prediction: &Prediction) -> bool {
    let time_ns = finding.cost_ns.unwrap_or(0);
    // A replay that leaves most of the subject's time in place does not know how to remove it.
    let is_removal = changes.iter().all(|change| matches!(change, Change::Without { .. }));
    let removed_ns = prediction.removed_ns.unwrap_or(0);
    let is_removed = !is_removal || removed_ns.saturating_mul(MIN_REMOVED_PART) >= time_ns;
    let is_replayed = |name: &String| prediction.phases.iter().any(|phase| phase.phase == *name);
    let max_width_ns = (saving.ns.max(0) / 100 * MAX_RANGE_PERCENT).max(NOISE_NS);
    is_removed
        && finding.phase.as_ref().is_none_or(is_replayed)
        && saving.max_ns.saturating_sub(saving.min_ns) <= max_width_ns
}

/// True if fixing the finding saves less than half of its measured time.
fn is_shadowed(finding: &RuleFinding) -> bool {
    finding.cost_ns.zip(finding.measured_ns).is_some_and(|(cost_ns, ns)| cost_ns.saturating_mul(2) < ns)
}

/// Describes what the changes would save together with the removal of `other`, which was active at the same time.
/// Returns `None` if that saves no more than `alone_ns`, so that something else is in the way.
fn together(predictor: &mut Predictor<'_, '_, '_>, changes: &[Change], other: &str, alone_ns: i64) -> Option<String> {
    let prediction = predictor.predict_duration(changes).ok()?;
    let saving_ns = prediction.saving?.ns;
    if saving_ns.saturating_sub(alone_ns) < NOISE_NS {
        return None;
    }
    let (duration, saving) = (range(prediction.predicted?), time(saving_ns));
    Some(format!("{other} took as long at the same time: without both, {duration} ({saving} less)"))
}

/// Predicts all changes together.
fn combine(predictor: &mut Predictor<'_, '_, '_>, mut changes: Vec<Change>) -> Option<CombinedSaving> {
    if changes.len() < 2 {
        return None;
    }
    // What is removed needs no other change.
    let removed: Vec<String> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Without { name } => Some(name.clone()),
            _ => None,
        })
        .collect();
    changes.retain(|change| match change {
        Change::Pend { driver: name } | Change::Ungroup { service: name } | Change::Delay { name } => {
            !removed.contains(name)
        }
        _ => true,
    });
    let prediction = predictor.predict(&changes).ok()?;
    let longest = prediction.phases.iter().max_by_key(|phase| phase.predicted.map(|predicted| predicted.ns))?;
    Some(CombinedSaving {
        changes,
        saving: prediction.saving?,
        predicted: prediction.predicted?,
        longest_phase: longest.phase.clone(),
        bottleneck: prediction.bottleneck.clone(),
        longest_phase_ns: longest.predicted?.ns,
    })
}

/// Describes the changes of a finding as a phrase.
const fn phrase(changes: &[Change]) -> &'static str {
    match changes {
        [Change::Pend { .. }, ..] => "with its requests pended",
        [Change::Ungroup { .. }, ..] => "without the wait for its group",
        [Change::Delay { .. }, ..] => "with its start after the desktop",
        [_] => "without it",
        _ => "without them",
    }
}

/// Formats a range, or a duration without one.
fn range(duration: PredictedDuration) -> String {
    duration.range().unwrap_or_else(|| time(duration.ns).to_string())
}
