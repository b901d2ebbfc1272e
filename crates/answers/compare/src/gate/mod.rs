//! Whether a comparison stays within limits: pass, regression, or no verdict.
//!
//! A limit is exceeded when the difference of medians is. An exceeded limit is a regression when the difference is more
//! than noise as well ([`super::compare()`] says so); else there is no verdict, and more runs would give one. So a limit
//! below the noise of the machine never fails a build by chance, and never passes one unseen either.

mod limit;
mod report;
#[cfg(test)]
mod tests;

pub use limit::{Amount, Limit, NotALimit};
pub use report::*;

use super::report::{Change, ComparedMeasure, Comparison, NoComparison, Verdict};
use super::run::{Category, Configuration, MeasureUnit};
use super::{CompareOptions, summaries};
use crate::RunSubject;

/// Judges `comparison` by `limits`, each of every configuration beside the baseline.
#[must_use]
pub fn judge(comparison: &Comparison, limits: &[Limit]) -> GateReport {
    let limits: Vec<LimitReport> = limits.iter().map(|limit| of_limit(comparison, limit)).collect();
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

/// The report where there is no comparison: every limit is open, because of `why`.
#[must_use]
pub fn cannot_judge(
    configurations: &[Configuration],
    options: &CompareOptions,
    limits: &[Limit],
    why: &NoComparison,
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
                because: why.to_string(),
                checks: Vec::new(),
            })
            .collect(),
    }
}

fn of_limit(comparison: &Comparison, limit: &Limit) -> LimitReport {
    let mut checks: Vec<LimitCheck> = Vec::new();
    for measure in comparison.measures.iter().filter(|measure| limit.is_about(&measure.key)) {
        for (at, change) in measure.changes.iter().enumerate() {
            checks.push(check(comparison, measure, at, change, limit));
        }
    }
    if checks.is_empty() {
        return LimitReport {
            limit: limit.to_string(),
            verdict: GateVerdict::NoVerdict,
            because: comparison.lacks_measure(limit.key()),
            checks,
        };
    }
    // What matters first: regressions, then what is open; within those the largest.
    checks.sort_by_key(|check| (std::cmp::Reverse(check.verdict), std::cmp::Reverse(check.difference)));
    let verdict = checks.iter().map(|check| check.verdict).max().unwrap_or(GateVerdict::Pass);
    LimitReport { limit: limit.to_string(), verdict, because: String::new(), checks }
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
        because,
    }
}

fn decide(
    comparison: &Comparison,
    measure: &ComparedMeasure,
    (before, after): (&super::MeasureSpread, &super::MeasureSpread),
    change: &Change,
    limit: &Limit,
) -> (GateVerdict, String) {
    let least = comparison.least_runs;
    let open = |because: String| (GateVerdict::NoVerdict, because);
    // Things come and go; a limit that names many is about those that are there.
    if before.runs == 0 && before.left_out == 0 && limit.names_many() {
        return (GateVerdict::Pass, "new: nothing to compare with".to_owned());
    }
    if after.runs == 0 && after.left_out == 0 {
        return match measure.category {
            Category::Total | Category::Phase => open("no run of the candidate has it".to_owned()),
            _ => (GateVerdict::Pass, "gone".to_owned()),
        };
    }
    for (side, spread) in [("baseline", before), ("candidate", after)] {
        if spread.runs < least {
            let left_out = match spread.left_out {
                0 => String::new(),
                count => format!("; {count} left out because losses touch it"),
            };
            // What starts in some boots only cannot be held to a number of runs.
            if limit.names_many() && spread.left_out == 0 {
                return (GateVerdict::Pass, format!("in {} of the {side}'s runs only", spread.runs));
            }
            return open(format!("{} of the {side}, {least} needed{left_out}", runs(spread.runs)));
        }
    }
    let Some((difference, was)) = change.difference.zip(before.median) else {
        return open("no median on both sides".to_owned());
    };
    if limit.amounts().any(|amount| !amount.is_about(measure.unit)) {
        return open(format!(
            "the limit is not in {}",
            match measure.unit {
                MeasureUnit::Ns => "time, as in 500ms, or percent",
                MeasureUnit::Bytes => "bytes, as in 10MiB, or percent",
                MeasureUnit::Count => "a number, as in 5, or percent",
            }
        ));
    }
    if !limit.is_exceeded(difference, was) {
        // Of many measures some are always restless: only one that is named must be sure to be within its limit.
        let highest = change.interval.map(|interval| interval.high).filter(|_| !limit.names_many());
        return match highest {
            Some(highest) if limit.is_exceeded(highest, was) => open(format!(
                "within the limit, but the runs differ too much to be sure: with 95 % confidence it grew by up to {:.1} %; record more runs",
                highest as f64 * 100.0 / was as f64
            )),
            _ => (GateVerdict::Pass, String::new()),
        };
    }
    match change.verdict {
        Verdict::Same => open(
            "beyond the limit, but not beyond noise: the runs overlap or lie as far apart as the baseline's own"
                .to_owned(),
        ),
        _ => (GateVerdict::Regression, String::new()),
    }
}

fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}
