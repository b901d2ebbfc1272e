//! The kernel's own account of a transition, and the system's own idle detection after it.

use super::Stage;
use crate::program::Step;
use crate::scenario::power::{Power, PowerKind};
use crate::span::{Span, TICKS_PER_SECOND};
use onoff_testkit::events::power as events;

/// The build that first records the kernel's newer totals.
const NEWER_TOTALS: u32 = 10240;

/// Whole milliseconds, as records carry them.
pub(super) fn ms(span: Span) -> u32 {
    (span.0 * 1000 / TICKS_PER_SECOND) as u32
}

/// Nanoseconds of these.
fn ns(milliseconds: u32) -> Option<i64> {
    Some(i64::from(milliseconds) * 1_000_000)
}

/// The kernel's account when devices are back.
pub(super) fn devices_back(stage: &mut Stage<'_>, power: &Power) -> Vec<Step> {
    if !stage.records_power() {
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
        notes.push(stage.milestone(name, value, ""));
    }
    let mut steps = vec![Step::Tell(Box::new(events::account(values)), notes)];
    if power.firmware_record {
        steps.extend(firmware(stage, power));
    }
    if power.writes_image() {
        let init = write / 20;
        let notes = vec![
            stage.milestone("power.hibernate.file", ns(write), ""),
            stage.milestone("power.hibernate.init", ns(init), ""),
        ];
        let event = events::image_written(write, init, power.pages);
        steps.push(Step::Tell(Box::new(event), notes));
    }
    if power.writes_image() && stage.scenario.machine.build >= NEWER_TOTALS {
        let size = power.pages.saturating_mul(4);
        let notes = vec![
            stage.milestone("power.hibernate.file_size", Some(i64::from(size) << 10), ""),
            stage.milestone("power.hibernate.total", ns(ms(account.suspend) + write), ""),
            stage.milestone("power.hibernate.file", ns(write), ""),
        ];
        let event = events::hibernate_totals(size, ms(account.suspend) + write, write);
        steps.push(Step::Tell(Box::new(event), notes));
    }
    if power.reads_image() && stage.scenario.machine.build >= NEWER_TOTALS {
        steps.push(image_resume(stage, power, write, read));
    }
    steps
}

/// Firmware's own record: when it suspended, since the processor was reset two hours before, and how long it took to resume.
fn firmware(stage: &mut Stage<'_>, power: &Power) -> [Step; 2] {
    let (begin, end) = (7_855_209, 7_855_212);
    let notes = vec![
        stage.milestone("firmware.suspend.begin", ns(begin), ""),
        stage.milestone("firmware.suspend.end", ns(end), ""),
    ];
    let suspend = events::firmware_suspend(begin.into(), end.into());
    let resume = ms(power.firmware);
    let average = resume / 2;
    let resumed = vec![
        stage.milestone("firmware.resume.last", ns(resume), ""),
        stage.milestone("firmware.resume.average", ns(average), ""),
    ];
    [Step::Tell(Box::new(suspend), notes), Step::Tell(Box::new(events::firmware_resume(3, resume, average)), resumed)]
}

/// The account of a start from a memory image.
fn image_resume(stage: &mut Stage<'_>, power: &Power, write: u32, read: u32) -> Step {
    let account = &power.account;
    // A third of the image is read by the kernel, the rest by the loader before it.
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
    let notes = values.into_iter().map(|(name, value)| stage.milestone(name, ns(value), "")).collect();
    Step::Tell(Box::new(events::image_resume(&times)), notes)
}

/// The kernel's account when all are told.
pub(super) fn all_told(stage: &mut Stage<'_>, power: &Power) -> Vec<Step> {
    if !stage.records_power() || stage.scenario.machine.build < NEWER_TOTALS {
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
    let notes = order.into_iter().map(|index: usize| stage.milestone(names[index], ns(values[index]), "")).collect();
    let mut steps = vec![Step::Tell(Box::new(events::resume_totals(values)), notes)];
    if power.kind == PowerKind::FastStartup {
        let (total, file) = (ms(account.suspend) + ms(power.write), ms(power.write));
        let notes = vec![
            stage.milestone("power.hybrid_shutdown.total", ns(total), ""),
            stage.milestone("power.hybrid_shutdown.file", ns(file), ""),
        ];
        let event = events::hybrid_shutdown_totals(power.pages, total, file, 0);
        steps.push(Step::Tell(Box::new(event), notes));
        let resume = ms(account.resume);
        let (main, firmware) = (ms(account.main_path), ms(power.firmware));
        let notes = vec![
            stage.milestone("power.hybrid_boot.main_path", ns(main), ""),
            stage.milestone("power.hybrid_boot.firmware", ns(firmware), ""),
            stage.milestone("power.hybrid_boot.resume", ns(resume), ""),
        ];
        let event = events::hybrid_boot(main, firmware, resume);
        steps.push(Step::Tell(Box::new(event), notes));
    }
    steps
}

/// The system's own idle detection, and what keeps it busy.
pub(super) fn idle_detection(stage: &mut Stage<'_>, power: &Power) -> Vec<Step> {
    let older = stage.scenario.machine.build < NEWER_TOTALS;
    let (id, detail) = match (power.kind, older) {
        (PowerKind::Hibernate, true) => (1002, "hibernate"),
        (PowerKind::Hibernate, false) => (1102, "hibernate"),
        (PowerKind::FastStartup, _) => (1111, "fast_startup"),
        (_, true) => (1001, "sleep"),
        (_, false) => (1101, "sleep"),
    };
    let mut steps = Vec::new();
    if let Some(time) = power.idle_after {
        let begin = stage.milestone("idle_detection.begin", None, detail);
        let end = stage.milestone("idle_detection.end", None, "");
        let stop = if older { 1003 } else { 1103 };
        steps.push(Step::tell_note(events::idle_detection(id), begin));
        steps.push(Step::Begin);
        steps.extend(stage.plan.steps(&power.after));
        steps.push(Step::Pad(time.0));
        steps.push(Step::tell_note(events::idle_detection_stop(stop), end));
    } else {
        steps.extend(stage.plan.steps(&power.after));
    }
    steps
}
