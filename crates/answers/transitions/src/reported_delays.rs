//! Delays that Windows itself reported in its event logs.

use onoff_trace::{ReportedTransition, Trace};
use serde::Serialize;

/// A delay that Windows itself reported (events 101 to 110 and 201 to 203 of
/// Diagnostics-Performance).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedDelay {
    /// What Windows names as the cause, e.g. `application`.
    pub cause: &'static str,
    /// Name, e.g. the file name of a program.
    pub name: String,
    /// Friendly name, in the language of that Windows; empty for none.
    pub friendly_name: String,
    /// File version; empty for none.
    pub version: String,
    /// Path; empty for none.
    pub path: String,
    /// Company; empty for none.
    pub company: String,
    /// Time that the cause took, ns.
    pub total_ns: i64,
    /// Time beyond what Windows allows for such a cause, ns. Causes overlap, so these times do not add up, and the
    /// transition would not be faster by that time.
    pub excess_ns: i64,
    /// The record.
    pub event: String,
}

/// Returns the delays that Windows reported of a transition, longest excess first.
pub(crate) fn reported_delays(trace: &Trace, transition: ReportedTransition) -> Vec<NamedDelay> {
    let text = |id| trace.text(id).to_owned();
    let rows = trace.reported_delays.iter().filter(|row| row.transition == transition);
    let mut delays: Vec<NamedDelay> = rows
        .map(|row| NamedDelay {
            cause: row.cause.as_str(),
            name: text(row.name),
            friendly_name: text(row.friendly_name),
            version: text(row.version),
            path: text(row.path),
            company: text(row.company),
            total_ns: row.total_ns,
            excess_ns: row.excess_ns,
            event: text(row.event),
        })
        .collect();
    delays.sort_by_key(|delay| std::cmp::Reverse(delay.excess_ns));
    delays
}
