//! What states of a sleep are called, and in which phases devices are asked what.

use crate::{PhaseName, Variant};
use onoff_trace::PowerRequestKind;

/// Whether the axis stands still while the machine sleeps: then its length is known by another clock only.
pub(super) const fn stops_the_clock(variant: Variant) -> bool {
    matches!(variant, Variant::Standby | Variant::Sleep | Variant::Hibernate)
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
