//! Finds boundaries by rules, most trusted first. The first match wins; the boundary names its rule and the preferred
//! rules that did not match.

use onoff_trace::{Milestone, Trace};

use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// Time of a match, ns, and its event.
pub(crate) type Match = (i64, String);

/// A rule, the certainty of its result, and a function that finds the first match at or after a time.
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

/// Applies `rules` in order, ignoring matches before `not_before`.
pub(crate) fn first_of(rules: &[Search<'_>], not_before: i64) -> Boundary {
    let mut unmatched_rules = Vec::new();
    for rule in rules {
        let first_match = (rule.find)(not_before).filter(|&(time_ns, _)| time_ns >= not_before);
        if let Some((time_ns, event)) = first_match {
            return Boundary {
                time_ns: Some(time_ns),
                rule: rule.rule.clone(),
                event,
                certainty: rule.certainty,
                unmatched_rules,
            };
        }
        unmatched_rules.push(rule.rule.clone());
    }
    Boundary {
        time_ns: None,
        rule: Rule::NotFound,
        event: String::new(),
        certainty: Certainty::Missing,
        unmatched_rules,
    }
}

/// Returns the milestones with this name, in table order.
pub(crate) fn milestones<'a>(trace: &'a Trace, name: &str) -> impl Iterator<Item = Milestone> + use<'a> {
    let name = trace.strings.find(name);
    trace.milestones.iter().filter(move |row| Some(row.name) == name)
}

/// Returns the first milestone with this name at or after `from_ns`.
pub(crate) fn first_milestone(trace: &Trace, name: &str, from_ns: i64) -> Option<Match> {
    milestones(trace, name)
        .filter(|row| row.time_ns >= from_ns)
        .min_by_key(|row| row.time_ns)
        .map(|row| (row.time_ns, trace.text(row.event).to_owned()))
}
