//! The tables: what was recorded, the same whatever recorded it.
//!
//! Times are nanoseconds since the recording's first event; sizes are bytes. An open end is `None`: a process
//! whose start is `None` existed when the recording began, one whose end is `None` when it ended.

use crate::codes;
use crate::stack::StackId;
use crate::string::StringId;
use crate::table::table;

table! {
    /// One life of a process. Process ids are reused: (`pid`, interval) identifies it.
    Processes of Process {
        /// Process id.
        pid: u32,
        /// Process id of the creator.
        parent_pid: Option<u32>,
        /// Creation, ns; `None` when it existed before the recording.
        start_ns: Option<i64>,
        /// Exit, ns; `None` when it outlived the recording.
        end_ns: Option<i64>,
        /// Image file name, e.g. `svchost.exe`.
        image: StringId,
        /// Command line.
        command_line: StringId,
        /// Session (0 services, 1… users).
        session: Option<u32>,
        /// Exit status.
        exit_status: Option<i32>,
        /// User: SID on Windows, user name or id elsewhere.
        user: StringId,
        /// Kernel's own unique key of the process object, 0 when unknown.
        unique_key: u64,
        /// Page-table base, 0 when unknown.
        page_directory: u64,
        /// Package name of a packaged application.
        package: StringId,
    }
}

table! {
    /// One life of a thread.
    Threads of Thread {
        /// Thread id.
        tid: u32,
        /// Owning process id.
        pid: u32,
        /// Creation, ns; `None` when it existed before the recording.
        start_ns: Option<i64>,
        /// End, ns; `None` when it outlived the recording.
        end_ns: Option<i64>,
        /// Start address (the user-mode one where there are two), 0 when unknown.
        start_address: u64,
        /// Base priority.
        base_priority: Option<u8>,
        /// Page priority.
        page_priority: Option<u8>,
        /// I/O priority.
        io_priority: Option<u8>,
        /// Tag of the service the thread works for, 0 for none.
        service_tag: u32,
        /// Thread environment block, 0 when unknown.
        teb: u64,
        /// Kernel stack base, 0 when unknown.
        stack_base: u64,
        /// Kernel stack limit, 0 when unknown.
        stack_limit: u64,
        /// User stack base, 0 when unknown.
        user_stack_base: u64,
        /// User stack limit, 0 when unknown.
        user_stack_limit: u64,
        /// Name given to the thread.
        name: StringId,
    }
}

impl Process {
    /// A process of which only the id is known.
    #[must_use]
    pub const fn unknown(pid: u32) -> Self {
        Self {
            pid,
            parent_pid: None,
            start_ns: None,
            end_ns: None,
            image: StringId::EMPTY,
            command_line: StringId::EMPTY,
            session: None,
            exit_status: None,
            user: StringId::EMPTY,
            unique_key: 0,
            page_directory: 0,
            package: StringId::EMPTY,
        }
    }
}

impl Thread {
    /// A thread of which only the ids are known.
    #[must_use]
    pub const fn unknown(tid: u32, pid: u32) -> Self {
        Self {
            tid,
            pid,
            start_ns: None,
            end_ns: None,
            start_address: 0,
            base_priority: None,
            page_priority: None,
            io_priority: None,
            service_tag: 0,
            teb: 0,
            stack_base: 0,
            stack_limit: 0,
            user_stack_base: 0,
            user_stack_limit: 0,
            name: StringId::EMPTY,
        }
    }
}

table! {
    /// A module in a process's address space.
    Images of Image {
        /// Owning process id; 0 for the kernel.
        pid: u32,
        /// First address.
        base: u64,
        /// Bytes mapped.
        size: u64,
        /// Load, ns; `None` when loaded before the recording.
        load_ns: Option<i64>,
        /// Unload, ns; `None` when it stayed.
        unload_ns: Option<i64>,
        /// File path as recorded (an NT path on Windows).
        path: StringId,
        /// Link time of the PE header, seconds since 1970 or a hash; 0 when unknown.
        time_stamp: u32,
        /// Checksum of the PE header; 0 when unknown.
        checksum: u32,
        /// Address the image was linked for; 0 when unknown.
        default_base: u64,
        /// Symbol file name.
        pdb_name: StringId,
        /// Symbol file identity: the GUID's 32 hex digits, upper case, followed by the age in hex, as symbol stores name it.
        pdb_id: StringId,
        /// File version.
        version: StringId,
    }
}

table! {
    /// A processor stopped running one thread and began another.
    ContextSwitches of ContextSwitch {
        /// Time, ns.
        time_ns: i64,
        /// Processor.
        cpu: u16,
        /// Thread switched in; 0 is the processor's idle thread.
        new_tid: u32,
        /// Thread switched out.
        old_tid: u32,
        /// Priority of the thread switched in, 0–31.
        new_priority: i8,
        /// Priority of the thread switched out, 0–31.
        old_priority: i8,
        /// Why the old thread waits (`KWAIT_REASON`).
        old_wait_reason: u8,
        /// Wait mode: 0 kernel, 1 user.
        old_wait_mode: u8,
        /// State of the old thread (`KTHREAD_STATE`).
        old_state: u8,
        /// Idle state the processor left; meaningful when `old_tid` is 0.
        previous_c_state: u8,
        /// Ideal processor of the old thread.
        old_ideal_processor: u8,
        /// How long the new thread had waited, timer ticks.
        new_wait_ticks: u32,
    }
}

table! {
    /// A thread was made ready to run by another.
    ReadyThreads of ReadyThread {
        /// Time, ns.
        time_ns: i64,
        /// Processor on which the readying code ran.
        cpu: u16,
        /// Thread made ready.
        ready_tid: u32,
        /// Thread that made it ready: the one that ran on `cpu`; `None` before the first context switch there.
        readying_tid: Option<u32>,
        /// Why the priority was adjusted: 0 none, 1 unwait, 2 boost.
        adjust_reason: u8,
        /// Priority increment.
        adjust_increment: i8,
        /// Flag bits: 1 done in a DPC, 2 kernel stack not resident, 4 process out of memory, 8 direct switch attempt.
        flags: u8,
    }
}

table! {
    /// A profile sample: where a processor was.
    Samples of Sample {
        /// Time, ns.
        time_ns: i64,
        /// Processor.
        cpu: u16,
        /// Thread that ran.
        tid: u32,
        /// Instruction pointer.
        address: u64,
        /// Samples that this row stands for.
        count: u16,
        /// Profile source; 0 is the timer.
        source: u16,
    }
}

table! {
    /// A call stack recorded with an event at the same time on the same thread.
    Stacks of Stack {
        /// Time of the event the stack belongs to, ns.
        time_ns: i64,
        /// Process id.
        pid: u32,
        /// Thread id.
        tid: u32,
        /// Return addresses, innermost first; kernel part before user part.
        stack: StackId,
    }
}

codes! {
    /// What interrupted a thread.
    pub enum InterruptKind {
        /// Interrupt service routine.
        Interrupt = "interrupt",
        /// Deferred procedure call.
        Dpc = "dpc",
        /// Deferred procedure call of a timer.
        TimerDpc = "timer_dpc",
        /// Deferred procedure call on a thread.
        ThreadedDpc = "threaded_dpc",
        /// Soft interrupt (Linux).
        SoftInterrupt = "soft_interrupt",
    }
}

table! {
    /// An interrupt service routine or a deferred procedure call that ran.
    Interrupts of Interrupt {
        /// Begin, ns.
        start_ns: i64,
        /// End, ns.
        end_ns: i64,
        /// Processor.
        cpu: u16,
        /// What it was.
        kind: InterruptKind,
        /// Routine's address.
        routine: u64,
        /// Interrupt vector, 0 for a deferred procedure call.
        vector: u16,
    }
}

codes! {
    /// A disk operation.
    pub enum DiskOperation {
        /// Read.
        Read = "read",
        /// Write.
        Write = "write",
        /// Flush of the device's cache.
        Flush = "flush",
    }
}

codes! {
    /// Priority of an I/O request.
    pub enum IoPriority {
        /// Not recorded.
        Unknown = "unknown",
        /// Background work such as defragmentation.
        VeryLow = "very_low",
        /// Low.
        Low = "low",
        /// Normal.
        Normal = "normal",
        /// High.
        High = "high",
        /// Critical: paging.
        Critical = "critical",
    }
}

impl IoPriority {
    /// Whether the idle metric leaves the work out: very low and low.
    #[must_use]
    pub const fn is_low(self) -> bool {
        matches!(self, Self::VeryLow | Self::Low)
    }
}

table! {
    /// A request that reached a disk.
    DiskIos of DiskIo {
        /// When it was issued, ns; `None` when only its completion was recorded and its response time was not.
        issue_ns: Option<i64>,
        /// When it completed, ns.
        complete_ns: i64,
        /// Disk number.
        disk: u32,
        /// What was done.
        operation: DiskOperation,
        /// First byte on the disk.
        offset: u64,
        /// Bytes.
        size: u64,
        /// Priority.
        priority: IoPriority,
        /// Time the disk itself worked on it, ns: from the completion before, or the issue if later, to its completion.
        service_ns: i64,
        /// Process that issued it.
        pid: Option<u32>,
        /// Thread that issued it.
        tid: Option<u32>,
        /// File, when names were recorded.
        file: StringId,
        /// File key or object as recorded.
        file_object: u64,
        /// Request packet as recorded.
        irp: u64,
        /// Request flags as recorded.
        irp_flags: u32,
    }
}

codes! {
    /// A file operation.
    pub enum FileOperation {
        /// Create or open.
        Create = "create",
        /// Last handle closed.
        Cleanup = "cleanup",
        /// Last reference dropped.
        Close = "close",
        /// Read.
        Read = "read",
        /// Write.
        Write = "write",
        /// Flush.
        Flush = "flush",
        /// Query information.
        QueryInformation = "query_information",
        /// Set information.
        SetInformation = "set_information",
        /// Delete.
        Delete = "delete",
        /// Rename.
        Rename = "rename",
        /// Directory enumeration.
        DirectoryEnumeration = "directory_enumeration",
        /// Directory change notification.
        DirectoryNotification = "directory_notification",
        /// File-system control.
        FileSystemControl = "file_system_control",
        /// Mapping into memory.
        Map = "map",
    }
}

table! {
    /// A file operation as a program asked for it.
    FileIos of FileIo {
        /// Begin, ns.
        start_ns: i64,
        /// End, ns; `None` when its completion was not recorded.
        end_ns: Option<i64>,
        /// Operation.
        operation: FileOperation,
        /// Process id.
        pid: Option<u32>,
        /// Thread id.
        tid: Option<u32>,
        /// File.
        file: StringId,
        /// Offset in the file.
        offset: u64,
        /// Bytes asked for.
        size: u64,
        /// Result status.
        status: Option<u32>,
        /// Request packet as recorded.
        irp: u64,
        /// File object as recorded.
        file_object: u64,
    }
}

table! {
    /// A page that had to be read from a file.
    HardFaults of HardFault {
        /// Begin, ns.
        start_ns: i64,
        /// End, ns.
        end_ns: i64,
        /// Process id.
        pid: Option<u32>,
        /// Thread id.
        tid: u32,
        /// File.
        file: StringId,
        /// File object or key as recorded.
        file_object: u64,
        /// Offset in the file.
        offset: u64,
        /// Bytes read.
        size: u64,
        /// Faulting address.
        address: u64,
    }
}

codes! {
    /// The change of state a service went through.
    pub enum ServiceChange {
        /// From stopped to running.
        Start = "start",
        /// From running to stopped.
        Stop = "stop",
    }
}

codes! {
    /// How a service's change of state ended.
    pub enum ServiceOutcome {
        /// Reached the state asked for.
        Completed = "completed",
        /// Ended in another state.
        Failed = "failed",
        /// Still under way at the end of the recording.
        Unfinished = "unfinished",
    }
}

table! {
    /// A service's change of state.
    ServiceTransitions of ServiceTransition {
        /// Service (unit) name.
        service: StringId,
        /// Load-order group; empty for none.
        group: StringId,
        /// Start or stop.
        kind: ServiceChange,
        /// Asked for, ns.
        start_ns: i64,
        /// First report of the service's own host process, ns: the container is there.
        checkpoint_ns: Option<i64>,
        /// The service's own code begins (its image is loaded), ns.
        load_ns: Option<i64>,
        /// Done, ns.
        end_ns: Option<i64>,
        /// Container: the host's command line.
        container: StringId,
        /// Host's process id.
        container_pid: Option<u32>,
        /// How it ended.
        outcome: ServiceOutcome,
        /// Started by the automatic start phase.
        automatic: bool,
        /// The record that set the start, e.g. `Microsoft-Windows-Services/105`.
        event: StringId,
    }
}

codes! {
    /// What was done for a device or driver.
    pub enum DeviceOperationKind {
        /// Initialisation of a boot driver.
        BootInit = "BootInit",
        /// Loading of a driver image.
        DriverLoad = "DriverLoad",
        /// Initialisation of a driver.
        DriverInit = "DriverInit",
        /// Start of a device (start IRP).
        DeviceStart = "DeviceStart",
        /// Enumeration of a device's children (query device relations IRP).
        DeviceEnum = "DeviceEnum",
        /// Initialisation function of the kernel (Linux).
        Initcall = "Initcall",
        /// Loading of a kernel module (Linux).
        ModuleLoad = "ModuleLoad",
        /// Driver probe (Linux).
        Probe = "Probe",
    }
}

codes! {
    /// The phase of device initialisation in which an operation began.
    pub enum DevicePhase {
        /// Boot-start drivers and devices.
        BootStart = "bootStart",
        /// System-start drivers and devices.
        SystemStart = "systemStart",
        /// After system start.
        Later = "later",
    }
}

table! {
    /// Work on a device or driver while the system comes up.
    DeviceOperations of DeviceOperation {
        /// What was done.
        kind: DeviceOperationKind,
        /// Begin, ns.
        start_ns: i64,
        /// When the driver returned "pending", ns; `None` when it did the work before it returned.
        pend_ns: Option<i64>,
        /// End, ns; `None` when it did not end in the recording.
        end_ns: Option<i64>,
        /// Device instance; empty for driver work.
        device: StringId,
        /// Driver.
        driver: StringId,
        /// Device description.
        description: StringId,
        /// Device's friendly name.
        friendly_name: StringId,
        /// Phase of the begin.
        phase: DevicePhase,
        /// Result status.
        status: Option<u32>,
        /// Thread that began it.
        tid: Option<u32>,
        /// The record that set the start, e.g. `Microsoft-Windows-Kernel-PnP/216`.
        event: StringId,
    }
}

table! {
    /// A point in time with a meaning for a transition; the names are those of [`crate::milestone`].
    Milestones of Milestone {
        /// Time, ns.
        time_ns: i64,
        /// Name, one of [`crate::milestone`].
        name: StringId,
        /// What it is about: a session, a text.
        detail: StringId,
        /// A quantity that the record carries; its unit is the name's.
        value: Option<i64>,
        /// Process that recorded it.
        pid: Option<u32>,
        /// The record, e.g. `Microsoft-Windows-Shell-Core/27231`.
        event: StringId,
    }
}

codes! {
    /// Work that has a begin and an end and is neither a service's nor a device's.
    pub enum ActivityKind {
        /// The session manager ran a program; name = image.
        SessionProgram = "session_program",
        /// The session manager loaded a subsystem.
        SessionSubsystem = "session_subsystem",
        /// Policy for the computer or a user was applied; name = `computer` or `user`.
        GroupPolicy = "group_policy",
        /// One policy extension; name = extension.
        GroupPolicyExtension = "group_policy_extension",
        /// A policy script; name = script.
        GroupPolicyScript = "group_policy_script",
        /// Waiting for the network for policy.
        GroupPolicyNetworkWait = "group_policy_network_wait",
        /// A program that starts with the session; name = command.
        StartupApplication = "startup_application",
        /// The shell walks a list of programs to start; name = list.
        StartupEnumeration = "startup_enumeration",
        /// A subscriber of session notifications; name = subscriber, detail = notification.
        NotificationSubscriber = "notification_subscriber",
        /// A load-order group of services was started; name = group.
        ServiceGroup = "service_group",
        /// Logon: the user's credentials were checked.
        Authentication = "authentication",
        /// Credentials were asked for: time a person took.
        CredentialRequest = "credential_request",
        /// The welcome screen was shown.
        WelcomeScreen = "welcome_screen",
        /// A user's profile was loaded.
        UserProfile = "user_profile",
        /// Files were read ahead for the boot.
        Prefetch = "prefetch",
    }
}

table! {
    /// An interval of work; see [`ActivityKind`].
    Activities of Activity {
        /// What it was.
        kind: ActivityKind,
        /// Its name; see [`ActivityKind`].
        name: StringId,
        /// Further detail.
        detail: StringId,
        /// Begin, ns.
        start_ns: i64,
        /// End, ns; `None` when it did not end in the recording.
        end_ns: Option<i64>,
        /// Process that did or reported it.
        pid: Option<u32>,
        /// Session.
        session: Option<u32>,
        /// The record that set the begin.
        event: StringId,
    }
}

table! {
    /// Any other event.
    Events of Event {
        /// Time, ns.
        time_ns: i64,
        /// Processor.
        cpu: u16,
        /// Process id.
        pid: Option<u32>,
        /// Thread id.
        tid: Option<u32>,
        /// Provider name; its GUID in text when the name is not known.
        provider: StringId,
        /// Event id; the opcode for classic events.
        id: u32,
        /// Version.
        version: u16,
        /// Level.
        level: u8,
        /// Keyword bits.
        keyword: u64,
        /// Task name.
        task: StringId,
        /// Opcode name.
        opcode: StringId,
        /// First row of this event's fields in [`EventFields`].
        first_field: u64,
        /// Number of fields.
        fields: u16,
    }
}

table! {
    /// A named field of an event; an event's fields are consecutive rows.
    EventFields of EventField {
        /// Name.
        name: StringId,
        /// Value as text.
        value: StringId,
    }
}
