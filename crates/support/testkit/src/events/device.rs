//! Kernel start, loader, devices and drivers: Kernel-PnP, Kernel-Boot, Kernel-General, Kernel-BootDiagnostics.

use super::{EventTemplate, Provider, START, STOP, SUSPEND};
use crate::assemble::Payload;

const PNP: Provider = Provider::new(0x9c205a39_1250_487d_abd7_e831c6290539);
const BOOT: Provider = Provider::new(0x15ca44ff_4d7a_4baa_bba5_0998955e531e);
const GENERAL: Provider = Provider::new(0xa68ca8b7_004f_d7b6_a698_07e2de0f1f5d);
const BOOT_DIAGNOSTICS: Provider = Provider::new(0x96ac7637_5950_4a30_b8f7_e07e8e5734c1);

/// Start (200) or end (201) of boot-start driver initialization.
#[must_use]
pub fn boot_start(begin: bool) -> EventTemplate {
    PNP.event(if begin { 200 } else { 201 }, 200, if begin { START } else { STOP }, 0x20, Payload::wide())
}

/// Start (202) or end (203) of system-start driver initialization.
#[must_use]
pub fn system_start(begin: bool) -> EventTemplate {
    PNP.event(if begin { 202 } else { 203 }, 202, if begin { START } else { STOP }, 0x20, Payload::wide())
}

/// Loader times (204 v0), in ticks of the processor's time-stamp counter.
#[must_use]
pub fn os_loader(start: u64, end: u64) -> EventTemplate {
    PNP.event(204, 204, 0, 0x20, Payload::wide().u64(start).u64(end))
}

/// Start of a boot driver's initialization (210).
#[must_use]
pub fn boot_init_start(driver: &str) -> EventTemplate {
    PNP.event(210, 210, START, 0x1020, Payload::wide().counted_text(driver))
}

/// End of a boot driver's initialization (211).
#[must_use]
pub fn boot_init_stop(driver: &str, status: u32) -> EventTemplate {
    PNP.event(211, 210, STOP, 0x1020, Payload::wide().counted_text(driver).u32(status))
}

/// Start of a driver load (212).
#[must_use]
pub fn driver_load_start(driver: &str) -> EventTemplate {
    PNP.event(212, 212, START, 0x2020, Payload::wide().counted_text(driver))
}

/// End of a driver load (213).
#[must_use]
pub fn driver_load_stop(service: &str, status: u32, driver: &str) -> EventTemplate {
    let payload = Payload::wide().counted_text(service).u32(status).counted_text(driver).u32(0);
    PNP.event(213, 212, STOP, 0x2020, payload)
}

/// Start request to a device (216).
#[must_use]
pub fn device_start(instance: &str) -> EventTemplate {
    PNP.event(216, 216, START, 0x8020, Payload::wide().counted_text(instance))
}

/// The start request was pended (217).
#[must_use]
pub fn device_start_pended(instance: &str) -> EventTemplate {
    PNP.event(217, 216, SUSPEND, 0x8020, Payload::wide().counted_text(instance))
}

/// The start request completed (218).
#[must_use]
pub fn device_start_stop(instance: &str, status: u32) -> EventTemplate {
    let payload = Payload::wide().counted_text(instance).u32(status).counted_text("").u32(0);
    PNP.event(218, 216, STOP, 0x8020, payload)
}

/// Enumeration request to a device (220).
#[must_use]
pub fn device_enum(instance: &str) -> EventTemplate {
    PNP.event(220, 220, START, 0x1_0020, Payload::wide().counted_text(instance))
}

/// The enumeration request was pended (221).
#[must_use]
pub fn device_enum_pended(instance: &str) -> EventTemplate {
    PNP.event(221, 220, SUSPEND, 0x1_0020, Payload::wide().counted_text(instance))
}

/// The enumeration request completed (222).
#[must_use]
pub fn device_enum_stop(instance: &str) -> EventTemplate {
    PNP.event(222, 220, STOP, 0x1_0020, Payload::wide().counted_text(instance))
}

/// Boot manager time (Kernel-Boot 7), ms.
#[must_use]
pub fn boot_manager(milliseconds: u64) -> EventTemplate {
    BOOT.event(7, 19, 0, 0x2000_0000_0000, Payload::wide().u64(milliseconds))
}

/// Time before the boot manager (Kernel-Boot 11), ms.
#[must_use]
pub fn pre_boot(milliseconds: u64) -> EventTemplate {
    BOOT.event(11, 20, 0, 0, Payload::wide().u64(milliseconds))
}

/// Boot type (Kernel-Boot 27 v1): 0 cold, 1 fast startup, 2 resume from hibernation.
#[must_use]
pub fn boot_type(kind: u32) -> EventTemplate {
    BOOT.event(27, 33, 0, 0, Payload::wide()).version(1, Payload::wide().u32(kind).ansi(" NOEXECUTE=OPTIN"))
}

/// The firmware's performance data (Kernel-Boot 30), ms since processor reset: reset end, loader load, loader start,
/// ExitBootServices entry, ExitBootServices exit.
#[must_use]
pub fn firmware_boot_data(times: [u64; 5]) -> EventTemplate {
    let payload = times.iter().fold(Payload::wide(), |payload, &time| payload.u64(time));
    BOOT.event(30, 21, 0, 0, payload)
}

/// The operating system started (Kernel-General 12).
#[must_use]
pub fn system_started(build: u32, boot_mode: u32, start_time: u64) -> EventTemplate {
    let payload = Payload::wide().u32(10).u32(0).u32(build).u32(0).u16(0).u32(boot_mode).u64(start_time);
    GENERAL.event(12, 1, 0, 0x80, payload)
}

/// Start of the "system boot" interval (Kernel-BootDiagnostics 501); Winlogon 5007 ends it.
#[must_use]
pub fn system_boot_start() -> EventTemplate {
    BOOT_DIAGNOSTICS.event(501, 501, START, 0, Payload::wide())
}
