//! Collects the rows of every part of a recording and builds the [`Trace`] from them.

use hashbrown::HashMap;
use onoff_trace::{
    Activity, ActivityKind, Batches, CallGraphFunction, ContextSwitches, DeviceOperation, DiskIo, Event, EventField,
    FileIo, FirmwareMeasurements, Image, Interrupts, Inventory, Losses, Method, Milestone, Notification, PowerRequest,
    ProviderCount, ReadyThreads, ServiceDependency, ServiceProcess, ServiceTransition, Stack, StackPool, StringId,
    StringPool, SystemConfiguration, SystemKind, TableName, TableSet, Trace, counters, milestone,
};

use onoff_trace::system::Disk;

use super::log_gaps::LogGaps;
use super::network;
use super::processes::ProcessTracker;

counters! {
    STACKS_DROPPED = "stacks_dropped", Error, [Stacks],
        "Call stacks that did not fit in memory were dropped.";
}

/// The start of a unit from `systemd-analyze critical-chain`. Kept until all parts are read: only then is it known when
/// user space began and whether another part has the same start.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainStart {
    pub(super) unit: StringId,
    /// ns since the start of user space.
    pub(super) begin_ns: i64,
    pub(super) end_ns: i64,
}

/// The rows read so far. All times are on the axis.
#[derive(Debug)]
pub(super) struct Assembly {
    /// Tables that the caller requested; readers skip all others.
    pub(super) wanted: TableSet,
    /// Target of the alias `default.target`; empty if unknown.
    pub(super) default_target: String,
    pub(super) texts: StringPool,
    pub(super) losses: Losses,
    pub(super) system: SystemConfiguration,
    pub(super) processes: ProcessTracker,
    pub(super) context_switches: Batches<ContextSwitches>,
    pub(super) ready_threads: Batches<ReadyThreads>,
    pub(super) interrupts: Batches<Interrupts>,
    pub(super) disk_ios: Vec<DiskIo>,
    pub(super) file_ios: Vec<FileIo>,
    /// Major and minor numbers of the disks; the index is the disk number.
    disks: Vec<(u32, u32)>,
    /// Record counts of every part, if requested.
    pub(super) inventory: Inventory,
    pub(super) events_lost: u64,
    pub(super) service_transitions: Vec<ServiceTransition>,
    pub(super) service_dependencies: Vec<ServiceDependency>,
    pub(super) service_processes: Vec<ServiceProcess>,
    /// Start durations from `systemd-analyze blame`, ns.
    pub(super) blamed: HashMap<StringId, i64>,
    /// Units by description; `None` if several units share it.
    descriptions: HashMap<String, Option<String>>,
    /// Starts from `systemd-analyze critical-chain`.
    pub(super) chain: Vec<ChainStart>,
    pub(super) device_operations: Vec<DeviceOperation>,
    pub(super) milestones: Vec<Milestone>,
    pub(super) activities: Vec<Activity>,
    pub(super) notifications: Vec<Notification>,
    pub(super) power_requests: Vec<PowerRequest>,
    pub(super) call_graph_functions: Vec<CallGraphFunction>,
    pub(super) stacks: Vec<Stack>,
    pub(super) stack_pool: StackPool,
    /// Kernel functions that occur in stacks.
    pub(super) methods: Vec<Method>,
    /// Images whose code may occur in stacks.
    pub(super) images: Vec<Image>,
    pub(super) firmware_measurements: FirmwareMeasurements,
    /// Log lines, each with its single field.
    pub(super) log_lines: Vec<(Event, EventField)>,
    /// Lines around which to look for gaps.
    pub(super) log_gaps: LogGaps,
    /// Times at which a person had entered the password of an encrypted volume, ns.
    pub(super) passwords_entered_ns: Vec<i64>,
    /// Resolution of times in text logs, ns.
    pub(super) log_resolution_ns: i64,
    last_ns: i64,
    /// Time of the first trace event.
    pub(super) trace_begin_ns: Option<i64>,
}

impl Assembly {
    pub(super) fn new(wanted: TableSet) -> Self {
        Self {
            wanted,
            default_target: String::new(),
            texts: StringPool::new(),
            losses: Losses::new(),
            system: SystemConfiguration { kind: SystemKind::Linux, ..SystemConfiguration::default() },
            processes: ProcessTracker::default(),
            context_switches: Batches::default(),
            ready_threads: Batches::default(),
            interrupts: Batches::default(),
            disk_ios: Vec::new(),
            file_ios: Vec::new(),
            disks: Vec::new(),
            inventory: Inventory::default(),
            events_lost: 0,
            service_transitions: Vec::new(),
            service_dependencies: Vec::new(),
            service_processes: Vec::new(),
            blamed: HashMap::new(),
            descriptions: HashMap::new(),
            chain: Vec::new(),
            device_operations: Vec::new(),
            milestones: Vec::new(),
            activities: Vec::new(),
            notifications: Vec::new(),
            power_requests: Vec::new(),
            call_graph_functions: Vec::new(),
            stacks: Vec::new(),
            stack_pool: StackPool::new(),
            methods: Vec::new(),
            images: Vec::new(),
            firmware_measurements: FirmwareMeasurements::default(),
            log_lines: Vec::new(),
            log_gaps: LogGaps::default(),
            passwords_entered_ns: Vec::new(),
            log_resolution_ns: 0,
            last_ns: 0,
            trace_begin_ns: None,
        }
    }

    pub(super) fn intern(&mut self, text: &str) -> StringId {
        self.texts.intern(text)
    }

    /// Records a unit's description.
    pub(super) fn add_description(&mut self, unit: &str, description: &str) {
        if !description.is_empty() && description != unit {
            let recorded_unit =
                self.descriptions.entry(description.to_owned()).or_insert_with(|| Some(unit.to_owned()));
            if recorded_unit.as_deref() != Some(unit) {
                *recorded_unit = None;
            }
        }
    }

    /// Returns the unit with this description if it is unique.
    pub(super) fn unit_with_description(&self, description: &str) -> Option<&str> {
        self.descriptions.get(description)?.as_deref()
    }

    pub(super) fn wants(&self, table: TableName) -> bool {
        self.wanted.contains(table)
    }

    /// Extends the recording to `time_ns`. Readers call this for every time they read, even if it gives no row.
    pub(super) fn extend_to(&mut self, time_ns: i64) {
        self.last_ns = self.last_ns.max(time_ns);
    }

    pub(super) fn last_time_of(&self, name: &str) -> Option<i64> {
        let name = self.texts.find(name)?;
        self.milestones.iter().filter(|row| row.name == name).map(|row| row.time_ns).max()
    }

    /// Adds an activity for each interval of the boot in which nothing was logged.
    pub(super) fn add_log_gaps(&mut self) {
        let logs = std::mem::take(&mut self.log_gaps);
        if !self.wants(TableName::Activities) {
            return;
        }
        let boot_end_ns = self.last_time_of(milestone::STARTUP_FINISHED).unwrap_or(i64::MAX);
        for gap in logs.finish(boot_end_ns, self.log_resolution_ns) {
            let row = Activity {
                kind: ActivityKind::LogGap,
                name: self.intern(&gap.before),
                detail: self.intern(&gap.after),
                start_ns: gap.start_ns,
                end_ns: Some(gap.end_ns),
                event: self.intern("log lines"),
                ..Activity::UNKNOWN
            };
            self.activities.push(row);
        }
    }

    /// Returns the disk number for a pair of major and minor device numbers.
    pub(super) fn disk(&mut self, device: (u32, u32)) -> u32 {
        const MAX_DISKS: usize = 4096;
        let known_index = self.disks.iter().position(|&disk| disk == device);
        let index = known_index.unwrap_or_else(|| {
            if self.disks.len() < MAX_DISKS {
                self.disks.push(device);
            }
            self.disks.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Adds a milestone without a process. `event` names the source record, e.g. `systemd manager property
    /// FinishTimestampMonotonic`.
    pub(super) fn add_milestone(&mut self, time_ns: i64, name: &str, detail: &str, value: Option<i64>, event: &str) {
        let row = Milestone {
            time_ns,
            name: self.intern(name),
            detail: self.intern(detail),
            value,
            pid: None,
            tid: None,
            event: self.intern(event),
        };
        self.milestones.push(row);
    }

    /// Adds a milestone if a line of `sender` (empty for the kernel) reports a state change of a network interface.
    pub(super) fn add_network_change(&mut self, time_ns: i64, sender: &str, text: &str, event: &str) {
        if let Some((interface, step)) = network::step(sender, text) {
            self.add_milestone(time_ns, milestone::NETWORK_STEP, &format!("{interface} {step}"), None, event);
        }
    }

    /// Returns the start of the recording. A trace of a running computer starts late on the axis, but the recording
    /// starts at 0 if it also covers the boot.
    fn begin_ns(&self) -> i64 {
        // A tracer that records a boot starts this soon after the kernel.
        const MAX_BOOT_TRACE_START_NS: i64 = 10_000_000_000;
        let Some(begin_ns) = self.trace_begin_ns.filter(|&begin_ns| begin_ns > MAX_BOOT_TRACE_START_NS) else {
            return 0;
        };
        let other_times = self.milestones.iter().map(|row| row.time_ns);
        let other_times = other_times.chain(self.service_transitions.iter().map(|row| row.start_ns));
        let other_times = other_times.chain(self.device_operations.iter().map(|row| row.start_ns));
        if other_times.into_iter().any(|time_ns| time_ns < begin_ns) { 0 } else { begin_ns }
    }

    /// Moves the rows into `trace`. [`unit_reconciliation`](super::unit_reconciliation) has already merged duplicate
    /// rows of the same units.
    pub(super) fn finish(mut self, trace: &mut Trace) {
        let start_ns = self.begin_ns();
        self.milestones.sort_by_key(|row| row.time_ns);
        self.activities.sort_by_key(|row| row.start_ns);
        self.notifications.sort_by_key(|row| row.start_ns);
        self.power_requests.sort_by_key(|row| row.start_ns);
        self.device_operations.sort_by_key(|row| row.start_ns);
        self.service_transitions.sort_by_key(|row| row.start_ns);
        self.service_dependencies.sort_by_key(|row| (row.service, row.on, row.kind as u8));
        self.service_processes.sort_by_key(|row| (row.service, row.pid));
        self.service_processes.dedup();
        let wanted = self.wanted;
        let wants = |table| wanted.contains(table);
        trace.context_switches = self.context_switches;
        trace.ready_threads = self.ready_threads;
        trace.interrupts = self.interrupts;
        trace.events_lost = self.events_lost;
        self.disk_ios.sort_by_key(|row| row.complete_ns);
        trace.disk_ios = self.disk_ios.into_iter().collect();
        self.file_ios.sort_by_key(|row| row.start_ns);
        trace.file_ios = self.file_ios.into_iter().collect();
        if wants(TableName::Inventory) {
            trace.inventory = Some(with_provider_counts(self.inventory));
        }
        if wants(TableName::ServiceTransitions) {
            trace.service_transitions = self.service_transitions.into_iter().collect();
        }
        if wants(TableName::ServiceDependencies) {
            trace.service_dependencies = self.service_dependencies.into_iter().collect();
        }
        if wants(TableName::ServiceProcesses) {
            trace.service_processes = self.service_processes.into_iter().collect();
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
        // Stable sort: rows of one graph keep their order.
        self.call_graph_functions.sort_by_key(|row| (row.start_ns, row.tid));
        trace.call_graph_functions = self.call_graph_functions.into_iter().collect();
        if wants(TableName::Stacks) {
            trace.losses.add(&STACKS_DROPPED, self.stack_pool.dropped());
            self.stacks.sort_by_key(|row| row.time_ns);
            trace.stacks = std::iter::once(self.stacks.into_iter().collect()).collect();
            trace.stack_pool = self.stack_pool;
        }
        if wants(TableName::Methods) {
            trace.methods = self.methods.into_iter().collect();
        }
        if wants(TableName::Images) {
            trace.images = self.images.into_iter().collect();
        }
        trace.firmware_measurements = self.firmware_measurements;
        self.log_lines.sort_by_key(|(row, _)| row.time_ns);
        for ((row, _), first_field) in self.log_lines.iter_mut().zip(0..) {
            row.first_field = first_field;
        }
        let (events, fields): (Vec<Event>, Vec<EventField>) = self.log_lines.into_iter().unzip();
        trace.events = std::iter::once(events.into_iter().collect()).collect();
        trace.event_fields = std::iter::once(fields.into_iter().collect()).collect();
        let (processes, threads) = self.processes.finish(&mut self.texts);
        if wants(TableName::Processes) {
            trace.processes = processes;
        }
        if wants(TableName::Threads) {
            trace.threads = threads;
        }
        for (number, (major, minor)) in (0..).zip(self.disks) {
            self.system.disks.push(Disk {
                number,
                model: format!("{major}:{minor}"),
                sector_bytes: 512,
                ..Disk::default()
            });
        }
        if self.system.os.is_empty() {
            self.system.os = "Linux".to_owned();
        }
        trace.system = self.system;
        trace.start_ns = start_ns;
        trace.duration_ns = self.last_ns;
        trace.strings = self.texts;
        trace.losses.merge(self.losses);
    }
}

/// Adds the counts by provider and sorts all counts in descending order.
fn with_provider_counts(mut inventory: Inventory) -> Inventory {
    let mut providers: Vec<ProviderCount> = Vec::new();
    for kind in &inventory.kinds {
        match providers.iter_mut().find(|provider| provider.name == kind.provider) {
            Some(provider) => {
                provider.events += kind.events;
                provider.bytes += kind.bytes;
            }
            None => providers.push(ProviderCount {
                guid: String::new(),
                name: kind.provider.clone(),
                events: kind.events,
                bytes: kind.bytes,
            }),
        }
    }
    providers.sort_by(|a, b| b.events.cmp(&a.events).then(a.name.cmp(&b.name)));
    inventory.kinds.sort_by(|a, b| b.events.cmp(&a.events).then(a.name.cmp(&b.name)));
    inventory.providers = providers;
    inventory
}
