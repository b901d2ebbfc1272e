//! Types shared by all answers: boundaries and intervals with the rule and event that set them, certainty, reasons, and
//! missing evidence.

#![forbid(unsafe_code)]

pub mod account_model;
pub mod activity;
pub mod auto_start;
pub mod call_graph;
pub mod interval;
pub mod missing_evidence;
pub mod notified;
pub mod phase_name;
pub mod quantities;
pub mod reason;
pub mod recording;
pub mod rule;
pub mod scope;
pub mod shell_argument;
pub mod significance;
pub mod transition_kind;

pub use interval::Interval;
use onoff_trace::{TableName, Trace};
pub use scope::Scope;
use serde::{Deserialize, Serialize};

use crate::rule::Rule;

/// How much an answer can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The defining event was recorded.
    Measured,
    /// Derived from another event, because the defining event is absent.
    Inferred,
    /// The recording does not contain the answer.
    #[default]
    Missing,
}

impl Certainty {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Inferred => "inferred",
            Self::Missing => "missing",
        }
    }

    /// Returns the less certain of the two: a result is only as certain as its weakest input.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

/// A point in time, with the rule and event that set it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Boundary {
    /// `None` if no rule matched.
    pub time_ns: Option<i64>,
    /// The rule that set the time.
    pub rule: Rule,
    /// The record that the rule used, e.g. `Process/Start`; empty if none.
    pub event: String,
    pub certainty: Certainty,
    /// Better rules that did not match, best first.
    pub unmatched_rules: Vec<Rule>,
}

/// An interval, with the rules and events that set it. Either end may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DerivedInterval {
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    /// `None` if either end is unknown.
    pub duration_ns: Option<i64>,
    /// The rule that set the start and the end.
    pub rule: Rule,
    /// The records that the rule used.
    pub event: String,
    /// Certainty of the weaker end.
    pub certainty: Certainty,
    /// Better rules that did not match.
    pub unmatched_rules: Vec<Rule>,
}

impl DerivedInterval {
    /// Creates the interval between two boundaries, as certain as the weaker one.
    #[must_use]
    pub fn between(start: &Boundary, end: &Boundary) -> Self {
        let duration_ns = start.time_ns.zip(end.time_ns).map(|(start, end)| end.saturating_sub(start));
        Self {
            start_ns: start.time_ns,
            end_ns: end.time_ns,
            duration_ns,
            rule: Rule::Between { start: Box::new(start.rule.clone()), end: Box::new(end.rule.clone()) },
            event: join_events(&start.event, &end.event),
            certainty: start.certainty.and(end.certainty),
            unmatched_rules: start.unmatched_rules.iter().chain(&end.unmatched_rules).cloned().collect(),
        }
    }

    /// Creates an interval that no rule found; `missing` lists the rules that were tried.
    #[must_use]
    pub fn not_found(missing: impl IntoIterator<Item = Rule>) -> Self {
        Self { unmatched_rules: missing.into_iter().collect(), ..Self::default() }
    }
}

fn join_events(first: &str, second: &str) -> String {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second.to_owned(),
        (_, true) => first.to_owned(),
        _ if first == second => first.to_owned(),
        _ => format!("{first}, {second}"),
    }
}

/// Returns the names of the losses (excluding notices) that can affect an answer computed from `tables`.
#[must_use]
pub fn affecting_losses(trace: &Trace, tables: &[TableName]) -> Vec<String> {
    trace.losses.affecting(tables).map(|loss| loss.counter.to_owned()).collect()
}
