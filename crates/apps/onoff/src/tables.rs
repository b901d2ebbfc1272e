//! The tables that answers are made of.

use onoff_analysis::compare::RunSubject;
use onoff_analysis::compare::measures;
use onoff_analysis::transition::{self, TransitionKind};
use onoff_trace::Tables;

/// The tables that runs of a transition are made of; of all three where it is not chosen.
#[must_use]
pub fn tables_of_runs(subject: Option<RunSubject>) -> Tables {
    let tables = match subject.map(RunSubject::transition) {
        // A boot may be the half of a fast startup that comes back.
        Some(Some(TransitionKind::Boot)) => {
            transition::tables(Some(TransitionKind::Boot)).union(transition::tables(Some(TransitionKind::Suspend)))
        }
        Some(Some(kind)) => transition::tables(Some(kind)),
        // Not of tables: of packets, and of what the firmware handed over.
        Some(None) => Tables::NONE,
        None => transition::tables(None),
    };
    tables.with(measures::TABLE)
}
