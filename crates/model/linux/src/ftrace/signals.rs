//! Records termination requests (SIGTERM and similar) and processes that the service manager killed.

use onoff_trace::{Notification, NotificationKind, TableName};

use crate::assembly::Assembly;

const EVENT: &str = "ftrace/signal_generate";

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// PID of the service manager and of systemd-shutdown.
const SERVICE_MANAGER: u32 = 1;

/// Processes a signal sent by thread `sender`.
pub(super) fn on_signal(time_ns: i64, sender: u32, number: i32, (task, pid): (&str, u32), assembly: &mut Assembly) {
    let kind = match number {
        SIGTERM | SIGINT | SIGQUIT | SIGHUP if sender != pid => NotificationKind::ApplicationShutdown,
        SIGKILL if sender == SERVICE_MANAGER => NotificationKind::Termination,
        _ => return,
    };
    if !assembly.wants(TableName::Notifications) {
        return;
    }
    let row = Notification {
        kind,
        start_ns: time_ns,
        name: assembly.intern(task),
        pid: Some(pid),
        flags: u32::try_from(number).ok(),
        sender_pid: Some(sender),
        sender_tid: Some(sender),
        event: assembly.intern(EVENT),
        ..Notification::UNKNOWN
    };
    assembly.notifications.push(row);
}
