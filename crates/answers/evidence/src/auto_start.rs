//! The interval in which Windows starts auto-start services.

use onoff_trace::{ServiceChange, Trace, milestone};

use crate::rule::Rule;
use crate::{Boundary, Certainty, DerivedInterval};

/// Returns the auto-start phase as reported by the service control manager, otherwise the interval covered by automatic
/// starts.
#[must_use]
pub fn auto_start_interval(trace: &Trace) -> DerivedInterval {
    let milestone_boundary = |name: &str, rule: Rule| -> Boundary {
        let first_row = trace
            .strings
            .find(name)
            .and_then(|name| trace.milestones.iter().filter(|row| row.name == name).min_by_key(|row| row.time_ns));
        match first_row {
            Some(row) => Boundary {
                time_ns: Some(row.time_ns),
                rule,
                event: trace.text(row.event).to_owned(),
                certainty: Certainty::Measured,
                unmatched_rules: Vec::new(),
            },
            None => Boundary { rule: Rule::NotFound, unmatched_rules: vec![rule], ..Boundary::default() },
        }
    };
    let mut start = milestone_boundary(milestone::AUTO_START_BEGIN, Rule::AutoStartBegins);
    let mut end = milestone_boundary(milestone::AUTO_START_END, Rule::AutoStartEnds);
    if start.time_ns.is_none() && end.time_ns.is_none() {
        let starts = automatic_starts(trace);
        for (boundary, time_ns, rule) in [
            (&mut start, starts.map(|(first_start, _)| first_start), Rule::FirstAutomaticStart),
            (&mut end, starts.and_then(|(_, last_end)| last_end), Rule::LastAutomaticStartEnds),
        ] {
            if time_ns.is_some() {
                boundary.time_ns = time_ns;
                boundary.rule = rule.to_owned();
                boundary.certainty = Certainty::Inferred;
            }
        }
    }
    DerivedInterval::between(&start, &end)
}

/// Returns the interval from the first automatic start to the end of the last one. The end is `None` if any start did
/// not finish.
fn automatic_starts(trace: &Trace) -> Option<(i64, Option<i64>)> {
    trace
        .service_transitions
        .iter()
        .filter(|row| row.automatic && row.kind == ServiceChange::Start)
        .map(|row| (row.start_ns, row.end_ns))
        .reduce(|(first_start, last_end), (start, end)| {
            (first_start.min(start), last_end.zip(end).map(|(a, b)| a.max(b)))
        })
}
