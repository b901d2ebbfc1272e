//! Checks a comparison against limits. The verdict is pass, regression, or no verdict.
//!
//! A limit is exceeded if the difference of medians exceeds it. It is a regression if the difference also exceeds noise
//! (see [`super::compare()`]). Otherwise there is no verdict, and more runs are needed. A limit below the noise of the
//! machine therefore never fails a build by chance, and never passes silently.
//!
//! Limits on single runs need no baseline (see [`RunLimits`]).

mod limit;
mod report;
mod run_limit;
#[cfg(test)]
mod tests;

pub use limit::{Amount, Limit, LimitParseError};
pub use report::*;
pub use run_limit::{RunLimits, check_runs};

use super::report::{Change, ComparedMeasure, Comparison, Verdict};
use super::run::{Category, Configuration, MeasureUnit};
use super::{CompareOptions, summaries};
use crate::RunSubject;

/// Checks `comparison` against `limits`, for every configuration except the baseline.
#[must_use]
pub fn check_limits(comparison: &Comparison, limits: &[Limit]) -> GateReport {
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

/// Returns the report if no comparison is possible for this reason: no limit has a verdict.
#[must_use]
pub fn report_without_verdict(
    configurations: &[Configuration],
    options: &CompareOptions,
    limits: &[Limit],
    reason: &str,
) -> GateReport {
    GateReport {
        verdict: GateVerdict::NoVerdict,
        transition: configurations
            .iter()
            .flat_map(|configuration| &configuration.runs)
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
                reason: reason.to_owned(),
                checks: Vec::new(),
            })
            .collect(),
    }
}

fn check_limit(comparison: &Comparison, limit: &Limit) -> LimitReport {
    let mut checks: Vec<LimitCheck> = Vec::new();
    for measure in comparison.measures.iter().filter(|measure| limit.matches(&measure.key)) {
        for (index, change) in measure.changes.iter().enumerate() {
            checks.push(check(comparison, measure, index, change, limit));
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
    // Regressions first, then missing verdicts, both by size.
    checks.sort_by_key(|check| (std::cmp::Reverse(check.verdict), std::cmp::Reverse(check.difference)));
    let verdict = checks.iter().map(|check| check.verdict).max().unwrap_or(GateVerdict::Pass);
    LimitReport { limit: limit.to_string(), verdict, reason: String::new(), checks }
}

fn check(
    comparison: &Comparison,
    measure: &ComparedMeasure,
    change_index: usize,
    change: &Change,
    limit: &Limit,
) -> LimitCheck {
    let spread = |configuration: usize| measure.values.get(configuration).copied().unwrap_or_default();
    let configuration = change_index + 1;
    let (baseline, candidate) = (spread(0), spread(configuration));
    let (verdict, reason) = decide(comparison, measure, (&baseline, &candidate), change, limit);
    LimitCheck {
        key: measure.key.clone(),
        configuration: comparison
            .configurations
            .get(configuration)
            .map(|summary| summary.name.clone())
            .unwrap_or_default(),
        run: None,
        unit: measure.unit,
        was: baseline.median,
        is: candidate.median,
        difference: change.difference,
        percent: change.percent,
        noise_floor: measure.noise_floor,
        p_value: change.p_value,
        verdict,
        reason,
    }
}

fn decide(
    comparison: &Comparison,
    measure: &ComparedMeasure,
    (baseline, candidate): (&super::MeasureSpread, &super::MeasureSpread),
    change: &Change,
    limit: &Limit,
) -> (GateVerdict, String) {
    let min_runs = comparison.min_runs;
    let no_verdict = |reason: String| (GateVerdict::NoVerdict, reason);
    // Items come and go. A pattern only covers items that exist on both sides.
    if baseline.runs == 0 && baseline.excluded_runs == 0 && limit.is_pattern() {
        return (GateVerdict::Pass, "new, not in the baseline".to_owned());
    }
    if candidate.runs == 0 && candidate.excluded_runs == 0 {
        return match measure.category {
            Category::Total | Category::Phase => no_verdict("not in any candidate run".to_owned()),
            _ => (GateVerdict::Pass, "gone".to_owned()),
        };
    }
    for (side, spread) in [("baseline", baseline), ("candidate", candidate)] {
        if spread.runs < min_runs {
            let excluded_runs = match spread.excluded_runs {
                0 => String::new(),
                count => format!("; {count} excluded because events were lost"),
            };
            // Items that occur only in some boots cannot be required to have a minimum number of runs.
            if limit.is_pattern() && spread.excluded_runs == 0 {
                return (GateVerdict::Pass, format!("only in {} of the {side}", runs(spread.runs)));
            }
            return no_verdict(format!(
                "{} in the {side}, at least {min_runs} required{excluded_runs}",
                runs(spread.runs)
            ));
        }
    }
    let Some((difference, baseline_median)) = change.difference.zip(baseline.median) else {
        return no_verdict("no median on one side".to_owned());
    };
    if limit.amounts().any(|amount| !amount.applies_to(measure.unit)) {
        return no_verdict(unit_mismatch(measure.unit, ", or a percentage"));
    }
    if !limit.is_exceeded(difference, baseline_median) {
        // Among many measures, some are always noisy. Only a limit on a single measure requires the whole confidence
        // interval to be within the limit.
        let highest = change.interval.map(|interval| interval.high).filter(|_| !limit.is_pattern());
        return match highest {
            Some(highest) if limit.is_exceeded(highest, baseline_median) => no_verdict(format!(
                "within the limit, but too noisy to be sure: the increase may be up to {:.1} % (95 % confidence); \
                 record more runs",
                highest as f64 * 100.0 / baseline_median as f64
            )),
            _ => (GateVerdict::Pass, String::new()),
        };
    }
    match change.verdict {
        Verdict::Same => no_verdict(
            "exceeds the limit, but not the noise: the runs overlap, or the difference is within the spread of the \
             baseline"
                .to_owned(),
        ),
        _ => (GateVerdict::Regression, String::new()),
    }
}

/// Describes the amounts that a limit on a measure of this unit can have.
fn unit_mismatch(unit: MeasureUnit, alternative: &str) -> String {
    let amount = match unit {
        MeasureUnit::Ns => "a time such as 500ms",
        MeasureUnit::Bytes => "a size such as 10MiB",
        MeasureUnit::Count => "a number such as 5",
    };
    format!("the limit must be {amount}{alternative}")
}

fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}
