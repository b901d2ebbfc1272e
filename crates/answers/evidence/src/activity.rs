//! Intervals of work that are neither a service's nor a device's, with their names as text.

use onoff_trace::{Activity, ActivityKind, Trace};
use serde::Serialize;

/// An interval of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Work {
    /// What it was.
    pub kind: ActivityKind,
    /// Its name; see [`ActivityKind`].
    pub name: String,
    /// Further detail.
    pub detail: String,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns; `None` when it did not end in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns; `None` when it did not end in the recording.
    pub duration_ns: Option<i64>,
    /// Process that did or reported it.
    pub pid: Option<u32>,
    /// Session.
    pub session: Option<u32>,
    /// The record that set the start.
    pub event: String,
}

impl Work {
    fn of(trace: &Trace, row: &Activity) -> Self {
        Self {
            kind: row.kind,
            name: trace.text(row.name).to_owned(),
            detail: trace.text(row.detail).to_owned(),
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            duration_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns)),
            pid: row.pid,
            session: row.session,
            event: trace.text(row.event).to_owned(),
        }
    }
}

/// All work of `kind`, by start.
#[must_use]
pub fn of_kind(trace: &Trace, kind: ActivityKind) -> Vec<Work> {
    trace.activities.iter().filter(|row| row.kind == kind).map(|row| Work::of(trace, &row)).collect()
}

/// Puts the longest work first; work that did not end comes before all, by start.
pub fn worst_first(works: &mut [Work]) {
    works.sort_by_key(|work| (std::cmp::Reverse(work.duration_ns.unwrap_or(i64::MAX)), work.start_ns));
}
