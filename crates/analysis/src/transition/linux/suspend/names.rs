//! What states and phases of a sleep are called.

use onoff_trace::PowerRequestKind;
use serde::Serialize;

use crate::transition::suspend::PowerHalf;

/// How a computer with Linux sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepState {
    /// Suspend to idle: processes frozen, devices asleep, processors in their deepest idle state (S0ix, `freeze`).
    Idle,
    /// Standby (S1, `standby`).
    Standby,
    /// Suspend to memory (S3, `mem`).
    Memory,
    /// Hibernation: memory goes to a disk and the computer off (S4, `disk`).
    Disk,
    /// The recording cannot tell.
    #[default]
    Unknown,
}

impl SleepState {
    /// The name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Standby => "standby",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the axis stands still while the machine sleeps: then its length is known by another clock only.
    pub(super) const fn stops_the_clock(self) -> bool {
        matches!(self, Self::Standby | Self::Memory | Self::Disk)
    }
}

macro_rules! sleep_phases {
    ($(#[$meta:meta])* pub enum $enum:ident {
        $($(#[$comment:meta])* $name:ident = $text:literal in $half:ident $(asks $kind:ident)?),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        pub enum $enum { $($(#[$comment])* #[serde(rename = $text)] $name),* }

        impl $enum {
            /// Every phase, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name, as in JSON and in the model.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Its half.
            #[must_use]
            pub const fn half(self) -> PowerHalf {
                match self { $(Self::$name => PowerHalf::$half),* }
            }

            /// What devices are asked in it; `None` for a phase without devices.
            pub(super) fn asks(self) -> Option<PowerRequestKind> {
                match self {
                    $($(Self::$name => Some(PowerRequestKind::$kind),)?)*
                    _ => None,
                }
            }
        }
    };
}

sleep_phases! {
    /// A phase of a sleep, in the order in which they come.
    pub enum SleepPhaseName {
        /// File systems are written out.
        SyncFileSystems = "sync_file_systems" in Suspend,
        /// Processes are frozen.
        FreezeProcesses = "freeze_processes" in Suspend,
        /// Memory is freed for the memory image.
        CreateImage = "create_image" in Suspend,
        /// Devices: no new children from now on.
        DevicesPrepare = "devices_prepare" in Suspend asks Prepare,
        /// Devices: quiesce.
        DevicesSuspend = "devices_suspend" in Suspend asks Suspend,
        /// Devices: quiesce, once runtime power management is off.
        DevicesSuspendLate = "devices_suspend_late" in Suspend asks SuspendLate,
        /// Devices: quiesce, interrupts off.
        DevicesSuspendNoirq = "devices_suspend_noirq" in Suspend asks SuspendNoIrq,
        /// All processors but one go.
        ProcessorsOff = "processors_off" in Suspend,
        /// The kernel's core goes: timers, interrupt controllers, the clock.
        SystemCoreOff = "system_core_off" in Suspend,
        /// The machine: from the kernel's last step to its first; asleep for most of it.
        Machine = "machine" in Asleep,
        /// The memory image is written.
        WriteImage = "write_image" in Asleep,
        /// The memory image is read.
        ReadImage = "read_image" in Asleep,
        /// The kernel's core comes back.
        SystemCoreOn = "system_core_on" in Resume,
        /// The processors come back.
        ProcessorsOn = "processors_on" in Resume,
        /// Devices: back, interrupts off.
        DevicesResumeNoirq = "devices_resume_noirq" in Resume asks ResumeNoIrq,
        /// Devices: back, before runtime power management is on.
        DevicesResumeEarly = "devices_resume_early" in Resume asks ResumeEarly,
        /// Devices: back to work.
        DevicesResume = "devices_resume" in Resume asks Resume,
        /// Devices: new children again.
        DevicesComplete = "devices_complete" in Resume asks Complete,
        /// The console comes back and writes what it held back.
        ResumeConsole = "resume_console" in Resume,
        /// Processes go on.
        ThawProcesses = "thaw_processes" in Resume,
    }
}

impl SleepPhaseName {
    /// The phase of that name in the model.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|phase| phase.as_str() == name)
    }

    /// The phase in which devices are asked `kind`.
    pub(super) fn asking(kind: PowerRequestKind) -> Option<Self> {
        Self::ALL.iter().copied().find(|phase| phase.asks() == Some(kind))
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::power_phase;

    use super::*;

    #[test]
    fn names_are_those_of_the_model() {
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
            assert!(SleepPhaseName::of(name).is_some(), "{name}");
        }
        assert_eq!(SleepPhaseName::ALL.len(), 20);
    }
}
