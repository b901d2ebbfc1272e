//! Compares groups of recordings of one transition: finds what got slower, and whether the difference exceeds noise.
//!
//! Each report becomes a [`Run`]: a flat list of [`Measure`]s. Similar runs form a [`Configuration`], and [`compare()`]
//! compares all other configurations with the first, the baseline.
//!
//! # What counts as a difference
//!
//! A difference of medians is reported if it exceeds the noise floor, i.e. the spread of the baseline runs
//! ([`statistics::spread`]), and if the runs are well separated: the exact probability of such ranks by chance is at
//! most [`MAX_CHANCE`], or the smallest possible with this number of runs. With fewer than [`MIN_RUNS`] runs on a side,
//! no difference is reported, because noise cannot be estimated.

#![forbid(unsafe_code)]

pub mod baseline;
pub mod boot_history;
pub mod cause_check;
mod explanation;
pub mod gate;
pub mod measures;
mod notes;
mod order_changes;
mod report;
mod run;
pub mod sleep_history;
pub mod sleep_statistics;
pub mod statistics;
pub mod study;
pub mod study_table;
pub mod summary;
pub mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hashbrown::HashMap;

pub use report::*;
pub use run::*;

/// Default minimum number of runs per configuration for reporting a difference. Of two runs, one disturbed run would be
/// half.
pub const MIN_RUNS: usize = 3;

/// Maximum probability of the observed ranks by chance for a reported difference.
pub const MAX_CHANCE: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareOptions {
    /// Exclusion reasons to ignore.
    pub include: Vec<ExclusionReason>,
    /// Minimum number of runs per configuration for reporting a difference.
    pub min_runs: usize,
    /// Allow each configuration its own kind of transition, as in a study of fast startup.
    pub allow_mixed_kinds: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { include: Vec::new(), min_runs: MIN_RUNS, allow_mixed_kinds: false }
    }
}

/// Compares all other configurations with the first.
///
/// # Errors
/// There are fewer than two configurations, or all runs of a configuration are excluded.
pub fn compare(configurations: &[Configuration], options: &CompareOptions) -> Result<Comparison, CompareError> {
    let [baseline, candidates @ ..] = configurations else { return Err(CompareError::TooFewConfigurations) };
    if candidates.is_empty() {
        return Err(CompareError::TooFewConfigurations);
    }
    let summaries = summaries(configurations, options);
    if let Some(empty) = summaries.iter().find(|summary| summary.compared_runs == 0) {
        return Err(CompareError::AllRunsExcluded(Box::new(empty.clone())));
    }
    let samples: Vec<Samples<'_>> = configurations
        .iter()
        .zip(&summaries)
        .map(|(configuration, summary)| Samples::new(configuration, summary, options))
        .collect();
    let measures = compare_measures(&samples, options);
    let transition = baseline.runs.first().map_or(RunSubject::Boot, |run| run.transition);
    let explanations = candidates
        .iter()
        .enumerate()
        .flat_map(|(index, candidate)| explanation::explain(&measures, transition, &candidate.name, index))
        .collect();
    let compared: Vec<Vec<&Run>> = samples.iter().map(|sample| sample.runs.clone()).collect();
    let notes = notes::notes(configurations, &compared);
    let order_changes = samples[1..]
        .iter()
        .zip(&summaries[1..])
        .flat_map(|(sample, summary)| order_changes::order_changes(&samples[0].runs, &sample.runs, &summary.name))
        .collect();
    Ok(Comparison {
        transition,
        min_runs: options.min_runs as u64,
        configurations: summaries,
        notes,
        explanations,
        cause_checks: Vec::new(),
        measures,
        order_changes,
        tables: Vec::new(),
    })
}

/// Determines which runs of each configuration are compared and which are excluded.
#[must_use]
pub fn summaries(configurations: &[Configuration], options: &CompareOptions) -> Vec<ConfigurationSummary> {
    let common_kind = leading_kind(configurations, options);
    configurations
        .iter()
        .map(|configuration| {
            let kind = if options.allow_mixed_kinds {
                leading_kind(std::slice::from_ref(configuration), options)
            } else {
                common_kind.clone()
            };
            summarize(configuration, kind, options)
        })
        .collect()
}

/// Returns the kind of transition of the first run that is not otherwise excluded, baseline first. Runs of other kinds
/// are not comparable.
fn leading_kind(configurations: &[Configuration], options: &CompareOptions) -> Option<String> {
    let runs = || configurations.iter().flat_map(|configuration| &configuration.runs);
    let is_comparable = |run: &&Run| !run.kind.is_empty() && remaining_exclusions(run, options).is_empty();
    runs().find(is_comparable).or_else(|| runs().find(|run| !run.kind.is_empty())).map(|run| run.kind.clone())
}

/// Returns the exclusions of a run that the caller does not ignore.
fn remaining_exclusions<'a>(run: &'a Run, options: &CompareOptions) -> Vec<&'a Exclusion> {
    run.exclusions.iter().filter(|exclusion| !options.include.contains(&exclusion.reason)).collect()
}

fn summarize(configuration: &Configuration, kind: Option<String>, options: &CompareOptions) -> ConfigurationSummary {
    let runs: Vec<RunSummary> = configuration
        .runs
        .iter()
        .enumerate()
        .map(|(index, run)| {
            let earlier_runs = configuration.runs.get(..index).unwrap_or(&[]);
            let mut exclusions: Vec<Exclusion> = remaining_exclusions(run, options).into_iter().cloned().collect();
            if let Some(kind) = kind.as_ref().filter(|kind| **kind != run.kind && !run.kind.is_empty())
                && !options.include.contains(&ExclusionReason::OtherKind)
            {
                exclusions.push(Exclusion {
                    reason: ExclusionReason::OtherKind,
                    text: format!("its kind is {}, but the other runs are {kind}", run.kind),
                });
            }
            if let Some(duplicate) = earlier_runs.iter().find(|earlier_run| run.is_same_recording(earlier_run))
                && !options.include.contains(&ExclusionReason::SameRecording)
            {
                exclusions.push(Exclusion {
                    reason: ExclusionReason::SameRecording,
                    text: format!("the same recording as {}", duplicate.name),
                });
            }
            RunSummary {
                name: run.name.clone(),
                compared: exclusions.is_empty(),
                exclusions,
                settings: run.settings.clone(),
            }
        })
        .collect();
    ConfigurationSummary {
        name: configuration.name.clone(),
        factors: configuration.factors.clone(),
        kind: kind.unwrap_or_default(),
        compared_runs: runs.iter().filter(|run| run.compared).count() as u64,
        runs,
    }
}

/// The values of the compared runs of one configuration.
struct Samples<'a> {
    runs: Vec<&'a Run>,
    /// Values by key.
    values: HashMap<String, Values>,
    /// Number of runs with an account, by phase.
    account_runs: HashMap<&'a str, usize>,
}

/// Returns the key by which measures of different runs are matched: names are case-insensitive on Windows.
fn match_key(key: &str, is_case_sensitive: bool) -> String {
    if is_case_sensitive { key.to_owned() } else { key.to_ascii_lowercase() }
}

/// The values of a measure in the runs of a configuration.
#[derive(Default)]
struct Values {
    ascending: Vec<i64>,
    /// Number of values that were excluded because of lost events.
    doubtful: u64,
}

impl<'a> Samples<'a> {
    fn new(configuration: &'a Configuration, summary: &ConfigurationSummary, options: &CompareOptions) -> Self {
        let includes_doubtful = options.include.contains(&ExclusionReason::Losses);
        let mut values: HashMap<String, Values> = HashMap::new();
        let mut account_runs: HashMap<&str, usize> = HashMap::new();
        let mut runs = Vec::new();
        for (run, _) in configuration.runs.iter().zip(&summary.runs).filter(|(_, summary)| summary.compared) {
            runs.push(run);
            let account_measures = run.measures.iter().filter(|measure| measure.category == Category::Account);
            let phases: hashbrown::HashSet<&str> =
                account_measures.filter_map(|measure| measure.phase.as_deref()).collect();
            for phase in phases {
                *account_runs.entry(phase).or_default() += 1;
            }
            for measure in &run.measures {
                let entry = values.entry(match_key(&measure.key, run.is_case_sensitive())).or_default();
                if measure.doubtful && !includes_doubtful {
                    entry.doubtful += 1;
                } else {
                    entry.ascending.push(measure.value);
                }
            }
        }
        for entry in values.values_mut() {
            entry.ascending.sort();
        }
        Self { runs, values, account_runs }
    }

    /// Returns the values of a measure, with zeros for runs in which it was too small to be recorded.
    fn values_with_zeros(&self, measure: &Measure, is_case_sensitive: bool) -> Values {
        let mut values = match self.values.get(&match_key(&measure.key, is_case_sensitive)) {
            Some(values) => Values { ascending: values.ascending.clone(), doubtful: values.doubtful },
            None => Values::default(),
        };
        if measure.category.is_zero_when_absent() {
            let run_count = match (measure.category, &measure.phase) {
                (Category::Account, Some(phase)) => self.account_runs.get(phase.as_str()).copied().unwrap_or(0),
                _ => self.runs.len(),
            };
            let known_count = values.ascending.len() + usize::try_from(values.doubtful).unwrap_or(0);
            for _ in known_count..run_count {
                values.ascending.insert(0, 0);
            }
        }
        values
    }
}

/// Compares all measures: totals and phases in run order, the others by category and name.
fn compare_measures(samples: &[Samples<'_>], options: &CompareOptions) -> Vec<ComparedMeasure> {
    let is_case_sensitive = samples.iter().flat_map(|sample| &sample.runs).any(|run| run.is_case_sensitive());
    let mut measures: BTreeMap<(Category, u64, String), &Measure> = BTreeMap::new();
    for run in samples.iter().flat_map(|sample| &sample.runs) {
        for (index, measure) in run.measures.iter().enumerate() {
            // Totals and phases keep their order; all others are sorted by name.
            let position = if measure.category.keeps_order() { index as u64 } else { 0 };
            let key = match_key(&measure.key, is_case_sensitive);
            measures.entry((measure.category, position, key)).or_insert(measure);
        }
    }
    let mut seen = hashbrown::HashSet::new();
    measures
        .into_values()
        .filter(|measure| seen.insert(match_key(&measure.key, is_case_sensitive)))
        .map(|measure| compare_measure(measure, samples, is_case_sensitive, options))
        .collect()
}

fn compare_measure(
    measure: &Measure,
    samples: &[Samples<'_>],
    is_case_sensitive: bool,
    options: &CompareOptions,
) -> ComparedMeasure {
    let values: Vec<Values> =
        samples.iter().map(|sample| sample.values_with_zeros(measure, is_case_sensitive)).collect();
    let baseline = values.first().map_or(&[][..], |values| &values.ascending);
    let noise_floor = (baseline.len() >= 2).then(|| statistics::spread(baseline));
    let spreads = values.iter().map(spread).collect();
    let changes = values
        .iter()
        .skip(1)
        .zip(samples.iter().skip(1))
        .map(|(candidate, sample)| {
            change(
                measure.unit,
                (baseline, samples.first().map_or(0, |sample| sample.runs.len())),
                (&candidate.ascending, sample.runs.len()),
                noise_floor,
                options,
            )
        })
        .collect();
    ComparedMeasure {
        key: measure.key.clone(),
        category: measure.category,
        name: measure.name().to_owned(),
        subject: measure.subject.as_ref().zip(measure.phase.as_ref()).map(|(subject, phase)| SubjectOfMeasure {
            phase: phase.clone(),
            kind: subject.kind,
            name: subject.name.clone(),
        }),
        unit: measure.unit,
        noise_floor,
        values: spreads,
        changes,
    }
}

fn spread(values: &Values) -> MeasureSpread {
    MeasureSpread {
        runs: values.ascending.len() as u64,
        excluded_runs: values.doubtful,
        median: statistics::median(&values.ascending),
        mean: statistics::mean(&values.ascending),
        min: values.ascending.first().copied(),
        max: values.ascending.last().copied(),
    }
}

/// Compares one measure of a candidate with the baseline. Each side comes with the total number of compared runs.
fn change(
    unit: MeasureUnit,
    (baseline, baseline_runs): (&[i64], usize),
    (candidate, candidate_runs): (&[i64], usize),
    noise_floor: Option<i64>,
    options: &CompareOptions,
) -> Change {
    let medians = statistics::median(baseline).zip(statistics::median(candidate));
    let difference =
        medians.map(|(baseline_median, candidate_median)| candidate_median.saturating_sub(baseline_median));
    let percent =
        medians.filter(|&(baseline_median, _)| baseline_median > 0).map(|(baseline_median, candidate_median)| {
            (candidate_median as f64 - baseline_median as f64) * 100.0 / baseline_median as f64
        });
    let rank_sum_test = statistics::rank_sum_test(baseline, candidate);
    let has_enough_runs = baseline.len() >= options.min_runs && candidate.len() >= options.min_runs;
    let verdict = match (difference, noise_floor) {
        _ if baseline.is_empty() && candidate.is_empty() => Verdict::Unknown,
        _ if baseline.is_empty() => one_sided_verdict(candidate, candidate_runs, baseline_runs, Verdict::New, options),
        _ if candidate.is_empty() => one_sided_verdict(baseline, baseline_runs, candidate_runs, Verdict::Gone, options),
        (Some(difference), Some(floor)) if has_enough_runs => {
            let exceeds_noise = difference.unsigned_abs() > floor.unsigned_abs();
            let is_separated = rank_sum_test.is_some_and(|test| test.is_separated());
            match (exceeds_noise && is_separated, difference > 0, unit) {
                (false, ..) => Verdict::Same,
                (true, true, MeasureUnit::Ns) => Verdict::Slower,
                (true, false, MeasureUnit::Ns) => Verdict::Faster,
                (true, true, _) => Verdict::More,
                (true, false, _) => Verdict::Less,
            }
        }
        _ => Verdict::Unknown,
    };
    Change {
        difference,
        percent,
        verdict,
        interval: statistics::confidence_interval(baseline, candidate),
        cliffs_delta: statistics::cliffs_delta(baseline, candidate),
        p_value: rank_sum_test.map(|test| test.p_value),
        min_p_value: rank_sum_test.map(|test| test.min_p_value),
    }
}

/// Returns the verdict on a measure of only one side: `verdict` (new or gone) if most runs of that side have it,
/// otherwise `Same`, because it is intermittent.
fn one_sided_verdict(
    values: &[i64],
    runs: usize,
    other_runs: usize,
    verdict: Verdict,
    options: &CompareOptions,
) -> Verdict {
    if runs.min(other_runs) < options.min_runs {
        // A single run per side shows that something is new, but not that it is new in every run.
        return if values.len() == runs { verdict } else { Verdict::Unknown };
    }
    if values.len() * 2 > runs { verdict } else { Verdict::Same }
}
