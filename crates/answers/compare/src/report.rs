//! The result of a comparison. Its serialized names are the documented contract of `compare --format json`.

use crate::RunSubject;
use serde::Serialize;
use thiserror::Error;

use onoff_blame::account::AccountSubjectKind;

use super::run::{Category, Factor, MeasureUnit, SetApart};
use super::study_table::StudyTable;

/// Measures that a message names at most.
const MAX_NAMED: usize = 8;

/// What differs between configurations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Which transition was compared.
    pub transition: RunSubject,
    /// Runs that a configuration needed before a difference was called one.
    pub least_runs: u64,
    /// The configurations; the first is the baseline.
    pub configurations: Vec<ConfigurationSummary>,
    /// What to know before the numbers: computers that differ, a person who was waited for.
    pub notes: Vec<ComparisonNote>,
    /// What explains the differences, by the account of each phase; what goes the way of the whole first.
    pub explanations: Vec<Explanation>,
    /// The measures: totals and phases first, then the rest by category and name.
    pub measures: Vec<ComparedMeasure>,
    /// What happened in another order than in the baseline.
    pub moved: Vec<Moved>,
    /// The tables that a study asks for.
    pub tables: Vec<StudyTable>,
}

impl Comparison {
    /// The measure of that key.
    #[must_use]
    pub fn measure(&self, key: &str) -> Option<&ComparedMeasure> {
        self.measures.iter().find(|measure| measure.key == key)
    }

    /// That no run has a measure, and which of the whole transition the runs do have.
    pub(super) fn lacks_measure(&self, key: &str) -> String {
        let mut said = format!("no run has a measure '{key}'");
        let totals: Vec<&str> = self
            .measures
            .iter()
            .filter(|measure| measure.category == Category::Total)
            .map(|measure| measure.key.as_str())
            .take(MAX_NAMED)
            .collect();
        if !totals.is_empty() {
            said += &format!("; of the whole there are {}", totals.join(", "));
        }
        said
    }
}

/// A configuration and what became of its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigurationSummary {
    /// What it is called.
    pub name: String,
    /// In what it differs from others.
    pub factors: Vec<Factor>,
    /// Kind of the transition in its runs; empty when not known.
    pub kind: String,
    /// How many of its runs were compared.
    pub compared_runs: u64,
    /// Its runs.
    pub runs: Vec<RunSummary>,
}

/// A run, and why it was set apart if it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// What it is called: its file.
    pub name: String,
    /// Whether it was compared.
    pub compared: bool,
    /// Why not.
    pub set_apart: Vec<SetApart>,
    /// What was set that makes such runs differ, of a network boot: IP version, window and block; else empty.
    pub settings: String,
}

/// One measure in every configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedMeasure {
    /// Its key, as `--limit` takes it.
    pub key: String,
    /// What it is about.
    pub category: Category,
    /// What is left of the key after the transition and the category.
    pub name: String,
    /// Whose time it is, of an account.
    pub subject: Option<SubjectOfMeasure>,
    /// What its numbers count.
    pub unit: MeasureUnit,
    /// What a difference must exceed to be called one: how far the baseline's own runs lie apart. `None` with fewer than two.
    pub noise_floor: Option<i64>,
    /// Its values, by configuration.
    pub values: Vec<MeasureSpread>,
    /// How it differs from the baseline, by configuration after the first.
    pub changes: Vec<Change>,
}

/// The subject of a phase's account that a measure is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubjectOfMeasure {
    /// The phase.
    pub phase: String,
    /// What it is.
    pub kind: AccountSubjectKind,
    /// Its name.
    pub name: String,
}

/// What to know before the numbers of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonNote {
    /// What it is about.
    pub kind: ComparisonNoteKind,
    /// The configuration that it is about.
    pub configuration: String,
    /// The run that it is about; empty when it is about all of them.
    pub run: String,
    /// In what computers differ.
    pub property: Option<MachineProperty>,
    /// What the baseline's runs say, each value once; of a recording on both sides, what it is called in the baseline.
    pub was: Vec<String>,
    /// What the configuration's runs say, each value once.
    pub is: Vec<String>,
    /// Time in which a person was waited for, ns.
    pub person_ns: Option<i64>,
}

/// What a note of a comparison is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparisonNoteKind {
    /// A configuration is of another computer than the baseline, or of the same one in another state.
    MachinesDiffer,
    /// The runs of one configuration are of several computers.
    MachinesMixed,
    /// A recording is in the baseline as well.
    OnBothSides,
    /// A person was waited for; that time is in no measure.
    PersonTakenOff,
}

/// What computers differ in.
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
    /// Every property.
    pub const ALL: [Self; 6] =
        [Self::Computer, Self::Model, Self::System, Self::Processor, Self::Processors, Self::Memory];
}

/// What explains the difference of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The configuration that differs from the baseline.
    pub configuration: String,
    /// The phase.
    pub phase: String,
    /// The phase's median less the baseline's, ns.
    pub difference_ns: i64,
    /// Whether the runs have an account of the phase; without one nobody is named.
    pub is_accounted: bool,
    /// Whose time differs the same way, the largest first.
    pub parts: Vec<ExplainedPart>,
    /// Whose time differs the other way, the largest first.
    pub against: Vec<ExplainedPart>,
    /// Time of all those that differ the other way, ns: with the opposite sign.
    pub against_ns: i64,
    /// What is left of the difference, ns.
    pub not_explained_ns: i64,
}

/// A subject whose time explains a part of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedPart {
    /// Key of its measure.
    pub key: String,
    /// What it is.
    pub kind: AccountSubjectKind,
    /// Its name.
    pub name: String,
    /// Its time in the baseline, median, ns.
    pub was_ns: i64,
    /// Its time now, median, ns.
    pub is_ns: i64,
    /// The difference, ns.
    pub difference_ns: i64,
    /// What became of it.
    pub change: PartChange,
    /// What its own events say: of a driver the time until its requests were pended, of a service its own initialization.
    pub detail: Option<ExplainedDetail>,
}

/// What became of a subject's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PartChange {
    /// Nobody waits for it any more.
    Gone,
    /// Nobody waited for it before.
    New,
    /// It takes longer.
    Longer,
    /// It takes less time.
    Shorter,
}

/// What a subject's own events say of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedDetail {
    /// Key of the measure.
    pub key: String,
    /// Median of the baseline, ns.
    pub was_ns: Option<i64>,
    /// Median now, ns.
    pub is_ns: Option<i64>,
}

/// The values of one measure in one configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasureSpread {
    /// Runs that have it.
    pub runs: u64,
    /// Runs whose value was left out because losses touch it.
    pub left_out: u64,
    /// Median; `None` when no run has it.
    pub median: Option<i64>,
    /// Arithmetic mean, as papers give it; a difference is judged by the median. `None` when no run has it.
    pub mean: Option<i64>,
    /// Smallest.
    pub least: Option<i64>,
    /// Largest.
    pub most: Option<i64>,
}

/// How a measure differs from the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Median less the baseline's median.
    pub difference: Option<i64>,
    /// The difference as a percentage of the baseline's median.
    pub percent: Option<f64>,
    /// What to hold of it.
    pub verdict: Verdict,
    /// Where the difference lies with 95 % confidence, by resampling the runs; `None` with fewer than two on a side.
    pub interval: Option<ConfidenceInterval>,
    /// Effect size: how much oftener a run of this configuration exceeds one of the baseline than the other way, from −1
    /// (never) to 1 (always).
    pub cliffs_delta: Option<f64>,
    /// Probability of ranks as uneven as these by chance, exact.
    pub p_value: Option<f64>,
    /// The smallest probability that so many runs can show at all.
    pub least_p_value: Option<f64>,
}

/// Where a difference lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfidenceInterval {
    /// From.
    pub low: i64,
    /// To.
    pub high: i64,
}

/// What to hold of a difference.
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
    /// No run of the baseline has it.
    New,
    /// Only the baseline has it.
    Gone,
    /// Within noise.
    Same,
    /// Too few runs to tell noise from difference.
    Unknown,
}

impl Verdict {
    /// The name, as in JSON.
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

/// Something began earlier or later among its like than in the baseline, in every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moved {
    /// Configuration in which it moved.
    pub configuration: String,
    /// Its measure's key.
    pub key: String,
    /// Phase in which it began in the baseline.
    pub was_phase: String,
    /// Phase in which it begins now.
    pub is_phase: String,
    /// Median begin since that phase's begin in the baseline, ns.
    pub was_since_phase_ns: i64,
    /// Median begin since that phase's begin now, ns.
    pub is_since_phase_ns: i64,
    /// How many of its like it began before, and now begins after.
    pub now_after: u64,
    /// How many of its like it began after, and now begins before.
    pub now_before: u64,
    /// One of them: the one that is passed by fewest others.
    pub passed: String,
}

/// Why there is no comparison.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoComparison {
    /// Nothing to compare with.
    #[error("a comparison needs two configurations at least: --baseline and --candidate")]
    OneConfiguration,
    /// No run is left of a configuration.
    #[error("no run of '{}' is left to compare: {}", .0.name, why(.0))]
    AllSetApart(Box<ConfigurationSummary>),
}

fn why(configuration: &ConfigurationSummary) -> String {
    let mut told: Vec<String> = Vec::new();
    for run in &configuration.runs {
        for apart in &run.set_apart {
            let option = apart.reason.as_str().replace('_', "-");
            let text = format!("{} ({}; --include {option})", run.name, apart.text);
            if told.len() < 3 {
                told.push(text);
            }
        }
    }
    if told.is_empty() {
        return "it has none".to_owned();
    }
    let more = configuration.runs.len().saturating_sub(told.len());
    if more > 0 {
        told.push(format!("{more} more"));
    }
    told.join(", ")
}
