//! The result of a comparison. Its serialized names are the documented output of `compare --format json`.

use crate::RunSubject;
use serde::Serialize;
use thiserror::Error;

use onoff_blame::account::AccountSubjectKind;
use onoff_what_if::prediction::PredictedDuration;

use super::run::{Category, Exclusion, Factor, MeasureUnit};
use super::study_table::StudyTable;

/// Maximum number of measures listed in a message.
const MAX_LISTED: usize = 8;

/// Differences between configurations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The compared transition.
    pub transition: RunSubject,
    /// Minimum number of runs per configuration for reporting a difference.
    pub min_runs: u64,
    /// The configurations; the first is the baseline.
    pub configurations: Vec<ConfigurationSummary>,
    /// Caveats, such as different computers or time spent waiting for user input.
    pub notes: Vec<ComparisonNote>,
    /// Explanations of phase differences by the account of each phase. Differences in the direction of the total come
    /// first.
    pub explanations: Vec<Explanation>,
    /// The slower run without the causes that the explanations name, for each configuration that differs beyond noise
    /// and names a cause that a computer can do without. Empty if the recordings were not replayed.
    pub cause_checks: Vec<CauseCheck>,
    /// The measures: totals and phases first, then all others by category and name.
    pub measures: Vec<ComparedMeasure>,
    /// Items that started in a different order than in the baseline.
    pub order_changes: Vec<OrderChange>,
    /// The tables requested by a study.
    pub tables: Vec<StudyTable>,
}

impl Comparison {
    /// Returns the measure with this key.
    #[must_use]
    pub fn measure(&self, key: &str) -> Option<&ComparedMeasure> {
        self.measures.iter().find(|measure| measure.key == key)
    }

    /// Returns an error message for an unknown measure, with the known totals.
    pub(super) fn unknown_measure(&self, key: &str) -> String {
        let mut message = format!("unknown measure '{key}'");
        let totals: Vec<&str> = self
            .measures
            .iter()
            .filter(|measure| measure.category == Category::Total)
            .map(|measure| measure.key.as_str())
            .take(MAX_LISTED)
            .collect();
        if !totals.is_empty() {
            message += &format!("; totals are {}", totals.join(", "));
        }
        message
    }
}

/// A configuration and its compared and excluded runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigurationSummary {
    /// Name.
    pub name: String,
    /// Factors that distinguish the configuration from others.
    pub factors: Vec<Factor>,
    /// Kind of transition of the runs; empty if unknown.
    pub kind: String,
    /// Number of compared runs.
    pub compared_runs: u64,
    /// The runs.
    pub runs: Vec<RunSummary>,
}

/// A run, with any reasons for its exclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// Name: the file of the run.
    pub name: String,
    /// True if the run was compared.
    pub compared: bool,
    /// Reasons for exclusion.
    pub exclusions: Vec<Exclusion>,
    /// Settings that affect a network boot: IP version, window and block size; otherwise empty.
    pub settings: String,
}

/// One measure in every configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedMeasure {
    /// Key, as in `--limit`.
    pub key: String,
    /// Category.
    pub category: Category,
    /// The key without transition and category.
    pub name: String,
    /// The subject of an account measure; `None` for other measures.
    pub subject: Option<SubjectOfMeasure>,
    /// Unit of the numbers.
    pub unit: MeasureUnit,
    /// The spread of the baseline runs, which a difference must exceed to be reported; `None` with fewer than two runs.
    pub noise_floor: Option<i64>,
    /// Values by configuration.
    pub values: Vec<MeasureSpread>,
    /// Changes from the baseline, by configuration, without the first configuration.
    pub changes: Vec<Change>,
}

/// The subject of an account measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubjectOfMeasure {
    /// The phase.
    pub phase: String,
    /// Kind.
    pub kind: AccountSubjectKind,
    /// Name.
    pub name: String,
}

/// A caveat about a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonNote {
    /// Kind of the note.
    pub kind: ComparisonNoteKind,
    /// The configuration concerned.
    pub configuration: String,
    /// The run concerned; empty if the note concerns all runs.
    pub run: String,
    /// The property in which computers differ.
    pub property: Option<MachineProperty>,
    /// Distinct values in the baseline's runs; for a recording on both sides, its name in the baseline.
    pub was: Vec<String>,
    /// Distinct values in the configuration's runs.
    pub is: Vec<String>,
    /// Time spent waiting for user input, ns.
    pub user_input_ns: Option<i64>,
}

/// Kind of a comparison note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparisonNoteKind {
    /// The computer differs from the baseline's computer, or is in another state.
    MachinesDiffer,
    /// The runs of one configuration are from several computers.
    MachinesMixed,
    /// A recording is also in the baseline.
    RecordingOnBothSides,
    /// The run waited for user input; all measures exclude that time.
    PersonWaitExcluded,
}

/// Property in which computers may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MachineProperty {
    /// Computer name.
    Computer,
    /// Manufacturer and model.
    Model,
    /// Operating system with its build, or kernel release.
    System,
    /// Processor.
    Processor,
    /// Number of logical processors.
    Processors,
    /// Memory.
    Memory,
}

impl MachineProperty {
    pub const ALL: [Self; 6] =
        [Self::Computer, Self::Model, Self::System, Self::Processor, Self::Processors, Self::Memory];
}

/// Explanation of the difference of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The configuration that differs from the baseline.
    pub configuration: String,
    /// The phase.
    pub phase: String,
    /// The median of the phase minus the median in the baseline, ns.
    pub difference_ns: i64,
    /// True if the runs have an account of the phase. Without an account, no subject is known.
    pub has_account: bool,
    /// Subjects whose time differs in the same direction, largest first.
    pub parts: Vec<ExplainedPart>,
    /// Subjects whose time differs in the opposite direction, largest first.
    pub opposing: Vec<ExplainedPart>,
    /// Sum of all opposite differences, ns, with the opposite sign.
    pub opposing_ns: i64,
    /// Unexplained part of the difference, ns.
    pub unexplained_ns: i64,
}

/// A subject whose time explains part of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedPart {
    /// Key of the measure.
    pub key: String,
    /// Kind.
    pub kind: AccountSubjectKind,
    /// Name.
    pub name: String,
    /// Median time in the baseline, ns.
    pub before_ns: i64,
    /// Median time in the configuration, ns.
    pub after_ns: i64,
    /// The difference, ns.
    pub difference_ns: i64,
    /// Kind of the change.
    pub change: PartChange,
    /// Detail from the subject's own events: for a driver the time until its requests were pended, for a service its
    /// own initialization.
    pub detail: Option<ExplainedDetail>,
}

/// Kind of change in a subject's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PartChange {
    /// No longer waited for.
    Gone,
    /// Not waited for before.
    New,
    /// Takes longer.
    Longer,
    /// Takes less time.
    Shorter,
}

/// Detail from a subject's own events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedDetail {
    /// Key of the measure.
    pub key: String,
    /// Median of the baseline, ns.
    pub before_ns: Option<i64>,
    /// Median of the configuration, ns.
    pub after_ns: Option<i64>,
}

/// Distribution of one measure in one configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasureSpread {
    /// Number of runs with a value.
    pub runs: u64,
    /// Number of runs whose value was excluded because of lost events.
    pub excluded_runs: u64,
    /// Median; `None` without values.
    pub median: Option<i64>,
    /// Arithmetic mean, for information (differences are judged by the median); `None` without values.
    pub mean: Option<i64>,
    /// Smallest.
    pub min: Option<i64>,
    /// Largest.
    pub max: Option<i64>,
}

/// Change of a measure from the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Median minus the baseline's median.
    pub difference: Option<i64>,
    /// The difference as a percentage of the baseline's median.
    pub percent: Option<f64>,
    /// Verdict.
    pub verdict: Verdict,
    /// 95 % confidence interval of the difference, by bootstrap; `None` with fewer than two runs on a side.
    pub interval: Option<ConfidenceInterval>,
    /// Cliff's delta: how much more often a run of this configuration exceeds a run of the baseline than vice versa,
    /// from −1 (never) to 1 (always).
    pub cliffs_delta: Option<f64>,
    /// Exact probability of the observed ranks by chance.
    pub p_value: Option<f64>,
    /// The smallest p-value that these sample sizes can yield.
    pub min_p_value: Option<f64>,
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfidenceInterval {
    /// Lower end.
    pub low: i64,
    /// Upper end.
    pub high: i64,
}

/// Verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Takes longer, beyond noise.
    Slower,
    /// Takes less time, beyond noise.
    Faster,
    /// A count or size that grew, beyond noise.
    More,
    /// A count or size that shrank, beyond noise.
    Less,
    /// Not in any baseline run.
    New,
    /// Only in the baseline.
    Gone,
    /// Within noise.
    Same,
    /// Too few runs to distinguish a difference from noise.
    Unknown,
}

impl Verdict {
    /// Returns the name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::More => "more",
            Self::Less => "less",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Same => "same",
            Self::Unknown => "unknown",
        }
    }
}

/// An item that started earlier or later relative to others of its category than in the baseline, in every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OrderChange {
    /// Configuration in which the order changed.
    pub configuration: String,
    /// Key of the measure.
    pub key: String,
    /// Phase of the start in the baseline.
    pub was_phase: String,
    /// Phase of the start in the configuration.
    pub is_phase: String,
    /// Median start in the baseline, relative to the start of the phase, ns.
    pub was_since_phase_ns: i64,
    /// Median start in the configuration, relative to the start of the phase, ns.
    pub is_since_phase_ns: i64,
    /// Number of items that it preceded in the baseline and now follows.
    pub now_after: u64,
    /// Number of items that it followed in the baseline and now precedes.
    pub now_before: u64,
    /// The item among these that changed order with the fewest other items.
    pub passed: String,
}

/// Why no comparison is possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompareError {
    /// There are fewer than two configurations.
    #[error("a comparison needs at least two configurations: --baseline and --candidate")]
    TooFewConfigurations,
    /// All runs of a configuration were excluded.
    #[error("all runs of '{}' were excluded: {}", .0.name, exclusions_text(.0))]
    AllRunsExcluded(Box<ConfigurationSummary>),
}

fn exclusions_text(configuration: &ConfigurationSummary) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for run in &configuration.runs {
        for exclusion in &run.exclusions {
            let option = exclusion.reason.as_str().replace('_', "-");
            let text = format!("{} ({}; use --include {option})", run.name, exclusion.text);
            if reasons.len() < 3 {
                reasons.push(text);
            }
        }
    }
    if reasons.is_empty() {
        return "it has no runs".to_owned();
    }
    let more_count = configuration.runs.len().saturating_sub(reasons.len());
    if more_count > 0 {
        reasons.push(format!("{more_count} more"));
    }
    reasons.join(", ")
}

/// A cause that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedCause {
    pub kind: AccountSubjectKind,
    pub name: String,
    /// Its time in the slower runs minus its time in the faster ones, ns, as in the explanations.
    pub difference_ns: i64,
    /// True if the faster runs wait for it, too. It is then removed from both runs.
    pub is_in_both: bool,
}

/// The slower run without the causes of the difference, beside the faster run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseCheck {
    /// The configuration compared with the baseline.
    pub configuration: String,
    /// The causes that were removed together, largest first.
    pub causes: Vec<CheckedCause>,
    /// Name of the slower run: the one with the median duration, or the closest to it.
    pub slow_run: String,
    /// Name of the faster run.
    pub fast_run: String,
    /// Measured duration of the slower run, ns.
    pub slow_ns: i64,
    /// Measured duration of the faster run, ns.
    pub fast_ns: i64,
    /// Predicted duration of the slower run without the causes; `None` if not known.
    pub slow_without: Option<PredictedDuration>,
    /// Predicted duration of the faster run without the causes that both runs wait for; `None` if there are none, or if
    /// not known.
    pub fast_without: Option<PredictedDuration>,
    /// Part of the difference that the causes explain, ns; `None` if not known.
    pub explained_ns: Option<i64>,
    /// Part of the difference that they do not explain, ns: the slower run minus the faster one, both without the
    /// causes. Negative if the slower run would then be the faster one. `None` if not known.
    pub unexplained_ns: Option<i64>,
    /// True if the rest is within the range of the prediction and the variation between two runs; `None` if not known.
    pub explains_difference: Option<bool>,
    /// Why the causes could not be checked, as a clause; empty if they were.
    pub no_prediction: String,
}
