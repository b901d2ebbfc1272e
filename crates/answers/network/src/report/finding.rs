//! Findings about a network boot.

use serde::Serialize;

/// Something that costs time, or stops the boot, and can be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable name of the rule, e.g. `window_small`.
    pub rule: &'static str,
    /// The finding with its numbers, as a sentence without a period.
    pub title: String,
    /// Cost, ns; `None` if unknown.
    pub cost_ns: Option<i64>,
    /// True if the boot failed because of it.
    pub stops_boot: bool,
    /// What to do, as a sentence without a period.
    pub advice: String,
    /// Source of the rule.
    pub source: &'static str,
}
