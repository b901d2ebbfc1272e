//! Something that costs time and can be changed.

use serde::Serialize;

/// Something that costs time and can be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable name of the rule, e.g. `window_small`.
    pub rule: &'static str,
    /// What was found, with the numbers it rests on.
    pub what: String,
    /// What it costs, ns; `None` when that is not known.
    pub cost_ns: Option<i64>,
    /// Whether nothing could be loaded because of it.
    pub stops_boot: bool,
    /// What to change.
    pub advice: String,
    /// Where the rule comes from.
    pub source: &'static str,
}
