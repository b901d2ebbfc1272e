//! Sleep and hibernation: Kernel-Power, the kernel logger's power events, and related events.

use super::{EventTemplate, Provider, START, STOP};
use crate::assemble::Payload;

const POWER: Provider = Provider::new(0x331c3b3a_2005_44c2_ac5e_77220c37d6b4);
const GENERAL: Provider = Provider::new(0xa68ca8b7_004f_d7b6_a698_07e2de0f1f5d);
const PERFTRACK: Provider = Provider::new(0x030f2f57_abd0_4427_bcf1_3a3587d7dc7d);

const PHASE_START: u8 = 33;
const PHASE_STOP: u8 = 34;

/// Minor functions of power IRPs.
pub mod minor {
    /// `IRP_MN_SET_POWER`.
    pub const SET_POWER: u8 = 2;
    /// `IRP_MN_QUERY_POWER`.
    pub const QUERY_POWER: u8 = 3;
}

/// Start of a transition (1), with the wall clock.
#[must_use]
pub fn transition_start(reason: u32, flags: u32) -> EventTemplate {
    let payload = Payload::wide().u32(reason).u32(flags).u64(0);
    POWER.event(1, 33, START, 0x3009, payload).with_wall_clock(8)
}

/// End of the transition (2), with the wall clock. Version 1 contains the wake source.
#[must_use]
pub fn transition_stop(status: u32, wake_source: Option<&str>) -> EventTemplate {
    let payload = Payload::wide().u32(status).u64(0);
    let event = POWER.event(2, 33, STOP, 0x1009, payload.clone());
    let event = match wake_source {
        None => event,
        Some(source) => {
            let kind = "Device";
            let payload = payload
                .u16(kind.len() as u16)
                .u16(0)
                .u16(source.encode_utf16().count() as u16)
                .u16(0)
                .units(kind)
                .units(source);
            event.version(1, payload)
        }
    };
    event.with_wall_clock(4)
}

/// Start or end of a phase of a transition, by start id: 3 and 5 query applications and services, 22 and 24 suspend
/// them, 26 and 27 resume them, 37 wake devices, 45 flush volumes, 57 show and 70 hide the screen, 64 prefetcher, 66
/// logon, 68 callbacks, 100 flush pages, 102 build the device list.
#[must_use]
pub fn phase(start_id: u16, begin: bool) -> EventTemplate {
    let (task, stop_id) = match start_id {
        3 => (34, 4),
        5 => (35, 6),
        22 => (37, 23),
        24 => (38, 25),
        26 => (44, 133),
        27 => (43, 134),
        37 => (42, 38),
        45 => (47, 46),
        57 => (53, 58),
        64 => (54, 65),
        66 => (55, 67),
        68 => (56, 69),
        70 => (57, 71),
        100 => (97, 101),
        _ => (98, 103),
    };
    let opcode = match (start_id, begin) {
        (45, true) => START,
        (45, false) => STOP,
        (_, true) => PHASE_START,
        (_, false) => PHASE_STOP,
    };
    let keyword = match (start_id, begin) {
        (37, true) => 0x1c0c,
        (37, false) => 0xc0c,
        _ => 0x808,
    };
    // The ends of the query phases contain a status.
    let payload = match (start_id, begin) {
        (3 | 5, false) => Payload::wide().u32(0),
        _ => Payload::wide(),
    };
    POWER.event(if begin { start_id } else { stop_id }, task, opcode, keyword, payload)
}

/// Start of a query or suspend phase of devices (35).
#[must_use]
pub fn devices_start(query: bool, target: u32, effective: u32) -> EventTemplate {
    let payload = Payload::wide().boolean(query).u32(target).u32(effective);
    POWER.event(35, 41, PHASE_START, 0x3c0c, payload)
}

/// End of a query or suspend phase of devices (36).
#[must_use]
pub fn devices_stop() -> EventTemplate {
    POWER.event(36, 41, PHASE_STOP, 0x808, Payload::wide())
}

/// Notification to an application, by id (12 query, 16 suspend, 28 resume).
#[must_use]
pub fn application_start(id: u16, process: u32, name: &str) -> EventTemplate {
    let payload = Payload::wide().u32(process).counted_text(name);
    POWER.event(id, task_of(id), START, 0x808, payload)
}

/// Response of an application (13 or 17).
#[must_use]
pub fn application_stop(id: u16, process: u32) -> EventTemplate {
    POWER.event(id, task_of(id - 1), STOP, 0x808, Payload::wide().u32(process))
}

/// Notification to a service, by id (14 query, 18 suspend, 29 resume).
#[must_use]
pub fn service_start(id: u16, name: &str) -> EventTemplate {
    let payload = Payload::wide().counted_text(name);
    POWER.event(id, task_of(id), START, 0x808, payload)
}

/// Response of a service (15 or 19).
#[must_use]
pub fn service_stop(id: u16, name: &str) -> EventTemplate {
    let payload = Payload::wide().counted_text(name);
    POWER.event(id, task_of(id - 1), STOP, 0x808, payload)
}

const fn task_of(begin: u16) -> u16 {
    match begin {
        12 => 34,
        14 => 35,
        16 => 37,
        18 => 38,
        28 => 44,
        _ => 43,
    }
}

/// A power request to a device.
#[derive(Clone, Copy, Debug)]
pub struct PowerIrp<'a> {
    pub irp: u64,
    /// `state` is a device power state, not a system power state.
    pub is_device_request: bool,
    /// Minor function, see [`minor`].
    pub minor: u8,
    pub instance: &'a str,
    pub state: u8,
}

impl PowerIrp<'_> {
    /// Returns the start of the request (7). Version 1 contains the requested state.
    #[must_use]
    pub fn start(&self, version: u8) -> EventTemplate {
        let payload = Payload::wide()
            .pointer(self.irp)
            .u32(u32::from(self.is_device_request))
            .u8(self.minor)
            .pointer(0xFFFF_8000_1000_0000 | self.irp & 0xFFF_FFFF)
            .counted_text(self.instance);
        let event = POWER.event(7, 39, START, 0x8, payload.clone());
        if version == 0 { event } else { event.version(1, payload.u8(self.state)) }
    }

    /// Returns the payload of the kernel logger's record (hook 0x1226, version 2).
    #[must_use]
    pub fn logger_start(&self, order: u8) -> Payload {
        Payload::wide()
            .pointer(self.irp)
            .pointer(0xFFFF_F801_3000_0000)
            .bytes(&[order, 0x16, self.minor, 0])
            .u32(u32::from(self.is_device_request))
            .u32(self.state.into())
            .u32(self.instance.encode_utf16().count() as u32)
            .text(self.instance)
    }
}

/// Payload of a completion in the kernel logger's group (hook 0x1227, version 2).
#[must_use]
pub fn logger_request_stop(irp: u64, status: u32) -> Payload {
    Payload::wide().pointer(irp).u32(status)
}

/// Payload of the start of a transition in the kernel logger's group (hook 0x1222, version 2).
#[must_use]
pub fn logger_action_start(action: u32, state: u32) -> Payload {
    Payload::wide().pointer(0xFFFF_9C00_0000_1000).u32(action).u32(state)
}

/// Payload of the end of a transition in the kernel logger's group (hook 0x1223, version 2).
#[must_use]
pub fn logger_action_stop(status: u32) -> Payload {
    Payload::wide().pointer(0xFFFF_9C00_0000_1000).u32(status)
}

/// Completion of a request (8).
#[must_use]
pub fn request_stop(irp: u64, status: u32) -> EventTemplate {
    let payload = Payload::wide().pointer(irp).u32(status).text("");
    POWER.event(8, 39, STOP, 0x8, payload)
}

/// Completion of a request as newer versions repeat it (523).
#[must_use]
pub fn request_info(irp: u64, status: u32, elapsed: u64) -> EventTemplate {
    let payload = Payload::wide().pointer(irp).u32(status).text("").u64(elapsed);
    POWER.event(523, 39, 0, 0x2000_0000_0008, payload)
}

/// The transition only waits for this request (11).
#[must_use]
pub fn request_waiting(irp: u64) -> EventTemplate {
    POWER.event(11, 58, 0, 0, Payload::wide().pointer(irp))
}

/// A driver receives the request (20).
#[must_use]
pub fn driver_start(irp: u64, device: u64, driver: &str) -> EventTemplate {
    let payload = Payload::wide().pointer(irp).pointer(device).text(driver);
    POWER.event(20, 40, START, 0x8, payload)
}

/// A driver is done with the request (21).
#[must_use]
pub fn driver_stop(irp: u64, device: u64) -> EventTemplate {
    POWER.event(21, 40, STOP, 0x8, Payload::wide().pointer(irp).pointer(device))
}

/// The memory image is about to be written (34).
#[must_use]
pub fn hibernate() -> EventTemplate {
    POWER.event(34, 45, 0, 0x2c0c, Payload::wide().u32(0))
}

/// The last record before the system sleeps (42 v2).
#[must_use]
pub fn last_before_sleep(target: u32, effective: u32, reason: u32, flags: u32) -> EventTemplate {
    POWER
        .event(42, 64, 0, 0x404, Payload::wide())
        .version(2, Payload::wide().u32(target).u32(effective).u32(reason).u32(flags))
}

/// The first record after the sleep (107 v0).
#[must_use]
pub fn first_after_sleep(target: u32, effective: u32, previous_state: u32) -> EventTemplate {
    let payload = Payload::wide().u32(target).u32(effective).u32(previous_state);
    POWER.event(107, 102, 0, 0x444, payload)
}

/// The kernel's totals (39 v0), ms: suspend, resume, resuming devices, writing the image, reading it; pages of the
/// image; firmware, ms.
#[must_use]
pub fn kernel_totals(values: [u32; 7]) -> EventTemplate {
    POWER.event(39, 33, 0, 0x1c0c, u32_fields(&values))
}

/// Statistics of writing the memory image (108): bytes copied, then ms and counts.
#[must_use]
pub fn image_written(elapsed: u32, init: u32, pages: u32) -> EventTemplate {
    let payload = Payload::wide()
        .u64(u64::from(pages) * 4096)
        .u32(elapsed)
        .u32(elapsed)
        .u32(init)
        .u32(0)
        .u32(pages)
        .u32(pages)
        .u32(1)
        .u32(1)
        .u32(0)
        .u32(0)
        .u32(0);
    POWER.event(108, 33, 0, 0xc0c, payload)
}

/// Windows' totals of a resume from a memory image, ms.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImageResume {
    pub total: u32,
    pub firmware: u32,
    pub boot_manager: u32,
    /// Resume loader, including reading the image.
    pub loader: u32,
    /// Reading the image in the resume loader.
    pub loader_read: u32,
    /// User input in the resume loader.
    pub user: u32,
    pub image_write: u32,
    /// The whole hibernation.
    pub hibernate: u32,
    /// Reading the image in the kernel.
    pub kernel_read: u32,
    pub devices: u32,
}

/// Totals of a resume from a memory image (117 v0).
#[must_use]
pub fn image_resume(times: &ImageResume) -> EventTemplate {
    let mut fields = [0_u32; 30];
    fields[0] = times.total;
    fields[1] = times.firmware;
    fields[2] = times.boot_manager;
    fields[3] = times.loader;
    fields[7] = times.loader_read;
    fields[13] = times.user;
    fields[20] = times.image_write;
    fields[23] = times.hibernate;
    fields[24] = times.kernel_read;
    fields[27] = times.devices;
    let payload = u32_fields(&fields).u64(0).u32(0).u64(0).u32(0).u32(0).u32(0).u32(0).u32(0).u32(0).u32(0);
    POWER.event(117, 33, 0, 0xc0c, payload)
}

/// The kernel's totals of a hibernation (120): size of the file, KiB; whole hibernation and writing the file, ms.
#[must_use]
pub fn hibernate_totals(size_kib: u32, total: u32, file: u32) -> EventTemplate {
    POWER.event(120, 33, 0, 0x809, u32_fields(&[size_kib, total, file]))
}

/// The kernel's totals of a resume (121 v1), ms: devices, all, firmware, applications, services.
#[must_use]
pub fn resume_totals(values: [u32; 5]) -> EventTemplate {
    POWER.event(121, 33, 0, 0x809, Payload::wide()).version(1, u32_fields(&values))
}

/// The kernel's totals of a fast startup's shutdown (123 v1): size of the file, then ms.
#[must_use]
pub fn hybrid_shutdown_totals(size: u32, total: u32, file: u32, system: u32) -> EventTemplate {
    POWER.event(123, 33, 0, 0x809, Payload::wide()).version(1, u32_fields(&[size, total, file, system]))
}

/// The firmware's record of a suspend (130), ms since reset.
#[must_use]
pub fn firmware_suspend(start: u64, end: u64) -> EventTemplate {
    POWER.event(130, 33, 0, 0x404, Payload::wide().u64(start).u64(end))
}

/// The firmware's record of resumes (131): count, then last and average, ms.
#[must_use]
pub fn firmware_resume(count: u32, last: u32, average: u32) -> EventTemplate {
    POWER.event(131, 33, 0, 0x404, u32_fields(&[count, last, average]))
}

/// Start of modern standby (506 v0).
#[must_use]
pub fn standby_enter(reason: u32) -> EventTemplate {
    POWER.event(506, 157, 0, 0x404, Payload::wide().u32(reason))
}

/// End of modern standby (507 v2), times in µs.
#[must_use]
pub fn standby_exit(reason: u32, total: u64, deepest: u64, hardware: u64, latency: u64) -> EventTemplate {
    let payload = Payload::wide()
        .u32(120)
        .u64(total - deepest)
        .u64(0)
        .u64(0)
        .u64(deepest)
        .u64(total)
        .u32(14)
        .u8(100)
        .boolean(false)
        .u32(reason)
        .u64(0)
        .u64(0)
        .boolean(false)
        .u64(hardware)
        .u64(latency);
    POWER.event(507, 158, 0, 0x604, Payload::wide()).version(2, payload)
}

/// Reasons for setting the clock (Kernel-General 1).
pub mod clock_set_reason {
    /// A program or the time service set it.
    pub const PROGRAM: u32 = 1;
    pub const SLEEP: u32 = 2;
}

/// The clock was advanced after a sleep (Kernel-General 1 v4) by `delta_ms`; contains the wall clock.
#[must_use]
pub fn clock_set(delta_ms: i64) -> EventTemplate {
    let payload = Payload::wide()
        .u64(0)
        .u64(0)
        .i64(delta_ms)
        .u32(clock_set_reason::SLEEP)
        .text("")
        .u32(4)
        .u64(0)
        .i32(-60)
        .boolean(false)
        .boolean(false);
    GENERAL.event(1, 5, 0, 0x10, Payload::wide()).version(4, payload).with_wall_clock(0)
}

/// The clock was set (`FILETIME`), as recorded by Windows before 11 22H2 (Kernel-General 1 v2).
#[must_use]
pub fn clock_set_before_22h2(new: u64, old: u64, reason: u32) -> EventTemplate {
    let payload = Payload::wide().u64(new).u64(old).u32(reason).text("").u32(4);
    GENERAL.event(1, 5, 0, 0x10, Payload::wide()).version(2, payload)
}

/// Start of Windows' idle detection after a transition (PerfTrack, by id: 1001 and 1101 sleep, 1002 and 1102
/// hibernation, 1111 fast startup, 1112 modern standby).
#[must_use]
pub fn idle_detection(id: u16) -> EventTemplate {
    let payload = if id < 1100 { Payload::wide() } else { Payload::wide().text("").u64(0) };
    let task = if id < 1100 { id + 100 } else { id };
    PERFTRACK.event(id, task, START, 0, payload)
}

/// Windows' totals of a fast startup (PerfTrack 1500 v0), ms: main path, firmware, resume.
#[must_use]
pub fn hybrid_boot(main_path: u32, firmware: u32, resume: u32) -> EventTemplate {
    PERFTRACK.event(1500, 1500, 0, 0, u32_fields(&[main_path, firmware, resume, 0]))
}

fn u32_fields(values: &[u32]) -> Payload {
    values.iter().fold(Payload::wide(), |payload, &value| payload.u32(value))
}

/// End of Windows' idle detection (PerfTrack 1103; 1003 before Windows 8).
#[must_use]
pub fn idle_detection_stop(id: u16) -> EventTemplate {
    PERFTRACK.event(id, 1103, STOP, 0, Payload::wide())
}
