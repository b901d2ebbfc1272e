//! Checks a comparison against limits: pass, regression, or no verdict.
//!
//! A limit is exceeded if the difference of medians exceeds it. That is a regression if the difference also exceeds
//! noise (see [`super::compare()`]); otherwise there is no verdict, and more runs would give one. A limit below the
//! noise of the machine therefore never fails a build by chance, and never passes silently.

mod limit;
mod report;
#[cfg(test)]
mod tests;

pub use limit::{Amount, Limit, LimitParseError};
pub use report::*;

use super::report::{Change, CompareError, ComparedMeasure, Comparison, Verdict};
use super::run::{Category, Configuration, MeasureUnit};
use super::{CompareOptions, summaries};
use crate::RunSubject;

/// Checks `comparison` against `limits`, for every configuration except the baseline.
#[must_use]
pub fn judge(comparison: &Comparison, limits: &[Limit]) -> GateReport {
    let limits: Vec<LimitReport> = limits.iter().map(|limit| check_limit(comparison, limit)).collect();
    let verdict = limits.iter().map(|limit| limit.verdict).max().unwrap_or(GateVerdict::Pass);
    GateReport {
        verdict,
        transition: comparison.transition,
        configurations: comparison.configurations.clone(),
        notes: comparison.notes.clone(),
        explanations: comparison.explanations.clone(),
        limits,
    }
}

/// The report if no comparison is possible because of `why`: no limit has a verdict.
#[must_use]
pub fn cannot_judge(
    configurations: &[Configuration],
    options: &CompareOptions,
    limits: &[Limit],
    why: &CompareError,
) -> GateReport {
    GateReport {
        verdict: GateVerdict::NoVerdict,
        transition: configurations
            .iter()
            .flat_map(|it| &it.runs)
            .map(|run| run.transition)
            .next()
            .unwrap_or(RunSubject::Boot),
        configurations: summaries(configurations, options),
        notes: Vec::new(),
        explanations: Vec::new(),
        limits: limits
            .iter()
            .map(|limit| LimitReport {
                limit: limit.to_string(),
                verdict: GateVerdict::NoVerdict,
                reason: why.to_string(),
                checks: Vec::new(),
            })
            .collect(),
    }
}

fn check_limit(comparison: &Comparison, limit: &Limit) -> LimitReport {
    let mut checks: Vec<LimitCheck> = Vec::new();
    for measure in comparison.measures.iter().filter(|measure| limit.matches(&measure.key)) {
        for (at, change) in measure.changes.iter().enumerate() {
            checks.push(check(comparison, measure, at, change, limit));
        }
    }
    if checks.is_empty() {
        return LimitReport {
            limit: limit.to_string(),
            verdict: GateVerdict::NoVerdict,
            reason: comparison.unknown_measure(limit.key()),
            checks,
        };
    }
    // Regressions first, then missing verdicts; each by size.
    checks.sort_by_key(|check| (std::cmp::Reverse(check.verdict), std::cmp::Reverse(check.difference)));
    let verdict = checks.iter().map(|check| check.verdict).max().unwrap_or(GateVerdict::Pass);
    LimitReport { limit: limit.to_string(), verdict, reason: String::new(), checks }
}

fn check(comparison: &Comparison, measure: &ComparedMeasure, at: usize, change: &Change, limit: &Limit) -> LimitCheck {
    let values = |at: usize| measure.values.get(at).copied().unwrap_or_default();
    let (before, after) = (values(0), values(at + 1));
    let (verdict, because) = decide(comparison, measure, (&before, &after), change, limit);
    LimitCheck {
        key: measure.key.clone(),
        configuration: comparison.configurations.get(at + 1).map(|it| it.name.clone()).unwrap_or_default(),
        unit: measure.unit,
        was: before.median,
        is: after.median,
        difference: change.difference,
        percent: change.percent,
        noise_floor: measure.noise_floor,
        p_value: change.p_value,
        verdict,
        reason: because,
    }
}

fn decide(
    comparison: &Comparison,
    measure: &ComparedMeasure,
    (before, after): (&super::MeasureSpread, &super::MeasureSpread),
    change: &Change,
    limit: &Limit,
) -> (GateVerdict, String) {
    let min_runs = comparison.min_runs;
    let no_verdict = |because: String| (GateVerdict::NoVerdict, because);
    // Items come and go. A pattern only covers those that exist on both sides.
    if before.runs == 0 && before.excluded_runs == 0 && limit.is_pattern() {
        return (GateVerdict::Pass, "new, not in the baseline".to_owned());
    }
    if after.runs == 0 && after.excluded_runs == 0 {
        return match measure.category {
            Category::Total | Category::Phase => no_verdict("not in any candidate run".to_owned()),
            _ => (GateVerdict::Pass, "gone".to_owned()),
        };
    }
    for (side, spread) in [("baseline", before), ("candidate", after)] {
        if spread.runs < min_runs {
            let omitted = match spread.excluded_runs {
                0 => String::new(),
                count => format!("; {count} excluded because events were lost"),
            };
            // A minimum number of runs cannot be required of items that occur in some boots only.
            if limit.is_pattern() && spread.excluded_runs == 0 {
                return (GateVerdict::Pass, format!("only in {} of the {side}", runs(spread.runs)));
            }
            return no_verdict(format!("{} in the {side}, at least {min_runs} required{omitted}", runs(spread.runs)));
        }
    }
    let Some((difference, was)) = change.difference.zip(before.median) else {
        return no_verdict("no median on one side".to_owned());
    };
    if limit.amounts().any(|amount| !amount.applies_to(measure.unit)) {
        return no_verdict(format!(
            "the limit must be {}",
            match measure.unit {
                MeasureUnit::Ns => "a time such as 500ms, or a percentage",
                MeasureUnit::Bytes => "a size such as 10MiB, or a percentage",
                MeasureUnit::Count => "a number such as 5, or a percentage",
            }
        ));
    }
    if !limit.is_exceeded(difference, was) {
        // Among many measures some are always noisy: only a limit on a single measure requires the whole interval to be
        // within it.
        let highest = change.interval.map(|interval| interval.high).filter(|_| !limit.is_pattern());
        return match highest {
            Some(highest) if limit.is_exceeded(highest, was) => no_verdict(format!(
                "within the limit, but too noisy to be sure: the increase may be up to {:.1} % (95 % confidence); record more runs",
                highest as f64 * 100.0 / was as f64
            )),
            _ => (GateVerdict::Pass, String::new()),
        };
    }
    match change.verdict {
        Verdict::Same => no_verdict(
            "exceeds the limit, but not the noise: the runs overlap, or the difference is within the spread of the baseline"
                .to_owned(),
        ),
        _ => (GateVerdict::Regression, String::new()),
    }
}

fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}
