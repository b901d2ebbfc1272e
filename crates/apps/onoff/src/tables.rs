//! The tables that answers are made of.

use onoff_compare::RunSubject;
use onoff_compare::measures;
use onoff_trace::Tables;
use onoff_transitions::TransitionKind;

/// The tables that runs of a transition are made of; of all three where it is not chosen.
#[must_use]
pub fn tables_of_runs(subject: Option<RunSubject>) -> Tables {
    let tables = match subject.map(RunSubject::transition) {
        // A boot may be the half of a fast startup that comes back.
        Some(Some(TransitionKind::Boot)) => onoff_transitions::tables(Some(TransitionKind::Boot))
            .union(onoff_transitions::tables(Some(TransitionKind::Suspend))),
        Some(Some(kind)) => onoff_transitions::tables(Some(kind)),
        // Not of tables: of packets, and of what the firmware handed over.
        Some(None) => Tables::NONE,
        None => onoff_transitions::tables(None),
    };
    tables.with(measures::TABLE)
}
