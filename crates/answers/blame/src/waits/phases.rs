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

/// The phases of all recorded transitions, by kind of transition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordedPhases {
    /// Phases whose start and end are both known. The rest of the recording after a boot is not a phase.
    pub(crate) complete: Vec<TransitionPhase>,
    /// Settling phases that had not ended when the recording did. They extend to the end of the recording.
    pub(crate) unsettled: Vec<TransitionPhase>,
}

impl RecordedPhases {
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut phases = Self::default();
        let mut rules: Vec<_> = rules_for(trace.system.kind).collect();
        rules.sort_by_key(|rules| rules.kind);
        for rules in rules {
            for (name, start_ns, end_ns) in (rules.phase_intervals)(trace) {
                let name = name.as_str();
                let Some(start_ns) = start_ns else { continue };
                match end_ns {
                    Some(end_ns) => phases.complete.extend(transition_phase(rules.kind, name, (start_ns, end_ns))),
                    None if SETTLING_PHASES.contains(&name) => {
                        phases.unsettled.extend(transition_phase(rules.kind, name, (start_ns, trace.duration_ns)));
                    }
                    None => {}
                }
            }
        }
        phases
    }

    /// Returns the same for one kind of transition; `None` for all kinds.
    pub(crate) fn of_kind(mut self, kind: Option<TransitionKind>) -> Self {
        let is_of_kind = |phase: &TransitionPhase| kind.is_none_or(|kind| kind == phase.transition);
        self.complete.retain(is_of_kind);
        self.unsettled.retain(is_of_kind);
        self
    }

    /// Returns all phases: first the complete ones.
    pub(crate) fn all(self) -> impl Iterator<Item = TransitionPhase> {
        self.complete.into_iter().chain(self.unsettled)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.complete.is_empty() && self.unsettled.is_empty()
    }
}

/// Returns the phases of all transitions in `trace` whose start and end are both known.
#[must_use]
pub fn phases(trace: &Trace) -> Vec<TransitionPhase> {
    RecordedPhases::new(trace).complete
}

fn transition_phase(transition: TransitionKind, name: &str, (start_ns, end_ns): (i64, i64)) -> Option<TransitionPhase> {
    let range = Interval::new(start_ns, end_ns);
    (start_ns < end_ns).then(|| TransitionPhase { transition, name: name.to_owned(), range })
}
