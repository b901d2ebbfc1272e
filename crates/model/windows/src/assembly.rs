//! Assembles the windows in time order, and feeds the trackers of state that spans them.

use std::sync::Arc;

use onoff_etl::{Clock, Record};
use onoff_etw::Schemas;
use onoff_etw::kernel::{
    CompactContextSwitches, DirectoryOperation, DiskFlush, DiskRequestStart, DiskTransfer, FileInformation,
    FileMapping, FileName, FileOpen, FileOperation, FileOperationEnd, FileTransfer, HardFault, Image,
    ImageIdentification, KernelPayload, Mark, Process, StackKeyDefinition, Thread, ThreadName,
};
use onoff_trace::{
    ActivityKind, Batches, ContextSwitches, Interrupts, Losses, ReadyThreads, Samples, SpillStore, TableName, Trace,
};

use super::compact_switches::CompactSwitchTracker;
use super::counters;
use super::deferred_records::DeferredRecords;
use super::disk::DiskTracker;
use super::file_names::FileNames;
use super::file_operations::FileOperationTracker;
use super::generic_events::GenericEventTables;
use super::hard_faults::HardFaultTracker;
use super::images::ImageTracker;
use super::kernel_events::{Subject, class_hook};
use super::kernel_power::KernelPowerTracker;
use super::milestones::MilestoneTracker;
use super::phases::Phases;
use super::processes::ProcessTracker;
use super::stacks::StackTracker;
use super::system::SystemTracker;
use super::texts::Texts;
use super::threads::ThreadTracker;
use super::window_rows::{Running, WindowRows};

/// The state of a recording being read.
pub(super) struct Assembly<'r> {
    clock: &'r Clock,
    spill_store: Option<Arc<dyn SpillStore>>,
    texts: Texts,
    losses: Losses,
    walk_losses: onoff_etl::Losses,
    running: Running,
    context_switches: Batches<ContextSwitches>,
    /// Number of context switches in the windows absorbed so far.
    switches_before: usize,
    compact_switches: CompactSwitchTracker,
    ready_threads: Batches<ReadyThreads>,
    samples: Batches<Samples>,
    interrupts: Batches<Interrupts>,
    stacks: StackTracker,
    processes: ProcessTracker,
    threads: ThreadTracker,
    images: ImageTracker,
    file_names: FileNames,
    disk: DiskTracker,
    file_operations: FileOperationTracker,
    hard_faults: HardFaultTracker,
    power: KernelPowerTracker,
    system: SystemTracker,
    generic: GenericEventTables,
    milestones: MilestoneTracker,
    end_records: DeferredRecords,
    schema_records: DeferredRecords,
}

impl<'r> Assembly<'r> {
    pub(super) fn new(
        clock: &'r Clock,
        build: u32,
        system: SystemTracker,
        spill_store: Option<Arc<dyn SpillStore>>,
    ) -> Self {
        Self {
            clock,
            stacks: StackTracker::with_spill_store(spill_store.clone()),
            spill_store,
            texts: Texts::default(),
            losses: Losses::new(),
            walk_losses: onoff_etl::Losses::default(),
            running: Running::default(),
            context_switches: Batches::default(),
            switches_before: 0,
            compact_switches: CompactSwitchTracker::new(build),
            ready_threads: Batches::default(),
            samples: Batches::default(),
            interrupts: Batches::default(),
            processes: ProcessTracker::default(),
            threads: ThreadTracker::default(),
            images: ImageTracker::default(),
            file_names: FileNames::default(),
            disk: DiskTracker::default(),
            file_operations: FileOperationTracker::default(),
            hard_faults: HardFaultTracker::default(),
            power: KernelPowerTracker::default(),
            system,
            generic: GenericEventTables::default(),
            milestones: MilestoneTracker::default(),
            end_records: DeferredRecords::default(),
            schema_records: DeferredRecords::default(),
        }
    }

    /// Absorbs the next window; windows must come in time order.
    pub(super) fn absorb(&mut self, mut window: WindowRows) {
        for &(row, cpu) in &window.unattributed {
            window.ready_threads.readying_tid.set(row, self.running.get(cpu));
        }
        for row in 0..window.ready_threads.len() {
            let switches_in_window = window.ready_threads.get(row).and_then(|ready| ready.after_switches);
            let total = switches_in_window.and_then(|switches_in_window| {
                u32::try_from(self.switches_before).ok()?.checked_add(switches_in_window)
            });
            window.ready_threads.after_switches.set(row, total.filter(|&total| total > 0));
        }
        self.switches_before = self.switches_before.saturating_add(window.switch_count);
        self.running.update(&window.running);
        if let Some(spill_store) = self.spill_store.as_deref() {
            window.context_switches.spill(spill_store);
            window.ready_threads.spill(spill_store);
            window.samples.spill(spill_store);
            window.interrupts.spill(spill_store);
        }
        self.context_switches.push(window.context_switches);
        self.ready_threads.push(window.ready_threads);
        self.samples.push(window.samples);
        self.interrupts.push(window.interrupts);
        self.stacks.absorb(window.stacks, &window.stack_pool, window.stack_references);
        self.generic.absorb(window.generic, &mut self.texts, self.spill_store.as_deref());
        self.replay(&window.ordered);
        self.end_records.append(&window.end_records);
        self.schema_records.append(&window.schema_records);
        self.losses.merge(window.losses);
        self.walk_losses.merge(&window.walk_losses);
    }

    /// Processes deferred records, in order.
    pub(super) fn replay(&mut self, records: &DeferredRecords) {
        for record in records.iter() {
            if self.on_record(&record).is_none() {
                self.losses.add_at(&counters::SHORT_PAYLOAD, || describe(&record));
            }
        }
    }

    /// Processes a record that depends on earlier records. Returns `None` if its payload is too short.
    fn on_record(&mut self, record: &Record<'_>) -> Option<()> {
        let Self { clock, texts, losses, .. } = self;
        let time_ns = record.time_ns();
        let Some(hook) =
            record.hook().or_else(|| record.class_guid().and_then(|class| class_hook(class, record.opcode())))
        else {
            match ImageIdentification::parse(record) {
                Some(identification) => {
                    self.images.on_identification(time_ns, &identification, texts);
                }
                None => self.system.on_record(record)?,
            }
            return Some(());
        };
        let payload = KernelPayload::new(hook, record.version(), record.payload(), record.pointer_size());
        match Subject::from_hook(hook) {
            Subject::DiskTransfer => {
                let transfer = DiskTransfer::read(payload)?;
                self.disk.on_transfer(record, &transfer, clock, losses);
            }
            Subject::DiskFlush => {
                let flush = DiskFlush::read(payload)?;
                self.disk.on_flush(record, &flush, clock, losses);
            }
            Subject::DiskRequestStart => {
                let start = DiskRequestStart::read(payload)?;
                self.disk.on_start(record, &start);
            }
            Subject::CompactContextSwitches => {
                let batch = CompactContextSwitches::read(payload)?;
                self.compact_switches.on_batch(record, &batch, clock, losses);
            }
            Subject::HardFault => {
                let fault = HardFault::read(payload)?;
                self.hard_faults.on_fault(record, &fault, clock, losses);
            }
            Subject::Process => {
                let process = Process::read(payload)?;
                self.processes.on_process(record, &process, clock, texts, losses);
            }
            Subject::Thread => {
                let thread = Thread::read(payload)?;
                self.threads.on_thread(record, &thread, texts, losses);
            }
            Subject::ThreadName => self.threads.on_name(&ThreadName::read(payload)?, texts),
            Subject::Image => {
                let image = Image::read(payload)?;
                self.images.on_image(time_ns, &image, texts, losses);
            }
            Subject::FileName => {
                let name = FileName::read(payload)?;
                let text = texts.utf16(name.file_name);
                self.file_names.on_name(time_ns, name.file_key, name.kind, text);
            }
            Subject::FileOpen => {
                let open = FileOpen::read(payload)?;
                self.file_operations.on_open(record, &open, texts);
            }
            Subject::FileOperation => {
                let operation = FileOperation::read(payload)?;
                self.file_operations.on_operation(record, &operation);
            }
            Subject::FileTransfer => {
                let transfer = FileTransfer::read(payload)?;
                self.file_operations.on_transfer(record, &transfer);
            }
            Subject::FileInformation => {
                let information = FileInformation::read(payload)?;
                self.file_operations.on_information(record, &information, texts);
            }
            Subject::DirectoryOperation => {
                let directory = DirectoryOperation::read(payload)?;
                self.file_operations.on_directory(record, &directory);
            }
            Subject::FileOperationEnd => {
                let end = FileOperationEnd::read(payload)?;
                self.file_operations.on_end(record, &end);
            }
            Subject::FileMapping => {
                let mapping = FileMapping::read(payload)?;
                self.file_operations.on_mapping(record, &mapping);
            }
            Subject::Mark => {
                let mark = Mark::read(payload)?;
                self.milestones.on_mark(record, &mark, texts);
            }
            Subject::Power => {
                self.power.on_record(record, payload, texts)?;
            }
            Subject::StackKeyDefinition => {
                let definition = StackKeyDefinition::read(payload)?;
                self.stacks.on_definition(time_ns, &definition);
            }
            _ => self.system.on_record(record)?,
        }
        Some(())
    }

    /// Writes the requested tables to `trace`.
    pub(super) fn finish(mut self, schemas: &mut Schemas, trace: &mut Trace) -> onoff_etl::Losses {
        for record in self.schema_records.iter() {
            schemas.observe(&record);
        }
        trace.system = self.system.finish(&mut self.losses);
        let mut phases = Phases {
            milestones: self.milestones,
            processor_mhz: trace.system.processor_mhz,
            kernel_processes: !self.processes.is_empty(),
            kernel_threads: !self.threads.is_empty(),
            kernel_images: !self.images.is_empty(),
            processes: self.processes,
            threads: self.threads,
            images: self.images,
            ..Phases::default()
        };
        let (texts, losses) = (&mut self.texts, &mut self.losses);
        phases.replay(&self.end_records, schemas, texts, losses);
        let wants = |table| trace.requested_tables.contains(table);
        let (kernel_activities, kernel_power_requests) = self.power.finish();
        let owners = phases.threads.owners();
        if wants(TableName::DiskIos) {
            trace.disk_ios = self.disk.finish(&self.file_names, &owners, losses);
        }
        if wants(TableName::FileIos) {
            // Events of the Kernel-File provider are duplicates if there are events of the kernel logger.
            trace.file_ios = if self.file_operations.is_empty() {
                phases.file_events.finish(&owners, losses)
            } else {
                self.file_operations.finish(&self.file_names, &owners, losses)
            };
        }
        if wants(TableName::HardFaults) {
            trace.hard_faults = self.hard_faults.finish(&self.file_names, &owners, losses);
        }
        if wants(TableName::ServiceTransitions) {
            trace.service_transitions =
                phases.services.finish(&trace.system.services, &phases.processes, texts, losses);
        }
        if wants(TableName::DeviceOperations) {
            trace.device_operations = phases.devices.finish(&trace.system.devices, texts, losses);
        }
        if wants(TableName::Milestones) {
            trace.milestones = phases.milestones.finish();
        }
        if wants(TableName::Activities) {
            if !phases.activities.has(ActivityKind::PowerPhase) {
                for row in kernel_activities {
                    phases.activities.push(row);
                }
            }
            trace.activities = phases.activities.finish(&phases.processes, losses);
        }
        if wants(TableName::Notifications) {
            trace.notifications = phases.notifications.finish(&phases.processes, losses);
        }
        if wants(TableName::PowerRequests) {
            let requests = if phases.power_requests.is_empty() { kernel_power_requests } else { phases.power_requests };
            trace.power_requests = requests.finish(&trace.system.devices, texts, losses);
        }
        if wants(TableName::Processes) {
            trace.processes = phases.processes.finish();
        }
        if wants(TableName::Threads) {
            trace.threads = phases.threads.finish();
        }
        if wants(TableName::Images) {
            trace.images = phases.images.finish();
        }
        if wants(TableName::Methods) {
            trace.methods = phases.methods.finish();
        }
        trace.context_switches =
            if self.context_switches.is_empty() { self.compact_switches.finish() } else { self.context_switches };
        trace.ready_threads = self.ready_threads;
        trace.samples = self.samples;
        trace.interrupts = self.interrupts;
        (trace.stacks, trace.stack_pool) = self.stacks.finish(losses);
        trace.events = self.generic.events;
        trace.event_fields = self.generic.fields;
        losses.add(&counters::TEXTS_REFUSED, self.texts.pool.dropped());
        super::schemas::count(schemas, losses);
        trace.strings = self.texts.pool;
        trace.spill_store = self.spill_store;
        trace.losses.merge(self.losses);
        self.walk_losses
    }
}

fn describe(record: &Record<'_>) -> String {
    format!("hook {:#06x} version {} at {} ns", record.hook().unwrap_or_default(), record.version(), record.time_ns())
}
