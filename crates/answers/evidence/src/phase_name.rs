//! What the phases of all transitions of all systems are called.

use serde::Serialize;

/// Part of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// The way down.
    Suspend,
    /// Between the halves.
    Asleep,
    /// The way up.
    Resume,
    /// After the resume, until the computer has settled.
    After,
}

macro_rules! phase_names {
    ($(#[$meta:meta])* pub enum $enum:ident {
        $($(#[$comment:meta])* $name:ident = $text:literal $(in $half:ident)?),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $enum { $($(#[$comment])* #[serde(rename = $text)] $name),* }

        impl $enum {
            /// Every phase.
            pub const ALL: &'static [$enum] = &[$(Self::$name),*];

            /// The name, as in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The part of a sleep it belongs to; `None` for phases that no sleep has.
            #[must_use]
            pub const fn half(self) -> Option<Half> {
                match self {
                    $($(Self::$name => Some(Half::$half),)?)*
                    _ => None,
                }
            }
        }
    };
}

phase_names! {
    /// A phase of a transition. Names are those of xperf and the Microsoft papers, of `systemd-analyze time`, or of the kernel.
    pub enum PhaseName {
        /// Linux: the firmware, until it starts the loader.
        Firmware = "firmware",
        /// Linux: the loader, until the kernel starts.
        Loader = "loader",
        /// Linux: of a boot the kernel, until the first service manager starts; of a shutdown the kernel's devices, until the machine
        /// stops.
        Kernel = "kernel",
        /// Linux: the initial file system, until the service manager of the real root starts.
        Initrd = "initrd",
        /// Linux: the service manager and its units, until every job of the start is done.
        UserSpace = "user_space",
        /// Windows: the kernel and its boot-start drivers, until the session manager starts.
        PreSmss = "PreSMSS",
        /// Windows: the session manager: registry, remaining drivers, subsystems, until the logon process starts.
        SmssInit = "SMSSInit",
        /// Windows: services and logon, until the shell starts; of a fast startup a new session and its logon.
        WinLogonInit = "WinLogonInit" in After,
        /// Windows: the shell, until the desktop is ready.
        ExplorerInit = "ExplorerInit" in After,
        /// Work after the start, until the computer has settled.
        PostBoot = "PostBoot" in After,
        /// The rest of the recording.
        TraceTail = "TraceTail",
        /// Windows: the applications of the user's sessions are ended: of a shutdown, and the first half of a fast startup.
        UserSession = "UserSession" in Suspend,
        /// Windows: services are stopped: those that are notified before all others, then the rest.
        SystemSession = "SystemSession",
        /// Windows: the kernel, its file systems and its devices are shut down.
        KernelShutdown = "KernelShutdown",
        /// Linux: the service manager stops its units.
        StopUnits = "stop_units",
        /// Linux: the last program takes over and writes out file systems.
        Sync = "sync",
        /// Linux: what still runs is asked to end (`SIGTERM`), and waited for.
        TerminateRemaining = "terminate_remaining",
        /// Linux: what still runs is ended by force (`SIGKILL`).
        KillRemaining = "kill_remaining",
        /// Linux: file systems are taken out or made read-only, swap turned off, loop and mapped devices detached.
        Unmount = "unmount",
        /// Linux: programs of the folder `system-shutdown` run.
        Hooks = "hooks",
        /// Windows: applications are asked whether the system may suspend (Vista and 7).
        QueryApps = "QueryApps" in Suspend,
        /// Windows: services are asked whether the system may suspend (Vista and 7).
        QueryServices = "QueryServices" in Suspend,
        /// Windows: the screen shows that the system suspends.
        ShowUi = "ShowUI" in Suspend,
        /// Windows: applications are notified that the system suspends, one after the other.
        SuspendApps = "SuspendApps" in Suspend,
        /// Windows: services are notified that the system suspends, one after the other.
        SuspendServices = "SuspendServices" in Suspend,
        /// Windows: preparation as a whole, on versions that record it.
        PrepareSleep = "PrepareSleep" in Suspend,
        /// Windows: memory is prepared by the memory manager's prefetcher.
        Superfetch = "Superfetch" in Suspend,
        /// Windows: the logon process prepares.
        Winlogon = "Winlogon" in Suspend,
        /// Windows: callbacks before sleep.
        PreSleepCallbacks = "PreSleepCallbacks" in Suspend,
        /// Windows: devices are asked whether the system may suspend.
        QueryDevices = "QueryDevices" in Suspend,
        /// Windows: volumes are flushed.
        FlushVolumes = "FlushVolumes" in Suspend,
        /// Windows: pages are written out before the memory image is made.
        FlushAllPages = "FlushAllPages" in Suspend,
        /// Windows: the order in which devices are notified is worked out.
        BuildNotifyList = "BuildNotifyList" in Suspend,
        /// Windows: devices are ordered to sleep.
        SuspendDevices = "SuspendDevices" in Suspend,
        /// Windows: the memory image is written.
        HiberWrite = "HiberWrite" in Suspend,
        /// Windows: the computer sleeps or is off.
        Asleep = "Asleep" in Asleep,
        /// Windows, modern standby: the computer is on, in an idle state.
        Standby = "Standby" in Asleep,
        /// Windows: firmware on the way back.
        BiosInit = "BiosInit" in Resume,
        /// Windows: boot manager on the way back from a memory image.
        BootManager = "BootManager" in Resume,
        /// Windows: resume loader, with its share of reading the memory image.
        ResumeLoader = "ResumeLoader" in Resume,
        /// Windows: the memory image is read.
        HiberRead = "HiberRead" in Resume,
        /// Windows: what the kernel counts as critical to the resume: devices woken.
        ResumeCritical = "ResumeCritical" in Resume,
        /// Windows: devices are ordered to wake up.
        ResumeDevices = "ResumeDevices" in Resume,
        /// Windows: the screen comes back.
        HideUi = "HideUI" in Resume,
        /// Windows: services are notified that the system resumed.
        ResumeServices = "ResumeServices" in Resume,
        /// Windows: applications are notified that the system resumed.
        ResumeApps = "ResumeApps" in Resume,
        /// Windows: the file of the memory image is overwritten with zeros.
        ZeroHiberFile = "ZeroHiberFile" in Resume,
        /// Windows: work after the resume, until the computer has settled.
        PostResume = "PostResume" in After,
        /// Linux: file systems are written out.
        SyncFileSystems = "sync_file_systems" in Suspend,
        /// Linux: processes are frozen.
        FreezeProcesses = "freeze_processes" in Suspend,
        /// Linux: memory is freed for the memory image.
        CreateImage = "create_image" in Suspend,
        /// Linux devices: no new children from now on.
        DevicesPrepare = "devices_prepare" in Suspend,
        /// Linux devices: quiesce.
        DevicesSuspend = "devices_suspend" in Suspend,
        /// Linux devices: quiesce, once runtime power management is off.
        DevicesSuspendLate = "devices_suspend_late" in Suspend,
        /// Linux devices: quiesce, interrupts off.
        DevicesSuspendNoirq = "devices_suspend_noirq" in Suspend,
        /// Linux: all processors but one go.
        ProcessorsOff = "processors_off" in Suspend,
        /// Linux: the kernel's core goes: timers, interrupt controllers, the clock.
        SystemCoreOff = "system_core_off" in Suspend,
        /// Linux: the machine: from the kernel's last step to its first; asleep for most of it.
        Machine = "machine" in Asleep,
        /// Linux: the memory image is written.
        WriteImage = "write_image" in Asleep,
        /// Linux: the memory image is read.
        ReadImage = "read_image" in Asleep,
        /// Linux: the kernel's core comes back.
        SystemCoreOn = "system_core_on" in Resume,
        /// Linux: the processors come back.
        ProcessorsOn = "processors_on" in Resume,
        /// Linux devices: back, interrupts off.
        DevicesResumeNoirq = "devices_resume_noirq" in Resume,
        /// Linux devices: back, before runtime power management is on.
        DevicesResumeEarly = "devices_resume_early" in Resume,
        /// Linux devices: back to work.
        DevicesResume = "devices_resume" in Resume,
        /// Linux devices: new children again.
        DevicesComplete = "devices_complete" in Resume,
        /// Linux: the console comes back and writes what it held back.
        ResumeConsole = "resume_console" in Resume,
        /// Linux: processes go on.
        ThawProcesses = "thaw_processes" in Resume,
    }
}

impl PhaseName {
    /// The phases of a Windows boot, in order.
    pub const WINDOWS_BOOT: [Self; 6] =
        [Self::PreSmss, Self::SmssInit, Self::WinLogonInit, Self::ExplorerInit, Self::PostBoot, Self::TraceTail];

    /// The phases of a Linux boot, in order. The first five are those of `systemd-analyze time`.
    pub const LINUX_BOOT: [Self; 7] =
        [Self::Firmware, Self::Loader, Self::Kernel, Self::Initrd, Self::UserSpace, Self::PostBoot, Self::TraceTail];

    /// The phases of a Windows shutdown, in order.
    pub const WINDOWS_SHUTDOWN: [Self; 3] = [Self::UserSession, Self::SystemSession, Self::KernelShutdown];

    /// The phases of a Linux shutdown, in order.
    pub const LINUX_SHUTDOWN: [Self; 7] = [
        Self::StopUnits,
        Self::Sync,
        Self::TerminateRemaining,
        Self::KillRemaining,
        Self::Unmount,
        Self::Hooks,
        Self::Kernel,
    ];

    /// What it is called in text.
    #[must_use]
    pub fn shown(self) -> String {
        match self {
            Self::Sync => "last program starts, sync".to_owned(),
            Self::TerminateRemaining => "SIGTERM to what still runs".to_owned(),
            Self::KillRemaining => "SIGKILL to what still runs".to_owned(),
            Self::Hooks => "shutdown hooks".to_owned(),
            other => other.as_str().replace('_', " "),
        }
    }

    /// The phase of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|phase| phase.as_str() == name)
    }
}

/// A phase and its ends, ns; `None` for one that is not known.
pub type PhaseSpan = (PhaseName, Option<i64>, Option<i64>);

/// Phases that end when the computer has settled.
pub const SETTLING: [&str; 2] = [PhaseName::PostBoot.as_str(), PhaseName::PostResume.as_str()];

#[cfg(test)]
mod tests {
    use onoff_trace::power_phase;

    use super::*;

    #[test]
    fn the_names_of_phases_of_a_linux_sleep_are_those_of_the_tables() {
        for name in [
            power_phase::SYNC_FILE_SYSTEMS,
            power_phase::FREEZE_PROCESSES,
            power_phase::CREATE_IMAGE,
            power_phase::DEVICES_PREPARE,
            power_phase::DEVICES_SUSPEND,
            power_phase::DEVICES_SUSPEND_LATE,
            power_phase::DEVICES_SUSPEND_NOIRQ,
            power_phase::PROCESSORS_OFF,
            power_phase::SYSTEM_CORE_OFF,
            power_phase::MACHINE,
            power_phase::WRITE_IMAGE,
            power_phase::READ_IMAGE,
            power_phase::SYSTEM_CORE_ON,
            power_phase::PROCESSORS_ON,
            power_phase::DEVICES_RESUME_NOIRQ,
            power_phase::DEVICES_RESUME_EARLY,
            power_phase::DEVICES_RESUME,
            power_phase::DEVICES_COMPLETE,
            power_phase::RESUME_CONSOLE,
            power_phase::THAW_PROCESSES,
        ] {
            assert!(PhaseName::of(name).is_some_and(|phase| phase.half().is_some()), "{name}");
        }
    }

    #[test]
    fn names_are_given_once() {
        for (at, name) in PhaseName::ALL.iter().enumerate() {
            assert!(!PhaseName::ALL[..at].iter().any(|other| other.as_str() == name.as_str()), "{name:?}");
        }
    }
}
