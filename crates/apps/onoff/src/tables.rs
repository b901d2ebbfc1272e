//! The tables that runs need.

use onoff_compare::RunSubject;
use onoff_compare::measures;
use onoff_trace::TableSet;
use onoff_transitions::TransitionKind;

/// Returns the tables for the runs of a transition, or of all three system transitions.
#[must_use]
pub fn run_tables(subject: Option<RunSubject>) -> TableSet {
    let tables = match subject.map(RunSubject::transition) {
        // A boot can be the resume half of a fast startup.
        Some(Some(TransitionKind::Boot)) => onoff_transitions::tables(Some(TransitionKind::Boot))
            .union(onoff_transitions::tables(Some(TransitionKind::Suspend))),
        Some(Some(kind)) => onoff_transitions::tables(Some(kind)),
        // Network boots and firmware times do not come from tables.
        Some(None) => TableSet::NONE,
        None => onoff_transitions::tables(None),
    };
    tables.with(measures::TABLE)
}
