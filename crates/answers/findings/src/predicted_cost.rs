//! What fixing each finding would save, predicted by a replay of the recorded work.

use onoff_blame::waits::Waits;
use onoff_trace::{SystemKind, Trace};
use onoff_transitions::{Transition, TransitionKind};
use onoff_what_if::changes::Change;
use onoff_what_if::model::Model;
use onoff_what_if::prediction::{NoPrediction, PredictedDuration, Prediction, Predictor, WhatIfError, predict_units};
use serde::Serialize;

use crate::cost::CostBasis;
use crate::finding::{FindingEvidence, FindingSubjectKind, RuleFinding};
use crate::quantities::time;

/// Maximum number of findings with a prediction per transition. The other findings, of lower cost, keep their time on
/// the critical path.
const MAX_PREDICTED: usize = 12;

/// A removal that leaves more than half of the subject's time in place is not a prediction.
const MIN_REMOVED_PART: i64 = 2;

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
    /// `parallel` names what was active for most of the time of a finding's subject, if something was.
    pub(crate) fn apply(
        &mut self,
        transition: &Transition,
        findings: &mut [RuleFinding],
        parallel: impl Fn(&RuleFinding) -> Option<String>,
    ) -> Outlook {
        let mut predictable: Vec<&mut RuleFinding> =
            findings.iter_mut().filter(|finding| finding.cost_ns.is_some() && !changes(finding).is_empty()).collect();
        if predictable.is_empty() {
            return Outlook::default();
        }
        let is_linux_boot = self.trace.system.kind == SystemKind::Linux && transition.kind == TransitionKind::Boot;
        let has_switches = !self.trace.context_switches.is_empty();
        if !has_switches && !is_linux_boot {
            return Outlook::unknown("context switches were not recorded");
        }
        let model = has_switches.then(|| &*self.model.get_or_insert_with(|| Model::new(self.trace, self.waits)));
        let threads = model.and_then(|model| Predictor::new(model, transition));
        let mut replayer = Replayer { units: is_linux_boot.then_some((self.trace, transition)), threads };
        predictable.sort_by_key(|finding| std::cmp::Reverse(finding.cost_ns));
        let mut combined: Vec<Change> = Vec::new();
        let mut add = |changes: Vec<Change>| {
            for change in changes {
                if !combined.contains(&change) {
                    combined.push(change);
                }
            }
        };
        for finding in predictable.into_iter().take(MAX_PREDICTED) {
            let (changes, prediction) = match predict_first(&mut replayer, changes(finding)) {
                Ok(answer) => answer,
                Err(WhatIfError::NoSwitches | WhatIfError::NoUnitOrder) => {
                    return Outlook::unknown("neither context switches nor the order of units were recorded");
                }
                Err(_) => continue,
            };
            match (prediction.no_prediction, prediction.saving) {
                (Some(reason @ (NoPrediction::IdentityFailed | NoPrediction::PathUnknown)), _) => {
                    return Outlook::unknown(&reason_text(reason, &prediction));
                }
                (Some(NoPrediction::EndNotReached | NoPrediction::RangeTooWide), _) => {}
                (None, Some(saving)) if removes_subject(finding, &changes, &prediction) => {
                    set_cost(finding, &changes, saving, &prediction);
                    if let Some(other) = parallel(finding).filter(|_| is_shadowed(finding)) {
                        let both = [changes.as_slice(), &[Change::Without { name: other.clone() }]].concat();
                        if let Some(text) = together(&mut replayer, &both, &other) {
                            finding.evidence.insert(1, FindingEvidence { time_ns: None, text });
                            add(both);
                        }
                    }
                    add(changes);
                }
                (None, _) => {}
            }
        }
        Outlook { combined: combine(&mut replayer, combined), no_prediction: String::new() }
    }
}

impl Outlook {
    fn unknown(reason: &str) -> Self {
        Self { combined: None, no_prediction: reason.to_owned() }
    }
}

/// Replays the units of a Linux boot, and threads for everything else, as `onoff what-if` does.
struct Replayer<'m, 'w, 't> {
    units: Option<(&'t Trace, &'m Transition)>,
    /// `None` if no context switches were recorded.
    threads: Option<Predictor<'m, 'w, 't>>,
}

impl Replayer<'_, '_, '_> {
    fn predict(&mut self, changes: &[Change]) -> Result<Prediction, WhatIfError> {
        let by_unit = self.units.map(|(trace, transition)| predict_units(trace, transition, changes));
        match (by_unit, &mut self.threads) {
            (Some(Ok(prediction)), _) => Ok(prediction),
            // The order of units is unknown, or the name is that of a program.
            (_, Some(threads)) => threads.predict(changes),
            (Some(error), None) => error,
            (None, None) => Err(WhatIfError::NoSwitches),
        }
    }
}

/// Predicts the first alternative that is possible. A part of the system, for example, cannot be removed.
///
/// # Errors
/// No alternative is possible: the error of the first.
fn predict_first(
    replayer: &mut Replayer<'_, '_, '_>,
    alternatives: Vec<Vec<Change>>,
) -> Result<(Vec<Change>, Prediction), WhatIfError> {
    let mut first_error = None;
    for changes in alternatives {
        match replayer.predict(&changes) {
            Ok(prediction) => return Ok((changes, prediction)),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or(WhatIfError::NoTransition))
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
    if let Some(predicted) = prediction.predicted {
        let duration = range(predicted);
        let text = format!("replayed {}: {duration} instead of {}", phrase(changes), time(prediction.measured_ns));
        finding.evidence.insert(0, FindingEvidence { time_ns: None, text });
    }
}

/// True unless the replay left most of the subject's time in place, which it then does not know how to remove.
fn removes_subject(finding: &RuleFinding, changes: &[Change], prediction: &Prediction) -> bool {
    let is_removal = changes.iter().all(|change| matches!(change, Change::Without { .. }));
    let time_ns = finding.cost_ns.unwrap_or(0);
    !is_removal || prediction.removed_ns.is_none_or(|removed_ns| removed_ns.saturating_mul(MIN_REMOVED_PART) >= time_ns)
}

/// True if fixing the finding saves less than half of its time on the critical path.
fn is_shadowed(finding: &RuleFinding) -> bool {
    finding.cost_ns.zip(finding.path_ns).is_some_and(|(cost_ns, path_ns)| cost_ns.saturating_mul(2) < path_ns)
}

/// Describes what the changes would save together with the removal of what ran at the same time.
fn together(replayer: &mut Replayer<'_, '_, '_>, changes: &[Change], other: &str) -> Option<String> {
    let prediction = replayer.predict(changes).ok()?;
    let (duration, saving) = (range(prediction.predicted?), time(prediction.saving?.ns));
    Some(format!("{other} took as long at the same time: without both, {duration} ({saving} less)"))
}

/// Predicts all changes together.
fn combine(replayer: &mut Replayer<'_, '_, '_>, mut changes: Vec<Change>) -> Option<CombinedSaving> {
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
    let prediction = replayer.predict(&changes).ok()?;
    let longest = prediction.phases.iter().max_by_key(|phase| phase.predicted.map(|predicted| predicted.ns))?;
    Some(CombinedSaving {
        changes,
        saving: prediction.saving?,
        predicted: prediction.predicted?,
        longest_phase: longest.phase.clone(),
        longest_phase_ns: longest.predicted?.ns,
    })
}

/// Describes changes as a phrase, e.g. `without A and B`.
fn phrase(changes: &[Change]) -> String {
    let without: Vec<&str> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Without { name } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    match (changes.first(), without.as_slice()) {
        (Some(Change::Pend { .. }), _) => "with its requests pended".to_owned(),
        (Some(Change::Ungroup { .. }), _) => "without the wait for its group".to_owned(),
        (Some(Change::Delay { .. }), _) => "with its start after the desktop".to_owned(),
        (_, [_]) => "without it".to_owned(),
        _ => "without them".to_owned(),
    }
}

fn range(duration: PredictedDuration) -> String {
    let (min, max) = (time(duration.min_ns).to_string(), time(duration.max_ns).to_string());
    if min == max { min } else { format!("{min} to {max}") }
}

fn reason_text(reason: NoPrediction, prediction: &Prediction) -> String {
    match reason {
        NoPrediction::IdentityFailed => match prediction.identity.max_error_ns {
            Some(error_ns) => {
                format!("a replay without a change ends a phase up to {} early or late", time(error_ns))
            }
            None => "a replay without a change does not end".to_owned(),
        },
        NoPrediction::PathUnknown => format!("{:.0} % of the critical path is unknown", prediction.unknown_percent),
        NoPrediction::EndNotReached => "a replay does not end".to_owned(),
        NoPrediction::RangeTooWide => "the range is too wide".to_owned(),
    }
}
