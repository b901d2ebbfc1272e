//! Mount points of tracefs, and groups of kernel trace events.

use serde::{Deserialize, Serialize};

/// Mount points of tracefs, in order of preference.
pub const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A group of trace events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceGroup {
    /// Context switches, wakeups and processes.
    Scheduler,
    /// Interrupts and soft interrupts.
    Interrupts,
    /// Disk reads and writes.
    Block,
    /// The kernel's initialization and modules.
    Init,
    /// Suspend phases, device callbacks and wakeup sources.
    Power,
    /// Runtime power management of devices.
    RuntimePower,
    /// Signals, to see which process ended another.
    Signals,
}

impl TraceGroup {
    pub const ALL: [Self; 7] =
        [Self::Scheduler, Self::Interrupts, Self::Block, Self::Init, Self::Power, Self::RuntimePower, Self::Signals];

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "sched",
            Self::Interrupts => "irq",
            Self::Block => "block",
            Self::Init => "init",
            Self::Power => "power",
            Self::RuntimePower => "rpm",
            Self::Signals => "signal",
        }
    }

    /// Returns the events as `system:event`, without wildcards, because GRUB would expand them to file names.
    #[must_use]
    pub const fn events(self) -> &'static [&'static str] {
        match self {
            Self::Scheduler => &[
                "sched:sched_switch",
                "sched:sched_waking",
                "sched:sched_wakeup_new",
                "sched:sched_process_fork",
                "sched:sched_process_exec",
                "sched:sched_process_exit",
            ],
            Self::Interrupts => {
                &["irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_entry", "irq:softirq_exit"]
            }
            Self::Block => &["block:block_rq_issue", "block:block_rq_complete"],
            Self::Init => &[
                "initcall:initcall_level",
                "initcall:initcall_start",
                "initcall:initcall_finish",
                "module:module_load",
                "module:module_free",
                "module:module_request",
            ],
            Self::Power => &[
                "power:suspend_resume",
                "power:device_pm_callback_start",
                "power:device_pm_callback_end",
                "power:machine_suspend",
                "power:wakeup_source_activate",
                "power:wakeup_source_deactivate",
            ],
            Self::RuntimePower => &["rpm:rpm_suspend", "rpm:rpm_resume", "rpm:rpm_return_int"],
            Self::Signals => &["signal:signal_generate"],
        }
    }
}
