//! Services, devices and the course of a transition.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

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
        /// Reached the wanted state.
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
        start_ns: i64 as Start,
        /// First report of the service's own host process, ns: the container is there.
        checkpoint_ns: Option<i64> as Moment,
        /// The service's own code begins (its image is loaded), ns.
        load_ns: Option<i64> as Moment,
        /// Done, ns.
        end_ns: Option<i64> as End,
        /// Container: the host's command line.
        container: StringId,
        /// Host's process id.
        container_pid: Option<u32> as OtherProcess,
        /// How it ended.
        outcome: ServiceOutcome,
        /// Started by the automatic start phase.
        automatic: bool,
        /// Start type as Windows numbers them: 2 automatic, 3 on demand; `None` where the recording does not say.
        start_type: Option<u32>,
        /// How it ended in the service manager's own word, e.g. `timeout` or `exit-code`; empty when it gives none.
        result: StringId,
        /// Thread of the host that entered the service's main function, which began it then (`load_ns`).
        main_tid: Option<u32> as Thread,
        /// Thread that recorded the start: the service manager's.
        tid: Option<u32> as OtherThread,
        /// Thread that recorded the end: the service manager's.
        end_tid: Option<u32> as OtherThread,
        /// How long the service manager would have waited for this change, ns; `None` for ever or not recorded.
        timeout_ns: Option<i64> as Duration,
        /// The record that set the start, e.g. `Microsoft-Windows-Services/105`.
        event: StringId,
    }
}

codes! {
    /// How one service depends on another.
    pub enum DependencyKind {
        /// It is started only when the other's start is over (and stopped before it).
        After = "after",
        /// It fails when the other fails.
        Requires = "requires",
        /// As requires, but the other must be there already.
        Requisite = "requisite",
        /// It stops whenever the other stops.
        BindsTo = "binds_to",
        /// It is stopped or restarted with the other.
        PartOf = "part_of",
        /// It pulls the other in and goes on without it.
        Wants = "wants",
    }
}

table! {
    /// A service's declared dependency on another.
    ServiceDependencies of ServiceDependency {
        /// Service (unit) name.
        service: StringId,
        /// How.
        kind: DependencyKind,
        /// The service it depends on.
        on: StringId,
    }
}

table! {
    /// A process that a service's manager ran for one of the service's commands: one that checks, prepares or follows,
    /// or one of several.
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
        /// Initialization function of the kernel (Linux).
        Initcall = "Initcall",
        /// Loading of a kernel module (Linux).
        ModuleLoad = "ModuleLoad",
        /// Driver probe (Linux).
        Probe = "Probe",
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
    /// Work on a device or driver while the system comes up.
    DeviceOperations of DeviceOperation {
        /// What was done.
        kind: DeviceOperationKind,
        /// Begin, ns.
        start_ns: i64 as Start,
        /// When the driver returned "pending", ns; `None` when it did the work before it returned.
        pend_ns: Option<i64> as Moment,
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
        /// Thread that began it.
        tid: Option<u32> as Thread,
        /// The record that set the start, e.g. `Microsoft-Windows-Kernel-PnP/216`.
        event: StringId,
    }
}

table! {
    /// A point in time with a meaning for a transition; the names are those of [`crate::milestone`].
    Milestones of Milestone {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Name, one of [`crate::milestone`].
        name: StringId,
        /// What it is about: a session, a text.
        detail: StringId,
        /// A quantity that the record carries; its unit is the name's.
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
        /// Subscribers of session notifications are run one after the other; name = notification's number.
        LogonNotification = "logon_notification",
        /// From a power transition's decision to its end, both halves; name = reason's number, detail = flags' number.
        PowerTransition = "power_transition",
        /// A phase of a power transition; name = one of [`crate::power_phase`].
        PowerPhase = "power_phase",
        /// The start of a unit of a user's service manager (Linux); name = unit, detail = the manager's own unit,
        /// status = 1 if it failed.
        UserUnit = "user_unit",
        /// The applications of one session are shut down, one after the other.
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
        /// What it was.
        kind: ActivityKind,
        /// Its name; see [`ActivityKind`].
        name: StringId,
        /// Further detail.
        detail: StringId,
        /// Begin, ns.
        start_ns: i64 as Start,
        /// End, ns; `None` when it did not end in the recording.
        end_ns: Option<i64> as End,
        /// Process that did or reported it.
        pid: Option<u32> as Process,
        /// Thread that recorded the start.
        tid: Option<u32> as Thread,
        /// Thread that recorded the end.
        end_tid: Option<u32> as OtherThread,
        /// Session.
        session: Option<u32>,
        /// Result status as recorded with the end.
        status: Option<u32>,
        /// The record that set the start.
        event: StringId,
    }
}
