//! The kernel's own account of a transition, and what it says of a resume from a memory image, of modern standby, and of
//! the firmware.

use onoff_trace::{Trace, milestone};

use super::report::{FirmwareSleep, KernelFigure, ResumeParts, StandbyFigures};
use onoff_usage::asleep::cycles::Cycle;

/// Milestones that carry a length, and how the report calls them.
const FIGURES: &[(&str, &str)] = &[
    (milestone::POWER_SUSPEND_TIME, "suspend"),
    (milestone::POWER_RESUME_TIME, "resume"),
    (milestone::POWER_DRIVER_WAKE_TIME, "devices woken"),
    (milestone::POWER_HIBERNATE_WRITE_TIME, "memory image written"),
    (milestone::POWER_HIBERNATE_READ_TIME, "memory image read"),
    (milestone::POWER_FIRMWARE_TIME, "firmware"),
    (milestone::HIBERNATE_TIME, "hibernation"),
    (milestone::HIBERNATE_FILE_TIME, "hibernation file"),
    (milestone::HIBERNATE_INIT_TIME, "hibernation prepared"),
    (milestone::HYBRID_SHUTDOWN_TIME, "shutdown for a fast startup"),
    (milestone::HYBRID_SHUTDOWN_FILE_TIME, "hibernation file of that"),
    (milestone::RESUME_TIME, "resume as a whole"),
    (milestone::RESUME_FIRMWARE_TIME, "firmware before the resume"),
    (milestone::RESUME_BOOT_MANAGER_TIME, "boot manager"),
    (milestone::RESUME_LOADER_TIME, "resume loader"),
    (milestone::RESUME_LOADER_READ_TIME, "read by the loader"),
    (milestone::RESUME_USER_TIME, "waited for a person"),
    (milestone::RESUME_KERNEL_READ_TIME, "read by the kernel"),
    (milestone::RESUME_DEVICES_TIME, "devices"),
    (milestone::RESUME_SERVICES_TIME, "services notified"),
    (milestone::RESUME_APPS_TIME, "applications notified"),
    (milestone::HYBRID_BOOT_MAIN_PATH, "fast startup, main path"),
    (milestone::HYBRID_BOOT_FIRMWARE, "fast startup, firmware"),
    (milestone::HYBRID_BOOT_RESUME, "fast startup, resume"),
];

/// Figures of one transition, at most.
const MAX_FIGURES: usize = 256;

/// Everything the kernel counted, in the order of the table above.
pub(super) fn account(trace: &Trace, cycle: &Cycle) -> Vec<KernelFigure> {
    let known = FIGURES.iter().filter_map(|&(name, label)| Some((trace.strings.find(name)?, label)));
    known
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

/// The parts of a resume from a memory image.
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

/// The kernel's count of a modern standby and the recording's clock agree within a tenth of it, or a second.
const STANDBY_AGREES_WITHIN: i64 = 10;
const STANDBY_AGREES_NS: i64 = 1_000_000_000;

/// Modern standby.
pub(super) fn standby(trace: &Trace, cycle: &Cycle) -> Option<StandbyFigures> {
    let (enter, exit) = cycle.standby?;
    let on_axis = enter.zip(exit).map(|(enter, exit)| exit.time_ns.saturating_sub(enter.time_ns));
    let total_ns = cycle.value(trace, milestone::STANDBY_TIME).map(|(ns, _)| ns);
    // The fields are microseconds by their names only. The recording's own clock went on in the standby: where it and the total agree, that
    // is the unit; else nothing is said.
    let is_confirmed = on_axis.zip(total_ns).is_some_and(|(axis, total)| {
        axis.saturating_sub(total).saturating_abs() <= (axis / STANDBY_AGREES_WITHIN).max(STANDBY_AGREES_NS)
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

/// The firmware's own account.
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
