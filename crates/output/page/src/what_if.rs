//! Predictions of a transition without some of its findings.

use onoff_blame::waits::Waits;
use onoff_findings::shell_argument::quote_argument;
use onoff_report::text;
use onoff_trace::Trace;
use onoff_transitions::{TransitionKind, TransitionOptions, find_all};
use onoff_what_if::changes::Change;
use onoff_what_if::model::Model;
use onoff_what_if::prediction::{Prediction, Predictor, WhatIfError};

use crate::page::{PageFinding, PageTransition, PageWhatIf, PageWhatIfPhase};

/// Predicts the transition without each set of findings. Returns `None` if a finding does not exist or has no
/// prediction, or if there is no such transition.
pub(crate) fn predict(trace: &Trace, page: &PageTransition, sets: &[Vec<usize>]) -> Option<Vec<PageWhatIf>> {
    let changes: Vec<Vec<Change>> =
        sets.iter().map(|set| combined_changes(&page.findings, set)).collect::<Option<_>>()?;
    let kind = TransitionKind::parse(&page.kind)?;
    let transition = find_all(trace, &TransitionOptions::default())
        .into_iter()
        .find(|transition| (transition.kind, transition.number) == (kind, page.number))?;
    let waits = Waits::new(trace);
    let model = Model::new(trace, &waits);
    let mut predictor = Predictor::new(&model, &transition, &[])?;
    let predictions = sets.iter().zip(changes).map(|(set, changes)| PageWhatIf {
        findings: set.clone(),
        arguments: arguments(&changes, page),
        ..PageWhatIf::from(predictor.predict(&changes))
    });
    Some(predictions.collect())
}

/// Predicts the transition without each finding that has a prediction, and without all of them.
pub(crate) fn predict_offline(trace: &Trace, page: &PageTransition) -> Vec<PageWhatIf> {
    let is_predicted = |(index, finding): (usize, &PageFinding)| (!finding.changes.is_empty()).then_some(index);
    let predicted: Vec<usize> = page.findings.iter().enumerate().filter_map(is_predicted).collect();
    let mut sets: Vec<Vec<usize>> = predicted.iter().map(|&index| vec![index]).collect();
    match sets.len() {
        0 => return Vec::new(),
        1 => {}
        _ => sets.push(predicted),
    }
    predict(trace, page, &sets).unwrap_or_default()
}

/// Combines the changes of findings. Nothing else needs to change about what is removed.
fn combined_changes(findings: &[PageFinding], set: &[usize]) -> Option<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    for &index in set {
        let finding = findings.get(index).filter(|finding| !finding.changes.is_empty())?;
        for change in &finding.changes {
            if !changes.contains(change) {
                changes.push(change.clone());
            }
        }
    }
    let all = changes.clone();
    let is_removed =
        |name: &str| all.iter().any(|change| matches!(change, Change::Without { name: removed } if removed == name));
    changes.retain(|change| match change {
        Change::Pend { driver: name } | Change::Ungroup { service: name } | Change::Delay { name } => !is_removed(name),
        _ => true,
    });
    Some(changes)
}

fn arguments(changes: &[Change], page: &PageTransition) -> String {
    let argument = |change: &Change| match change {
        Change::Without { name } => format!("--without {}", quote_argument(name)),
        Change::Pend { driver } => format!("--pend {}", quote_argument(driver)),
        Change::Ungroup { service } => format!("--ungroup {}", quote_argument(service)),
        Change::Delay { name } => format!("--delay {}", quote_argument(name)),
        Change::Parallel { unit } => format!("--parallel {}", quote_argument(unit)),
        Change::Async { driver } => format!("--async {}", quote_argument(driver)),
        Change::DiskSpeed { percent } => format!("--disk {}x", f64::from(*percent) / 100.0),
        Change::ProcessorSpeed { percent } => format!("--cpu {}x", f64::from(*percent) / 100.0),
        Change::Processors { count } => format!("--processors {count}"),
    };
    let transition = match page.kind.as_str() {
        "suspend" => format!("--transition suspend:{}", page.number),
        kind => format!("--transition {kind}"),
    };
    changes.iter().map(argument).chain([transition]).collect::<Vec<_>>().join(" ")
}

impl From<Result<Prediction, WhatIfError>> for PageWhatIf {
    fn from(result: Result<Prediction, WhatIfError>) -> Self {
        let prediction = match result {
            Ok(prediction) => prediction,
            Err(error) => return Self { reasons: vec![format!("No prediction: {error}.")], ..Self::default() },
        };
        Self {
            headline: text::what_if::headline(&prediction),
            reasons: prediction.no_prediction.map_or_else(Vec::new, |reason| {
                text::what_if::reasons(&prediction.identity, prediction.unknown_percent, reason)
            }),
            measured_ns: prediction.measured_ns,
            predicted: prediction.predicted,
            first_culprit: prediction.bottleneck.as_ref().map(text::what_if::bottleneck).unwrap_or_default(),
            phases: prediction
                .phases
                .into_iter()
                .map(|phase| PageWhatIfPhase {
                    name: phase.phase,
                    measured_ns: phase.measured_ns,
                    predicted: phase.predicted,
                })
                .collect(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    fn without(name: &str) -> Change {
        Change::Without { name: name.to_owned() }
    }

    #[test]
    fn combines_changes_of_findings() {
        let finding = |changes: &[Change]| PageFinding { changes: changes.to_vec(), ..PageFinding::default() };
        let (a, b, pend) = (without("a"), without("b"), Change::Pend { driver: "a".to_owned() });
        let findings = [
            finding(slice::from_ref(&pend)),
            finding(&[a.clone(), b.clone()]),
            finding(&[]),
            finding(slice::from_ref(&b)),
        ];
        assert_eq!(combined_changes(&findings, &[0]), Some(vec![pend.clone()]));
        // What is removed pends nothing, and is removed once.
        assert_eq!(combined_changes(&findings, &[0, 1, 3]), Some(vec![a, b.clone()]));
        assert_eq!(combined_changes(&findings, &[0, 3]), Some(vec![pend, b]));
        // A finding without a prediction, and one that does not exist.
        assert_eq!(combined_changes(&findings, &[2]), None);
        assert_eq!(combined_changes(&findings, &[4]), None);
    }

    #[test]
    fn refusal_says_why() {
        let refused = PageWhatIf::from(Err(WhatIfError::NoSwitches));
        assert_eq!(refused.predicted, None);
        assert!(refused.reasons.concat().contains("no context switches were recorded"), "{:?}", refused.reasons);
    }

    #[test]
    fn arguments_are_quoted_and_name_the_transition() {
        let page = PageTransition { kind: "suspend".to_owned(), number: 2, ..PageTransition::default() };
        assert_eq!(arguments(&[without("My Service")], &page), r#"--without "My Service" --transition suspend:2"#);
    }
}
