//! Notifications of applications and services before and after a transition.

use serde::Serialize;

/// A notification of a shutdown, suspend or resume to an application or service, and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NotifiedOf{D}"))]
pub struct Notification<D> {
    /// Image file name or service name; empty if neither is known.
    pub name: String,
    /// Path or name as recorded; empty if not recorded.
    pub path: String,
    pub pid: Option<u32>,
    /// Time of the notification, ns.
    pub start_ns: i64,
    /// Time it responded or Windows stopped waiting, ns; `None` if not recorded.
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    /// Result status, as recorded.
    pub status: Option<u32>,
    /// The record that set the start.
    pub event: String,
    /// Fields specific to this kind of notification.
    #[serde(flatten)]
    pub details: D,
}
