//! The result of a gate. Its serialized names are the documented contract of `gate --format json`.

use crate::RunSubject;
use serde::Serialize;

use crate::report::{ComparisonNote, ConfigurationSummary, Explanation};
use crate::run::MeasureUnit;

/// What a gate says; the later one outweighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// Within the limit.
    Pass,
    /// Cannot be told: too few runs, losses, or beyond the limit but not beyond noise.
    NoVerdict,
    /// Beyond the limit and beyond noise.
    Regression,
}

impl GateVerdict {
    /// The name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::NoVerdict => "no_verdict",
            Self::Regression => "regression",
        }
    }
}

/// Whether limits were kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateReport {
    /// What weighs most of all limits.
    pub verdict: GateVerdict,
    /// Which transition was compared.
    pub transition: RunSubject,
    /// The configurations; the first is the baseline.
    pub configurations: Vec<ConfigurationSummary>,
    /// What to know before the numbers: computers that differ, a person who was waited for.
    pub notes: Vec<ComparisonNote>,
    /// What explains the differences of phases, as a comparison has it; what goes the way of the whole first.
    pub explanations: Vec<Explanation>,
    /// The limits, as given.
    pub limits: Vec<LimitReport>,
}

/// One limit and what was held to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitReport {
    /// The limit, as given.
    pub limit: String,
    /// What weighs most of its checks.
    pub verdict: GateVerdict,
    /// Why there is no check; empty when there are some.
    pub because: String,
    /// Every measure that it names, what exceeds it first.
    pub checks: Vec<LimitCheck>,
}

/// One measure held to a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitCheck {
    /// The measure's key.
    pub key: String,
    /// The configuration that was compared with the baseline.
    pub configuration: String,
    /// What the numbers count.
    pub unit: MeasureUnit,
    /// Median of the baseline.
    pub was: Option<i64>,
    /// Median of the configuration.
    pub is: Option<i64>,
    /// The second less the first.
    pub difference: Option<i64>,
    /// The difference as a percentage of the baseline's median.
    pub percent: Option<f64>,
    /// How far the baseline's own runs lie apart; `None` with fewer than two.
    pub noise_floor: Option<i64>,
    /// Probability of ranks as uneven as these by chance, exact.
    pub p_value: Option<f64>,
    /// The verdict.
    pub verdict: GateVerdict,
    /// Why, where the numbers do not say it.
    pub because: String,
}
