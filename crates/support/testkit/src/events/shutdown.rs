//! Shutdown events: Subsys-Csr, Winsrv, Wininit, Winlogon, the kernel.

use super::{EventTemplate, Provider, START, STOP};
use crate::assemble::Payload;

const CSR: Provider = Provider::new(0xe8316a2d_0d94_4f52_85dd_1e15b66c5891);
const WINSRV: Provider = Provider::new(0x9d55b53d_449b_4824_a637_24f9d69aa02f);
const WININIT: Provider = Provider::new(0x206f6dea_d3c5_4d10_bc72_989f03c8b84b);
const WINLOGON: Provider = Provider::new(0xdbe9b383_7cf3_4331_91cc_a3cb16a3b538);
const POWER: Provider = Provider::new(0x331c3b3a_2005_44c2_ac5e_77220c37d6b4);
const GENERAL: Provider = Provider::new(0xa68ca8b7_004f_d7b6_a698_07e2de0f1f5d);

/// WM_QUERYENDSESSION in ThreadShutdown_SentMessage.
pub const WM_QUERYENDSESSION: u32 = 0x11;
/// WM_ENDSESSION in ThreadShutdown_SentMessage.
pub const WM_ENDSESSION: u32 = 0x16;

const fn opcode(begin: bool) -> u8 {
    if begin { START } else { STOP }
}

/// Event id of a start/end pair with consecutive ids.
const fn paired_id(start_id: u16, begin: bool) -> u16 {
    if begin { start_id } else { start_id + 1 }
}

/// Shutdown of a session's applications: start (Subsys-Csr 1) or end (2).
#[must_use]
pub fn session_processes(begin: bool) -> EventTemplate {
    let id = paired_id(1, begin);
    CSR.event(id, 1, opcode(begin), 0x1_0000, Payload::wide())
}

/// An application is asked to end (Subsys-Csr 3).
#[must_use]
pub fn process_start(process: u32, level: u32, flags: u32) -> EventTemplate {
    let payload = Payload::wide().u32(process).u32(level).u32(flags);
    CSR.event(3, 3, START, 0x1_0000, payload)
}

/// The application ended or refused (Subsys-Csr 4); only version 1 contains its id.
#[must_use]
pub fn process_stop(version: u8, process: u32, status: u32) -> EventTemplate {
    let event = CSR.event(4, 3, STOP, 0x1_0000, Payload::wide().u32(status));
    if version == 0 { event } else { event.version(1, Payload::wide().u32(status).u32(process)) }
}

/// Start of asking the windows of a process (Winsrv 12009 v1).
#[must_use]
pub fn windows_start(process: u32, flags: u32) -> EventTemplate {
    WINSRV.event(12009, 12009, START, 0x100, Payload::wide()).version(1, Payload::wide().u32(process).u32(flags))
}

/// End of asking the windows of a process (Winsrv 12010 v1).
#[must_use]
pub fn windows_stop(process: u32, status: u32) -> EventTemplate {
    WINSRV.event(12010, 12009, STOP, 0x100, Payload::wide()).version(1, Payload::wide().u32(process).u32(status))
}

/// A thread with windows is asked (Winsrv 12001); version 1 contains the process id.
#[must_use]
pub fn thread_start(version: u8, thread: u32, flags: u32, process: u32) -> EventTemplate {
    let payload = Payload::wide().u32(thread).u32(flags);
    let event = WINSRV.event(12001, 12001, START, 0x100, payload.clone());
    if version == 0 { event } else { event.version(1, payload.u32(process)) }
}

/// A message was sent to the thread's windows (Winsrv 12003).
#[must_use]
pub fn thread_message(version: u8, message: u32, flags: u32, thread: u32) -> EventTemplate {
    let payload = Payload::wide().u32(message).u32(flags);
    let event = WINSRV.event(12003, 12003, 0, 0x100, payload.clone());
    if version == 0 { event } else { event.version(1, payload.u32(thread)) }
}

/// The thread responded or timed out (Winsrv 12002); only version 1 contains its id.
#[must_use]
pub fn thread_stop(version: u8, command: u32, thread: u32) -> EventTemplate {
    let payload = Payload::wide().u32(command);
    let event = WINSRV.event(12002, 12001, STOP, 0x100, payload.clone());
    if version == 0 { event } else { event.version(1, payload.u32(thread)) }
}

/// Start of terminating a process (Winsrv 12005); only version 1 contains its id.
#[must_use]
pub fn terminate_start(version: u8, process: u32) -> EventTemplate {
    let event = WINSRV.event(12005, 12005, START, 0x100, Payload::wide());
    if version == 0 { event } else { event.version(1, Payload::wide().u32(process)) }
}

/// End of terminating a process (Winsrv 12006).
#[must_use]
pub fn terminate_stop(version: u8, process: u32, status: u32) -> EventTemplate {
    let event = WINSRV.event(12006, 12005, STOP, 0x100, Payload::wide());
    if version == 0 { event } else { event.version(1, Payload::wide().u32(process).u32(status)) }
}

/// Start of waiting for a process to end (Winsrv 12007); only version 1 contains its id.
#[must_use]
pub fn process_wait_start(version: u8, process: u32) -> EventTemplate {
    let event = WINSRV.event(12007, 12007, START, 0x100, Payload::wide());
    if version == 0 { event } else { event.version(1, Payload::wide().u32(process)) }
}

/// The process has ended (Winsrv 12008).
#[must_use]
pub fn process_wait_stop(version: u8, status: u32, process: u32) -> EventTemplate {
    let payload = Payload::wide().u32(status);
    let event = WINSRV.event(12008, 12007, STOP, 0x100, payload.clone());
    if version == 0 { event } else { event.version(1, payload.u32(process)) }
}

/// Broadcast notification, by number: start (Winsrv 12011 v1) or end (12012).
#[must_use]
pub fn broadcast(begin: bool, event_type: u32) -> EventTemplate {
    let id = paired_id(12011, begin);
    WINSRV.event(id, 12010, opcode(begin), 0x100, Payload::wide()).version(1, Payload::wide().u32(event_type))
}

/// Wininit's steps, by start id: 1 wait for the user session, 3 pre-shutdown notification, 5 wait for system processes,
/// 7 System Restore.
#[must_use]
pub fn wininit_step(start_id: u16, begin: bool) -> EventTemplate {
    let id = paired_id(start_id, begin);
    WININIT.event(id, start_id, opcode(begin), 0x1_0000, Payload::wide())
}

/// Shutdown of the system session: start with its flags (Wininit 9), end with a status (10).
#[must_use]
pub fn system_session(begin: bool, value: u32) -> EventTemplate {
    let id = paired_id(9, begin);
    WININIT.event(id, 9, opcode(begin), 0x1_0000, Payload::wide().u32(value))
}

/// The kernel is asked to shut down (Wininit 51).
#[must_use]
pub fn kernel_shutdown_requested() -> EventTemplate {
    WININIT.event(51, 51, 0, 0x1_0000, Payload::wide())
}

/// A session is asked to log off (Wininit 53).
#[must_use]
pub fn sent_logoff_request(session: u32, flags: u32) -> EventTemplate {
    let payload = Payload::wide().u32(session).u32(flags);
    WININIT.event(53, 53, 0, 0x1_0000, payload)
}

/// Wininit received a shutdown request (Wininit 55).
#[must_use]
pub fn received_shutdown_request(session: u32, flags: u32, reason: u32, message: &str) -> EventTemplate {
    let payload = Payload::wide().u32(session).u32(0).u32(0).u32(flags).u32(reason).text(message);
    WININIT.event(55, 55, 0, 0x1_0000, payload)
}

/// Winlogon received a logoff request (301).
#[must_use]
pub fn received_logoff_request(flags: u32) -> EventTemplate {
    WINLOGON.event(301, 301, 0, 0x1_0000, Payload::wide().u32(flags))
}

/// Winlogon shuts down its session: start with its flags (401), end with a status (402).
#[must_use]
pub fn shutdown_windows(begin: bool, value: u32) -> EventTemplate {
    let id = paired_id(401, begin);
    WINLOGON.event(id, 401, opcode(begin), 0x1_0000, Payload::wide().u32(value))
}

/// Winlogon initiates a shutdown: start with its flags (403), end with a status (404).
#[must_use]
pub fn initiate_shutdown(begin: bool, value: u32) -> EventTemplate {
    let id = paired_id(403, begin);
    WINLOGON.event(id, 403, opcode(begin), 0x1_0000, Payload::wide().u32(value))
}

/// Winlogon calls the subscribers of a notification: start (801) or end (802).
#[must_use]
pub fn notification(begin: bool, number: u32) -> EventTemplate {
    let id = paired_id(801, begin);
    let keyword = if begin { 0x2000_0009_0000 } else { 0x2000_0001_0000 };
    WINLOGON.event(id, 801, opcode(begin), keyword, Payload::wide().u32(number))
}

/// The kernel's shutdown steps, by start id (Kernel-Power): 47 all of them, 49 page file, 51 drivers, 53 processes, 55
/// registry, 518 file systems.
#[must_use]
pub fn kernel_step(start_id: u16, begin: bool) -> EventTemplate {
    let task = match start_id {
        47 => 48,
        49 => 49,
        51 => 50,
        53 => 51,
        55 => 52,
        _ => 209,
    };
    let keyword = if start_id == 47 && !begin { 0x9 } else { 0x808 };
    let id = paired_id(start_id, begin);
    POWER.event(id, task, opcode(begin), keyword, Payload::wide())
}

/// The kernel's shutdown action (Kernel-Power 109): 4 shutdown, 5 restart, 6 power off.
#[must_use]
pub fn shutdown_action(action: u32, event_code: u32, reason: u32) -> EventTemplate {
    let payload = Payload::wide().u32(action).u32(event_code).u32(reason);
    POWER.event(109, 103, 0, 0x4000_0000_0404, payload)
}

/// The operating system stops (Kernel-General 13), with the wall clock.
#[must_use]
pub fn system_stopped() -> EventTemplate {
    GENERAL.event(13, 2, 0, 0x80, Payload::wide().u64(0)).with_wall_clock(0)
}
