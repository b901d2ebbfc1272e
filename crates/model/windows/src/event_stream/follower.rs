//! Tracks processes, threads, modules, files, processors and disks through the event stream, to add names to each event
//! and times that depend on several events.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etl::{Clock, Record};
use onoff_etw::kernel::{
    ContextSwitch, CounterConfiguration, CounterInterrupt, DeferredProcedureCall, DiskFlush, DiskRequestStart,
    DiskTransfer, FileName, FileOpen, FileOperationContext, FileOperationEnd, HardFault, Image, ImageEventKind,
    InterruptServiceRoutine, KernelPayload, NetworkTransfer, Process, ReadyThread, RegistryKeyOperation,
    SampledProfile, Stack, StackKeyReference, SystemConfigEx, Thread, thread_state_name,
};
use onoff_trace::{Directory, wait_reason};

use super::dotnet_stacks::DotnetStacks;
use super::look_ahead::{Definitions, LookAhead, set_module, set_thread};
use crate::disk::{CompletedRequest, DiskRequests, NO_THREAD};
use crate::file_operations::OperationsInFlight;
use crate::kernel_events::{Subject, xperf_name};

/// Maximum number of file operations tracked at a time; further operations end without a start.
const MAX_FILE_OPERATIONS: usize = 1 << 16;

/// Maximum number of disk requests tracked at a time; further requests complete without a start.
const MAX_DISK_REQUESTS: usize = 1 << 16;

/// Maximum number of processors tracked; events of further processors get no names.
const MAX_PROCESSORS: usize = 1 << 12;

/// Process and thread of an event, and values derived from earlier events. Times are ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attribution {
    pub(super) pid: Option<u32>,
    pub(super) tid: Option<u32>,
    /// A further process that the event is about: the process of a thread switched out or readied, or a process that
    /// starts.
    pub(super) other_pid: Option<u32>,
    pub(super) elapsed_ns: Option<i64>,
    pub(super) service_ns: Option<i64>,
    pub(super) since_last_ns: Option<i64>,
    pub(super) ran_ns: Option<i64>,
    pub(super) old_state: Option<&'static str>,
    pub(super) old_wait_reason: Option<&'static str>,
    pub(super) stack_of_ns: Option<i64>,
    pub(super) file_key: Option<u64>,
    /// File object, for files whose key has no name.
    pub(super) file_object: Option<u64>,
    /// Process and thread that logged an event charged to another thread.
    pub(super) logging_pid: Option<u32>,
    pub(super) logging_tid: Option<u32>,
    /// Name of the event that started the operation that ends with this event.
    pub(super) operation: Option<&'static str>,
    /// Stack key in the event.
    pub(super) stack_key: Option<u64>,
}

/// A file operation in flight.
#[derive(Clone, Copy, Debug)]
struct FileOperationInFlight {
    operation: Option<&'static str>,
    start_ns: i64,
    file_object: u64,
    file_key: Option<u64>,
    thread_id: u32,
}

/// The thread running on a processor and the time at which it was switched in.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    tid: Option<u32>,
    since_ns: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Follower {
    pub(super) directory: Directory,
    running: Vec<Running>,
    /// Time at which each thread was last switched out, ns.
    last_ran_ns: HashMap<u32, i64>,
    disks: DiskRequests,
    file_operations: OperationsInFlight<FileOperationInFlight>,
    dotnet_stacks: DotnetStacks,
    definitions: Arc<Definitions>,
    /// Names of the hardware counters recorded with events.
    pub(super) counter_names: Vec<Box<str>>,
}

impl Follower {
    pub(super) fn new() -> Self {
        Self {
            directory: Directory::new(),
            running: Vec::new(),
            last_ran_ns: HashMap::new(),
            disks: DiskRequests::with_limit(MAX_DISK_REQUESTS),
            file_operations: OperationsInFlight::with_limit(MAX_FILE_OPERATIONS),
            dotnet_stacks: DotnetStacks::default(),
            definitions: Arc::default(),
            counter_names: Vec::new(),
        }
    }

    /// Processes an event in the first pass, before the first event is tracked.
    pub(super) fn look_ahead(&mut self, hook: u16, record: &Record<'_>, ahead: &mut LookAhead) {
        let payload = payload(hook, record);
        match hook {
            CounterConfiguration::HOOK => self.set_counter_names(payload),
            _ => ahead.on_event(record, payload, &mut self.directory),
        }
    }

    /// Sets the key definitions of the whole recording.
    pub(super) fn define(&mut self, definitions: Definitions) {
        for key in definitions.file_keys() {
            if let Some(path) = definitions.path(key, i64::MIN) {
                self.directory.set_file(key, path);
            }
        }
        self.definitions = Arc::new(definitions);
    }

    fn set_counter_names(&mut self, payload: KernelPayload<'_>) {
        if let Some(configuration) = CounterConfiguration::read(payload) {
            self.counter_names = configuration.names.iter().map(|name| name.to_string().into()).collect();
        }
    }

    /// Processes a record that is not a kernel event, for drive letters.
    pub(super) fn on_other_record(&mut self, record: &Record<'_>) {
        if let Some(SystemConfigEx::VolumeMapping { nt_path, dos_path }) = SystemConfigEx::parse(record) {
            self.directory.set_volume(&nt_path.to_string(), &dos_path.to_string());
        }
    }

    /// Returns the return addresses of the stack with key `key` in an event logged at `time_ns`.
    pub(super) fn stack(&self, key: u64, time_ns: i64) -> Option<&[u64]> {
        self.definitions.stack(key, time_ns)
    }

    /// True if an event with this hook changes the tracked state. Most do not.
    pub(super) fn changes_state(hook: u16) -> bool {
        !matches!(
            Subject::from_hook(hook),
            Subject::Stack
                | Subject::StackKeyReference
                | Subject::StackKeyDefinition
                | Subject::ReadyThread
                | Subject::SampledProfile
                | Subject::InterruptServiceRoutine
                | Subject::DeferredProcedureCall
                | Subject::HardFault
        )
    }

    /// True if an event with this hook changes the names of processes, threads or modules.
    pub(super) fn changes_names(hook: u16) -> bool {
        matches!(Subject::from_hook(hook), Subject::Thread | Subject::Process | Subject::Image)
    }

    /// Processes the next event; `hook` is set for kernel events.
    pub(super) fn follow(&mut self, hook: Option<u16>, record: &Record<'_>, clock: &Clock) -> Attribution {
        let mut attribution =
            Attribution { pid: record.process_id(), tid: record.thread_id(), ..Attribution::default() };
        let Some(hook) = hook else {
            attribution.stack_of_ns = self.dotnet_stacks.follow(record);
            return attribution;
        };
        self.on_kernel_event(hook, record, clock, &mut attribution);
        if attribution.pid.is_none() {
            attribution.pid = attribution.tid.and_then(|tid| self.directory.thread_process(tid));
        }
        attribution
    }

    fn on_kernel_event(&mut self, hook: u16, record: &Record<'_>, clock: &Clock, attribution: &mut Attribution) {
        let payload = payload(hook, record);
        let now_ns = record.time_ns();
        let elapsed_since = |ticks: u64| Some(now_ns.saturating_sub(clock.ns(ticks)).max(0));
        match Subject::from_hook(hook) {
            Subject::ContextSwitch => {
                if let Some(switch) = ContextSwitch::read(payload) {
                    self.on_context_switch(record, &switch, attribution);
                }
            }
            Subject::ReadyThread => {
                self.charge_running(record, attribution);
                let ready = ReadyThread::read(payload).map(|ready| ready.thread_id);
                attribution.other_pid = ready.and_then(|tid| self.directory.thread_process(tid));
            }
            Subject::SampledProfile => {
                attribution.tid = SampledProfile::read(payload).map(|sample| sample.thread_id);
                attribution.pid = None;
            }
            Subject::InterruptServiceRoutine => {
                let routine = InterruptServiceRoutine::read(payload);
                attribution.elapsed_ns = routine.and_then(|routine| elapsed_since(routine.start_ticks));
            }
            Subject::DeferredProcedureCall => {
                let call = DeferredProcedureCall::read(payload);
                attribution.elapsed_ns = call.and_then(|call| elapsed_since(call.start_ticks));
            }
            Subject::Stack => {
                if let Some(stack) = Stack::read(payload) {
                    attribution.stack_of_ns = Some(clock.ns(stack.event_ticks));
                    attribution.pid = Some(stack.process_id);
                    attribution.tid = Some(stack.thread_id);
                }
            }
            Subject::StackKeyDefinition => {}
            Subject::StackKeyReference => {
                if let Some(reference) = StackKeyReference::read(payload) {
                    attribution.stack_of_ns = Some(clock.ns(reference.event_ticks));
                    attribution.pid = Some(reference.process_id);
                    attribution.tid = Some(reference.thread_id);
                    attribution.stack_key = Some(reference.stack_key);
                }
            }
            Subject::FileOpen
            | Subject::FileOperation
            | Subject::FileTransfer
            | Subject::FileInformation
            | Subject::DirectoryOperation => self.on_file_operation(record, payload, attribution),
            Subject::FileOperationEnd => self.on_file_operation_end(record, payload, attribution),
            Subject::NetworkTransfer => {
                // The thread that was running when the network card had data is unrelated to the owner of the socket.
                match NetworkTransfer::read(payload) {
                    Some(transfer) => (attribution.pid, attribution.tid) = (Some(transfer.process_id), None),
                    None => self.charge_running(record, attribution),
                }
            }
            Subject::Process => {
                if let Some(process) = Process::read(payload) {
                    self.directory.set_process(process.process_id, &process.image_file_name.to_str());
                    attribution.other_pid = Some(process.process_id);
                }
            }
            Subject::Thread => {
                if let Some(thread) = Thread::read(payload) {
                    set_thread(&mut self.directory, &thread);
                    attribution.other_pid = Some(thread.process_id);
                }
            }
            Subject::Image => {
                if let Some(image) = Image::read(payload) {
                    self.on_image(&image);
                    attribution.other_pid = Some(image.process_id);
                }
            }
            Subject::FileName => {
                if let Some(name) = FileName::read(payload) {
                    self.update_file_name(&name, now_ns);
                }
            }
            Subject::DiskTransfer => {
                if let Some(transfer) = DiskTransfer::read(payload) {
                    attribution.file_key = Some(transfer.file_key);
                    let completed = self.disks.on_transfer(record, &transfer, clock);
                    set_disk_times(&completed, attribution);
                }
            }
            Subject::DiskFlush => {
                if let Some(flush) = DiskFlush::read(payload) {
                    let completed = self.disks.on_flush(record, &flush, clock);
                    set_disk_times(&completed, attribution);
                }
            }
            Subject::DiskRequestStart => {
                if let Some(start) = DiskRequestStart::read(payload) {
                    self.disks.on_start(record, &start);
                    charge_issuer(start.issuing_thread_id, attribution);
                }
            }
            Subject::HardFault => {
                if let Some(fault) = HardFault::read(payload) {
                    attribution.elapsed_ns = elapsed_since(fault.start_ticks);
                    attribution.file_key = Some(fault.file_key);
                    attribution.tid = Some(fault.thread_id);
                    attribution.pid = None;
                }
            }
            Subject::RegistryKeyOperation => {
                if let Some(operation) = RegistryKeyOperation::read(payload) {
                    attribution.elapsed_ns = match operation.elapsed_ticks {
                        Some(ticks) => Some(clock.duration_ns(u64::try_from(ticks).unwrap_or(0))),
                        None => operation.start_ticks.and_then(elapsed_since),
                    };
                }
                if attribution.tid.is_none() {
                    self.charge_running(record, attribution);
                }
            }
            _ if hook == CounterInterrupt::HOOK => {
                attribution.tid = CounterInterrupt::read(payload).map(|interrupt| interrupt.thread_id);
                attribution.pid = None;
            }
            _ => {
                if hook == CounterConfiguration::HOOK {
                    self.set_counter_names(payload);
                }
                if attribution.tid.is_none() {
                    self.charge_running(record, attribution);
                }
            }
        }
    }

    fn on_context_switch(&mut self, record: &Record<'_>, switch: &ContextSwitch, attribution: &mut Attribution) {
        let now_ns = record.time_ns();
        attribution.tid = Some(switch.new_thread_id);
        attribution.pid = None;
        attribution.other_pid = self.directory.thread_process(switch.old_thread_id);
        attribution.old_state = Some(thread_state_name(switch.old_thread_state));
        attribution.old_wait_reason = Some(wait_reason::name(switch.old_thread_wait_reason).unwrap_or("Unknown"));
        // Idle threads share id 0, so their last runs are unrelated.
        if switch.new_thread_id != 0 {
            attribution.since_last_ns =
                self.last_ran_ns.get(&switch.new_thread_id).map(|&last_ns| now_ns.saturating_sub(last_ns).max(0));
        }
        if switch.old_thread_id != 0 {
            self.last_ran_ns.insert(switch.old_thread_id, now_ns);
        }
        let cpu = usize::from(record.cpu());
        if cpu >= MAX_PROCESSORS {
            return;
        }
        if self.running.len() <= cpu {
            self.running.resize(cpu + 1, Running::default());
        }
        let running = &mut self.running[cpu];
        if running.tid == Some(switch.old_thread_id) {
            attribution.ran_ns = Some(now_ns.saturating_sub(running.since_ns).max(0));
        }
        *running = Running { tid: Some(switch.new_thread_id), since_ns: now_ns };
    }

    /// Charges an event without a thread to the thread running on its processor.
    fn charge_running(&self, record: &Record<'_>, attribution: &mut Attribution) {
        if let Some(running) = self.running.get(usize::from(record.cpu()))
            && running.tid.is_some()
        {
            attribution.tid = running.tid;
            attribution.pid = None;
        }
    }

    /// Charges a file operation to the requesting thread, which can differ from the logging thread.
    fn on_file_operation(&mut self, record: &Record<'_>, payload: KernelPayload<'_>, attribution: &mut Attribution) {
        self.charge_logger(record, attribution);
        let subject = match payload.hook {
            FileOpen::HOOK => FileOpen::read(payload).map(|open| {
                self.directory.set_file(open.file_object, &open.open_path.to_string());
                (open.irp, open.file_object, None, open.thread_id)
            }),
            _ => FileOperationContext::from_payload(payload)
                .map(|subject| (subject.irp, subject.file_object, Some(subject.file_key), subject.thread_id)),
        };
        let Some((irp, file_object, file_key, thread_id)) = subject else { return };
        attribution.tid = Some(thread_id);
        attribution.pid = None;
        attribution.file_key = file_key;
        attribution.file_object = Some(file_object);
        let (operation, start_ns) = (xperf_name(payload.hook), record.time_ns());
        let in_flight = FileOperationInFlight { operation, start_ns, file_object, file_key, thread_id };
        self.file_operations.begin(irp, in_flight);
    }

    fn on_file_operation_end(
        &mut self,
        record: &Record<'_>,
        payload: KernelPayload<'_>,
        attribution: &mut Attribution,
    ) {
        self.charge_logger(record, attribution);
        let started = FileOperationEnd::read(payload).and_then(|end| self.file_operations.end(end.irp));
        if let Some(started) = started {
            attribution.elapsed_ns = Some(record.time_ns().saturating_sub(started.start_ns).max(0));
            attribution.operation = started.operation;
            attribution.file_object = Some(started.file_object);
            attribution.file_key = started.file_key;
            attribution.tid = Some(started.thread_id);
            attribution.pid = None;
        }
    }

    /// Charges an event to the thread that logged it, and records that thread.
    fn charge_logger(&self, record: &Record<'_>, attribution: &mut Attribution) {
        if attribution.tid.is_none() {
            self.charge_running(record, attribution);
        }
        attribution.logging_tid = attribution.tid;
        attribution.logging_pid =
            attribution.pid.or_else(|| attribution.tid.and_then(|tid| self.directory.thread_process(tid)));
    }

    fn on_image(&mut self, image: &Image<'_>) {
        if image.kind == ImageEventKind::Unload {
            self.directory.remove_module(image.process_id, image.image_base);
        } else {
            set_module(&mut self.directory, image);
        }
    }

    /// Updates the path of a key: the path can change at every event that names the key.
    fn update_file_name(&mut self, name: &FileName<'_>, time_ns: i64) {
        if let Some(path) = self.definitions.path(name.file_key, time_ns) {
            self.directory.set_file(name.file_key, path);
        }
    }
}

fn set_disk_times(completed: &CompletedRequest, attribution: &mut Attribution) {
    attribution.elapsed_ns = completed.elapsed_ns();
    attribution.service_ns = attribution.elapsed_ns.map(|elapsed_ns| completed.service_ns(elapsed_ns));
    charge_issuer(completed.issuing_tid.filter(|&tid| tid != NO_THREAD), attribution);
}

fn charge_issuer(issuer: Option<u32>, attribution: &mut Attribution) {
    if issuer.is_some() {
        attribution.tid = issuer;
        attribution.pid = None;
    }
}

fn payload<'b>(hook: u16, record: &Record<'b>) -> KernelPayload<'b> {
    KernelPayload::new(hook, record.version(), record.payload(), record.pointer_size())
}
