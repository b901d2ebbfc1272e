//! What states of a sleep are called, and in which phases devices are asked what.

use crate::transition::PhaseName;
use onoff_trace::PowerRequestKind;
use serde::Serialize;

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

/// The phases in which devices are asked, with what they are asked.
const DEVICE_PHASES: [(PhaseName, PowerRequestKind); 8] = [
    (PhaseName::DevicesPrepare, PowerRequestKind::Prepare),
    (PhaseName::DevicesSuspend, PowerRequestKind::Suspend),
    (PhaseName::DevicesSuspendLate, PowerRequestKind::SuspendLate),
    (PhaseName::DevicesSuspendNoirq, PowerRequestKind::SuspendNoIrq),
    (PhaseName::DevicesResumeNoirq, PowerRequestKind::ResumeNoIrq),
    (PhaseName::DevicesResumeEarly, PowerRequestKind::ResumeEarly),
    (PhaseName::DevicesResume, PowerRequestKind::Resume),
    (PhaseName::DevicesComplete, PowerRequestKind::Complete),
];

/// Whether devices are asked something in the phase.
pub(super) fn asks_devices(phase: PhaseName) -> bool {
    DEVICE_PHASES.iter().any(|&(name, _)| name == phase)
}

/// The phase in which devices are asked `kind`.
pub(super) fn asking(kind: PowerRequestKind) -> Option<PhaseName> {
    DEVICE_PHASES.iter().find(|&&(_, asked)| asked == kind).map(|&(name, _)| name)
}
