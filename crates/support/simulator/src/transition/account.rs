//! The kernel's own totals of a transition, and Windows' idle detection after it.

use super::Planner;
use crate::program::Step;
use crate::scenario::power::{Power, PowerKind};
use crate::units::{TICKS_PER_SECOND, TickDuration};
use onoff_testkit::events::power as events;

/// First build that records the kernel's newer totals.
const NEWER_TOTALS: u32 = 10240;

/// Converts to whole milliseconds, the unit of the records.
pub(super) fn ms(duration: TickDuration) -> u32 {
    (duration.0 * 1000 / TICKS_PER_SECOND) as u32
}

fn ns(milliseconds: u32) -> Option<i64> {
    Some(i64::from(milliseconds) * 1_000_000)
}

/// Returns the steps that record the kernel's totals after devices have resumed.
pub(super) fn after_devices(planner: &mut Planner<'_>, power: &Power) -> Vec<Step> {
    if !planner.records_power() {
        return Vec::new();
    }
    let account = &power.account;
    let write = if power.writes_image() { ms(power.write) } else { 0 };
    let read = if power.reads_image() { ms(power.read) } else { 0 };
    let values = [
        ms(account.suspend),
        ms(account.resume),
        ms(account.driver_wake),
        write,
        read,
        power.pages,
        ms(power.firmware),
    ];
    let names = [
        "power.total.suspend",
        "power.total.resume",
        "power.total.driver_wake",
        "power.total.hibernate_write",
        "power.total.hibernate_read",
        "power.hibernate.pages",
        "power.total.firmware",
    ];
    let mut notes = Vec::new();
    for (name, value) in names.into_iter().zip(values) {
        let value = if name == "power.hibernate.pages" { Some(value.into()) } else { ns(value) };
        notes.push(planner.milestone(name, value, ""));
    }
    let mut steps = vec![Step::Emit(Box::new(events::kernel_totals(values)), notes)];
    if power.firmware_record {
        steps.extend(firmware(planner, power));
    }
    if power.writes_image() {
        let init = write / 20;
        let notes = vec![
            planner.milestone("power.hibernate.file", ns(write), ""),
            planner.milestone("power.hibernate.init", ns(init), ""),
        ];
        let event = events::image_written(write, init, power.pages);
        steps.push(Step::Emit(Box::new(event), notes));
    }
    if power.writes_image() && planner.scenario.machine.build >= NEWER_TOTALS {
        let size = power.pages.saturating_mul(4);
        let notes = vec![
            planner.milestone("power.hibernate.file_size", Some(i64::from(size) << 10), ""),
            planner.milestone("power.hibernate.total", ns(ms(account.suspend) + write), ""),
            planner.milestone("power.hibernate.file", ns(write), ""),
        ];
        let event = events::hibernate_totals(size, ms(account.suspend) + write, write);
        steps.push(Step::Emit(Box::new(event), notes));
    }
    if power.reads_image() && planner.scenario.machine.build >= NEWER_TOTALS {
        steps.push(image_resume(planner, power, write, read));
    }
    steps
}

/// Returns the firmware's records: its suspend, two hours after the reset, and the duration of its resume.
fn firmware(planner: &mut Planner<'_>, power: &Power) -> [Step; 2] {
    let (begin, end) = (7_855_209, 7_855_212);
    let notes = vec![
        planner.milestone("firmware.suspend.begin", ns(begin), ""),
        planner.milestone("firmware.suspend.end", ns(end), ""),
    ];
    let suspend = events::firmware_suspend(begin.into(), end.into());
    let resume = ms(power.firmware);
    let average = resume / 2;
    let resume_notes = vec![
        planner.milestone("firmware.resume.last", ns(resume), ""),
        planner.milestone("firmware.resume.average", ns(average), ""),
    ];
    [
        Step::Emit(Box::new(events::firmware_resume(3, resume, average)), resume_notes),
        Step::Emit(Box::new(suspend), notes),
    ]
}

/// Returns the step that records the totals of a resume from a memory image.
fn image_resume(planner: &mut Planner<'_>, power: &Power, write: u32, read: u32) -> Step {
    let account = &power.account;
    // The loader reads two thirds of the image, the kernel the rest.
    let kernel_read = read / 3;
    let loader_read = read - kernel_read;
    let times = events::ImageResume {
        total: ms(power.firmware) + ms(power.boot_manager) + ms(power.loader) + read + ms(account.resume),
        firmware: ms(power.firmware),
        boot_manager: ms(power.boot_manager),
        loader: ms(power.loader) + loader_read,
        loader_read,
        user: 0,
        image_write: write,
        hibernate: ms(account.suspend) + write,
        kernel_read,
        devices: ms(account.driver_wake),
    };
    let values = [
        ("power.resume.total", times.total),
        ("power.resume.firmware", times.firmware),
        ("power.resume.boot_manager", times.boot_manager),
        ("power.resume.loader", times.loader),
        ("power.resume.loader_read", times.loader_read),
        ("power.resume.user_input", times.user),
        ("power.resume.kernel_read", times.kernel_read),
        ("power.resume.devices", times.devices),
        ("power.hibernate.total", times.hibernate),
        ("power.hibernate.file", times.image_write),
    ];
    let notes = values.into_iter().map(|(name, value)| planner.milestone(name, ns(value), "")).collect();
    Step::Emit(Box::new(events::image_resume(&times)), notes)
}

/// Returns the steps that record the kernel's totals after all notifications.
pub(super) fn after_notifications(planner: &mut Planner<'_>, power: &Power) -> Vec<Step> {
    if !planner.records_power() || planner.scenario.machine.build < NEWER_TOTALS {
        return Vec::new();
    }
    let account = &power.account;
    let values = [
        ms(account.driver_wake),
        ms(account.resume),
        ms(power.firmware),
        ms(account.resume_apps),
        ms(account.resume_services),
    ];
    let names = [
        "power.total.driver_wake",
        "power.resume.total",
        "power.total.firmware",
        "power.resume.apps",
        "power.resume.services",
    ];
    let order = [1, 0, 2, 3, 4];
    let notes = order.into_iter().map(|index: usize| planner.milestone(names[index], ns(values[index]), "")).collect();
    let mut steps = vec![Step::Emit(Box::new(events::resume_totals(values)), notes)];
    if power.kind == PowerKind::FastStartup {
        let (total, file) = (ms(account.suspend) + ms(power.write), ms(power.write));
        let notes = vec![
            planner.milestone("power.hybrid_shutdown.total", ns(total), ""),
            planner.milestone("power.hybrid_shutdown.file", ns(file), ""),
        ];
        let event = events::hybrid_shutdown_totals(power.pages, total, file, 0);
        steps.push(Step::Emit(Box::new(event), notes));
        let resume = ms(account.resume);
        let (main_path, firmware) = (ms(account.main_path), ms(power.firmware));
        let notes = vec![
            planner.milestone("power.hybrid_boot.main_path", ns(main_path), ""),
            planner.milestone("power.hybrid_boot.firmware", ns(firmware), ""),
            planner.milestone("power.hybrid_boot.resume", ns(resume), ""),
        ];
        let event = events::hybrid_boot(main_path, firmware, resume);
        steps.push(Step::Emit(Box::new(event), notes));
    }
    steps
}

/// Returns the steps of Windows' idle detection, and of the work that keeps the system busy.
pub(super) fn idle_detection(planner: &mut Planner<'_>, power: &Power) -> Vec<Step> {
    let is_older_build = planner.scenario.machine.build < NEWER_TOTALS;
    let (id, detail) = match (power.kind, is_older_build) {
        (PowerKind::Hibernate, true) => (1002, "hibernate"),
        (PowerKind::Hibernate, false) => (1102, "hibernate"),
        (PowerKind::FastStartup, _) => (1111, "fast_startup"),
        (_, true) => (1001, "sleep"),
        (_, false) => (1101, "sleep"),
    };
    let mut steps = Vec::new();
    if let Some(time) = power.idle_after {
        let begin = planner.milestone("idle_detection.begin", None, detail);
        let end = planner.milestone("idle_detection.end", None, "");
        let stop = if is_older_build { 1003 } else { 1103 };
        steps.push(Step::emit_noted(events::idle_detection(id), begin));
        steps.push(Step::Begin);
        steps.extend(planner.plan.steps(&power.after));
        steps.push(Step::PadTo(time.0));
        steps.push(Step::emit_noted(events::idle_detection_stop(stop), end));
    } else {
        steps.extend(planner.plan.steps(&power.after));
    }
    steps
}
