//! The kernel's own times of a transition: resume from a memory image, modern standby, firmware.

use onoff_trace::{Trace, milestone};

use super::report::{FirmwareSleep, KernelFigure, ResumeParts, StandbyFigures};
use onoff_usage::asleep::cycles::Cycle;

/// Milestones with a duration, and their labels in the report.
const FIGURES: &[(&str, &str)] = &[
    (milestone::POWER_SUSPEND_TIME, "suspend"),
    (milestone::POWER_RESUME_TIME, "resume"),
    (milestone::POWER_DRIVER_WAKE_TIME, "device wake-up"),
    (milestone::POWER_HIBERNATE_WRITE_TIME, "memory image write"),
    (milestone::POWER_HIBERNATE_READ_TIME, "memory image read"),
    (milestone::POWER_FIRMWARE_TIME, "firmware"),
    (milestone::HIBERNATE_TIME, "hibernation"),
    (milestone::HIBERNATE_FILE_TIME, "hibernation file"),
    (milestone::HIBERNATE_INIT_TIME, "hibernation preparation"),
    (milestone::HYBRID_SHUTDOWN_TIME, "fast startup, shutdown"),
    (milestone::HYBRID_SHUTDOWN_FILE_TIME, "fast startup, hibernation file"),
    (milestone::RESUME_TIME, "whole resume"),
    (milestone::RESUME_FIRMWARE_TIME, "firmware before the resume"),
    (milestone::RESUME_BOOT_MANAGER_TIME, "boot manager"),
    (milestone::RESUME_LOADER_TIME, "resume loader"),
    (milestone::RESUME_LOADER_READ_TIME, "memory image read by the loader"),
    (milestone::RESUME_USER_TIME, "user input"),
    (milestone::RESUME_KERNEL_READ_TIME, "memory image read by the kernel"),
    (milestone::RESUME_DEVICES_TIME, "devices"),
    (milestone::RESUME_SERVICES_TIME, "service notifications"),
    (milestone::RESUME_APPS_TIME, "application notifications"),
    (milestone::HYBRID_BOOT_MAIN_PATH, "fast startup, main path"),
    (milestone::HYBRID_BOOT_FIRMWARE, "fast startup, firmware"),
    (milestone::HYBRID_BOOT_RESUME, "fast startup, resume"),
];

/// Maximum number of figures per transition.
const MAX_FIGURES: usize = 256;

/// Returns all times recorded by the kernel, in the order of [`FIGURES`].
pub(super) fn account(trace: &Trace, cycle: &Cycle) -> Vec<KernelFigure> {
    let recorded_figures = FIGURES.iter().filter_map(|&(name, label)| Some((trace.strings.find(name)?, label)));
    recorded_figures
        .flat_map(|(name, label)| {
            cycle.milestones.iter().filter(move |row| row.name == name).filter_map(move |row| {
                Some(KernelFigure {
                    name: label,
                    duration_ns: row.value?,
                    time_ns: row.time_ns,
                    event: trace.text(row.event).to_owned(),
                })
            })
        })
        .take(MAX_FIGURES)
        .collect()
}

/// Returns the parts of a resume from a memory image.
pub(super) fn resume_parts(trace: &Trace, cycle: &Cycle) -> Option<ResumeParts> {
    let value = |name: &str| cycle.value(trace, name).map(|(ns, _)| ns);
    let (_, row) = [
        milestone::RESUME_DEVICES_TIME,
        milestone::RESUME_FIRMWARE_TIME,
        milestone::RESUME_KERNEL_READ_TIME,
        milestone::HYBRID_BOOT_MAIN_PATH,
    ]
    .into_iter()
    .find_map(|name| cycle.value(trace, name))?;
    let mut parts = ResumeParts {
        firmware_ns: value(milestone::RESUME_FIRMWARE_TIME),
        boot_manager_ns: value(milestone::RESUME_BOOT_MANAGER_TIME),
        loader_ns: value(milestone::RESUME_LOADER_TIME),
        loader_read_ns: value(milestone::RESUME_LOADER_READ_TIME),
        user_input_ns: value(milestone::RESUME_USER_TIME),
        kernel_read_ns: value(milestone::RESUME_KERNEL_READ_TIME),
        devices_ns: value(milestone::RESUME_DEVICES_TIME),
        total_ns: None,
        main_path_ns: value(milestone::HYBRID_BOOT_MAIN_PATH),
        event: trace.text(row.event).to_owned(),
    };
    parts.total_ns =
        [parts.firmware_ns, parts.boot_manager_ns, parts.loader_ns, parts.kernel_read_ns, parts.devices_ns]
            .into_iter()
            .try_fold(0_i64, |sum, part| Some(sum.saturating_add(part?)));
    Some(parts)
}

/// The kernel's duration of modern standby must agree with the recording's clock within a tenth or a second, whichever
/// is larger.
const STANDBY_TOLERANCE_DIVISOR: i64 = 10;
const STANDBY_TOLERANCE_NS: i64 = 1_000_000_000;

/// Returns the modern standby figures; `None` for other kinds.
pub(super) fn standby(trace: &Trace, cycle: &Cycle) -> Option<StandbyFigures> {
    let (enter, exit) = cycle.standby?;
    let axis_duration_ns = enter.zip(exit).map(|(enter, exit)| exit.time_ns.saturating_sub(enter.time_ns));
    let total_ns = cycle.value(trace, milestone::STANDBY_TIME).map(|(ns, _)| ns);
    // Only the field names say that the unit is microseconds. The recording's clock keeps running in standby: if it
    // agrees with the total, the unit is confirmed; otherwise the values are not reported.
    let is_confirmed = axis_duration_ns.zip(total_ns).is_some_and(|(axis_ns, total)| {
        axis_ns.saturating_sub(total).saturating_abs()
            <= (axis_ns / STANDBY_TOLERANCE_DIVISOR).max(STANDBY_TOLERANCE_NS)
    });
    let value = |name: &str| cycle.value(trace, name).map(|(ns, _)| ns).filter(|_| is_confirmed);
    Some(StandbyFigures {
        enter_reason: enter.and_then(|row| row.value),
        exit_reason: exit.and_then(|row| row.value),
        total_ns: value(milestone::STANDBY_TIME),
        deepest_ns: value(milestone::STANDBY_DEEPEST_TIME),
        hardware_ns: value(milestone::STANDBY_HARDWARE_TIME),
        exit_ns: value(milestone::STANDBY_EXIT_TIME),
    })
}

/// Returns the sleep times reported by the firmware.
pub(super) fn firmware(trace: &Trace, cycle: &Cycle) -> FirmwareSleep {
    let value = |name: &str| cycle.value(trace, name).map(|(ns, _)| ns);
    FirmwareSleep {
        suspend_ns: value(milestone::FIRMWARE_SUSPEND_BEGIN)
            .zip(value(milestone::FIRMWARE_SUSPEND_END))
            .map(|(begin, end)| end.saturating_sub(begin)),
        resume_ns: value(milestone::FIRMWARE_RESUME_TIME),
        average_resume_ns: value(milestone::FIRMWARE_RESUME_AVERAGE),
    }
}
