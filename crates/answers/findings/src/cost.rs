//! The cost of a finding.

use serde::Serialize;

/// How a cost was determined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CostBasis {
    /// What fixing it would save, predicted by a replay of the recorded work.
    Predicted,
    /// Time on the critical path: without it, the transition would be this much shorter, unless something else became critical.
    CriticalPath,
    /// The work ran in parallel with the critical path: an upper bound.
    AtMost,
    #[default]
    Unknown,
}

/// Start and end, ns.
pub type Interval = (i64, i64);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Time, ns; `None` if unknown.
    pub ns: Option<i64>,
    pub basis: CostBasis,
}

impl Cost {
    pub const UNKNOWN: Self = Self { ns: None, basis: CostBasis::Unknown };

    #[must_use]
    pub const fn at_most(ns: i64) -> Self {
        Self { ns: Some(ns), basis: CostBasis::AtMost }
    }

    /// An exact cost: nothing else ran meanwhile, or the time is on the critical path.
    #[must_use]
    pub const fn on_path(ns: i64) -> Self {
        Self { ns: Some(ns), basis: CostBasis::CriticalPath }
    }

    #[must_use]
    pub fn is_noise(self, noise_ns: i64) -> bool {
        self.ns.is_some_and(|ns| ns < noise_ns)
    }
}
