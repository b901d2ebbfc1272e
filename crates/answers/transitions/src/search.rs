//! Boundaries found by rules in order of trust: the first that finds something wins, and the answer says which one it was
//! and what the better ones lacked.

use onoff_trace::{Milestone, Trace};

use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// What a rule found: when, and in which record.
pub(crate) type Found = (i64, String);

/// A rule: what it looks for, how certain its answer is, and the search itself, at or after a time.
pub(crate) struct Search<'a> {
    rule: Rule,
    certainty: Certainty,
    find: Box<dyn Fn(i64) -> Option<Found> + 'a>,
}

impl<'a> Search<'a> {
    pub(crate) fn measured(rule: Rule, find: impl Fn(i64) -> Option<Found> + 'a) -> Self {
        Self { rule, certainty: Certainty::Measured, find: Box::new(find) }
    }

    pub(crate) fn inferred(rule: Rule, find: impl Fn(i64) -> Option<Found> + 'a) -> Self {
        Self { certainty: Certainty::Inferred, ..Self::measured(rule, find) }
    }
}

/// Applies `rules` in order to what happened at or after `not_before`. What a rule finds before that is found by none.
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
                missing,
            };
        }
        missing.push(rule.rule.clone());
    }
    Boundary { time_ns: None, rule: Rule::NotFound, event: String::new(), certainty: Certainty::Missing, missing }
}

/// The milestones of that name, by time.
pub(crate) fn milestones<'a>(trace: &'a Trace, name: &str) -> impl Iterator<Item = Milestone> + use<'a> {
    let name = trace.strings.find(name);
    trace.milestones.iter().filter(move |row| Some(row.name) == name)
}

/// The first milestone of that name at or after `from`.
pub(crate) fn milestone_at(trace: &Trace, name: &str, from: i64) -> Option<Found> {
    milestones(trace, name)
        .filter(|row| row.time_ns >= from)
        .min_by_key(|row| row.time_ns)
        .map(|row| (row.time_ns, trace.text(row.event).to_owned()))
}
