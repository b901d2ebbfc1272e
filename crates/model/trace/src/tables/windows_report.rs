//! What Windows itself reported about a transition.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// The transition that Windows reports a delay of.
    pub enum ReportedTransition {
        /// A boot.
        Boot = "boot",
        /// A shutdown.
        Shutdown = "shutdown",
    }
}

codes! {
    /// What Windows names as the cause of a delay.
    pub enum ReportedCause {
        /// An application.
        Application = "application",
        /// A driver.
        Driver = "driver",
        /// A service.
        Service = "service",
        /// A device.
        Device = "device",
        /// Core prefetching of the boot.
        CorePrefetch = "core_prefetch",
        /// Prefetching for programs in the foreground.
        ForegroundOptimization = "foreground_optimization",
        /// Prefetching in the background.
        BackgroundOptimization = "background_optimization",
        /// Group Policy of the computer.
        MachinePolicy = "machine_policy",
        /// Group Policy of the user.
        UserPolicy = "user_policy",
        /// The session manager.
        SessionManager = "session_manager",
    }
}

table! {
    /// A delay that Windows itself reported in its event log (events 101 to 110 and 201 to 203 of
    /// Diagnostics-Performance).
    ReportedDelays of ReportedDelay {
        /// The transition.
        transition: ReportedTransition,
        /// What Windows names as the cause.
        cause: ReportedCause,
        /// Name, e.g. the file name of a program.
        name: StringId,
        /// Friendly name, in the language of that Windows; empty for none.
        friendly_name: StringId,
        /// File version; empty for none.
        version: StringId,
        /// Path; empty for none.
        path: StringId,
        /// Company; empty for none.
        company: StringId,
        /// Time that the cause took, ns.
        total_ns: i64 as Duration,
        /// Time beyond what Windows allows for such a cause, ns. Causes overlap, so these times do not add up, and the
        /// transition would not be faster by that time.
        excess_ns: i64 as Duration,
        /// The record, e.g. `Microsoft-Windows-Diagnostics-Performance/101`.
        event: StringId,
    }
}

codes! {
    /// What was changed on a computer.
    pub enum SystemChangeKind {
        /// A different build of Windows runs.
        Build = "build",
        /// Windows Update installed an update.
        Update = "update",
        /// Windows Update started to install an update and had not finished before the restart.
        UpdateStarted = "update_started",
        /// Windows Update failed to install an update.
        UpdateFailed = "update_failed",
        /// A Windows package was installed, or waits for the restart that installs it.
        Package = "package",
        /// A driver was installed for a device.
        Driver = "driver",
        /// A device did not start with its driver.
        DeviceFailed = "device_failed",
        /// A service or a driver service was installed.
        Service = "service",
        /// The start type of a service changed.
        StartType = "start_type",
        /// A program was installed by Windows Installer.
        Program = "program",
        /// A program was removed by Windows Installer.
        ProgramRemoved = "program_removed",
    }
}

table! {
    /// A change of a computer that its event logs record between the start of the previous boot and the start of this
    /// one.
    SystemChanges of SystemChange {
        /// Time by the clock of that moment, ns since 1970-01-01 UTC.
        unix_ns: i64 as ClockTime,
        /// Kind of the change.
        kind: SystemChangeKind,
        /// Name: an update's title, a package, a driver's file, a service, a program. In the language of that Windows.
        name: StringId,
        /// What stays the same from one version to the next, e.g. the number of the article about an update.
        identity: StringId,
        /// Version or state before; empty if unknown.
        was: StringId,
        /// Version or state after; empty if unknown.
        is: StringId,
        /// Publisher of a driver or program, program of a service, or what installed a package; empty if unknown.
        source: StringId,
        /// Device of a driver; empty for other changes.
        device: StringId,
        /// Error code of a failure.
        error_code: Option<u32>,
        /// True for a driver that is part of Windows.
        is_inbox: bool,
        /// Number of other boots of this computer that a change with the same kind and identity preceded.
        other_boots: u32,
        /// The record, e.g. `Microsoft-Windows-WindowsUpdateClient/19`.
        event: StringId,
    }
}

codes! {
    /// How a service failed.
    pub enum ServiceFailureKind {
        /// It did not start.
        StartFailed = "start_failed",
        /// It did not start because a service it depends on did not start.
        DependencyFailed = "dependency_failed",
        /// Its process did not connect to the service manager in time.
        ConnectTimeout = "connect_timeout",
        /// It did not respond to a request in time.
        ResponseTimeout = "response_timeout",
        /// It did not finish starting.
        StartHung = "start_hung",
        /// It stopped with an error.
        StoppedWithError = "stopped_with_error",
        /// It ended without being stopped.
        Terminated = "terminated",
        /// It did not stop after the request to prepare for a shutdown.
        StopTimeout = "stop_timeout",
        /// A boot-start or system-start driver was not loaded.
        DriverNotLoaded = "driver_not_loaded",
    }
}

table! {
    /// A failure of a service that Windows recorded in its event log (events 7000 to 7043 of Service Control Manager).
    ServiceFailures of ServiceFailure {
        /// When it was recorded, ns.
        time_ns: i64 as Time,
        /// How the service failed.
        kind: ServiceFailureKind,
        /// Short name of the service; its display name if the record has no short name.
        service: StringId,
        /// Name in the language of that Windows; empty for none.
        display_name: StringId,
        /// The service it depends on; empty for none.
        dependency: StringId,
        /// How long the service manager waited for it, ns; `None` if the record does not say so.
        wait_ns: Option<i64> as Duration,
        /// Error code of Windows, or of the service; `None` if not recorded.
        error_code: Option<u32>,
        /// The record, e.g. `Service Control Manager/7009`.
        event: StringId,
    }
}
