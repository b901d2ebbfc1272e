//! Follows processes, threads, modules, files, processors and disks through the events, so that each event can be told
//! with names and with the times that only several events together give.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etl::{Clock, Record};
use onoff_etw::kernel::{
    ContextSwitch, CounterConfiguration, CounterInterrupt, DeferredProcedureCall, DiskFlush, DiskRequestStart,
    DiskTransfer, FileName, FileOpen, FileOperationEnd, FileSubject, HardFault, Image, ImageEventKind,
    InterruptServiceRoutine, KernelPayload, NetworkTransfer, Process, ReadyThread, RegistryKeyOperation,
    SampledProfile, Stack, StackKeyReference, SystemConfigEx, Thread, thread_state_name,
};
use onoff_trace::{Directory, wait_reason};

use super::ahead::{Definitions, LookAhead, set_module, set_thread};
use crate::disk::{CompletedRequest, DiskRequests, NO_THREAD};
use crate::file_operations::OperationsUnderWay;
use crate::kernel_events::{Subject, xperf_name};

/// Most file operations that are followed at a time; others end without their beginning.
const MAX_FILE_OPERATIONS: usize = 1 << 16;

/// Most disk requests that are followed at a time; others complete without their beginning.
const MAX_DISK_REQUESTS: usize = 1 << 16;

/// Most processors that are followed; what lies beyond keeps its events and loses its names.
const MAX_PROCESSORS: usize = 1 << 12;

/// Who an event is about, and what follows from the events before. Times are ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Followed {
    pub(super) pid: Option<u32>,
    pub(super) tid: Option<u32>,
    /// Another process the event is about: that of the thread switched out or readied, the one that starts.
    pub(super) other_pid: Option<u32>,
    pub(super) elapsed_ns: Option<i64>,
    pub(super) service_ns: Option<i64>,
    pub(super) since_last_ns: Option<i64>,
    pub(super) ran_ns: Option<i64>,
    pub(super) old_state: Option<&'static str>,
    pub(super) old_wait_reason: Option<&'static str>,
    pub(super) stack_of_ns: Option<i64>,
    pub(super) file_key: Option<u64>,
    /// File object, where a file has no name by its key.
    pub(super) file_object: Option<u64>,
    /// Who logged an event that is charged to another thread.
    pub(super) logging_pid: Option<u32>,
    pub(super) logging_tid: Option<u32>,
    /// Event that began the operation which the event ends.
    pub(super) operation: Option<&'static str>,
    /// Key of the stack that the event refers to.
    pub(super) stack_key: Option<u64>,
}

/// A file operation that has not ended.
#[derive(Clone, Copy, Debug)]
struct FileOperationUnderWay {
    operation: Option<&'static str>,
    start_ns: i64,
    file_object: u64,
    file_key: Option<u64>,
    thread_id: u32,
}

/// A processor's thread, and since when.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    tid: Option<u32>,
    since_ns: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Follower {
    pub(super) directory: Directory,
    running: Vec<Running>,
    /// When each thread was last switched out, ns.
    last_ran_ns: HashMap<u32, i64>,
    disks: DiskRequests,
    file_operations: OperationsUnderWay<FileOperationUnderWay>,
    definitions: Arc<Definitions>,
    /// Names of the hardware counters that are kept with events.
    pub(super) counter_names: Vec<Box<str>>,
}

impl Follower {
    pub(super) fn new() -> Self {
        Self {
            directory: Directory::new(),
            running: Vec::new(),
            last_ran_ns: HashMap::new(),
            disks: DiskRequests::of_at_most(MAX_DISK_REQUESTS),
            file_operations: OperationsUnderWay::of_at_most(MAX_FILE_OPERATIONS),
            definitions: Arc::default(),
            counter_names: Vec::new(),
        }
    }

    /// Takes an event that a look ahead needs, before the first event is followed.
    pub(super) fn look_ahead(&mut self, hook: u16, record: &Record<'_>, ahead: &mut LookAhead) {
        let payload = payload(hook, record);
        match hook {
            CounterConfiguration::HOOK => self.counter_names(payload),
            _ => ahead.take(record, payload, &mut self.directory),
        }
    }

    /// Takes what the whole recording says of keys.
    pub(super) fn define(&mut self, definitions: Definitions) {
        for key in definitions.file_keys() {
            if let Some(path) = definitions.path(key, i64::MIN) {
                self.directory.set_file(key, path);
            }
        }
        self.definitions = Arc::new(definitions);
    }

    fn counter_names(&mut self, payload: KernelPayload<'_>) {
        if let Some(configuration) = CounterConfiguration::read(payload) {
            self.counter_names = configuration.names.iter().map(|name| name.to_string().into()).collect();
        }
    }

    /// Takes what explains kernel events but is none: drive letters.
    pub(super) fn other(&mut self, record: &Record<'_>) {
        if let Some(SystemConfigEx::VolumeMapping { nt_path, dos_path }) = SystemConfigEx::parse(record) {
            self.directory.set_volume(&nt_path.to_string(), &dos_path.to_string());
        }
    }

    /// Return addresses of a stack by its key, in an event logged at `time_ns`.
    pub(super) fn stack(&self, key: u64, time_ns: i64) -> Option<&[u64]> {
        self.definitions.stack(key, time_ns)
    }

    /// Whether anything of the event is kept for those after it. Of most there is nothing.
    pub(super) fn keeps(hook: u16) -> bool {
        !matches!(
            Subject::of(hook),
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

    /// Takes the next event; `hook` is that of a kernel event.
    pub(super) fn follow(&mut self, hook: Option<u16>, record: &Record<'_>, clock: &Clock) -> Followed {
        let mut followed = Followed { pid: record.process_id(), tid: record.thread_id(), ..Followed::default() };
        let Some(hook) = hook else { return followed };
        self.kernel_event(hook, record, clock, &mut followed);
        if followed.pid.is_none() {
            followed.pid = followed.tid.and_then(|tid| self.directory.process_of_thread(tid));
        }
        followed
    }

    fn kernel_event(&mut self, hook: u16, record: &Record<'_>, clock: &Clock, followed: &mut Followed) {
        let payload = payload(hook, record);
        let now = record.time_ns();
        let took = |ticks: u64| Some(now.saturating_sub(clock.ns(ticks)).max(0));
        match Subject::of(hook) {
            Subject::ContextSwitch => {
                if let Some(switch) = ContextSwitch::read(payload) {
                    self.context_switch(record, &switch, followed);
                }
            }
            Subject::ReadyThread => {
                self.charge_running(record, followed);
                let ready = ReadyThread::read(payload).map(|ready| ready.thread_id);
                followed.other_pid = ready.and_then(|tid| self.directory.process_of_thread(tid));
            }
            Subject::SampledProfile => {
                followed.tid = SampledProfile::read(payload).map(|sample| sample.thread_id);
                followed.pid = None;
            }
            Subject::InterruptServiceRoutine => {
                let routine = InterruptServiceRoutine::read(payload);
                followed.elapsed_ns = routine.and_then(|routine| took(routine.start_ticks));
            }
            Subject::DeferredProcedureCall => {
                let call = DeferredProcedureCall::read(payload);
                followed.elapsed_ns = call.and_then(|call| took(call.start_ticks));
            }
            Subject::Stack => {
                if let Some(stack) = Stack::read(payload) {
                    followed.stack_of_ns = Some(clock.ns(stack.event_ticks));
                    followed.pid = Some(stack.process_id);
                    followed.tid = Some(stack.thread_id);
                }
            }
            Subject::StackKeyDefinition => {}
            Subject::StackKeyReference => {
                if let Some(reference) = StackKeyReference::read(payload) {
                    followed.stack_of_ns = Some(clock.ns(reference.event_ticks));
                    followed.pid = Some(reference.process_id);
                    followed.tid = Some(reference.thread_id);
                    followed.stack_key = Some(reference.stack_key);
                }
            }
            Subject::FileOpen
            | Subject::FileOperation
            | Subject::FileTransfer
            | Subject::FileInformation
            | Subject::DirectoryOperation => self.file_operation(record, payload, followed),
            Subject::FileOperationEnd => self.file_operation_end(record, payload, followed),
            Subject::NetworkTransfer => {
                // Whatever thread ran when the network card had something says nothing about the socket's owner.
                match NetworkTransfer::read(payload) {
                    Some(transfer) => (followed.pid, followed.tid) = (Some(transfer.process_id), None),
                    None => self.charge_running(record, followed),
                }
            }
            Subject::Process => {
                if let Some(process) = Process::read(payload) {
                    self.directory.set_process(process.process_id, &process.image_file_name.to_str());
                    followed.other_pid = Some(process.process_id);
                }
            }
            Subject::Thread => {
                if let Some(thread) = Thread::read(payload) {
                    set_thread(&mut self.directory, &thread);
                    followed.other_pid = Some(thread.process_id);
                }
            }
            Subject::Image => {
                if let Some(image) = Image::read(payload) {
                    self.module(&image);
                    followed.other_pid = Some(image.process_id);
                }
            }
            Subject::FileName => {
                if let Some(name) = FileName::read(payload) {
                    self.file_name(&name, now);
                }
            }
            Subject::DiskTransfer => {
                if let Some(transfer) = DiskTransfer::read(payload) {
                    followed.file_key = Some(transfer.file_key);
                    let completed = self.disks.on_transfer(record, &transfer, clock);
                    disk_request(&completed, followed);
                }
            }
            Subject::DiskFlush => {
                if let Some(flush) = DiskFlush::read(payload) {
                    let completed = self.disks.on_flush(record, &flush, clock);
                    disk_request(&completed, followed);
                }
            }
            Subject::DiskRequestStart => {
                if let Some(start) = DiskRequestStart::read(payload) {
                    self.disks.on_start(record, &start);
                    charge_issuer(start.issuing_thread_id, followed);
                }
            }
            Subject::HardFault => {
                if let Some(fault) = HardFault::read(payload) {
                    followed.elapsed_ns = took(fault.start_ticks);
                    followed.file_key = Some(fault.file_key);
                    followed.tid = Some(fault.thread_id);
                    followed.pid = None;
                }
            }
            Subject::RegistryKeyOperation => {
                if let Some(operation) = RegistryKeyOperation::read(payload) {
                    followed.elapsed_ns = match operation.elapsed_ticks {
                        Some(ticks) => Some(clock.span_ns(u64::try_from(ticks).unwrap_or(0))),
                        None => operation.start_ticks.and_then(took),
                    };
                }
                if followed.tid.is_none() {
                    self.charge_running(record, followed);
                }
            }
            _ if hook == CounterInterrupt::HOOK => {
                followed.tid = CounterInterrupt::read(payload).map(|interrupt| interrupt.thread_id);
                followed.pid = None;
            }
            _ => {
                if hook == CounterConfiguration::HOOK {
                    self.counter_names(payload);
                }
                if followed.tid.is_none() {
                    self.charge_running(record, followed);
                }
            }
        }
    }

    fn context_switch(&mut self, record: &Record<'_>, switch: &ContextSwitch, followed: &mut Followed) {
        let now = record.time_ns();
        followed.tid = Some(switch.new_thread_id);
        followed.pid = None;
        followed.other_pid = self.directory.process_of_thread(switch.old_thread_id);
        followed.old_state = Some(thread_state_name(switch.old_thread_state));
        followed.old_wait_reason = Some(wait_reason::name(switch.old_thread_wait_reason).unwrap_or("Unknown"));
        // Idle threads share id 0: when one of them last ran says nothing about another.
        if switch.new_thread_id != 0 {
            followed.since_last_ns =
                self.last_ran_ns.get(&switch.new_thread_id).map(|&last| now.saturating_sub(last).max(0));
        }
        if switch.old_thread_id != 0 {
            self.last_ran_ns.insert(switch.old_thread_id, now);
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
            followed.ran_ns = Some(now.saturating_sub(running.since_ns).max(0));
        }
        *running = Running { tid: Some(switch.new_thread_id), since_ns: now };
    }

    /// Charges an event without thread of its own to the thread that runs on its processor.
    fn charge_running(&self, record: &Record<'_>, followed: &mut Followed) {
        if let Some(running) = self.running.get(usize::from(record.cpu()))
            && running.tid.is_some()
        {
            followed.tid = running.tid;
            followed.pid = None;
        }
    }

    /// Charges a file operation to the thread that asked for it; another may have logged it.
    fn file_operation(&mut self, record: &Record<'_>, payload: KernelPayload<'_>, followed: &mut Followed) {
        self.charge_logger(record, followed);
        let subject = match payload.hook {
            FileOpen::HOOK => FileOpen::read(payload).map(|open| {
                self.directory.set_file(open.file_object, &open.open_path.to_string());
                (open.irp, open.file_object, None, open.thread_id)
            }),
            _ => FileSubject::of(payload)
                .map(|subject| (subject.irp, subject.file_object, Some(subject.file_key), subject.thread_id)),
        };
        let Some((irp, file_object, file_key, thread_id)) = subject else { return };
        followed.tid = Some(thread_id);
        followed.pid = None;
        followed.file_key = file_key;
        followed.file_object = Some(file_object);
        let (operation, start_ns) = (xperf_name(payload.hook), record.time_ns());
        let under_way = FileOperationUnderWay { operation, start_ns, file_object, file_key, thread_id };
        self.file_operations.begin(irp, under_way);
    }

    fn file_operation_end(&mut self, record: &Record<'_>, payload: KernelPayload<'_>, followed: &mut Followed) {
        self.charge_logger(record, followed);
        let began = FileOperationEnd::read(payload).and_then(|end| self.file_operations.end(end.irp));
        if let Some(began) = began {
            followed.elapsed_ns = Some(record.time_ns().saturating_sub(began.start_ns).max(0));
            followed.operation = began.operation;
            followed.file_object = Some(began.file_object);
            followed.file_key = began.file_key;
            followed.tid = Some(began.thread_id);
            followed.pid = None;
        }
    }

    /// Charges an event to who logged it, and keeps who that was.
    fn charge_logger(&self, record: &Record<'_>, followed: &mut Followed) {
        if followed.tid.is_none() {
            self.charge_running(record, followed);
        }
        followed.logging_tid = followed.tid;
        followed.logging_pid =
            followed.pid.or_else(|| followed.tid.and_then(|tid| self.directory.process_of_thread(tid)));
    }

    fn module(&mut self, image: &Image<'_>) {
        if image.kind == ImageEventKind::Unload {
            self.directory.remove_module(image.process_id, image.image_base);
        } else {
            set_module(&mut self.directory, image);
        }
    }

    /// What a key stands for changes where an event names it.
    fn file_name(&mut self, name: &FileName<'_>, now: i64) {
        if let Some(path) = self.definitions.path(name.file_key, now) {
            self.directory.set_file(name.file_key, path);
        }
    }
}

fn disk_request(completed: &CompletedRequest, followed: &mut Followed) {
    followed.elapsed_ns = completed.elapsed_ns();
    followed.service_ns = followed.elapsed_ns.map(|elapsed_ns| completed.service_ns(elapsed_ns));
    charge_issuer(completed.issuing_tid.filter(|&tid| tid != NO_THREAD), followed);
}

fn charge_issuer(issuer: Option<u32>, followed: &mut Followed) {
    if issuer.is_some() {
        followed.tid = issuer;
        followed.pid = None;
    }
}

fn payload<'b>(hook: u16, record: &Record<'b>) -> KernelPayload<'b> {
    KernelPayload::new(hook, record.version(), record.payload(), record.pointer_size())
}
