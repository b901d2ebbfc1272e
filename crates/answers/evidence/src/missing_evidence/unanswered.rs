//! What a recording may leave unanswered: codes, and the words of each.

use onoff_trace::codes;

codes! {
    /// A question about a transition that a recording cannot answer, or only infers.
    pub enum Unanswered {
        /// Which processes started and ended, and when.
        ProcessTimes = "process_times",
        /// Who used the processors, exactly.
        ProcessorUse = "processor_use",
        /// What the disks did, for whom and for which file.
        DiskUse = "disk_use",
        /// Policy and its scripts.
        Policy = "policy",
        /// When the desktop was ready.
        DesktopReady = "desktop_ready",
        /// How long each service took to start.
        ServiceStarts = "service_starts",
        /// How long each driver and device took, and the loader.
        DriverStarts = "driver_starts",
        /// The firmware, the boot manager and the kind of boot.
        FirmwareAndBootKind = "firmware_and_boot_kind",
        /// Logon: the time a person took, subscribers, the welcome screen.
        Logon = "logon",
        /// When each session ended and how long each application took.
        SessionEnds = "session_ends",
        /// Which windows were asked to close and which programs were terminated.
        WindowsAskedToClose = "windows_asked_to_close",
        /// How long each service took to stop.
        ServiceStops = "service_stops",
        /// The request to shut down, the services notified first, and when the kernel was asked.
        ShutdownRequest = "shutdown_request",
        /// The kernel's steps of a shutdown.
        KernelShutdownSteps = "kernel_shutdown_steps",
        /// The subscribers of the logon process at logoff.
        LogoffSubscribers = "logoff_subscribers",
        /// The phases of a sleep, and how long each application, service and device took.
        SleepPhases = "sleep_phases",
        /// How Windows itself names the resume, and its idle detection.
        ResumeName = "resume_name",
        /// Which devices were asked to sleep and wake.
        DevicePowerRequests = "device_power_requests",
        /// Which files on a network were used.
        NetworkFiles = "network_files",
        /// How long deferred procedure calls held the processors.
        DeferredProcedureCalls = "deferred_procedure_calls",
        /// When the parts of a start of Linux began and ended.
        LinuxStartParts = "linux_start_parts",
        /// Which units were started, and how long each took.
        UnitStarts = "unit_starts",
        /// The units that `systemd-analyze` does not print, and which starts failed.
        OtherUnits = "other_units",
        /// The exact times of units: those of messages are taken in their place.
        ExactUnitTimes = "exact_unit_times",
        /// Which unit waited for which, at a start.
        UnitStartOrder = "unit_start_order",
        /// How long firmware and loader took.
        FirmwareAndLoader = "firmware_and_loader",
        /// Who used the processors after a start of Linux, and when the computer settled.
        LinuxSettling = "linux_settling",
        /// What the disks did during a start of Linux.
        LinuxDisksAtStart = "linux_disks_at_start",
        /// What each driver took at a start of Linux.
        LinuxDrivers = "linux_drivers",
        /// How long each unit took to stop.
        UnitStops = "unit_stops",
        /// Which unit waited for which, at a shutdown.
        UnitStopOrder = "unit_stop_order",
        /// What happened once units were stopped.
        AfterUnits = "after_units",
        /// When the machine stopped, and how long the kernel took for its devices.
        MachineStopped = "machine_stopped",
        /// Who used the processors during a shutdown of Linux.
        LinuxProcessorsAtShutdown = "linux_processors_at_shutdown",
        /// Which process was sent a signal to end, and how long it took.
        Signals = "signals",
        /// The exact times of the phases of a sleep of Linux.
        LinuxSleepPhases = "linux_sleep_phases",
        /// How long each device took in a sleep of Linux.
        LinuxDeviceCallbacks = "linux_device_callbacks",
        /// Who used the processors in a sleep of Linux, when tasks were frozen, and when the computer had settled.
        LinuxProcessorsInSleep = "linux_processors_in_sleep",
        /// What the disks did while Linux ran.
        LinuxDisks = "linux_disks",
        /// How long the machine slept.
        TimeAsleep = "time_asleep",
        /// What woke the computer.
        WakeSource = "wake_source",
        /// The firmware's share of a resume.
        FirmwareOfResume = "firmware_of_resume",
    }
}

impl Unanswered {
    /// The question, as a clause.
    #[must_use]
    pub const fn question(self) -> &'static str {
        match self {
            Self::ProcessTimes => "which processes started and ended, and when",
            Self::ProcessorUse => "who used the processors, exactly",
            Self::DiskUse => "what the disks did, for whom and for which file",
            Self::Policy => "policy and its scripts, if there are any",
            Self::DesktopReady => "when the desktop was ready",
            Self::ServiceStarts => "how long each service took to start",
            Self::DriverStarts => "how long each driver and device took, and the loader",
            Self::FirmwareAndBootKind => "the firmware, the boot manager and the kind of boot",
            Self::Logon => "logon: the time a person took, subscribers, the welcome screen",
            Self::SessionEnds => "when each session ended and how long each application took",
            Self::WindowsAskedToClose => "which windows were asked and which programs were terminated",
            Self::ServiceStops => "how long each service took to stop",
            Self::ShutdownRequest => "the request, services notified before all others, and when the kernel was asked",
            Self::KernelShutdownSteps => "the kernel's steps: file systems, registry, devices",
            Self::LogoffSubscribers => "the logon process's subscribers at logoff",
            Self::SleepPhases => "the phases, and how long each application, service and device took",
            Self::ResumeName => "how the system itself names the resume, and its idle detection",
            Self::DevicePowerRequests => "which devices were asked to sleep and wake",
            Self::NetworkFiles => "which files on a network were used",
            Self::DeferredProcedureCalls => "how long deferred procedure calls held the processors",
            Self::LinuxStartParts => "when the parts of the start began and ended",
            Self::UnitStarts => "which units were started, and how long each took",
            Self::OtherUnits => "the other units, and which starts failed",
            Self::ExactUnitTimes => "the exact times of units: those of messages stand in for them",
            Self::UnitStartOrder => "which unit waited for which",
            Self::FirmwareAndLoader => "how long firmware and loader took",
            Self::LinuxSettling => "who used the processors, and when the computer settled",
            Self::LinuxDisksAtStart | Self::LinuxDisks => "what the disks did",
            Self::LinuxDrivers => "what each driver took",
            Self::UnitStops => "how long each unit took to stop",
            Self::UnitStopOrder => "which unit waited for which: the order of stops stands in for it",
            Self::AfterUnits => "what happened once units were stopped: the journal stops before",
            Self::MachineStopped => "when the machine stopped, and how long the kernel took for its devices",
            Self::LinuxProcessorsAtShutdown => "who used the processors",
            Self::Signals => "which process was sent a signal to end, and how long it took",
            Self::LinuxSleepPhases => "the exact times of phases: the kernel's log stands in for them",
            Self::LinuxDeviceCallbacks => "how long each device took",
            Self::LinuxProcessorsInSleep => {
                "who used the processors, when tasks were frozen and when the computer had settled"
            }
            Self::TimeAsleep => "how long it slept: CLOCK_MONOTONIC stops during sleep",
            Self::WakeSource => "what woke the computer",
            Self::FirmwareOfResume => "the firmware's share of the resume",
        }
    }

    /// The part of a recording of Linux that would answer it, as a phrase, and how to record that part; `None` for questions about Windows,
    /// whose events [`MissingEvidence`](crate::missing_evidence::MissingEvidence) names.
    #[must_use]
    pub const fn part_of_linux(self) -> Option<PartOfLinux> {
        const UNITS: &str = "systemctl show '*' > units.txt";
        let (part, record) = match self {
            Self::LinuxStartParts => ("the service manager's account of the start", "systemctl show > manager.txt"),
            Self::UnitStarts => ("unit properties and the journal", UNITS),
            Self::OtherUnits | Self::ExactUnitTimes => ("unit properties", UNITS),
            Self::UnitStartOrder => ("dependencies of units", UNITS),
            Self::FirmwareAndLoader => (
                "the loader's EFI variables",
                "a loader that sets LoaderTimeInitUSec and LoaderTimeExecUSec (systemd-boot) and systemctl show > manager.txt",
            ),
            Self::LinuxSettling => (
                "a trace (sched_switch)",
                "trace_event=sched:sched_switch,sched:sched_waking,block on the kernel's command line, then cat /sys/kernel/tracing/trace > trace.txt",
            ),
            Self::LinuxDisksAtStart => {
                ("disk requests (block_rq_issue, block_rq_complete)", "trace_event=block on the kernel's command line")
            }
            Self::LinuxDrivers => (
                "initialization functions and probes",
                "initcall_debug on the kernel's command line, then dmesg > dmesg.txt",
            ),
            Self::UnitStops => {
                ("what the service manager says of its units", "journalctl -b -1 -o export after the next start")
            }
            Self::UnitStopOrder => ("the units' dependencies", "systemctl show '*', before the shutdown"),
            Self::AfterUnits => (
                "the lines of the last program (systemd-shutdown)",
                "the kernel's log, from a program in /usr/lib/systemd/system-shutdown/, the serial console or pstore",
            ),
            Self::MachineStopped => {
                ("the kernel's last line", "the serial console, or pstore (console-ramoops) where the machine keeps it")
            }
            Self::LinuxProcessorsAtShutdown => (
                "context switches (sched_switch)",
                "tracing that goes on until the end, with sched_switch and sched_process_exit",
            ),
            Self::Signals => (
                "signals (signal_generate)",
                "trace-cmd record -e signal:signal_generate -e sched:sched_process_exit, kept by a program in /usr/lib/systemd/system-shutdown/",
            ),
            Self::LinuxSleepPhases => (
                "the trace of the phases (suspend_resume)",
                "trace-cmd record -e power -e sched -e block -e irq, or those events in /sys/kernel/tracing",
            ),
            Self::LinuxDeviceCallbacks => (
                "the devices' callbacks (device_pm_callback)",
                "trace-cmd record -e power:device_pm_callback_start -e power:device_pm_callback_end, or echo 1 > /sys/power/pm_print_times",
            ),
            Self::LinuxProcessorsInSleep => {
                ("context switches (sched_switch)", "trace-cmd record -e sched:sched_switch")
            }
            Self::LinuxDisks => (
                "disk requests (block_rq_issue, block_rq_complete)",
                "trace-cmd record -e block:block_rq_issue -e block:block_rq_complete",
            ),
            Self::TimeAsleep => (
                "a clock that goes on while the machine sleeps",
                "readings of CLOCK_BOOTTIME before and after, the journal, or echo 1 > /sys/power/pm_debug_messages",
            ),
            Self::WakeSource => (
                "the source of the wakeup",
                "trace-cmd record -e power:wakeup_source_activate, or echo 1 > /sys/power/pm_debug_messages",
            ),
            Self::FirmwareOfResume => (
                "firmware's times of the sleep (S3 performance table)",
                "copy /sys/firmware/acpi/fpdt, where the machine has it",
            ),
            _ => return None,
        };
        Some(PartOfLinux { part, record })
    }
}

/// A part of a recording of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartOfLinux {
    /// What it is, as a phrase.
    pub part: &'static str,
    /// How to record it next time.
    pub record: &'static str,
}
