//! The builder into which every part's reader puts its rows.

use hashbrown::HashMap;
use onoff_trace::{
    Activity, Batches, CallGraphFunction, ContextSwitches, DeviceOperation, DiskIo, Event, EventField, FileIo,
    FirmwareMeasurements, Image, Interrupts, Inventory, Losses, Method, Milestone, Notification, PowerRequest,
    ProviderCount, ReadyThreads, ServiceDependency, ServiceProcess, ServiceTransition, Stack, StackPool, StringId,
    StringPool, SystemConfiguration, SystemKind, TableName, Tables, Trace, counters, milestone,
};

use onoff_trace::system::Disk;

use super::network;
use super::processes::ProcessTracker;

counters! {
    NOT_KEPT = "stacks_beyond_memory", Error, [Stacks],
        "call stacks that did not fit in memory were left out";
}

/// The start of a unit by `systemd-analyze critical-chain`, until all parts are read: only then is known when user space began, and whether
/// another part has it too.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainStart {
    pub(super) unit: StringId,
    /// When it began, ns since the start of user space.
    pub(super) begin_ns: i64,
    /// When it was over, ns since the start of user space.
    pub(super) end_ns: i64,
}

/// Everything known so far of a recording that is being read. Times of rows are on the axis.
#[derive(Debug)]
pub(super) struct Assembly {
    /// Which tables are asked for: nobody looks at the others.
    pub(super) wanted: Tables,
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
    pub(super) context_switches: Batches<ContextSwitches>,
    pub(super) ready_threads: Batches<ReadyThreads>,
    pub(super) interrupts: Batches<Interrupts>,
    pub(super) disk_ios: Vec<DiskIo>,
    pub(super) file_ios: Vec<FileIo>,
    /// Device numbers, major and minor, of the disks, in the order of the numbers given to them.
    disks: Vec<(u32, u32)>,
    /// Counts of the records of every part, when they are asked for.
    pub(super) inventory: Inventory,
    pub(super) events_lost: u64,
    pub(super) service_transitions: Vec<ServiceTransition>,
    pub(super) service_dependencies: Vec<ServiceDependency>,
    pub(super) service_processes: Vec<ServiceProcess>,
    /// How long the starts of units took by `systemd-analyze blame`, ns.
    pub(super) blamed: HashMap<StringId, i64>,
    /// Units by their descriptions; `None` where several have the same.
    descriptions: HashMap<String, Option<String>>,
    /// Starts by `systemd-analyze critical-chain`.
    pub(super) chain: Vec<ChainStart>,
    pub(super) device_operations: Vec<DeviceOperation>,
    pub(super) milestones: Vec<Milestone>,
    pub(super) activities: Vec<Activity>,
    pub(super) notifications: Vec<Notification>,
    pub(super) power_requests: Vec<PowerRequest>,
    pub(super) call_graph_functions: Vec<CallGraphFunction>,
    pub(super) stacks: Vec<Stack>,
    pub(super) stack_pool: StackPool,
    /// The kernel's functions that stacks hold.
    pub(super) methods: Vec<Method>,
    /// Whose code stacks may hold.
    pub(super) images: Vec<Image>,
    pub(super) firmware_measurements: FirmwareMeasurements,
    /// Lines of logs, each with its only field.
    pub(super) log_lines: Vec<(Event, EventField)>,
    last_ns: i64,
    /// The first event of a trace.
    pub(super) trace_begin_ns: Option<i64>,
}

impl Assembly {
    pub(super) fn new(wanted: Tables) -> Self {
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
            last_ns: 0,
            trace_begin_ns: None,
        }
    }

    /// The id of `text`.
    pub(super) fn text(&mut self, text: &str) -> StringId {
        self.texts.intern(text)
    }

    /// Notes how a unit is described.
    pub(super) fn describe(&mut self, unit: &str, description: &str) {
        if !description.is_empty() && description != unit {
            let known = self.descriptions.entry(description.to_owned()).or_insert_with(|| Some(unit.to_owned()));
            if known.as_deref() != Some(unit) {
                *known = None;
            }
        }
    }

    /// The only unit that is described so.
    pub(super) fn described(&self, description: &str) -> Option<&str> {
        self.descriptions.get(description)?.as_deref()
    }

    /// Whether anybody wants `table`.
    pub(super) fn wants(&self, table: TableName) -> bool {
        self.wanted.contains(table)
    }

    /// The recording reaches `time_ns`. Readers call this for what they read, rows or not.
    pub(super) fn reaches(&mut self, time_ns: i64) {
        self.last_ns = self.last_ns.max(time_ns);
    }

    /// Time of the last milestone called `name`.
    pub(super) fn last_time_of(&self, name: &str) -> Option<i64> {
        let name = self.texts.find(name)?;
        self.milestones.iter().filter(|row| row.name == name).map(|row| row.time_ns).max()
    }

    /// Number of the disk with these major and minor numbers.
    pub(super) fn disk(&mut self, device: (u32, u32)) -> u32 {
        const MAX_DISKS: usize = 4096;
        let known = self.disks.iter().position(|&disk| disk == device);
        let number = known.unwrap_or_else(|| {
            if self.disks.len() < MAX_DISKS {
                self.disks.push(device);
            }
            self.disks.len() - 1
        });
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// Adds a milestone without a process; `event` names the record, e.g. `systemd manager property FinishTimestampMonotonic`.
    pub(super) fn milestone(&mut self, time_ns: i64, name: &str, detail: &str, value: Option<i64>, event: &str) {
        let row = Milestone {
            time_ns,
            name: self.text(name),
            detail: self.text(detail),
            value,
            pid: None,
            tid: None,
            event: self.text(event),
        };
        self.milestones.push(row);
    }

    /// Notes what a line of `sender`, empty for the kernel, says of a network interface.
    pub(super) fn network_line(&mut self, time_ns: i64, sender: &str, text: &str, event: &str) {
        if let Some((interface, step)) = network::step(sender, text) {
            self.milestone(time_ns, milestone::NETWORK_STEP, &format!("{interface} {step}"), None, event);
        }
    }

    /// Where the recording begins. A trace of a computer that had been running begins late on the axis; with what tells of its
    /// boot, the recording begins there.
    fn begin_ns(&self) -> i64 {
        // The tracer is on within this time of the kernel's start, ns, when it records a boot.
        const AT_BOOT_NS: i64 = 10_000_000_000;
        let Some(begin_ns) = self.trace_begin_ns.filter(|&begin_ns| begin_ns > AT_BOOT_NS) else { return 0 };
        let others = self.milestones.iter().map(|row| row.time_ns);
        let others = others.chain(self.service_transitions.iter().map(|row| row.start_ns));
        let others = others.chain(self.device_operations.iter().map(|row| row.start_ns));
        if others.into_iter().any(|time_ns| time_ns < begin_ns) { 0 } else { begin_ns }
    }

    /// Puts what was read into `trace`; what several parts say of the same units has been made one account before
    /// ([`unit_account`](super::unit_account)).
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
            trace.inventory = Some(counted(self.inventory));
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
        // Rows of one graph stay in their order.
        self.call_graph_functions.sort_by_key(|row| (row.start_ns, row.tid));
        trace.call_graph_functions = self.call_graph_functions.into_iter().collect();
        if wants(TableName::Stacks) {
            trace.losses.add(&NOT_KEPT, self.stack_pool.refused());
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

/// The counts by provider, most first, and those by kind too.
fn counted(mut inventory: Inventory) -> Inventory {
    let mut providers: Vec<ProviderCount> = Vec::new();
    for kind in &inventory.kinds {
        match providers.iter_mut().find(|of| of.name == kind.provider) {
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
