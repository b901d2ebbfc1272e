//! What really happened in a transition: rows as an ideal reader finds them.
//!
//! Names of kinds, phases and steps are written out here once more: a reader that renames one is
//! wrong until somebody says so.

use serde::Serialize;

/// Somebody is told of a transition and answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notification {
    /// What it is told, e.g. `application_shutdown`.
    pub kind: &'static str,
    /// Told, ns.
    pub start_ns: i64,
    /// Answered or given up, ns.
    pub end_ns: Option<i64>,
    /// Application or service, where the record names it.
    pub name: String,
    /// Process told.
    pub pid: Option<u32>,
    /// Thread told.
    pub tid: Option<u32>,
    /// Session of the process that tells.
    pub session: Option<u32>,
    /// Shutdown level.
    pub level: Option<u32>,
    /// Flags.
    pub flags: Option<u32>,
    /// Result status.
    pub status: Option<u32>,
}

/// Work with a begin and an end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// What it is, e.g. `shutdown_step`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Further detail.
    pub detail: String,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: Option<i64>,
}

/// A point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Milestone {
    /// Its name.
    pub name: &'static str,
    /// Time, ns.
    pub time_ns: i64,
    /// Quantity.
    pub value: Option<i64>,
    /// What it is about.
    pub detail: String,
}

/// A device is asked for a state of power, or one driver holds that request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PowerRequest {
    /// `query` or `set`.
    pub kind: &'static str,
    /// `device`, or `driver` for a driver's part.
    pub scope: &'static str,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: Option<i64>,
    /// Device instance.
    pub device: String,
    /// Driver.
    pub driver: String,
    /// Description of the device.
    pub description: String,
    /// `system` or `device`: whose state.
    pub state_kind: &'static str,
    /// Requested state, where recorded.
    pub state: Option<u8>,
    /// Result status.
    pub status: Option<u32>,
    /// Request packet.
    pub irp: u64,
    /// When nothing was left to do but wait for it, ns.
    pub waiting_ns: Option<i64>,
}

/// A service's way from running to stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServiceStop {
    /// Name.
    pub name: String,
    /// Told before all others, and waited for.
    pub pre_shutdown: bool,
    /// Among those, in the order set for them.
    pub ordered: bool,
    /// Told, ns.
    pub start_ns: i64,
    /// Reported that it is stopping, ns.
    pub pending_ns: Option<i64>,
    /// Stopped, ns.
    pub end_ns: Option<i64>,
    /// The manager gave up waiting for it.
    pub unresponsive: bool,
    /// Process id of its host.
    pub container_pid: u32,
}

/// Rows that have not begun have this time.
pub(crate) const NOT_YET: i64 = i64::MIN;

/// The rows of all transitions of a recording, each kind by begin.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Transitions {
    /// Who was told.
    pub notifications: Vec<Notification>,
    /// Phases, steps, sessions, subscribers, scripts.
    pub activities: Vec<Activity>,
    /// Points in time.
    pub milestones: Vec<Milestone>,
    /// What devices were asked for.
    pub power_requests: Vec<PowerRequest>,
    /// Services that were stopped.
    pub service_stops: Vec<ServiceStop>,
}

impl Transitions {
    /// Leaves out what never began and puts the rest in order of time.
    pub(crate) fn settle(&mut self) {
        self.notifications.retain(|row| row.start_ns != NOT_YET);
        self.activities.retain(|row| row.start_ns != NOT_YET);
        self.milestones.retain(|row| row.time_ns != NOT_YET);
        self.power_requests.retain(|row| row.start_ns != NOT_YET);
        self.service_stops.retain(|row| row.start_ns != NOT_YET);
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

    /// The first activity of a kind and name.
    #[must_use]
    pub fn activity(&self, kind: &str, name: &str) -> Option<&Activity> {
        self.activities.iter().find(|activity| activity.kind == kind && activity.name == name)
    }

    /// The first milestone of a name.
    #[must_use]
    pub fn milestone(&self, name: &str) -> Option<&Milestone> {
        self.milestones.iter().find(|milestone| milestone.name == name)
    }
}
