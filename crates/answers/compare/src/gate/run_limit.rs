//! Limits that every run of the candidate must meet by itself, without a baseline: the outcome of a network boot, and
//! the maximum of a measure.

use onoff_network::outcome::Verdict as Outcome;

use super::limit::Limit;
use super::report::{GateReport, GateVerdict, LimitCheck, LimitReport};
use super::unit_mismatch;
use crate::run::{Configuration, Exclusion, MeasureUnit, Run, RunSubject};
use crate::{CompareOptions, remaining_exclusions};

/// Key of the outcome in a check.
const OUTCOME_KEY: &str = "netboot.outcome";

/// Limits for each run of the candidate.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// The outcome that network boots must have.
    pub expected: Option<Outcome>,
    /// Measures and their maximum.
    pub maxima: Vec<Limit>,
}

impl RunLimits {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expected.is_none() && self.maxima.is_empty()
    }
}

/// Adds the limits that each run of the candidate must meet to `report`. A single configuration is the candidate.
pub fn check_runs(
    report: &mut GateReport,
    configurations: &[Configuration],
    options: &CompareOptions,
    limits: &RunLimits,
) {
    let candidates = match configurations {
        [_, candidates @ ..] if !candidates.is_empty() => candidates,
        single => single,
    };
    let runs: Vec<(&Configuration, &Run)> = candidates
        .iter()
        .flat_map(|configuration| configuration.runs.iter().map(move |run| (configuration, run)))
        .collect();
    report.limits.extend(limits.expected.map(|expected| check_outcome(&runs, expected)));
    for maximum in &limits.maxima {
        report.limits.push(check_maximum(&runs, options, maximum, limits.expected));
    }
    report.verdict = report.limits.iter().map(|limit| limit.verdict).max().unwrap_or(GateVerdict::Pass);
}

fn check_outcome(runs: &[(&Configuration, &Run)], expected: Outcome) -> LimitReport {
    let limit = format!("outcome {}", expected.as_str());
    let checks: Vec<LimitCheck> = runs
        .iter()
        .filter(|(_, run)| run.transition == RunSubject::Netboot)
        .map(|(configuration, run)| {
            let verdict = match run.kind.as_str() {
                kind if kind == expected.as_str() => GateVerdict::Pass,
                kind if kind.is_empty() || kind == Outcome::Unknown.as_str() => GateVerdict::NoVerdict,
                _ => GateVerdict::Regression,
            };
            check((configuration, run), OUTCOME_KEY, (MeasureUnit::Count, None), (verdict, outcome_text(run)))
        })
        .collect();
    limit_report(limit, checks, || "only network boots have an outcome".to_owned())
}

fn check_maximum(
    runs: &[(&Configuration, &Run)],
    options: &CompareOptions,
    maximum: &Limit,
    expected: Option<Outcome>,
) -> LimitReport {
    let limit = format!("{} at most {}", maximum.key(), maximum.amount_text());
    let mut checks: Vec<LimitCheck> = Vec::new();
    for &(configuration, run) in runs {
        let measures = run.measures.iter().filter(|measure| maximum.matches(&measure.key));
        let before = checks.len();
        for measure in measures {
            let verdict = match measure_problem(run, measure.doubtful, options, expected) {
                Some(reason) => (GateVerdict::NoVerdict, reason),
                None if maximum.amounts().any(|amount| !amount.applies_to(measure.unit)) => {
                    (GateVerdict::NoVerdict, unit_mismatch(measure.unit, ""))
                }
                None if maximum.is_exceeded(measure.value, 0) => (GateVerdict::Regression, String::new()),
                None => (GateVerdict::Pass, String::new()),
            };
            checks.push(check((configuration, run), &measure.key, (measure.unit, Some(measure.value)), verdict));
        }
        // A pattern only covers what exists.
        if checks.len() == before && !maximum.is_pattern() {
            let verdict = (GateVerdict::NoVerdict, "not measured in this run".to_owned());
            checks.push(check((configuration, run), maximum.key(), (MeasureUnit::Ns, None), verdict));
        }
    }
    limit_report(limit, checks, || format!("no run has the measure '{}'", maximum.key()))
}

/// Returns why a value cannot be compared with a maximum.
fn measure_problem(run: &Run, doubtful: bool, options: &CompareOptions, expected: Option<Outcome>) -> Option<String> {
    if let Some(Exclusion { text, .. }) = remaining_exclusions(run, options).first() {
        return Some(text.clone());
    }
    if doubtful {
        return Some("events were lost".to_owned());
    }
    // A boot that fails early is fast.
    let required = expected.unwrap_or(Outcome::Loaded);
    let has_outcome = run.transition != RunSubject::Netboot || run.kind == required.as_str();
    (!has_outcome).then(|| format!("the boot has another outcome than {}: {}", required.as_str(), outcome_text(run)))
}

fn outcome_text(run: &Run) -> String {
    match run.outcome.as_str() {
        "" => run.kind.clone(),
        outcome => format!("{}: {outcome}", run.kind),
    }
}

fn check(
    (configuration, run): (&Configuration, &Run),
    key: &str,
    (unit, value): (MeasureUnit, Option<i64>),
    (verdict, reason): (GateVerdict, String),
) -> LimitCheck {
    LimitCheck {
        key: key.to_owned(),
        configuration: configuration.name.clone(),
        run: Some(run.name.clone()),
        unit,
        was: None,
        is: value,
        difference: None,
        percent: None,
        noise_floor: None,
        p_value: None,
        verdict,
        reason,
    }
}

fn limit_report(limit: String, mut checks: Vec<LimitCheck>, reason: impl Fn() -> String) -> LimitReport {
    if checks.is_empty() {
        return LimitReport { limit, verdict: GateVerdict::NoVerdict, reason: reason(), checks };
    }
    checks.sort_by_key(|check| (std::cmp::Reverse(check.verdict), std::cmp::Reverse(check.is)));
    let verdict = checks.iter().map(|check| check.verdict).max().unwrap_or(GateVerdict::Pass);
    LimitReport { limit, verdict, reason: String::new(), checks }
}
