//! Names of the phases of all transitions on all systems.

use serde::Serialize;

/// Part of a suspend and resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SuspendStage {
    /// From the request until the computer sleeps.
    Suspend,
    /// While the computer sleeps.
    Asleep,
    /// From wake-up until the resume is complete.
    Resume,
    /// After the resume, until the computer is idle.
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
            pub const ALL: &'static [$enum] = &[$(Self::$name),*];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The part of a suspend and resume that it belongs to; `None` for phases of other transitions.
            #[must_use]
            pub const fn half(self) -> Option<SuspendStage> {
                match self {
                    $($(Self::$name => Some(SuspendStage::$half),)?)*
                    _ => None,
                }
            }
        }
    };
}

phase_names! {
    /// A phase of a transition. Names are from xperf and Microsoft's papers, of `systemd-analyze time`, or of the
    /// Linux kernel.
    pub enum PhaseName {
        /// Linux: firmware, until it starts the loader.
        Firmware = "firmware",
        /// Linux: boot loader, until the kernel starts.
        Loader = "loader",
        /// Linux boot: the kernel, until the first service manager starts. Linux shutdown: device shutdown, until the
        /// machine stops.
        Kernel = "kernel",
        /// Linux: initramfs, until the service manager of the root file system starts.
        Initrd = "initrd",
        /// Linux: service manager and units, until all start jobs are done.
        UserSpace = "user_space",
        /// Windows: kernel and boot-start drivers, until the session manager starts.
        PreSmss = "PreSMSS",
        /// Windows: session manager (registry, remaining drivers, subsystems), until Winlogon starts.
        SmssInit = "SMSSInit",
        /// Windows: services and logon, until the shell starts. With fast startup: a new session and its logon.
        WinLogonInit = "WinLogonInit" in After,
        /// Windows: shell, until the desktop is ready.
        ExplorerInit = "ExplorerInit" in After,
        /// Work after the boot, until the computer is idle.
        PostBoot = "PostBoot" in After,
        /// The rest of the recording.
        TraceTail = "TraceTail",
        /// Windows: the applications of user sessions end. Also the first part of a shutdown with fast startup.
        UserSession = "UserSession" in Suspend,
        /// Windows: services stop, pre-shutdown services first.
        SystemSession = "SystemSession",
        /// Windows: the kernel, its file systems and its devices shut down.
        KernelShutdown = "KernelShutdown",
        /// Linux: the service manager stops its units.
        StopUnits = "stop_units",
        /// Linux: systemd-shutdown takes over and syncs file systems.
        Sync = "sync",
        /// Linux: remaining processes get `SIGTERM` and time to exit.
        TerminateRemaining = "terminate_remaining",
        /// Linux: remaining processes get `SIGKILL`.
        KillRemaining = "kill_remaining",
        /// Linux: file systems are unmounted or remounted read-only, swap is turned off, loop and mapped devices are
        /// detached.
        Unmount = "unmount",
        /// Linux: scripts in the folder `system-shutdown` run.
        Hooks = "hooks",
        /// Windows Vista and 7: applications are asked whether the system may suspend.
        QueryApps = "QueryApps" in Suspend,
        /// Windows Vista and 7: services are asked whether the system may suspend.
        QueryServices = "QueryServices" in Suspend,
        /// Windows: the suspend screen is shown.
        ShowUi = "ShowUI" in Suspend,
        /// Windows: applications are notified of the suspend, one at a time.
        SuspendApps = "SuspendApps" in Suspend,
        /// Windows: services are notified of the suspend, one at a time.
        SuspendServices = "SuspendServices" in Suspend,
        /// Windows: the whole preparation, on versions that record it.
        PrepareSleep = "PrepareSleep" in Suspend,
        /// Windows: Superfetch prepares memory.
        Superfetch = "Superfetch" in Suspend,
        /// Windows: Winlogon prepares.
        Winlogon = "Winlogon" in Suspend,
        /// Windows: pre-sleep callbacks.
        PreSleepCallbacks = "PreSleepCallbacks" in Suspend,
        /// Windows: devices are asked whether the system may suspend.
        QueryDevices = "QueryDevices" in Suspend,
        /// Windows: volumes are flushed.
        FlushVolumes = "FlushVolumes" in Suspend,
        /// Windows: pages are written out before the memory image is made.
        FlushAllPages = "FlushAllPages" in Suspend,
        /// Windows: the order of device notifications is computed.
        BuildNotifyList = "BuildNotifyList" in Suspend,
        /// Windows: devices are powered down.
        SuspendDevices = "SuspendDevices" in Suspend,
        /// Windows: the memory image is written.
        HiberWrite = "HiberWrite" in Suspend,
        /// Windows: the computer is asleep or off.
        Asleep = "Asleep" in Asleep,
        /// Windows: modern standby; the computer is on, in a low-power idle state.
        Standby = "Standby" in Asleep,
        /// Windows: firmware during the resume.
        BiosInit = "BiosInit" in Resume,
        /// Windows: boot manager during the resume from a memory image.
        BootManager = "BootManager" in Resume,
        /// Windows: resume loader, including its part of reading the memory image.
        ResumeLoader = "ResumeLoader" in Resume,
        /// Windows: the memory image is read.
        HiberRead = "HiberRead" in Resume,
        /// Windows: work that the kernel counts as critical to the resume, such as waking devices.
        ResumeCritical = "ResumeCritical" in Resume,
        /// Windows: devices are powered up.
        ResumeDevices = "ResumeDevices" in Resume,
        /// Windows: the screen is restored.
        HideUi = "HideUI" in Resume,
        /// Windows: services are notified of the resume.
        ResumeServices = "ResumeServices" in Resume,
        /// Windows: applications are notified of the resume.
        ResumeApps = "ResumeApps" in Resume,
        /// Windows: the hibernation file is overwritten with zeros.
        ZeroHiberFile = "ZeroHiberFile" in Resume,
        /// Windows: work after the resume, until the computer is idle.
        PostResume = "PostResume" in After,
        /// Linux: file systems are synced.
        SyncFileSystems = "sync_file_systems" in Suspend,
        /// Linux: processes are frozen.
        FreezeProcesses = "freeze_processes" in Suspend,
        /// Linux: memory is freed for the memory image.
        CreateImage = "create_image" in Suspend,
        /// Linux devices: `prepare` callbacks; no new child devices from here on.
        DevicesPrepare = "devices_prepare" in Suspend,
        /// Linux devices: `suspend` callbacks.
        DevicesSuspend = "devices_suspend" in Suspend,
        /// Linux devices: `suspend_late` callbacks, with runtime power management off.
        DevicesSuspendLate = "devices_suspend_late" in Suspend,
        /// Linux devices: `suspend_noirq` callbacks, with interrupts off.
        DevicesSuspendNoirq = "devices_suspend_noirq" in Suspend,
        /// Linux: all CPUs but one go offline.
        ProcessorsOff = "processors_off" in Suspend,
        /// Linux: system core suspends (timers, interrupt controllers, clock).
        SystemCoreOff = "system_core_off" in Suspend,
        /// Linux: from the kernel's last step to its first one after wake-up; mostly time asleep.
        Machine = "machine" in Asleep,
        /// Linux: the memory image is written.
        WriteImage = "write_image" in Asleep,
        /// Linux: the memory image is read.
        ReadImage = "read_image" in Asleep,
        /// Linux: system core resumes.
        SystemCoreOn = "system_core_on" in Resume,
        /// Linux: CPUs come back online.
        ProcessorsOn = "processors_on" in Resume,
        /// Linux devices: `resume_noirq` callbacks, with interrupts off.
        DevicesResumeNoirq = "devices_resume_noirq" in Resume,
        /// Linux devices: `resume_early` callbacks, with runtime power management still off.
        DevicesResumeEarly = "devices_resume_early" in Resume,
        /// Linux devices: `resume` callbacks.
        DevicesResume = "devices_resume" in Resume,
        /// Linux devices: `complete` callbacks; new child devices are allowed again.
        DevicesComplete = "devices_complete" in Resume,
        /// Linux: the console resumes and prints buffered messages.
        ResumeConsole = "resume_console" in Resume,
        /// Linux: processes are thawed.
        ThawProcesses = "thaw_processes" in Resume,
    }
}

impl PhaseName {
    /// The phases of a Windows boot, in order.
    pub const WINDOWS_BOOT: [Self; 6] =
        [Self::PreSmss, Self::SmssInit, Self::WinLogonInit, Self::ExplorerInit, Self::PostBoot, Self::TraceTail];

    /// The phases of a Linux boot, in order. The first five match `systemd-analyze time`.
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

    /// The display name.
    #[must_use]
    pub fn display_name(self) -> String {
        match self {
            Self::Sync => "systemd-shutdown starts, sync".to_owned(),
            Self::TerminateRemaining => "SIGTERM to remaining processes".to_owned(),
            Self::KillRemaining => "SIGKILL to remaining processes".to_owned(),
            Self::Hooks => "shutdown hooks".to_owned(),
            other => other.as_str().replace('_', " "),
        }
    }

    /// Parses the name used in JSON.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|phase| phase.as_str() == name)
    }
}

/// A phase with its start and end, ns; `None` for unknown ends.
pub type PhaseInterval = (PhaseName, Option<i64>, Option<i64>);

/// The phases that end when the computer is idle.
pub const SETTLING_PHASES: [&str; 2] = [PhaseName::PostBoot.as_str(), PhaseName::PostResume.as_str()];

#[cfg(test)]
mod tests {
    use onoff_trace::power_phase;

    use super::*;

    #[test]
    fn linux_sleep_phases_match_the_table_names() {
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
            assert!(PhaseName::parse(name).is_some_and(|phase| phase.half().is_some()), "{name}");
        }
    }

    #[test]
    fn names_are_unique() {
        for (index, name) in PhaseName::ALL.iter().enumerate() {
            assert!(!PhaseName::ALL[..index].iter().any(|earlier| earlier.as_str() == name.as_str()), "{name:?}");
        }
    }
}
