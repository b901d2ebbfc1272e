//! What something cost a transition.

use serde::Serialize;

/// How the cost of a finding was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CostBasis {
    /// Time on the chain of waits that the transition really took: what it would gain at once, as long as nothing else
    /// takes its place.
    CriticalPath,
    /// Time in which the transition's main path and the work ran at once: it gains that much at most.
    AtMost,
    /// The recording cannot tell.
    #[default]
    Unknown,
}

/// Start and end of a stretch of time, ns.
pub type Stretch = (i64, i64);

/// What something cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Time, ns; `None` when it is not known.
    pub ns: Option<i64>,
    /// How it was found.
    pub basis: CostBasis,
}

impl Cost {
    /// Nothing can be told.
    pub const UNKNOWN: Self = Self { ns: None, basis: CostBasis::Unknown };

    /// At most this, ns.
    #[must_use]
    pub const fn at_most(ns: i64) -> Self {
        Self { ns: Some(ns), basis: CostBasis::AtMost }
    }

    /// Exactly this, ns: nothing else went on meanwhile, or the chain of waits says so.
    #[must_use]
    pub const fn on_path(ns: i64) -> Self {
        Self { ns: Some(ns), basis: CostBasis::CriticalPath }
    }

    /// Whether the transition would not notice.
    #[must_use]
    pub fn is_noise(self, noise_ns: i64) -> bool {
        self.ns.is_some_and(|ns| ns < noise_ns)
    }
}
