//! What an answer rests on: the rule that set it, the event, how certain it is, and what was missing for better.

#![forbid(unsafe_code)]

pub mod account_model;
pub mod activity;
pub mod auto_start;
pub mod call_graph;
pub mod interval;
pub mod missing_evidence;
pub mod notified;
pub mod phase_name;
pub mod reason;
pub mod recording;
pub mod rule;
pub mod scope;
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
    /// The event that defines it was recorded.
    Measured,
    /// Another event stands in for the one that defines it.
    Inferred,
    /// The recording cannot tell.
    #[default]
    Missing,
}

impl Certainty {
    /// The name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Inferred => "inferred",
            Self::Missing => "missing",
        }
    }

    /// The less certain of both: a result is as certain as the weakest thing it rests on.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

/// A point in time and what set it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Boundary {
    /// Time, ns; `None` when no rule found it.
    pub time_ns: Option<i64>,
    /// The rule that set it, a code with its arguments.
    pub rule: Rule,
    /// The record that the rule used, e.g. `Process/Start`; empty when none.
    pub event: String,
    /// How certain it is.
    pub certainty: Certainty,
    /// The better rules that found nothing, best first.
    pub missing: Vec<Rule>,
}

/// A stretch of time and what set it. Either end may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// Begin, ns.
    pub start_ns: Option<i64>,
    /// End, ns.
    pub end_ns: Option<i64>,
    /// Length, ns; `None` when an end is unknown.
    pub duration_ns: Option<i64>,
    /// The rule that set begin and end.
    pub rule: Rule,
    /// The records that the rules used.
    pub event: String,
    /// How certain the weaker end is.
    pub certainty: Certainty,
    /// What better rules would have needed.
    pub missing: Vec<Rule>,
}

impl Span {
    /// The span between two boundaries; as certain as the weaker of both.
    #[must_use]
    pub fn between(start: &Boundary, end: &Boundary) -> Self {
        let duration_ns = start.time_ns.zip(end.time_ns).map(|(start, end)| end.saturating_sub(start));
        Self {
            start_ns: start.time_ns,
            end_ns: end.time_ns,
            duration_ns,
            rule: Rule::Between { start: Box::new(start.rule.clone()), end: Box::new(end.rule.clone()) },
            event: joined(&start.event, &end.event),
            certainty: start.certainty.and(end.certainty),
            missing: start.missing.iter().chain(&end.missing).cloned().collect(),
        }
    }

    /// A span that no rule found; `missing` says what the rules looked for.
    #[must_use]
    pub fn absent(missing: impl IntoIterator<Item = Rule>) -> Self {
        Self { missing: missing.into_iter().collect(), ..Self::default() }
    }
}

fn joined(first: &str, second: &str) -> String {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second.to_owned(),
        (_, true) => first.to_owned(),
        _ if first == second => first.to_owned(),
        _ => format!("{first}, {second}"),
    }
}

/// Names of the losses, notices left out, that can touch an answer made from `tables`.
#[must_use]
pub fn touched_by(trace: &Trace, tables: &[TableName]) -> Vec<String> {
    trace.losses.touching(tables).map(|loss| loss.counter.to_owned()).collect()
}
