//! The events that are read from logs.

use hashbrown::HashSet;
use onoff_event_log::Record;
use onoff_trace::TableSet;

use crate::phases;

pub(super) const DIAGNOSTICS: &str = "Microsoft-Windows-Diagnostics-Performance";
pub(super) const KERNEL_GENERAL: &str = "Microsoft-Windows-Kernel-General";
pub(super) const KERNEL_BOOT: &str = "Microsoft-Windows-Kernel-Boot";
pub(super) const KERNEL_POWER: &str = "Microsoft-Windows-Kernel-Power";
pub(super) const POWER_TROUBLESHOOTER: &str = "Microsoft-Windows-Power-Troubleshooter";
pub(super) const EVENT_LOG: &str = "EventLog";
/// The window manager: its name since Windows 8 and before.
pub(super) const USER32: [&str; 2] = ["User32", "USER32"];

/// Boot account.
pub(super) const BOOT_ACCOUNT: u32 = 100;
/// Delays of a boot that Windows reports, by what caused them.
pub(super) const BOOT_DELAYS: std::ops::RangeInclusive<u32> = 101..=110;
/// Shutdown account, which the next boot writes.
pub(super) const SHUTDOWN_ACCOUNT: u32 = 200;
/// Delays of a shutdown that Windows reports, by what caused them.
pub(super) const SHUTDOWN_DELAYS: std::ops::RangeInclusive<u32> = 201..=203;
/// A record of Kernel-Boot that each boot writes to a separate channel.
pub(super) const BOOT_RECORD: u32 = 292;
/// The kernel starts, and stops.
pub(super) const KERNEL_START: u32 = 12;
pub(super) const KERNEL_STOP: u32 = 13;
/// The clock was set.
pub(super) const CLOCK_SET: u32 = 1;
/// The kernel was asked to power off or restart.
pub(super) const POWER_ACTION: u32 = 109;
/// The last boot ended without a shutdown.
pub(super) const NO_SHUTDOWN: u32 = 41;
/// The computer is about to sleep.
pub(super) const SLEEP: u32 = 42;
/// A resume from sleep, hibernation or fast startup.
pub(super) const RESUME: u32 = 1;
/// How the last boot ended, and the kind of this one.
pub(super) const LAST_BOOT: u32 = 20;
pub(super) const BOOT_TYPE: u32 = 27;
/// The firmware's times of this start.
pub(super) const FIRMWARE_TIMES: u32 = 30;
/// A program requests a shutdown; the request failed; it was aborted.
pub(super) const SHUTDOWN_REQUEST: u32 = 1074;
pub(super) const SHUTDOWN_FAILED: u32 = 1073;
pub(super) const SHUTDOWN_ABORTED: u32 = 1075;
/// The log service stops; it notices that it was not stopped before.
pub(super) const LOG_STOP: u32 = 6006;
pub(super) const LOG_NOT_STOPPED: u32 = 6008;
/// Names Windows and its build when the log service starts.
pub(super) const SYSTEM_VERSION: u32 = 6009;
/// Uptime.
pub(super) const UPTIME: u32 = 6013;
/// Records that the log service writes when it starts, before the kernel's: start, version, uptime.
pub(super) const LOG_START: [u32; 3] = [6005, SYSTEM_VERSION, UPTIME];

/// Further events, which are read only from logs.
const OTHERS: &[(&str, &[u32])] = &[
    (DIAGNOSTICS, &[100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 200, 201, 202, 203]),
    (EVENT_LOG, &LOG_START),
    (EVENT_LOG, &[LOG_STOP, LOG_NOT_STOPPED]),
    (KERNEL_BOOT, &[LAST_BOOT, BOOT_RECORD]),
    (KERNEL_POWER, &[NO_SHUTDOWN]),
    (USER32[0], &[SHUTDOWN_FAILED, SHUTDOWN_REQUEST, SHUTDOWN_ABORTED]),
    (USER32[1], &[SHUTDOWN_FAILED, SHUTDOWN_REQUEST, SHUTDOWN_ABORTED]),
];

pub(super) const UPDATE_CLIENT: &str = "Microsoft-Windows-WindowsUpdateClient";
pub(super) const SERVICING: &str = "Microsoft-Windows-Servicing";
pub(super) const KERNEL_PNP: &str = "Microsoft-Windows-Kernel-PnP";
pub(super) const USER_PNP: &str = "Microsoft-Windows-UserPnp";
pub(super) const INSTALLER: &str = "MsiInstaller";
pub(super) const SERVICE_MANAGER: &str = "Service Control Manager";

/// The events that record changes of the computer.
pub(super) const CHANGES: &[(&str, &[u32])] = &[
    (UPDATE_CLIENT, &[19, 20, 43]),
    (SERVICING, &[2, 4]),
    (KERNEL_PNP, &[400, 411]),
    (USER_PNP, &[20_001]),
    (INSTALLER, &[1033, 1034, 11_707]),
    (SERVICE_MANAGER, &[7040, 7045]),
];

/// The events that record failures of services.
const SERVICE_FAILURES: &[(&str, &[u32])] =
    &[(SERVICE_MANAGER, &[7000, 7001, 7009, 7011, 7022, 7023, 7024, 7026, 7031, 7034, 7043])];

/// Providers and ids of the events to read.
pub(super) fn wanted() -> HashSet<(&'static str, u32)> {
    let of_phases = phases::wanted_names(TableSet::all()).map(|(provider, id)| (provider, u32::from(id)));
    let lists = [OTHERS, CHANGES, SERVICE_FAILURES];
    let others = lists.into_iter().flatten().flat_map(|&(provider, ids)| ids.iter().map(move |&id| (provider, id)));
    of_phases.chain(others).collect()
}

/// Whether a record is this event.
pub(super) fn is(record: &Record, provider: &str, id: u32) -> bool {
    record.id == id && record.provider == provider
}
