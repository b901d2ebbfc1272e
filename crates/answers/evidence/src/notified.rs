//! A program or a service that is asked to get ready for a transition, whichever it is.

use serde::Serialize;

/// An application or a service is notified of a shutdown, a sleep or a resume, and answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NotifiedOf{D}"))]
pub struct Notified<D> {
    /// Image file name or service name; empty when neither is known.
    pub name: String,
    /// Path or name as recorded; empty when it was not.
    pub path: String,
    /// Process.
    pub pid: Option<u32>,
    /// When it was notified, ns.
    pub start_ns: i64,
    /// When it answered or was given up, ns; `None` when that is not in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: Option<i64>,
    /// Result status as recorded.
    pub status: Option<u32>,
    /// The record that set the start.
    pub event: String,
    /// What only notifications of this kind have.
    #[serde(flatten)]
    pub details: D,
}
