//! Reads the messages of systemd-shutdown and the kernel at the end of a shutdown, and the processes that the service
//! manager killed.

use onoff_trace::{Activity, ActivityKind, Notification, NotificationKind, milestone, shutdown_step};

use super::text_between;
use crate::assembly::Assembly;

const EXECUTOR: &str = "systemd-shutdown[1]: ";
const EVENT: &str = "kernel log/systemd-shutdown";

/// Tracks the steps of systemd-shutdown; each ends when the next begins.
#[derive(Debug, Default)]
pub(super) struct ShutdownTracker {
    open: Option<(&'static str, i64)>,
    begun: bool,
    last_ns: i64,
}

impl ShutdownTracker {
    pub(super) fn on_message(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) -> bool {
        if let Some(text) = text.strip_prefix(EXECUTOR) {
            self.on_executor_message(time_ns, text, assembly);
            return true;
        }
        if let Some(text) = text.strip_prefix("systemd[1]: ") {
            return on_kill_message(time_ns, text, assembly).is_some();
        }
        let kind = match text.strip_prefix("reboot: ") {
            Some("Power down") => "poweroff",
            Some("System halted") => "halt",
            Some(text) if text.starts_with("Restarting system") => "reboot",
            _ => return false,
        };
        assembly.add_milestone(time_ns, milestone::SHUTDOWN_KIND, kind, None, "kernel log/reboot");
        self.start_step(Some(shutdown_step::KERNEL_STOP), time_ns, assembly);
        self.start_step(None, time_ns, assembly);
        true
    }

    fn on_executor_message(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) {
        self.last_ns = time_ns;
        if !self.begun {
            self.begun = true;
            assembly.add_milestone(time_ns, milestone::SHUTDOWN_EXECUTOR, "", None, EVENT);
        }
        if text.starts_with("Sending SIGTERM to remaining") {
            self.start_step(Some(shutdown_step::TERMINATE_REMAINING), time_ns, assembly);
        } else if text.starts_with("Sending SIGKILL to remaining") {
            self.start_step(Some(shutdown_step::KILL_REMAINING), time_ns, assembly);
        } else if text.starts_with("Unmounting file systems") {
            self.start_step(Some(shutdown_step::UNMOUNT), time_ns, assembly);
        } else if text.starts_with("All filesystems, swaps") && text.ends_with("detached.") {
            // From here to the end, systemd-shutdown runs the executables in the hook directory.
            self.start_step(Some(shutdown_step::SHUTDOWN_HOOKS), time_ns, assembly);
        } else if let Some(process) = text.strip_prefix("Sending SIGKILL to PID ") {
            // `Sending SIGKILL to PID 208 (name).`
            let (pid, name) = process.split_once(" (").unwrap_or((process, ""));
            let name = name.trim_end_matches(['.', ')']);
            add_termination(time_ns, name, pid.parse().ok(), EVENT, assembly);
        } else {
            let kind = match text.trim_end_matches('.') {
                "Powering off" => "poweroff",
                "Rebooting" => "reboot",
                "Halting system" => "halt",
                "Rebooting with kexec" => "kexec",
                _ => return,
            };
            assembly.add_milestone(time_ns, milestone::SHUTDOWN_KIND, kind, None, EVENT);
            assembly.add_milestone(time_ns, milestone::SHUTDOWN_FINAL, kind, None, EVENT);
            self.start_step(Some(shutdown_step::KERNEL_STOP), time_ns, assembly);
        }
    }

    /// Ends the open step and begins `next`.
    fn start_step(&mut self, next: Option<&'static str>, time_ns: i64, assembly: &mut Assembly) {
        if next.is_some() && self.open.map(|(name, _)| name) == next {
            return;
        }
        let previous = self.open.take();
        self.open = next.map(|name| (name, time_ns));
        if let Some((name, start_ns)) = previous {
            push_step(name, start_ns, Some(time_ns), assembly);
        }
    }

    /// Adds the step that is open when the log ends, without an end.
    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        if let Some((name, start_ns)) = self.open.take() {
            push_step(name, start_ns, None, assembly);
        }
    }
}

fn push_step(name: &str, start_ns: i64, end_ns: Option<i64>, assembly: &mut Assembly) {
    let row = Activity {
        kind: if name == shutdown_step::KERNEL_STOP {
            ActivityKind::KernelShutdownStep
        } else {
            ActivityKind::ShutdownStep
        },
        name: assembly.intern(name),
        start_ns,
        end_ns,
        pid: Some(1),
        event: assembly.intern(EVENT),
        ..Activity::UNKNOWN
    };
    assembly.activities.push(row);
}

/// Reads `x.service: Killing process 123 (name) with signal SIGKILL.`
fn on_kill_message(time_ns: i64, text: &str, assembly: &mut Assembly) -> Option<()> {
    let (unit, process) = text.split_once(": Killing process ")?;
    if !process.contains("SIGKILL") {
        return None;
    }
    let pid = process.split(' ').next()?.parse().ok();
    let name = text_between(unit, "", ": ").unwrap_or(unit);
    add_termination(time_ns, name, pid, "kernel log/systemd", assembly);
    Some(())
}

fn add_termination(time_ns: i64, name: &str, pid: Option<u32>, event: &str, assembly: &mut Assembly) {
    let row = Notification {
        kind: NotificationKind::Termination,
        start_ns: time_ns,
        name: assembly.intern(name),
        pid,
        sender_pid: Some(1),
        event: assembly.intern(event),
        ..Notification::UNKNOWN
    };
    assembly.notifications.push(row);
}
