//! Finds boundaries by rules in order of trust. The first match wins; the boundary names that rule and the better ones
//! that did not match.

use onoff_trace::{Milestone, Trace};

use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// Time and record of a match.
pub(crate) type Match = (i64, String);

/// A rule, the certainty of its result, and its search for the first match at or after a time.
pub(crate) struct Search<'a> {
    rule: Rule,
    certainty: Certainty,
    find: Box<dyn Fn(i64) -> Option<Match> + 'a>,
}

impl<'a> Search<'a> {
    pub(crate) fn measured(rule: Rule, find: impl Fn(i64) -> Option<Match> + 'a) -> Self {
        Self { rule, certainty: Certainty::Measured, find: Box::new(find) }
    }

    pub(crate) fn inferred(rule: Rule, find: impl Fn(i64) -> Option<Match> + 'a) -> Self {
        Self { certainty: Certainty::Inferred, ..Self::measured(rule, find) }
    }
}

/// Applies `rules` in order. Matches before `not_before` are ignored.
pub(crate) fn first_of(rules: &[Search<'_>], not_before: i64) -> Boundary {
    let mut missing = Vec::new();
    for rule in rules {
        let found = (rule.find)(not_before).filter(|found| found.0 >= not_before);
        if let Some((time_ns, event)) = found {
            return Boundary {
                time_ns: Some(time_ns),
                rule: rule.rule.clone(),
                event,
                certainty: rule.certainty,
                unmatched_rules: missing,
            };
        }
        missing.push(rule.rule.clone());
    }
    Boundary {
        time_ns: None,
        rule: Rule::NotFound,
        event: String::new(),
        certainty: Certainty::Missing,
        unmatched_rules: missing,
    }
}

/// The milestones with this name, in table order.
pub(crate) fn milestones<'a>(trace: &'a Trace, name: &str) -> impl Iterator<Item = Milestone> + use<'a> {
    let name = trace.strings.find(name);
    trace.milestones.iter().filter(move |row| Some(row.name) == name)
}

/// The first milestone with this name at or after `from`.
pub(crate) fn milestone_at(trace: &Trace, name: &str, from: i64) -> Option<Match> {
    milestones(trace, name)
        .filter(|row| row.time_ns >= from)
        .min_by_key(|row| row.time_ns)
        .map(|row| (row.time_ns, trace.text(row.event).to_owned()))
}
