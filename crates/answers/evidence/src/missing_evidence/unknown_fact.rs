//! Facts that a recording may not contain, and how to record them.

use onoff_trace::codes;

codes! {
    /// A fact about a transition that the recording does not contain, or that is only inferred.
    pub enum UnknownFact {
        /// Process start and exit times.
        ProcessTimes = "process_times",
        /// Exact CPU usage.
        ProcessorUse = "processor_use",
        /// Disk activity, by process and file.
        DiskUse = "disk_use",
        /// Group Policy and its scripts.
        Policy = "policy",
        /// When the desktop was ready.
        DesktopReady = "desktop_ready",
        /// Start time of each service.
        ServiceStarts = "service_starts",
        /// Time of each driver and device, and of the loader.
        DriverStarts = "driver_starts",
        /// Firmware, boot manager and kind of boot.
        FirmwareAndBootKind = "firmware_and_boot_kind",
        /// Logon: user input, subscribers, the welcome screen.
        Logon = "logon",
        /// When each session ended, and how long each application took.
        SessionEnds = "session_ends",
        /// Which windows were asked to close, and which programs were terminated.
        WindowsAskedToClose = "windows_asked_to_close",
        /// Stop time of each service.
        ServiceStops = "service_stops",
        /// The shutdown request, pre-shutdown services, and the request to the kernel.
        ShutdownRequest = "shutdown_request",
        /// The kernel's shutdown steps.
        KernelShutdownSteps = "kernel_shutdown_steps",
        /// Winlogon subscribers at logoff.
        LogoffSubscribers = "logoff_subscribers",
        /// Suspend and resume phases, and the time of each application, service and device.
        SleepPhases = "sleep_phases",
        /// Name of the resume as reported by Windows, and its idle detection.
        ResumeName = "resume_name",
        /// Device power requests.
        DevicePowerRequests = "device_power_requests",
        /// Network file access.
        NetworkFiles = "network_files",
        /// Time in deferred procedure calls (DPCs).
        DeferredProcedureCalls = "deferred_procedure_calls",
        /// Linux: start and end of the parts of the boot.
        LinuxStartParts = "linux_start_parts",
        /// Which units started, and how long each took.
        UnitStarts = "unit_starts",
        /// Units that `systemd-analyze` does not list, and failed starts.
        OtherUnits = "other_units",
        /// Exact unit times; the times of log messages are used instead.
        ExactUnitTimes = "exact_unit_times",
        /// Which unit waited for which during the boot.
        UnitStartOrder = "unit_start_order",
        /// Time in the firmware and the loader.
        FirmwareAndLoader = "firmware_and_loader",
        /// Linux: CPU usage after the boot, and when the computer became idle.
        LinuxSettling = "linux_settling",
        /// Linux: disk activity during the boot.
        LinuxDisksAtStart = "linux_disks_at_start",
        /// Linux: time of each driver during the boot.
        LinuxDrivers = "linux_drivers",
        /// Stop time of each unit.
        UnitStops = "unit_stops",
        /// Which unit waited for which during the shutdown.
        UnitStopOrder = "unit_stop_order",
        /// What happened after all units had stopped.
        AfterUnits = "after_units",
        /// When the machine stopped, and how long the kernel took for its devices.
        MachineStopped = "machine_stopped",
        /// Linux: CPU usage during the shutdown.
        LinuxProcessorsAtShutdown = "linux_processors_at_shutdown",
        /// Which process was sent a termination signal, and how long it took to exit.
        Signals = "signals",
        /// Linux: exact times of the suspend and resume phases.
        LinuxSleepPhases = "linux_sleep_phases",
        /// Linux: time of each device during suspend and resume.
        LinuxDeviceCallbacks = "linux_device_callbacks",
        /// Linux: CPU usage during suspend and resume, when tasks were frozen, and when the computer became idle.
        LinuxProcessorsInSleep = "linux_processors_in_sleep",
        /// Linux: disk activity.
        LinuxDisks = "linux_disks",
        /// How long the machine was asleep.
        TimeAsleep = "time_asleep",
        /// What woke the computer.
        WakeSource = "wake_source",
        /// Firmware time of a resume.
        FirmwareOfResume = "firmware_of_resume",
    }
}

impl UnknownFact {
    /// Returns the fact as a noun phrase.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::ProcessTimes => "process start and exit times",
            Self::ProcessorUse => "exact CPU usage",
            Self::DiskUse => "disk activity, by process and file",
            Self::Policy => "Group Policy and its scripts, if any",
            Self::DesktopReady => "when the desktop was ready",
            Self::ServiceStarts => "start time of each service",
            Self::DriverStarts => "time of each driver and device, and of the loader",
            Self::FirmwareAndBootKind => "firmware, boot manager and kind of boot",
            Self::Logon => "logon: user input, subscribers, the welcome screen",
            Self::SessionEnds => "when each session ended, and how long each application took",
            Self::WindowsAskedToClose => "which windows were asked to close, and which programs were terminated",
            Self::ServiceStops => "stop time of each service",
            Self::ShutdownRequest => "the shutdown request, preshutdown services, and the request to the kernel",
            Self::KernelShutdownSteps => "kernel steps: file systems, registry, devices",
            Self::LogoffSubscribers => "Winlogon subscribers at logoff",
            Self::SleepPhases => "phases, and the time of each application, service and device",
            Self::ResumeName => "kind of resume reported by Windows, and its idle detection",
            Self::DevicePowerRequests => "device power requests",
            Self::NetworkFiles => "network file access",
            Self::DeferredProcedureCalls => "time in deferred procedure calls (DPCs)",
            Self::LinuxStartParts => "start and end of the parts of the boot",
            Self::UnitStarts => "which units started, and how long each took",
            Self::OtherUnits => "the remaining units, and failed starts",
            Self::ExactUnitTimes => "exact unit times (log times are used instead)",
            Self::UnitStartOrder => "which unit waited for which",
            Self::FirmwareAndLoader => "time in the firmware and the loader",
            Self::LinuxSettling => "CPU usage, and when the computer became idle",
            Self::LinuxDisksAtStart | Self::LinuxDisks => "disk activity",
            Self::LinuxDrivers => "time of each driver",
            Self::UnitStops => "stop time of each unit",
            Self::UnitStopOrder => "which unit waited for which (the order of stops is used instead)",
            Self::AfterUnits => "what happened after all units had stopped (the journal ends earlier)",
            Self::MachineStopped => "when the machine stopped, and how long the kernel took to shut down devices",
            Self::LinuxProcessorsAtShutdown => "CPU usage",
            Self::Signals => "which processes were sent a termination signal, and how long they took to exit",
            Self::LinuxSleepPhases => "exact phase times (the kernel log is used instead)",
            Self::LinuxDeviceCallbacks => "time of each device",
            Self::LinuxProcessorsInSleep => "CPU usage, when tasks were frozen, and when the computer became idle",
            Self::TimeAsleep => "time asleep (CLOCK_MONOTONIC stops during sleep)",
            Self::WakeSource => "what woke the computer",
            Self::FirmwareOfResume => "firmware time of the resume",
        }
    }

    /// Returns the part of a Linux recording that contains the fact, and how to record it. `None` for facts about
    /// Windows, whose source is in [`MissingEvidence`](crate::missing_evidence::MissingEvidence).
    #[must_use]
    pub const fn linux_source(self) -> Option<LinuxSource> {
        const UNITS: &str = "run \"systemctl show '*' > units.txt\"";
        let (part, record) = match self {
            Self::LinuxStartParts => ("service manager timestamps", "run 'systemctl show > manager.txt'"),
            Self::UnitStarts => ("unit properties and the journal", UNITS),
            Self::OtherUnits | Self::ExactUnitTimes => ("unit properties", UNITS),
            Self::UnitStartOrder => ("unit dependencies", UNITS),
            Self::FirmwareAndLoader => (
                "the loader's EFI variables",
                "use a loader that sets LoaderTimeInitUSec and LoaderTimeExecUSec (systemd-boot), and run 'systemctl show > manager.txt'",
            ),
            Self::LinuxSettling => (
                "a trace (sched_switch)",
                "boot with trace_event=sched:sched_switch,sched:sched_waking,block, then run 'cat /sys/kernel/tracing/trace > trace.txt'",
            ),
            Self::LinuxDisksAtStart => (
                "disk requests (block_rq_issue, block_rq_complete)",
                "boot with trace_event=block on the kernel command line",
            ),
            Self::LinuxDrivers => (
                "initcalls and probes",
                "boot with initcall_debug on the kernel command line, then run 'dmesg > dmesg.txt'",
            ),
            Self::UnitStops => {
                ("service manager messages about units", "after the next boot, run 'journalctl -b -1 -o export'")
            }
            Self::UnitStopOrder => ("unit dependencies", "before the shutdown, run \"systemctl show '*' > units.txt\""),
            Self::AfterUnits => (
                "messages of systemd-shutdown, the last program",
                "save the kernel log with a script in /usr/lib/systemd/system-shutdown/, the serial console or pstore",
            ),
            Self::MachineStopped => (
                "the last line of the kernel log",
                "use the serial console, or pstore (console-ramoops) if the machine supports it",
            ),
            Self::LinuxProcessorsAtShutdown => (
                "context switches (sched_switch)",
                "trace sched_switch and sched_process_exit until the end of the shutdown",
            ),
            Self::Signals => (
                "signals (signal_generate)",
                "run 'trace-cmd record -e signal:signal_generate -e sched:sched_process_exit', and save the trace with a script in /usr/lib/systemd/system-shutdown/",
            ),
            Self::LinuxSleepPhases => (
                "phase trace (suspend_resume)",
                "run 'trace-cmd record -e power -e sched -e block -e irq', or enable these events in /sys/kernel/tracing",
            ),
            Self::LinuxDeviceCallbacks => (
                "device callbacks (device_pm_callback)",
                "run 'trace-cmd record -e power:device_pm_callback_start -e power:device_pm_callback_end' or 'echo 1 > /sys/power/pm_print_times'",
            ),
            Self::LinuxProcessorsInSleep => {
                ("context switches (sched_switch)", "run 'trace-cmd record -e sched:sched_switch'")
            }
            Self::LinuxDisks => (
                "disk requests (block_rq_issue, block_rq_complete)",
                "run 'trace-cmd record -e block:block_rq_issue -e block:block_rq_complete'",
            ),
            Self::TimeAsleep => (
                "a clock that keeps running during sleep",
                "read CLOCK_BOOTTIME before and after the sleep, keep the journal, or run 'echo 1 > /sys/power/pm_debug_messages'",
            ),
            Self::WakeSource => (
                "wakeup source",
                "run 'trace-cmd record -e power:wakeup_source_activate' or 'echo 1 > /sys/power/pm_debug_messages'",
            ),
            Self::FirmwareOfResume => {
                ("firmware sleep times (S3 performance table)", "copy /sys/firmware/acpi/fpdt, if the machine has it")
            }
            _ => return None,
        };
        Some(LinuxSource { part, record })
    }
}

/// A part of a Linux recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxSource {
    pub part: &'static str,
    /// How to record it next time.
    pub record: &'static str,
}
