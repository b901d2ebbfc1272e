//! The phases of the recorded transitions, as intervals for the critical path.

use onoff_trace::Trace;

use onoff_evidence::interval::Interval;
use onoff_evidence::phase_name::SETTLING_PHASES;
use onoff_transitions::{TransitionKind, rules_for};

/// A phase of a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionPhase {
    pub transition: TransitionKind,
    /// Phase name, as in the transition's report.
    pub name: String,
    /// The interval. Phases may overlap.
    pub range: Interval,
}

/// Returns the phases of `kind` (or of all kinds) in `trace` whose start and end are both known. The rest of the
/// recording after a boot is not a phase.
#[must_use]
pub fn phases(trace: &Trace, kind: Option<TransitionKind>) -> Vec<TransitionPhase> {
    let mut rules: Vec<_> =
        rules_for(trace.system.kind).filter(|rules| kind.is_none_or(|kind| kind == rules.kind)).collect();
    rules.sort_by_key(|rules| rules.kind);
    rules
        .into_iter()
        .flat_map(|rules| {
            (rules.phase_intervals)(trace).into_iter().filter_map(|(name, start_ns, end_ns)| {
                transition_phase(rules.kind, name.as_str(), (start_ns?, end_ns?))
            })
        })
        .collect()
}

/// Returns the settling phases of `kind` (or of all kinds) in `trace` that had not ended when the recording did. They
/// extend to the end of the recording.
#[must_use]
pub(crate) fn unsettled_phases(trace: &Trace, kind: Option<TransitionKind>) -> Vec<TransitionPhase> {
    let rules = rules_for(trace.system.kind).filter(|rules| kind.is_none_or(|kind| kind == rules.kind));
    rules
        .flat_map(|rules| {
            let is_settling = |name: &str| SETTLING_PHASES.contains(&name);
            let intervals = (rules.phase_intervals)(trace).into_iter();
            let unsettled = intervals.filter(move |(name, _, end_ns)| end_ns.is_none() && is_settling(name.as_str()));
            unsettled.filter_map(|(name, start_ns, _)| {
                transition_phase(rules.kind, name.as_str(), (start_ns?, trace.duration_ns))
            })
        })
        .collect()
}

fn transition_phase(transition: TransitionKind, name: &str, (start_ns, end_ns): (i64, i64)) -> Option<TransitionPhase> {
    let range = Interval::new(start_ns, end_ns);
    (start_ns < end_ns).then(|| TransitionPhase { transition, name: name.to_owned(), range })
}
