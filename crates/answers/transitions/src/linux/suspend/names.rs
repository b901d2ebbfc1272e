//! Clock behavior of sleep states, and the kinds of device callbacks in each phase.

use crate::{PhaseName, Variant};
use onoff_trace::PowerRequestKind;

/// Returns whether the clock of the axis stops during the sleep. The duration is then known only from another clock.
pub(super) const fn stops_clock(variant: Variant) -> bool {
    matches!(variant, Variant::Standby | Variant::Sleep | Variant::Hibernate)
}

/// The phases with device callbacks, and the kind of callback in each.
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

/// Returns whether the phase has device callbacks.
pub(super) fn has_callbacks(phase: PhaseName) -> bool {
    DEVICE_PHASES.iter().any(|&(name, _)| name == phase)
}

/// Returns the phase with callbacks of this kind.
pub(super) fn phase_of(kind: PowerRequestKind) -> Option<PhaseName> {
    DEVICE_PHASES.iter().find(|&&(_, callback)| callback == kind).map(|&(name, _)| name)
}
