//! Notifications of transitions, and power requests to devices.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// Kind of a notification, or of an action on a process or thread.
    pub enum NotificationKind {
        /// An application was asked to exit; from the first request to its exit or refusal.
        ApplicationShutdown = "application_shutdown",
        /// The window server's requests to the windows of one process, during such a shutdown.
        WindowsShutdown = "windows_shutdown",
        /// A thread with windows was asked to exit.
        ThreadShutdown = "thread_shutdown",
        /// A process that did not exit was terminated.
        Termination = "termination",
        /// Waiting for a process to exit.
        ProcessWait = "process_wait",
        /// A broadcast notification, by number in `flags`.
        Broadcast = "broadcast",
        /// An application was asked whether the system may suspend.
        ApplicationQuerySuspend = "application_query_suspend",
        /// A service was asked whether the system may suspend.
        ServiceQuerySuspend = "service_query_suspend",
        /// An application was notified of the suspend.
        ApplicationSuspend = "application_suspend",
        /// A service was notified of the suspend.
        ServiceSuspend = "service_suspend",
        /// An application was notified of the resume.
        ApplicationResume = "application_resume",
        /// A service was notified of the resume.
        ServiceResume = "service_resume",
    }
}

table! {
    /// A notification of a transition, and its response.
    Notifications of Notification {
        /// What the recipient was notified of.
        kind: NotificationKind,
        /// Time of the notification, ns.
        start_ns: i64 as Start,
        /// Time of the response or the timeout, ns; `None` when neither was recorded.
        end_ns: Option<i64> as End,
        /// Image or service as recorded; empty when the record has only a process id.
        name: StringId,
        /// Process notified.
        pid: Option<u32> as Process,
        /// Thread notified.
        tid: Option<u32> as Thread,
        /// Session of the sending process.
        session: Option<u32>,
        /// Shutdown level: processes with a higher level are asked first.
        level: Option<u32>,
        /// Flags as recorded.
        flags: Option<u32>,
        /// Result status recorded with the end.
        status: Option<u32>,
        /// Process that sent the notification.
        sender_pid: Option<u32> as OtherProcess,
        /// Thread that sent the notification.
        sender_tid: Option<u32> as OtherThread,
        /// Record that set the start, e.g. `Microsoft-Windows-Subsys-Csr/3`.
        event: StringId,
    }
}

codes! {
    /// Purpose of a power request.
    pub enum PowerRequestKind {
        /// Whether the state may be entered.
        Query = "query",
        /// To enter the state.
        Set = "set",
        /// Another power request.
        Other = "other",
        /// No new children from now on (Linux `prepare`).
        Prepare = "prepare",
        /// Quiesce and save state (Linux `suspend`, `freeze`, `poweroff`).
        Suspend = "suspend",
        /// Suspend with runtime power management off (Linux `late`).
        SuspendLate = "suspend_late",
        /// Suspend with the device's interrupts off (Linux `noirq`).
        SuspendNoIrq = "suspend_noirq",
        /// Resume with the device's interrupts off (Linux `noirq`).
        ResumeNoIrq = "resume_noirq",
        /// Resume before runtime power management is on (Linux `early`).
        ResumeEarly = "resume_early",
        /// Resume normal operation.
        Resume = "resume",
        /// The transition is complete for the device (Linux `complete`).
        Complete = "complete",
        /// Suspend while the system is running (Linux runtime power management).
        RuntimeSuspend = "runtime_suspend",
        /// Resume while the system is running.
        RuntimeResume = "runtime_resume",
        /// Whether the idle device may suspend.
        RuntimeIdle = "runtime_idle",
    }
}

impl PowerRequestKind {
    /// True for the runtime power management of a single device, which is not part of a system sleep.
    #[must_use]
    pub const fn is_runtime(self) -> bool {
        matches!(self, Self::RuntimeSuspend | Self::RuntimeResume | Self::RuntimeIdle)
    }
}

codes! {
    /// The work covered by a power request row.
    pub enum PowerRequestScope {
        /// The whole request, from sending it to its completion.
        Device = "device",
        /// The part spent in one driver of the device stack.
        Driver = "driver",
    }
}

codes! {
    /// Which states `state` counts.
    pub enum PowerStateKind {
        /// Not recorded.
        Unknown = "unknown",
        /// System states: 1 working (S0), 2 to 4 sleeping (S1 to S3), 5 hibernate (S4), 6 shutdown (S5).
        System = "system",
        /// Device states: 1 working (D0) to 4 off (D3).
        Device = "device",
    }
}

table! {
    /// A request to a device to change its power state, or a driver's part of it.
    PowerRequests of PowerRequest {
        /// What was requested.
        kind: PowerRequestKind,
        /// Whole device or one driver.
        scope: PowerRequestScope,
        /// Start, ns.
        start_ns: i64 as Start,
        /// End, ns; `None` when it did not end in the recording.
        end_ns: Option<i64> as End,
        /// Device instance; empty when not recorded.
        device: StringId,
        /// Driver that did the row's work, or the device's function driver if the work has no driver and the
        /// configuration contains it.
        driver: StringId,
        /// Device description.
        description: StringId,
        /// Device's friendly name.
        friendly_name: StringId,
        /// Which states `state` counts.
        state_kind: PowerStateKind,
        /// Requested state; `None` when not recorded.
        state: Option<u8>,
        /// Result status.
        status: Option<u32>,
        /// Driver that failed the request; empty for none.
        failed_driver: StringId,
        /// IRP, as recorded; rows of one request share it.
        irp: u64,
        /// Time at which the power manager had nothing left to do but wait for the request, ns.
        waiting_ns: Option<i64> as OtherTime,
        /// Parent device; empty when not recorded.
        parent: StringId,
        /// Caller of the callback (Linux: `bus`, `class`, `type`, `driver`, `power domain`) and the requested event,
        /// e.g. `bus [suspend]`; empty when not recorded.
        message: StringId,
        /// Thread that sent the request.
        tid: Option<u32> as Thread,
        /// Record that set the start, e.g. `Microsoft-Windows-Kernel-Power/7`.
        event: StringId,
    }
}
