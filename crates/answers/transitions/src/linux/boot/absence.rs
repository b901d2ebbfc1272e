//! Decides whether a recording contains a boot.

use onoff_trace::{DeviceOperationKind, ServiceChange, ServiceOutcome, Trace, milestone};

use super::outcome::LOCAL_FILE_SYSTEMS;
use crate::boot::NoBoot;
use crate::{TransitionKind, contents};

/// Milestones that are recorded only while the system boots.
const BOOT_MILESTONES: [&str; 9] = [
    milestone::USER_SPACE_BEGIN,
    milestone::STARTUP_FINISHED,
    milestone::INITRD_BEGIN,
    milestone::UNITS_LOAD_BEGIN,
    milestone::ROOT_MISSING,
    milestone::ROOT_WAIT,
    milestone::INITRAMFS_SHELL,
    milestone::LOADER_FAILED,
    milestone::LOGIN_FAILED,
];

/// A panic that much later than the kernel's start is of a running system, ns: 10 min.
const MAX_BOOT_NS: i64 = 600_000_000_000;

/// Outputs that have no usable start times, by the content of the file, and what to add to them.
const OUTPUTS_WITHOUT_TIMES: [(&str, &str); 2] = [
    (
        "systemd-analyze blame",
        "'systemd-analyze blame' has durations but no start times; add the outputs of 'systemd-analyze time' and 'systemctl show \"*\"'",
    ),
    (
        "systemd-analyze dump",
        "'systemd-analyze dump' has times in whole seconds only; add the outputs of 'systemd-analyze time' and 'systemctl show \"*\"'",
    ),
];

/// Targets that are only reached during a boot.
const BOOT_TARGETS: [&str; 4] = ["sysinit.target", "basic.target", "multi-user.target", "graphical.target"];

/// Returns whether the recording shows any sign of a boot.
pub(super) fn contains_a_boot(trace: &Trace) -> bool {
    let has_milestone = BOOT_MILESTONES
        .iter()
        .filter_map(|name| trace.strings.find(name))
        .any(|name| trace.milestones.iter().any(|row| row.name == name));
    let has_initcall = || trace.device_operations.iter().any(|row| row.kind == DeviceOperationKind::Initcall);
    let has_boot_target = || {
        let Some(reached_name) = trace.strings.find(milestone::TARGET_REACHED) else { return false };
        trace.milestones.iter().any(|row| row.name == reached_name && BOOT_TARGETS.contains(&trace.text(row.detail)))
    };
    // Nothing restarts this target on a running system.
    let has_failed = || {
        trace.service_transitions.iter().any(|row| {
            (row.kind, row.outcome) == (ServiceChange::Start, ServiceOutcome::Failed)
                && trace.text(row.service) == LOCAL_FILE_SYSTEMS
        })
    };
    has_milestone || has_failed() || has_initcall() || has_boot_target() || has_stopped(trace)
}

/// Returns whether the kernel panicked or waited for drivers while it started.
fn has_stopped(trace: &Trace) -> bool {
    let rows = |name: &str| {
        let name = trace.strings.find(name);
        trace.milestones.iter().filter(move |row| Some(row.name) == name)
    };
    let has_start = rows(milestone::KERNEL_BEGIN).next().is_some() || rows(milestone::BRING_UP_STAGE).next().is_some();
    let is_of_a_boot = |message: &str| {
        ["Unable to mount root", "No working init found", "Requested init", "Attempted to kill init"]
            .iter()
            .any(|words| message.contains(words))
    };
    let is_waiting = rows(milestone::PROBE_DEFERRED).any(|row| row.time_ns <= MAX_BOOT_NS);
    if has_start && is_waiting {
        return true;
    }
    rows(milestone::KERNEL_PANIC)
        .any(|row| row.time_ns <= MAX_BOOT_NS && (has_start || is_of_a_boot(trace.text(row.detail))))
}

/// Describes a recording without a boot.
pub(super) fn not_a_boot(trace: &Trace) -> NoBoot {
    let contents = contents::describe_instead(trace, TransitionKind::Boot);
    NoBoot {
        reason: "no start of the service manager, its targets or kernel initialization".to_owned(),
        found: match OUTPUTS_WITHOUT_TIMES
            .iter()
            .find(|(content, _)| trace.files.iter().any(|file| file.content == *content))
        {
            Some((_, advice)) => (*advice).to_owned(),
            None => contents.found,
        },
        recorder: trace.recorder.clone(),
        duration_ns: trace.length_ns(),
        processes_before: contents.processes_before,
        processes_started: contents.processes_started,
        processes_ended: contents.processes_ended,
        losses: trace.losses.clone(),
    }
}
