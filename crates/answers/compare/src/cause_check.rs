//! Checks the causes that a comparison names: predicts the slower run without them, and compares with the faster run.
//!
//! A cause explains the difference if, without it, the slower run would take as long as the faster one. What both runs
//! wait for, but the slower one for longer, is removed from both.

use std::cmp::Reverse;

use onoff_evidence::significance::NOISE_NS;
use onoff_trace::Trace;
use onoff_transitions::TransitionKind;
use onoff_what_if::changes::{Change, ChangeError};
use onoff_what_if::prediction::{PredictedDuration, Prediction, WhatIfError, WhatIfQuestion, predict};

use crate::report::{CauseCheck, CheckedCause, Comparison, ExplainedPart, PartChange, Verdict};
use crate::run::{Configuration, Run};

/// A cause is checked if it is at least 1/20 (5 %) of the difference.
const MIN_SHARE_DIVISOR: u64 = 20;
/// Largest difference between the duration of a run and of its replayed recording, ns: 1 ms.
const MAX_DIFFERENCE_NS: u64 = 1_000_000;
/// Maximum number of causes removed together.
const MAX_CAUSES: usize = 5;

/// A transition of a recording to predict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunToPredict {
    /// Index of the configuration.
    pub configuration: usize,
    /// Index of the run in the configuration.
    pub run: usize,
    changes: Vec<Change>,
    /// Whether the recording may lack all of the causes.
    may_lack_all: bool,
}

/// The causes to check for one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseQuestion {
    pub slow: RunToPredict,
    /// `None` if no cause is in both runs.
    pub fast: Option<RunToPredict>,
    /// The check without predictions.
    check: CauseCheck,
    /// Largest difference of two durations that is noise, ns.
    noise_ns: i64,
}

/// Returns a question for each configuration that differs from the baseline beyond noise, if the comparison names a
/// cause that a computer can do without.
#[must_use]
pub fn cause_questions(configurations: &[Configuration], comparison: &Comparison) -> Vec<CauseQuestion> {
    if comparison.transition.transition().is_none() {
        return Vec::new();
    }
    (1..configurations.len()).filter_map(|index| question(configurations, comparison, index)).collect()
}

fn question(configurations: &[Configuration], comparison: &Comparison, index: usize) -> Option<CauseQuestion> {
    let key = format!("{}.total", comparison.transition.as_str());
    let total = comparison.measure(&key)?;
    let change = total.changes.get(index.checked_sub(1)?)?;
    let difference_ns = change.difference.filter(|_| change.verdict != Verdict::Same)?;
    let noise_ns = total.noise_floor.unwrap_or(0).max(NOISE_NS);
    if difference_ns.saturating_abs() < noise_ns {
        return None;
    }
    let name = &comparison.configurations.get(index)?.name;
    let causes = causes(comparison, name, difference_ns);
    if causes.is_empty() {
        return None;
    }
    let (slow_index, fast_index) = if difference_ns > 0 { (index, 0) } else { (0, index) };
    let median_run = |index: usize| {
        let median_ns = total.values.get(index)?.median?;
        let runs = configurations.get(index)?.runs.iter().zip(&comparison.configurations.get(index)?.runs);
        let compared = runs.enumerate().filter(|(_, (_, summary))| summary.compared);
        let durations = compared.filter_map(|(run_index, (run, _))| Some((run_index, run, duration_ns(run, &key)?)));
        durations.min_by_key(|(run_index, _, ns)| (ns.abs_diff(median_ns), *run_index))
    };
    let ((slow_run, slow, slow_ns), (fast_run, fast, fast_ns)) = (median_run(slow_index)?, median_run(fast_index)?);
    let change_of = |cause: &CheckedCause| Change::Without { name: cause.name.clone() };
    let common: Vec<Change> = causes.iter().filter(|cause| cause.is_in_both).map(change_of).collect();
    Some(CauseQuestion {
        slow: RunToPredict {
            configuration: slow_index,
            run: slow_run,
            changes: causes.iter().map(change_of).collect(),
            may_lack_all: false,
        },
        fast: (!common.is_empty()).then_some(RunToPredict {
            configuration: fast_index,
            run: fast_run,
            changes: common,
            may_lack_all: true,
        }),
        check: CauseCheck {
            configuration: name.clone(),
            causes,
            slow_run: slow.name.clone(),
            fast_run: fast.name.clone(),
            slow_ns,
            fast_ns,
            slow_without: None,
            fast_without: None,
            explained_ns: None,
            unexplained_ns: None,
            explains_difference: None,
            no_prediction: String::new(),
        },
        noise_ns,
    })
}

fn duration_ns(run: &Run, key: &str) -> Option<i64> {
    run.measures.iter().find(|measure| measure.key == key).map(|measure| measure.value)
}

/// Returns the causes that explain a difference of the total, largest first: subjects whose time in the phases differs
/// in the same direction, and that a change can remove.
fn causes(comparison: &Comparison, configuration: &str, difference_ns: i64) -> Vec<CheckedCause> {
    let mut causes: Vec<CheckedCause> = Vec::new();
    let explanations = comparison.explanations.iter().filter(|explanation| explanation.configuration == configuration);
    let parts = explanations.flat_map(|explanation| explanation.parts.iter().chain(&explanation.opposing));
    for part in parts.filter(|part| Change::removal(part.kind, &part.name).is_some()) {
        // Positive if the slower side waits longer.
        let part_ns = part.difference_ns.saturating_mul(difference_ns.signum());
        let is_same =
            |cause: &&mut CheckedCause| cause.kind == part.kind && cause.name.eq_ignore_ascii_case(&part.name);
        match causes.iter_mut().find(is_same) {
            Some(cause) => {
                cause.difference_ns = cause.difference_ns.saturating_add(part_ns);
                cause.is_in_both |= is_in_both(part);
            }
            None => causes.push(CheckedCause {
                kind: part.kind,
                name: part.name.clone(),
                difference_ns: part_ns,
                is_in_both: is_in_both(part),
            }),
        }
    }
    let min_ns = i64::try_from(difference_ns.unsigned_abs() / MIN_SHARE_DIVISOR).unwrap_or(i64::MAX).max(1);
    causes.retain(|cause| cause.difference_ns >= min_ns);
    causes.sort_by_key(|cause| Reverse(cause.difference_ns));
    causes.truncate(MAX_CAUSES);
    causes
}

const fn is_in_both(part: &ExplainedPart) -> bool {
    matches!(part.change, PartChange::Longer | PartChange::Shorter)
}

impl RunToPredict {
    /// Predicts the run from its recording. `number` counts the transitions of this kind, from 1.
    ///
    /// # Errors
    /// Returns why there is no prediction, as a clause.
    pub fn predict(&self, trace: &Trace, kind: TransitionKind, number: Option<u32>) -> Result<Prediction, String> {
        let mut question = WhatIfQuestion { changes: self.changes.clone(), kind: Some(kind), number };
        loop {
            match predict(trace, &question) {
                // What cannot be removed stays; the rest is not explained then.
                Err(WhatIfError::Change(error)) => {
                    let count = question.changes.len();
                    question.changes.retain(|change| !is_about(&error, change));
                    let is_empty = question.changes.is_empty() && !self.may_lack_all;
                    if question.changes.len() == count || is_empty {
                        return Err(error.to_string());
                    }
                }
                Err(error) => return Err(error.to_string()),
                Ok(prediction) => return Ok(prediction),
            }
        }
    }
}

fn is_about(error: &ChangeError, change: &Change) -> bool {
    let (ChangeError::Unknown { name, .. }
    | ChangeError::SystemComponent { name }
    | ChangeError::Needed { name, .. }
    | ChangeError::Required { name, .. }
    | ChangeError::NotPossible { name, .. }) = error;
    matches!(change, Change::Without { name: removed } if removed == name)
}

impl CauseQuestion {
    /// Returns the check with what was predicted, or why it was not, as a clause. `fast` is used only if there is a
    /// faster run to predict.
    #[must_use]
    pub fn check(self, slow: Result<Prediction, String>, fast: Option<Result<Prediction, String>>) -> CauseCheck {
        let Self { mut check, noise_ns, .. } = self;
        let slow = match slow.and_then(known) {
            Ok(slow) if slow.measured_ns.abs_diff(check.slow_ns) > MAX_DIFFERENCE_NS => {
                let no_prediction = "the comparison leaves out time that a replay includes".to_owned();
                return CauseCheck { no_prediction, ..check };
            }
            Ok(slow) => slow,
            Err(reason) => return CauseCheck { no_prediction: reason, ..check },
        };
        let is_removed = |cause: &CheckedCause| {
            slow.changes.iter().any(|change| matches!(change, Change::Without { name } if *name == cause.name))
        };
        check.causes.retain(is_removed);
        let fast = match fast.filter(|_| check.causes.iter().any(|cause| cause.is_in_both)).transpose() {
            Ok(fast) => fast,
            Err(reason) => return CauseCheck { no_prediction: reason, ..check },
        };
        check.slow_without = slow.predicted;
        check.fast_without = match fast.map(known).transpose() {
            Ok(fast) => fast.and_then(|fast| fast.predicted),
            Err(reason) => return CauseCheck { no_prediction: reason, slow_without: None, ..check },
        };
        let fast_ns = check.fast_ns;
        let fast_without =
            check.fast_without.unwrap_or(PredictedDuration { ns: fast_ns, min_ns: fast_ns, max_ns: fast_ns });
        let Some(slow_without) = check.slow_without else { return check };
        let unexplained_ns = slow_without.ns.saturating_sub(fast_without.ns);
        let difference_ns = check.slow_ns.saturating_sub(fast_ns);
        check.unexplained_ns = Some(unexplained_ns);
        check.explained_ns = Some(difference_ns.saturating_sub(unexplained_ns));
        let lowest_ns = slow_without.min_ns.saturating_sub(fast_without.max_ns);
        let highest_ns = slow_without.max_ns.saturating_sub(fast_without.min_ns);
        check.explains_difference =
            Some(lowest_ns <= noise_ns && highest_ns >= noise_ns.saturating_neg() && difference_ns > unexplained_ns);
        check
    }
}

/// Returns a prediction with a duration, or why there is none, as a clause.
fn known(prediction: Prediction) -> Result<Prediction, String> {
    match prediction.reason() {
        Some(reason) => Err(reason),
        None => Ok(prediction),
    }
}
