//! Builds small traces for tests: each function adds rows to a trace.

use onoff_trace::{
    Activity, ActivityKind, ContextSwitch, ContextSwitches, DeviceOperation, DeviceOperationKind, DevicePhase, DiskIo,
    DiskOperation, Image, Interrupt, InterruptKind, Interrupts, IoPriority, Milestone, Notification, NotificationKind,
    Process, ReadyThread, ReadyThreads, ServiceChange, ServiceOutcome, ServiceTransition, StringId, SystemKind, Thread,
    Trace,
};

/// One millisecond, ns.
pub const MS: i64 = 1_000_000;

/// Marks the trace as a Linux recording.
pub fn as_linux(mut trace: Trace) -> Trace {
    trace.system.kind = SystemKind::Linux;
    trace
}

pub fn process(trace: &mut Trace, pid: u32, image: &str, start_ns: Option<i64>, end_ns: Option<i64>) {
    let image = trace.strings.intern(image);
    trace.processes.push(Process {
        parent_pid: Some(4),
        start_ns,
        end_ns,
        image,
        session: Some(0),
        ..Process::unknown(pid)
    });
}

pub fn thread(trace: &mut Trace, tid: u32, pid: u32, start_ns: Option<i64>, end_ns: Option<i64>) {
    trace.threads.push(Thread { start_ns, end_ns, ..Thread::unknown(tid, pid) });
}

/// A context switch as (ms, processor, old thread, its state and wait reason, new thread).
pub type SwitchRow = (i64, u16, u32, (u8, u8), u32);

/// Adds context switches between threads of the same priority, with the old thread's state and wait reason.
pub fn switches_in_ms(trace: &mut Trace, rows: &[SwitchRow]) {
    let rows = rows.iter().map(|&(ms, cpu, old_tid, (state, reason), new_tid)| ContextSwitch {
        time_ns: ms * MS,
        cpu,
        new_tid,
        old_tid,
        new_priority: 8,
        old_priority: 8,
        old_wait_reason: reason,
        old_wait_mode: 0,
        old_state: state,
        previous_c_state: 0,
        old_ideal_processor: 0,
        new_wait_ticks: 0,
    });
    trace.context_switches.push(ContextSwitches::from_iter(rows));
}

/// Adds context switches as (time, cpu, old thread, new thread, priority of the new thread); the priority of the old
/// thread is 8.
pub fn switches(trace: &mut Trace, rows: &[(i64, u16, u32, u32, i8)]) {
    let chunk: ContextSwitches = rows
        .iter()
        .map(|&(time_ns, cpu, old_tid, new_tid, new_priority)| ContextSwitch {
            time_ns,
            cpu,
            new_tid,
            old_tid,
            new_priority,
            old_priority: if old_tid == 0 { 0 } else { 8 },
            old_wait_reason: 0,
            old_wait_mode: 0,
            old_state: 0,
            previous_c_state: 0,
            old_ideal_processor: 0,
            new_wait_ticks: 0,
        })
        .collect();
    trace.context_switches.push(chunk);
}

pub fn disk(trace: &mut Trace, complete_ns: i64, service_ns: i64, priority: IoPriority, file: &str) {
    let file = trace.strings.intern(file);
    trace.disk_ios.push(DiskIo {
        issue_ns: Some(complete_ns.saturating_sub(service_ns)),
        complete_ns,
        disk: 0,
        operation: DiskOperation::Read,
        offset: 0,
        size: 4096,
        priority,
        service_ns,
        pid: Some(4),
        tid: Some(8),
        file,
        file_object: u64::from(!file.is_empty()),
        irp: 0,
        irp_flags: 0,
    });
}

/// Adds a read of 4 KiB from a file by thread 8 of process 4.
pub fn request(trace: &mut Trace, disk: u32, issue_ns: i64, complete_ns: i64) {
    let file = trace.strings.intern(r"\Windows\a.dll");
    trace.disk_ios.push(DiskIo {
        issue_ns: Some(issue_ns),
        complete_ns,
        disk,
        operation: DiskOperation::Read,
        offset: 0,
        size: 4096,
        priority: IoPriority::Normal,
        service_ns: complete_ns.saturating_sub(issue_ns),
        pid: Some(4),
        tid: Some(8),
        file,
        file_object: 1,
        irp: 0,
        irp_flags: 0,
    });
}

pub fn milestone(trace: &mut Trace, time_ns: i64, name: &str, detail: &str) {
    milestone_value(trace, time_ns, name, detail, None);
}

pub fn milestone_value(trace: &mut Trace, time_ns: i64, name: &str, detail: &str, value: Option<i64>) {
    let event = trace.strings.intern(&format!("event of {name}"));
    let name = trace.strings.intern(name);
    let detail = trace.strings.intern(detail);
    trace.milestones.push(Milestone { time_ns, name, detail, value, pid: None, tid: None, event });
}

pub fn activity(trace: &mut Trace, kind: ActivityKind, name: &str, start_ns: i64, end_ns: Option<i64>) {
    let name = trace.strings.intern(name);
    let event = trace.strings.intern(kind.as_str());
    trace.activities.push(Activity {
        kind,
        name,
        detail: StringId::EMPTY,
        start_ns,
        end_ns,
        pid: None,
        tid: None,
        end_tid: None,
        session: None,
        status: None,
        event,
    });
}

/// Adds an automatic start of a service as (start, container, image, end), times in ms.
pub fn service(trace: &mut Trace, name: &str, group: &str, times: (i64, Option<i64>, Option<i64>, Option<i64>)) {
    let service = trace.strings.intern(name);
    let group = trace.strings.intern(group);
    let event = trace.strings.intern("Microsoft-Windows-Services/105");
    let (start, checkpoint, load, end) = times;
    trace.service_transitions.push(ServiceTransition {
        service,
        group,
        kind: ServiceChange::Start,
        start_ns: start * MS,
        checkpoint_ns: checkpoint.map(|time| time * MS),
        load_ns: load.map(|time| time * MS),
        end_ns: end.map(|time| time * MS),
        container: StringId::EMPTY,
        container_pid: Some(536),
        outcome: if end.is_some() { ServiceOutcome::Completed } else { ServiceOutcome::Unfinished },
        automatic: true,
        start_type: None,
        result: StringId::EMPTY,
        timeout_ns: None,
        main_tid: None,
        tid: None,
        end_tid: None,
        cpu_ns: None,
        cpu_max_ns: None,
        event,
    });
}

pub fn device(
    trace: &mut Trace,
    kind: DeviceOperationKind,
    (device, driver): (&str, &str),
    (start, pend, end): (i64, Option<i64>, Option<i64>),
    phase: DevicePhase,
) {
    let device = trace.strings.intern(device);
    let driver = trace.strings.intern(driver);
    trace.device_operations.push(DeviceOperation {
        kind,
        start_ns: start * MS,
        pend_ns: pend.map(|time| time * MS),
        end_ns: end.map(|time| time * MS),
        device,
        driver,
        description: StringId::EMPTY,
        friendly_name: StringId::EMPTY,
        phase,
        status: None,
        tid: None,
        end_tid: None,
        event: StringId::EMPTY,
    });
}

/// Interrupts as (start, end, processor, kind, routine).
pub fn interrupts(trace: &mut Trace, rows: &[(i64, i64, u16, InterruptKind, u64)]) {
    let chunk: Interrupts = rows
        .iter()
        .map(|&(start_ns, end_ns, cpu, kind, routine)| Interrupt {
            start_ns,
            end_ns,
            cpu,
            kind,
            routine,
            vector: 0,
            name: StringId::EMPTY,
        })
        .collect();
    trace.interrupts.push(chunk);
}

/// Adds a module at (base, size).
pub fn image(trace: &mut Trace, pid: u32, (base, size): (u64, u64), load_ns: Option<i64>, path: &str) {
    let path = trace.strings.intern(path);
    trace.images.push(Image {
        pid,
        base,
        size,
        load_ns,
        unload_ns: None,
        path,
        time_stamp: 0,
        checksum: 0,
        default_base: 0,
        pdb_name: StringId::EMPTY,
        pdb_id: StringId::EMPTY,
        version: StringId::EMPTY,
    });
}

/// Adds ready threads as (time, thread, readying thread).
pub fn ready_threads(trace: &mut Trace, rows: &[(i64, u32, u32)]) {
    let chunk: ReadyThreads = rows
        .iter()
        .map(|&(time_ns, ready_tid, readying_tid)| ReadyThread {
            time_ns,
            cpu: 0,
            ready_tid,
            readying_tid: Some(readying_tid),
            adjust_reason: 0,
            adjust_increment: 0,
            flags: 0,
            after_switches: None,
        })
        .collect();
    trace.ready_threads.push(chunk);
}

/// Adds the shutdown of a session's applications.
pub fn session_shutdown(trace: &mut Trace, session: u32, start_ns: i64, end_ns: Option<i64>) {
    let event = trace.strings.intern("Microsoft-Windows-Subsys-Csr/1");
    trace.activities.push(Activity {
        kind: ActivityKind::SessionShutdown,
        name: StringId::EMPTY,
        detail: StringId::EMPTY,
        start_ns,
        end_ns,
        pid: None,
        tid: None,
        end_tid: None,
        session: Some(session),
        status: None,
        event,
    });
}

/// Adds a notification as (kind, process, thread, session). All notifications of a session come from the same thread.
pub fn notification(
    trace: &mut Trace,
    (kind, pid, tid, session): (NotificationKind, Option<u32>, Option<u32>, u32),
    start_ns: i64,
    end_ns: Option<i64>,
) {
    let event = trace.strings.intern(kind.as_str());
    trace.notifications.push(Notification {
        kind,
        start_ns,
        end_ns,
        name: StringId::EMPTY,
        pid,
        tid,
        session: Some(session),
        level: Some(0x280),
        flags: Some(0),
        status: None,
        sender_pid: Some(400 + session),
        sender_tid: Some(404 + session),
        event,
    });
}

/// Adds a stop of a service as (request, first report, stopped), ns.
pub fn service_stop(
    trace: &mut Trace,
    name: &str,
    pid: u32,
    (start_ns, checkpoint_ns, end_ns): (i64, Option<i64>, Option<i64>),
) {
    let service = trace.strings.intern(name);
    let event = trace.strings.intern("Microsoft-Windows-Services/105");
    trace.service_transitions.push(ServiceTransition {
        service,
        group: StringId::EMPTY,
        kind: ServiceChange::Stop,
        start_ns,
        checkpoint_ns,
        load_ns: None,
        end_ns,
        container: StringId::EMPTY,
        container_pid: Some(pid),
        outcome: if end_ns.is_some() { ServiceOutcome::Completed } else { ServiceOutcome::Unfinished },
        automatic: false,
        start_type: None,
        result: StringId::EMPTY,
        timeout_ns: None,
        main_tid: None,
        tid: None,
        end_tid: None,
        cpu_ns: None,
        cpu_max_ns: None,
        event,
    });
}
