//! The result of a gate. Its serialized names are the documented output of `gate --format json`.

use crate::RunSubject;
use serde::Serialize;

use crate::report::{ComparisonNote, ConfigurationSummary, Explanation};
use crate::run::MeasureUnit;

/// Verdict of a gate, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// Within the limit.
    Pass,
    /// Undecided: too few runs, lost events, or beyond the limit but within noise.
    NoVerdict,
    /// Beyond the limit and beyond noise, or another outcome than expected.
    Regression,
}

impl GateVerdict {
    /// Returns the name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::NoVerdict => "no_verdict",
            Self::Regression => "regression",
        }
    }
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateReport {
    /// The most severe verdict of all limits.
    pub verdict: GateVerdict,
    /// The compared transition.
    pub transition: RunSubject,
    /// The configurations; the first is the baseline. A single one is the candidate.
    pub configurations: Vec<ConfigurationSummary>,
    /// Caveats, such as different computers or time spent waiting for user input.
    pub notes: Vec<ComparisonNote>,
    /// Explanations of phase differences. Differences in the direction of the total come first.
    pub explanations: Vec<Explanation>,
    /// The limits, in the given order.
    pub limits: Vec<LimitReport>,
}

impl GateReport {
    /// Returns the configurations that were checked: all but the baseline, or a single one.
    #[must_use]
    pub fn candidates(&self) -> &[ConfigurationSummary] {
        match self.configurations.as_slice() {
            [_, candidates @ ..] if !candidates.is_empty() => candidates,
            single => single,
        }
    }
}

/// One limit and its checks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitReport {
    /// The limit, as given.
    pub limit: String,
    /// The most severe verdict of its checks.
    pub verdict: GateVerdict,
    /// Why there are no checks; otherwise empty.
    pub reason: String,
    /// The matching measures, most severe verdict first.
    pub checks: Vec<LimitCheck>,
}

/// One measure checked against a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitCheck {
    /// Key of the measure.
    pub key: String,
    /// The configuration that was checked.
    pub configuration: String,
    /// The run, if each run must meet the limit; `None` if the medians are compared.
    pub run: Option<String>,
    /// Unit of the numbers.
    pub unit: MeasureUnit,
    /// Median of the baseline.
    pub was: Option<i64>,
    /// Median of the configuration, or the value of the run.
    pub is: Option<i64>,
    /// Difference of the medians.
    pub difference: Option<i64>,
    /// The difference as a percentage of the baseline's median.
    pub percent: Option<f64>,
    /// Spread of the baseline runs; `None` with fewer than two runs.
    pub noise_floor: Option<i64>,
    /// Exact probability of the observed ranks by chance.
    pub p_value: Option<f64>,
    /// The verdict.
    pub verdict: GateVerdict,
    /// Reason for the verdict, if the numbers do not show it.
    pub reason: String,
}
