//! The builder into which every part's reader puts its rows.

use onoff_trace::{
    Activity, DeviceOperation, Losses, Milestone, Notification, PowerRequest, ServiceDependency,
    ServiceTransition, StringId, StringPool, SystemConfiguration, SystemKind, TableName, Tables,
    Trace,
};

use super::processes::ProcessTracker;
use super::unit_rows;

/// Everything known so far of a recording that is being read. Times of rows are on the axis.
#[derive(Debug)]
pub(super) struct Assembly {
    /// Which tables are asked for: nobody looks at the others.
    pub(super) wanted: Tables,
    /// The boot that the caller asked for; see [`crate::Options::boot`].
    pub(super) boot: Option<String>,
    /// Id of the boot that was read, as systemd writes it, once a part has told it; empty before.
    pub(super) boot_id: String,
    /// The unit that `default.target` is a name of; empty where no part tells.
    pub(super) default_target: String,
    /// Every text.
    pub(super) texts: StringPool,
    /// What was gone on without.
    pub(super) losses: Losses,
    /// The machine.
    pub(super) system: SystemConfiguration,
    /// Who is who.
    pub(super) processes: ProcessTracker,
    pub(super) service_transitions: Vec<ServiceTransition>,
    pub(super) service_dependencies: Vec<ServiceDependency>,
    pub(super) device_operations: Vec<DeviceOperation>,
    pub(super) milestones: Vec<Milestone>,
    pub(super) activities: Vec<Activity>,
    pub(super) notifications: Vec<Notification>,
    pub(super) power_requests: Vec<PowerRequest>,
    last_ns: i64,
}

impl Assembly {
    pub(super) fn new(wanted: Tables, boot: Option<String>) -> Self {
        Self {
            wanted,
            boot,
            boot_id: String::new(),
            default_target: String::new(),
            texts: StringPool::new(),
            losses: Losses::new(),
            system: SystemConfiguration {
                kind: SystemKind::Linux,
                ..SystemConfiguration::default()
            },
            processes: ProcessTracker::default(),
            service_transitions: Vec::new(),
            service_dependencies: Vec::new(),
            device_operations: Vec::new(),
            milestones: Vec::new(),
            activities: Vec::new(),
            notifications: Vec::new(),
            power_requests: Vec::new(),
            last_ns: 0,
        }
    }

    /// The id of `text`.
    pub(super) fn text(&mut self, text: &str) -> StringId {
        self.texts.intern(text)
    }

    /// Whether anybody wants `table`.
    pub(super) fn wants(&self, table: TableName) -> bool {
        self.wanted.contains(table)
    }

    /// The recording reaches `time_ns`. Readers call this for what they read, rows or not.
    pub(super) fn reaches(&mut self, time_ns: i64) {
        self.last_ns = self.last_ns.max(time_ns);
    }

    /// Adds a milestone without a process; `event` names the record, e.g. `systemd manager property FinishTimestampMonotonic`.
    pub(super) fn milestone(
        &mut self,
        time_ns: i64,
        name: &str,
        detail: &str,
        value: Option<i64>,
        event: &str,
    ) {
        let row = Milestone {
            time_ns,
            name: self.text(name),
            detail: self.text(detail),
            value,
            pid: None,
            event: self.text(event),
        };
        self.milestones.push(row);
    }

    /// Puts what was read into `trace`.
    pub(super) fn finish(mut self, trace: &mut Trace) {
        unit_rows::settle(&mut self);
        self.milestones.sort_by_key(|row| row.time_ns);
        self.activities.sort_by_key(|row| row.start_ns);
        self.notifications.sort_by_key(|row| row.start_ns);
        self.power_requests.sort_by_key(|row| row.start_ns);
        self.device_operations.sort_by_key(|row| row.start_ns);
        self.service_transitions.sort_by_key(|row| row.start_ns);
        self.service_dependencies
            .sort_by_key(|row| (row.service, row.on, row.kind as u8));
        let wanted = self.wanted;
        let wants = |table| wanted.contains(table);
        if wants(TableName::ServiceTransitions) {
            trace.service_transitions = self.service_transitions.into_iter().collect();
        }
        if wants(TableName::ServiceDependencies) {
            trace.service_dependencies = self.service_dependencies.into_iter().collect();
        }
        if wants(TableName::DeviceOperations) {
            trace.device_operations = self.device_operations.into_iter().collect();
        }
        if wants(TableName::Milestones) {
            trace.milestones = self.milestones.into_iter().collect();
        }
        if wants(TableName::Activities) {
            trace.activities = self.activities.into_iter().collect();
        }
        if wants(TableName::Notifications) {
            trace.notifications = self.notifications.into_iter().collect();
        }
        if wants(TableName::PowerRequests) {
            trace.power_requests = self.power_requests.into_iter().collect();
        }
        let (processes, threads) = self.processes.finish(&mut self.texts);
        if wants(TableName::Processes) {
            trace.processes = processes;
        }
        if wants(TableName::Threads) {
            trace.threads = threads;
        }
        trace.system = self.system;
        trace.duration_ns = self.last_ns;
        trace.strings = self.texts;
        trace.losses.merge(self.losses);
    }
}
