//! Sessions, logon and shell: Subsys-SMSS, Winlogon, Shell-Core, Diagnostics-PerfTrack, ReadyBoost.

use super::{EventTemplate, Provider, START, STOP};
use crate::assemble::Payload;

const SMSS: Provider = Provider::new(0x43e63da5_41d1_4fbf_aded_1bbed98fdd1d);
const WINLOGON: Provider = Provider::new(0xdbe9b383_7cf3_4331_91cc_a3cb16a3b538);
const SHELL: Provider = Provider::new(0x30336ed4_e327_447c_9de0_51b652c86108);
const PERFTRACK: Provider = Provider::new(0x030f2f57_abd0_4427_bcf1_3a3587d7dc7d);
const READYBOOST: Provider = Provider::new(0xe6307a09_292c_497e_aad6_498f68e2b619);

/// The session manager starts creating a process (1).
#[must_use]
pub fn execute_image_start(image: &str) -> EventTemplate {
    SMSS.event(1, 1, START, 0x1_0000, Payload::wide().u32(0).counted_text(image))
}

/// The session manager created the process (2).
#[must_use]
pub fn execute_image_stop(process: u32) -> EventTemplate {
    SMSS.event(2, 1, STOP, 0x1_0000, Payload::wide().u32(process))
}

/// Registry initialization by the session manager: start (3) or end (4).
#[must_use]
pub fn initialize_registry(begin: bool) -> EventTemplate {
    SMSS.event(if begin { 3 } else { 4 }, 3, if begin { START } else { STOP }, 0x1_0000, Payload::wide())
}

/// Boot-execute list of the session manager: start (7) or end (8).
#[must_use]
pub fn boot_execute_list(begin: bool) -> EventTemplate {
    SMSS.event(if begin { 7 } else { 8 }, 7, if begin { START } else { STOP }, 0x1_0000, Payload::wide())
}

/// A subsystem starts loading into a session (23).
#[must_use]
pub fn load_subsystem_start(session: u32, image: &str) -> EventTemplate {
    SMSS.event(23, 21, START, 0x1_0000, Payload::wide().u32(session).counted_text(image))
}

/// The subsystem was loaded (24).
#[must_use]
pub fn load_subsystem_stop() -> EventTemplate {
    SMSS.event(24, 21, STOP, 0x1_0000, Payload::wide().u32(0))
}

/// A Winlogon start/stop pair without payload, by start id: 101 create primary terminal, 103 start logon user
/// interface, 107 wait for session manager, 201 welcome screen, 203 request credentials.
#[must_use]
pub fn winlogon_step(start_id: u16, begin: bool) -> EventTemplate {
    WINLOGON.event(
        if begin { start_id } else { start_id + 1 },
        start_id,
        if begin { START } else { STOP },
        0x1_0000,
        Payload::wide(),
    )
}

/// Start of checking the user's credentials (1).
#[must_use]
pub fn authenticate_start() -> EventTemplate {
    WINLOGON.event(1, 1, START, 0x2000_0001_0000, Payload::wide())
}

/// End of checking the user's credentials (2).
#[must_use]
pub fn authenticate_stop() -> EventTemplate {
    WINLOGON.event(2, 1, STOP, 0x2000_0001_0000, Payload::wide().u32(0))
}

/// A subscriber of a logon notification: start (805) or end (806). Notification 0 is "create session", 2 "logon", 12
/// "start shell".
#[must_use]
pub fn notify_subscriber(begin: bool, notification: u32, subscriber: &str) -> EventTemplate {
    WINLOGON.event(
        if begin { 805 } else { 806 },
        805,
        if begin { START } else { STOP },
        0x2000_0001_0000,
        Payload::wide().u32(notification).text(subscriber),
    )
}

/// Start of the user's part of the boot (5001).
#[must_use]
pub fn user_boot_start(session: u32) -> EventTemplate {
    WINLOGON.event(5001, 5001, START, 0x2_0000, Payload::wide().u32(session))
}

/// End of the user's part of the boot (5002).
#[must_use]
pub fn user_boot_stop() -> EventTemplate {
    WINLOGON.event(5002, 5001, STOP, 0x2_0000, Payload::wide())
}

/// The user's shell is launched (5005).
#[must_use]
pub fn user_shell_launch() -> EventTemplate {
    WINLOGON.event(5005, 5005, 0, 0x2_0000, Payload::wide())
}

/// End of the system's boot (5007 v2), with the ReadyBoot training count.
#[must_use]
pub fn system_boot_stop(session: u32, training_count: u32) -> EventTemplate {
    WINLOGON
        .event(5007, 5007, STOP, 0x2_0000, Payload::wide())
        .version(2, Payload::wide().u32(session).u32(training_count).u32(0).u32(0))
}

/// Explorer initialization: start (9601) or end (9602).
#[must_use]
pub fn initializing_explorer(begin: bool) -> EventTemplate {
    SHELL.event(if begin { 9601 } else { 9602 }, 9601, if begin { START } else { STOP }, 0x401_0000, Payload::wide())
}

/// Interval until the desktop is ready: start (27230) or end (27231).
#[must_use]
pub fn desktop_ready(begin: bool) -> EventTemplate {
    SHELL.event(
        if begin { 27230 } else { 27231 },
        27230,
        if begin { START } else { STOP },
        0x2_0201_0000,
        Payload::wide(),
    )
}

/// Enumeration of a Run key: start (9705) or end (9706).
#[must_use]
pub fn enumerating_run_key(begin: bool, key: &str) -> EventTemplate {
    SHELL.event(
        if begin { 9705 } else { 9706 },
        9705,
        if begin { START } else { STOP },
        0x401_0000,
        Payload::wide().text(key),
    )
}

/// Explorer starts creating a process from a Run key (9707).
#[must_use]
pub fn run_key_command_start(command: &str) -> EventTemplate {
    SHELL.event(9707, 9707, START, 0x401_0000, Payload::wide().text(command))
}

/// Explorer created the process (9708).
#[must_use]
pub fn run_key_command_stop(process: u32, command: &str) -> EventTemplate {
    SHELL.event(9708, 9707, STOP, 0x401_0000, Payload::wide().u32(process).text(command))
}

/// Start of Windows' idle detection after a boot (PerfTrack 1100).
#[must_use]
pub fn idle_detection_start() -> EventTemplate {
    PERFTRACK.event(1100, 1100, START, 0, Payload::wide().text("").u64(0))
}

/// Accumulated idle time (PerfTrack 1110), 100 ns units.
#[must_use]
pub fn idle_detection_status(accumulated: i64) -> EventTemplate {
    PERFTRACK.event(1110, 1110, 0, 0x1_0000, Payload::wide().i64(accumulated))
}

/// End of Windows' idle detection (PerfTrack 1103).
#[must_use]
pub fn idle_detection_stop() -> EventTemplate {
    PERFTRACK.event(1103, 1103, STOP, 0, Payload::wide())
}

/// ReadyBoot history (ReadyBoost 1024 v2): recorded boots and age of the boot plan.
#[must_use]
pub fn ready_boot_history(history: u32, plan_age: u32) -> EventTemplate {
    READYBOOST
        .event(1024, 1016, 0, 0x2000, Payload::wide())
        .version(2, Payload::wide().u32(history).u32(plan_age).u32(7200).u32(0))
}
