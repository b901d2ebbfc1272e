//! Services, devices and milestones of a transition.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// The state change of a service.
    pub enum ServiceChange {
        /// From stopped to running.
        Start = "start",
        /// From running to stopped.
        Stop = "stop",
    }
}

codes! {
    /// Outcome of a service's state change.
    pub enum ServiceOutcome {
        /// The service reached the requested state.
        Completed = "completed",
        /// The service ended in another state.
        Failed = "failed",
        /// The change was still in progress at the end of the recording.
        Unfinished = "unfinished",
    }
}

table! {
    /// A state change of a service.
    ServiceTransitions of ServiceTransition {
        /// Service (unit) name.
        service: StringId,
        /// Load-order group; empty for none.
        group: StringId,
        /// Start or stop.
        kind: ServiceChange,
        /// Time of the request, ns.
        start_ns: i64 as Start,
        /// First report from the service's host process, ns: the host process is running.
        checkpoint_ns: Option<i64> as OtherTime,
        /// The service's own code starts (its image is loaded), ns.
        load_ns: Option<i64> as OtherTime,
        /// Completion, ns.
        end_ns: Option<i64> as End,
        /// Command line of the host process.
        container: StringId,
        /// Id of the host process.
        container_pid: Option<u32> as OtherProcess,
        /// Outcome.
        outcome: ServiceOutcome,
        /// True if started in the auto-start phase.
        automatic: bool,
        /// Start type as numbered by Windows: 2 automatic, 3 on demand; `None` when not recorded.
        start_type: Option<u32>,
        /// Result in the service manager's words, e.g. `timeout` or `exit-code`; empty when there is none.
        result: StringId,
        /// Thread of the host process that entered the service's main function at `load_ns`.
        main_tid: Option<u32> as Thread,
        /// Thread of the service manager that recorded the start.
        tid: Option<u32> as OtherThread,
        /// Thread of the service manager that recorded the end.
        end_tid: Option<u32> as OtherThread,
        /// Service manager's timeout for the change, ns; `None` for unlimited or not recorded.
        timeout_ns: Option<i64> as Duration,
        /// CPU time of a unit that runs once (`Type=oneshot`), ns; `None` for others or when not recorded.
        cpu_ns: Option<i64> as Duration,
        /// CPU time of a unit until its properties were read, ns: its start and what it did after it; `None` when not
        /// recorded.
        cpu_max_ns: Option<i64> as Duration,
        /// Record that set the start, e.g. `Microsoft-Windows-Services/105`.
        event: StringId,
    }
}

codes! {
    /// How one service depends on another.
    pub enum DependencyKind {
        /// Started only after the start of the other service has finished, and stopped before it.
        After = "after",
        /// Fails if the other service fails.
        Requires = "requires",
        /// Like `requires`, but the other service must already be running.
        Requisite = "requisite",
        /// Stops whenever the other service stops.
        BindsTo = "binds_to",
        /// Stopped or restarted together with the other service.
        PartOf = "part_of",
        /// Starts the other service, but does not need it.
        Wants = "wants",
    }
}

table! {
    /// A service's declared dependency on another.
    ServiceDependencies of ServiceDependency {
        /// Service (unit) name.
        service: StringId,
        /// Kind of dependency.
        kind: DependencyKind,
        /// Service that it depends on.
        on: StringId,
    }
}

table! {
    /// A process that the service manager ran for one of a service's commands: a check, a preparation, a follow-up, or
    /// one of several main commands.
    ServiceProcesses of ServiceProcess {
        /// Service (unit) name.
        service: StringId,
        /// Process id.
        pid: u32 as Process,
    }
}

codes! {
    /// What was done for a device or driver.
    pub enum DeviceOperationKind {
        /// Initialization of a boot driver.
        BootInit = "BootInit",
        /// Loading of a driver image.
        DriverLoad = "DriverLoad",
        /// Initialization of a driver.
        DriverInit = "DriverInit",
        /// Start of a device (start IRP).
        DeviceStart = "DeviceStart",
        /// Enumeration of a device's children (query device relations IRP).
        DeviceEnum = "DeviceEnum",
        /// Initcall of the kernel (Linux).
        Initcall = "Initcall",
        /// Loading of a kernel module (Linux).
        ModuleLoad = "ModuleLoad",
        /// Driver probe (Linux).
        Probe = "Probe",
    }
}

impl DeviceOperationKind {
    /// True if a driver can let others continue by returning "pending". The operations of Linux cannot.
    #[must_use]
    pub const fn can_pend(self) -> bool {
        !matches!(self, Self::Initcall | Self::ModuleLoad | Self::Probe)
    }
}

codes! {
    /// The phase of device initialization in which an operation began.
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
    /// Work on a device or driver during the start of the system.
    DeviceOperations of DeviceOperation {
        /// What was done.
        kind: DeviceOperationKind,
        /// Start, ns.
        start_ns: i64 as Start,
        /// Time at which the driver returned "pending", ns; `None` if it did the work before returning.
        pend_ns: Option<i64> as OtherTime,
        /// End, ns; `None` when it did not end in the recording.
        end_ns: Option<i64> as End,
        /// Device instance; empty for driver work.
        device: StringId,
        /// Driver.
        driver: StringId,
        /// Device description.
        description: StringId,
        /// Device's friendly name.
        friendly_name: StringId,
        /// Phase of the start.
        phase: DevicePhase,
        /// Result status.
        status: Option<u32>,
        /// Thread that started the work.
        tid: Option<u32> as Thread,
        /// Thread that recorded the end: for pended work, the thread that completed it.
        end_tid: Option<u32> as OtherThread,
        /// Record that set the start, e.g. `Microsoft-Windows-Kernel-PnP/216`.
        event: StringId,
    }
}

table! {
    /// A point in time with a meaning for a transition; its name is one of [`crate::milestone`].
    Milestones of Milestone {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Name, one of [`crate::milestone`].
        name: StringId,
        /// Details, such as a session or a text.
        detail: StringId,
        /// Value of the milestone, in the unit given for its name.
        value: Option<i64>,
        /// Process that recorded it.
        pid: Option<u32> as Process,
        /// Thread that recorded it.
        tid: Option<u32> as Thread,
        /// The record, e.g. `Microsoft-Windows-Shell-Core/27231`.
        event: StringId,
    }
}

codes! {
    /// Work with a start and an end that belongs to neither a service nor a device.
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
        /// A startup program; name = command.
        StartupApplication = "startup_application",
        /// The shell processed a list of programs to start; name = list.
        StartupEnumeration = "startup_enumeration",
        /// A subscriber of session notifications; name = subscriber, detail = notification.
        NotificationSubscriber = "notification_subscriber",
        /// A load-order group of services was started; name = group.
        ServiceGroup = "service_group",
        /// Logon: the user's credentials were checked.
        Authentication = "authentication",
        /// Credentials were requested: time spent waiting for a person.
        CredentialRequest = "credential_request",
        /// The welcome screen was shown.
        WelcomeScreen = "welcome_screen",
        /// A user's profile was loaded.
        UserProfile = "user_profile",
        /// Files were read ahead for the boot.
        Prefetch = "prefetch",
        /// Subscribers of session notifications ran in turn; name = notification number.
        LogonNotification = "logon_notification",
        /// A power transition, from its decision to its end; name = reason number, detail = flags.
        PowerTransition = "power_transition",
        /// A phase of a power transition; name = one of [`crate::power_phase`].
        PowerPhase = "power_phase",
        /// The start of a unit of a user's service manager (Linux); name = unit, detail = the manager's own unit,
        /// status = 1 if it failed.
        UserUnit = "user_unit",
        /// Nothing was logged (Linux); name = the line before, detail = the line after.
        LogGap = "log_gap",
        /// The applications of one session were shut down in turn.
        SessionShutdown = "session_shutdown",
        /// A step of the shutdown of the user's or the system's session; name = one of [`crate::shutdown_step`].
        ShutdownStep = "shutdown_step",
        /// A step of the kernel's shutdown; name = one of [`crate::shutdown_step`].
        KernelShutdownStep = "kernel_shutdown_step",
    }
}

table! {
    /// An interval of work; see [`ActivityKind`].
    Activities of Activity {
        /// Kind of work.
        kind: ActivityKind,
        /// Name; see [`ActivityKind`].
        name: StringId,
        /// Further detail.
        detail: StringId,
        /// Start, ns.
        start_ns: i64 as Start,
        /// End, ns; `None` when it did not end in the recording.
        end_ns: Option<i64> as End,
        /// Process that did or reported the work.
        pid: Option<u32> as Process,
        /// Thread that recorded the start.
        tid: Option<u32> as Thread,
        /// Thread that recorded the end.
        end_tid: Option<u32> as OtherThread,
        /// Session.
        session: Option<u32>,
        /// Result status recorded with the end.
        status: Option<u32>,
        /// Record that set the start.
        event: StringId,
    }
}
