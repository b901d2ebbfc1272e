//! Work other than service starts and device operations, with names resolved to text.

use onoff_trace::{Activity, ActivityKind, Trace};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedActivity {
    pub kind: ActivityKind,
    /// See [`ActivityKind`].
    pub name: String,
    /// Additional detail.
    pub detail: String,
    pub start_ns: i64,
    /// `None` if it did not finish in the recording.
    pub end_ns: Option<i64>,
    /// `None` if it did not finish in the recording.
    pub duration_ns: Option<i64>,
    /// The process that did or reported it.
    pub pid: Option<u32>,
    pub session: Option<u32>,
    /// The record that set the start.
    pub event: String,
}

impl NamedActivity {
    fn new(trace: &Trace, row: &Activity) -> Self {
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

/// Returns all work of `kind`, ordered by start.
#[must_use]
pub fn activities_of_kind(trace: &Trace, kind: ActivityKind) -> Vec<NamedActivity> {
    trace.activities.iter().filter(|row| row.kind == kind).map(|row| NamedActivity::new(trace, &row)).collect()
}

/// Sorts by duration, longest first. Unfinished work comes first, ordered by start.
pub fn sort_longest_first(works: &mut [NamedActivity]) {
    works.sort_by_key(|work| (std::cmp::Reverse(work.duration_ns.unwrap_or(i64::MAX)), work.start_ns));
}
