//! Compares groups of recordings of one transition: what got slower, and whether the difference exceeds noise.
//!
//! Each report becomes a [`Run`]: a flat list of [`Measure`]s. Similar runs form a [`Configuration`], and [`compare()`]
//! compares every other configuration with the first one, the baseline.
//!
//! # What counts as a difference
//!
//! A difference of medians is reported if it exceeds the noise floor, i.e. the spread of the baseline's own runs
//! ([`statistics::spread`]), and if the runs are well separated: the exact probability of such ranks by chance is at
//! most [`MAX_CHANCE`], or the smallest that so many runs can have. With fewer than [`MIN_RUNS`] runs on a side no
//! difference is reported, because noise cannot be estimated.

#![forbid(unsafe_code)]

pub mod baseline;
pub mod boot_history;
mod explanation;
pub mod gate;
pub mod measures;
mod notes;
mod order_changes;
mod report;
mod run;
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

/// Default minimum number of runs per configuration for reporting a difference: with two, one disturbed run is half of
/// them.
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

/// Compares every other configuration with the first.
///
/// # Errors
/// There are fewer than two configurations, or all runs of one are excluded.
pub fn compare(configurations: &[Configuration], options: &CompareOptions) -> Result<Comparison, CompareError> {
    let [baseline, others @ ..] = configurations else { return Err(CompareError::TooFewConfigurations) };
    if others.is_empty() {
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
    let measures = rows(&samples, options);
    let transition = baseline.runs.first().map_or(RunSubject::Boot, |run| run.transition);
    let explanations = others
        .iter()
        .enumerate()
        .flat_map(|(at, other)| explanation::explain(&measures, transition, &other.name, at))
        .collect();
    let compared: Vec<Vec<&Run>> = samples.iter().map(|sample| sample.runs.clone()).collect();
    let notes = notes::notes(configurations, &compared);
    let moved = others
        .iter()
        .enumerate()
        .flat_map(|(at, _)| {
            let (before, after) = (&samples[0].runs, &samples[at + 1].runs);
            order_changes::order_changes(before, after, &summaries[at + 1].name)
        })
        .collect();
    Ok(Comparison {
        transition,
        min_runs: options.min_runs as u64,
        configurations: summaries,
        notes,
        explanations,
        measures,
        order_changes: moved,
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

/// The kind of transition of the first run that is not otherwise excluded, baseline first. Runs of other kinds are not
/// comparable.
fn leading_kind(configurations: &[Configuration], options: &CompareOptions) -> Option<String> {
    let runs = || configurations.iter().flat_map(|configuration| &configuration.runs);
    let counts = |run: &&Run| !run.kind.is_empty() && remaining_exclusions(run, options).is_empty();
    runs().find(counts).or_else(|| runs().find(|run| !run.kind.is_empty())).map(|run| run.kind.clone())
}

/// The exclusions of a run that the caller does not ignore.
fn remaining_exclusions<'a>(run: &'a Run, options: &CompareOptions) -> Vec<&'a Exclusion> {
    run.exclusions.iter().filter(|apart| !options.include.contains(&apart.reason)).collect()
}

fn summarize(configuration: &Configuration, kind: Option<String>, options: &CompareOptions) -> ConfigurationSummary {
    let runs: Vec<RunSummary> = configuration
        .runs
        .iter()
        .enumerate()
        .map(|(at, run)| {
            let before = configuration.runs.get(..at).unwrap_or(&[]);
            let mut exclusions: Vec<Exclusion> = remaining_exclusions(run, options).into_iter().cloned().collect();
            if let Some(kind) = kind.as_ref().filter(|kind| **kind != run.kind && !run.kind.is_empty())
                && !options.include.contains(&ExclusionReason::OtherKind)
            {
                exclusions.push(Exclusion {
                    reason: ExclusionReason::OtherKind,
                    text: format!("kind {}, but the other runs are {kind}", run.kind),
                });
            }
            if let Some(same) = before.iter().find(|other| run.is_same_recording(other))
                && !options.include.contains(&ExclusionReason::SameRecording)
            {
                exclusions.push(Exclusion {
                    reason: ExclusionReason::SameRecording,
                    text: format!("the same recording as {}", same.name),
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
    accounted: HashMap<&'a str, usize>,
}

/// The key by which measures of different runs are matched: names are case-insensitive on Windows.
fn match_key(key: &str, keeps_case: bool) -> String {
    if keeps_case { key.to_owned() } else { key.to_ascii_lowercase() }
}

#[derive(Default)]
struct Values {
    ascending: Vec<i64>,
    doubtful: u64,
}

impl<'a> Samples<'a> {
    fn new(configuration: &'a Configuration, summary: &ConfigurationSummary, options: &CompareOptions) -> Self {
        let keeps_doubtful = options.include.contains(&ExclusionReason::Losses);
        let mut values: HashMap<String, Values> = HashMap::new();
        let mut accounted: HashMap<&str, usize> = HashMap::new();
        let mut runs = Vec::new();
        for (run, _) in configuration.runs.iter().zip(&summary.runs).filter(|(_, summary)| summary.compared) {
            runs.push(run);
            let account_measures = run.measures.iter().filter(|measure| measure.category == Category::Account);
            let phases: hashbrown::HashSet<&str> = account_measures.filter_map(|it| it.phase.as_deref()).collect();
            for phase in phases {
                *accounted.entry(phase).or_default() += 1;
            }
            for measure in &run.measures {
                let entry = values.entry(match_key(&measure.key, run.is_case_sensitive())).or_default();
                if measure.doubtful && !keeps_doubtful {
                    entry.doubtful += 1;
                } else {
                    entry.ascending.push(measure.value);
                }
            }
        }
        for entry in values.values_mut() {
            entry.ascending.sort();
        }
        Self { runs, values, accounted }
    }

    /// The values of a measure, with zeros for runs in which it was too small to be recorded.
    fn padded(&self, measure: &Measure, keeps_case: bool) -> Values {
        let mut values = match self.values.get(&match_key(&measure.key, keeps_case)) {
            Some(values) => Values { ascending: values.ascending.clone(), doubtful: values.doubtful },
            None => Values::default(),
        };
        if measure.category.is_zero_when_absent() {
            let runs = match (measure.category, &measure.phase) {
                (Category::Account, Some(phase)) => self.accounted.get(phase.as_str()).copied().unwrap_or(0),
                _ => self.runs.len(),
            };
            let known = values.ascending.len() + usize::try_from(values.doubtful).unwrap_or(0);
            for _ in known..runs {
                values.ascending.insert(0, 0);
            }
        }
        values
    }
}

/// All measures: totals and phases in run order, the others by category and name.
fn rows(samples: &[Samples<'_>], options: &CompareOptions) -> Vec<ComparedMeasure> {
    let keeps_case = samples.iter().flat_map(|sample| &sample.runs).any(|run| run.is_case_sensitive());
    let mut known: BTreeMap<(Category, u64, String), &Measure> = BTreeMap::new();
    for run in samples.iter().flat_map(|sample| &sample.runs) {
        for (at, measure) in run.measures.iter().enumerate() {
            // Totals and phases keep their order; the rest is sorted by name.
            let position = if measure.category.keeps_order() { at as u64 } else { 0 };
            let key = match_key(&measure.key, keeps_case);
            known.entry((measure.category, position, key)).or_insert(measure);
        }
    }
    let mut seen = hashbrown::HashSet::new();
    known
        .into_values()
        .filter(|measure| seen.insert(match_key(&measure.key, keeps_case)))
        .map(|measure| row(measure, samples, keeps_case, options))
        .collect()
}

fn row(measure: &Measure, samples: &[Samples<'_>], keeps_case: bool, options: &CompareOptions) -> ComparedMeasure {
    let values: Vec<Values> = samples.iter().map(|sample| sample.padded(measure, keeps_case)).collect();
    let baseline = values.first().map_or(&[][..], |it| &it.ascending);
    let noise_floor = (baseline.len() >= 2).then(|| statistics::spread(baseline));
    let spreads = values.iter().map(spread).collect();
    let changes = values
        .iter()
        .skip(1)
        .zip(samples.iter().skip(1))
        .map(|(candidate, sample)| {
            change(
                measure.unit,
                (baseline, samples.first().map_or(0, |it| it.runs.len())),
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
    let difference = medians.map(|(was, is)| is.saturating_sub(was));
    let percent = medians.filter(|&(was, _)| was > 0).map(|(was, is)| (is as f64 - was as f64) * 100.0 / was as f64);
    let chance = statistics::rank_sum_test(baseline, candidate);
    let enough = baseline.len() >= options.min_runs && candidate.len() >= options.min_runs;
    let verdict = match (difference, noise_floor) {
        _ if baseline.is_empty() && candidate.is_empty() => Verdict::Unknown,
        _ if baseline.is_empty() => appeared(candidate, candidate_runs, baseline_runs, Verdict::New, options),
        _ if candidate.is_empty() => appeared(baseline, baseline_runs, candidate_runs, Verdict::Gone, options),
        (Some(difference), Some(floor)) if enough => {
            let beyond = difference.unsigned_abs() > floor.unsigned_abs();
            let separated = chance.is_some_and(|chance| chance.is_separated());
            match (beyond && separated, difference > 0, unit) {
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
        interval: statistics::interval(baseline, candidate),
        cliffs_delta: statistics::cliffs_delta(baseline, candidate),
        p_value: chance.map(|chance| chance.p_value),
        min_p_value: chance.map(|chance| chance.min_p_value),
    }
}

/// A measure of only one side is new or gone if most runs of that side have it; otherwise it is intermittent.
fn appeared(values: &[i64], runs: usize, other_runs: usize, verdict: Verdict, options: &CompareOptions) -> Verdict {
    if runs.min(other_runs) < options.min_runs {
        // A single run per side shows that something is new, but not whether it is so in every run.
        return if values.len() == runs { verdict } else { Verdict::Unknown };
    }
    if values.len() * 2 > runs { verdict } else { Verdict::Same }
}
