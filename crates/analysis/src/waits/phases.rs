//! The phases of the transitions that a recording holds, as stretches whose critical path can be asked for.

use onoff_trace::Trace;

use crate::interval::Interval;
use crate::transition::{TransitionKind, rules_of};

/// A phase of a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionPhase {
    /// Of which transition.
    pub transition: TransitionKind,
    /// The phase's name, as the transition's own report has it.
    pub name: String,
    /// When it was. Phases may overlap.
    pub range: Interval,
}

/// The phases of `kind` in `trace`, or of all kinds: those whose ends are both known. The rest of the recording after a
/// boot is none.
#[must_use]
pub fn phases(trace: &Trace, kind: Option<TransitionKind>) -> Vec<TransitionPhase> {
    let mut rules: Vec<_> =
        rules_of(trace.system.kind).filter(|rules| kind.is_none_or(|kind| kind == rules.kind)).collect();
    rules.sort_by_key(|rules| rules.kind);
    rules
        .into_iter()
        .flat_map(|rules| {
            (rules.spans)(trace).into_iter().filter_map(|(name, start_ns, end_ns)| {
                let (start_ns, end_ns) = (start_ns?, end_ns?);
                (start_ns < end_ns).then(|| TransitionPhase {
                    transition: rules.kind,
                    name: name.as_str().to_owned(),
                    range: Interval::new(start_ns, end_ns),
                })
            })
        })
        .collect()
}
