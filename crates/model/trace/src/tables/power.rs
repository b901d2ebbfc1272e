//! Who was notified of a transition, and which states devices were requested to enter.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// What an application, a service or a thread was notified of, or had done to it.
    pub enum NotificationKind {
        /// An application is asked to end, from the first question to its end or its refusal.
        ApplicationShutdown = "application_shutdown",
        /// The window server's part of the same: its questions to the windows of one process.
        WindowsShutdown = "windows_shutdown",
        /// One thread with windows is asked to end.
        ThreadShutdown = "thread_shutdown",
        /// A process that did not end is terminated.
        Termination = "termination",
        /// Waiting for a process to be gone.
        ProcessWait = "process_wait",
        /// A notification to all, by number in `flags`.
        Broadcast = "broadcast",
        /// An application is asked whether the system may suspend.
        ApplicationQuerySuspend = "application_query_suspend",
        /// A service is asked whether the system may suspend.
        ServiceQuerySuspend = "service_query_suspend",
        /// An application is notified that the system suspends.
        ApplicationSuspend = "application_suspend",
        /// A service is notified that the system suspends.
        ServiceSuspend = "service_suspend",
        /// An application is notified that the system resumed.
        ApplicationResume = "application_resume",
        /// A service is notified that the system resumed.
        ServiceResume = "service_resume",
    }
}

table! {
    /// A notification of a transition, and its answer.
    Notifications of Notification {
        /// Of what it is notified.
        kind: NotificationKind,
        /// Told, ns.
        start_ns: i64 as Start,
        /// Answered, or given up, ns; `None` when neither was recorded.
        end_ns: Option<i64> as End,
        /// Image or service as the record names it; empty when it gives only a process id.
        name: StringId,
        /// Process notified.
        pid: Option<u32> as Process,
        /// Thread notified.
        tid: Option<u32> as Thread,
        /// Session of the process that tells.
        session: Option<u32>,
        /// Shutdown level: processes of a higher level are asked first.
        level: Option<u32>,
        /// Flags as recorded.
        flags: Option<u32>,
        /// Result status as recorded with the end.
        status: Option<u32>,
        /// Process that tells.
        teller_pid: Option<u32> as OtherProcess,
        /// Thread that tells.
        teller_tid: Option<u32> as OtherThread,
        /// The record that set the start, e.g. `Microsoft-Windows-Subsys-Csr/3`.
        event: StringId,
    }
}

codes! {
    /// What a power request asks.
    pub enum PowerRequestKind {
        /// Whether the state may be entered.
        Query = "query",
        /// To enter the state.
        Set = "set",
        /// Another power request.
        Other = "other",
        /// No new children from now on (Linux `prepare`).
        Prepare = "prepare",
        /// Quiesce and save (Linux `suspend`, `freeze`, `poweroff`).
        Suspend = "suspend",
        /// The same, once runtime power management is off (Linux `late`).
        SuspendLate = "suspend_late",
        /// The same, with the device's interrupts off (Linux `noirq`).
        SuspendNoIrq = "suspend_noirq",
        /// Back, with the device's interrupts off.
        ResumeNoIrq = "resume_noirq",
        /// Back, before runtime power management is on (Linux `early`).
        ResumeEarly = "resume_early",
        /// Back to work.
        Resume = "resume",
        /// The transition is over for the device (Linux `complete`).
        Complete = "complete",
        /// To sleep while the system works (Linux runtime power management).
        RuntimeSuspend = "runtime_suspend",
        /// To wake for work while the system works.
        RuntimeResume = "runtime_resume",
        /// Whether it may sleep, as nobody uses it.
        RuntimeIdle = "runtime_idle",
    }
}

impl PowerRequestKind {
    /// Whether it is of one device's own power management, and of no sleep of the system.
    #[must_use]
    pub const fn is_runtime(self) -> bool {
        matches!(self, Self::RuntimeSuspend | Self::RuntimeResume | Self::RuntimeIdle)
    }
}

codes! {
    /// Whose work a row of power requests is.
    pub enum PowerRequestScope {
        /// The whole request, from its being sent to its completion.
        Device = "device",
        /// The part of it that one driver of the device's stack held.
        Driver = "driver",
    }
}

codes! {
    /// Whose states are counted.
    pub enum PowerStateKind {
        /// Not recorded.
        Unknown = "unknown",
        /// The system's: 1 working (S0), 2 to 4 sleeping (S1 to S3), 5 hibernate (S4), 6 shutdown (S5).
        System = "system",
        /// The device's: 1 working (D0) to 4 off (D3).
        Device = "device",
    }
}

table! {
    /// A device was asked to change its power state, or a driver's part of that.
    PowerRequests of PowerRequest {
        /// What was asked.
        kind: PowerRequestKind,
        /// Device or driver.
        scope: PowerRequestScope,
        /// Begin, ns.
        start_ns: i64 as Start,
        /// End, ns; `None` when it did not end in the recording.
        end_ns: Option<i64> as End,
        /// Device instance; empty when not recorded.
        device: StringId,
        /// Driver: of the row's own work, or else the device's function driver where the configuration says it.
        driver: StringId,
        /// Device description.
        description: StringId,
        /// Device's friendly name.
        friendly_name: StringId,
        /// Whose states `state` counts.
        state_kind: PowerStateKind,
        /// Requested state; `None` when not recorded.
        state: Option<u8>,
        /// Result status.
        status: Option<u32>,
        /// Driver that failed the request; empty for none.
        failed_driver: StringId,
        /// Request packet as recorded; rows of one request share it.
        irp: u64,
        /// When the power manager had nothing left to do but wait for it, ns.
        waiting_ns: Option<i64> as Moment,
        /// Parent device; empty when not recorded.
        parent: StringId,
        /// Who called back (Linux: `bus`, `class`, `type`, `driver`, `power domain`) and the requested event, e.g.
        /// `bus [suspend]`; empty when not recorded.
        message: StringId,
        /// Thread that sent it.
        tid: Option<u32> as Thread,
        /// The record that set the start, e.g. `Microsoft-Windows-Kernel-Power/7`.
        event: StringId,
    }
}
