//! What really happened in a transition: the rows that a perfect reader finds.
//!
//! Names of kinds, phases and steps are repeated here on purpose: a reader that renames one fails until this file is
//! changed, too.

use serde::Serialize;

/// A notification of a transition, and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notification {
    /// Kind, e.g. `application_shutdown`.
    pub kind: &'static str,
    pub start_ns: i64,
    /// Response or timeout.
    pub end_ns: Option<i64>,
    pub name: String,
    /// Notified process.
    pub pid: Option<u32>,
    /// Notified thread.
    pub tid: Option<u32>,
    /// Session of the notifying process.
    pub session: Option<u32>,
    pub level: Option<u32>,
    pub flags: Option<u32>,
    pub status: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Kind, e.g. `shutdown_step`.
    pub kind: &'static str,
    pub name: String,
    pub detail: String,
    pub start_ns: i64,
    pub end_ns: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Milestone {
    pub name: &'static str,
    pub time_ns: i64,
    pub value: Option<i64>,
    pub detail: String,
}

/// A power request to a device, or the part of it handled by one driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PowerRequest {
    /// `query` or `set`.
    pub kind: &'static str,
    /// `device`, or `driver` for the part of one driver.
    pub scope: &'static str,
    pub start_ns: i64,
    pub end_ns: Option<i64>,
    pub device: String,
    pub driver: String,
    pub description: String,
    /// Type of `state`: `system` or `device`.
    pub state_kind: &'static str,
    /// Requested state, if recorded.
    pub state: Option<u8>,
    pub status: Option<u32>,
    pub irp: u64,
    /// Time from which the transition only waited for this request.
    pub waiting_ns: Option<i64>,
}

/// The stop of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServiceStop {
    pub name: String,
    /// A pre-shutdown service.
    pub pre_shutdown: bool,
    /// In the pre-shutdown order list.
    pub ordered: bool,
    pub start_ns: i64,
    /// SERVICE_STOP_PENDING.
    pub pending_ns: Option<i64>,
    /// SERVICE_STOPPED.
    pub end_ns: Option<i64>,
    /// The manager stopped waiting for the service.
    pub unresponsive: bool,
    /// Process id of the service's host.
    pub container_pid: u32,
}

/// Start of rows that have not started.
pub(crate) const NOT_STARTED: i64 = i64::MIN;

/// The rows of all transitions of a recording, each list sorted by start.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Transitions {
    pub notifications: Vec<Notification>,
    /// Phases, steps, sessions, subscribers, scripts.
    pub activities: Vec<Activity>,
    pub milestones: Vec<Milestone>,
    pub power_requests: Vec<PowerRequest>,
    pub service_stops: Vec<ServiceStop>,
}

impl Transitions {
    /// Removes rows that never started and sorts the rest by time.
    pub(crate) fn sort_and_prune(&mut self) {
        self.notifications.retain(|row| row.start_ns != NOT_STARTED);
        self.activities.retain(|row| row.start_ns != NOT_STARTED);
        self.milestones.retain(|row| row.time_ns != NOT_STARTED);
        self.power_requests.retain(|row| row.start_ns != NOT_STARTED);
        self.service_stops.retain(|row| row.start_ns != NOT_STARTED);
        for row in self.notifications.iter_mut().filter(|row| row.end_ns.is_none()) {
            row.status = None;
        }
        self.notifications.sort_by_key(|row| row.start_ns);
        self.activities.sort_by_key(|row| row.start_ns);
        self.milestones.sort_by_key(|row| row.time_ns);
        for row in self.power_requests.iter_mut().filter(|row| row.end_ns.is_none()) {
            row.status = None;
        }
        self.power_requests.sort_by_key(|row| row.start_ns);
        self.service_stops.sort_by_key(|row| row.start_ns);
    }

    #[must_use]
    pub fn activity(&self, kind: &str, name: &str) -> Option<&Activity> {
        self.activities.iter().find(|activity| activity.kind == kind && activity.name == name)
    }

    #[must_use]
    pub fn milestone(&self, name: &str) -> Option<&Milestone> {
        self.milestones.iter().find(|milestone| milestone.name == name)
    }
}
