//! Whether a recording holds a boot, and what it holds if not.

use onoff_trace::{DeviceOperationKind, Trace, milestone};

use crate::boot::NotABoot;
use crate::{TransitionKind, contents};

/// Milestones that only a starting system sets.
const STARTING: [&str; 4] =
    [milestone::USER_SPACE_BEGIN, milestone::STARTUP_FINISHED, milestone::INITRD_BEGIN, milestone::UNITS_LOAD_BEGIN];

/// Targets that only a start reaches.
const TARGETS: [&str; 4] = ["sysinit.target", "basic.target", "multi-user.target", "graphical.target"];

/// Whether anything in the recording shows a boot.
pub(super) fn holds_a_boot(trace: &Trace) -> bool {
    let milestones = STARTING
        .iter()
        .filter_map(|name| trace.strings.find(name))
        .any(|name| trace.milestones.iter().any(|row| row.name == name));
    let initialized = || trace.device_operations.iter().any(|row| row.kind == DeviceOperationKind::Initcall);
    let target = || {
        let Some(reached) = trace.strings.find(milestone::TARGET_REACHED) else { return false };
        trace.milestones.iter().any(|row| row.name == reached && TARGETS.contains(&trace.text(row.detail)))
    };
    milestones || initialized() || target()
}

/// What the recording holds instead of a boot.
pub(super) fn not_a_boot(trace: &Trace) -> NotABoot {
    let contents = contents::instead_of(trace, TransitionKind::Boot);
    NotABoot {
        reason: "no start of the service manager, of its targets or of the kernel's initialization".to_owned(),
        found: contents.found,
        recorder: trace.recorder.clone(),
        duration_ns: trace.length_ns(),
        processes_before: contents.processes_before,
        processes_started: contents.processes_started,
        processes_ended: contents.processes_ended,
        losses: trace.losses.clone(),
    }
}
