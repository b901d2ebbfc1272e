//! Result of the shutdown analysis. The serialized names are the documented interface of `shutdown --format json`.

use crate::Transition;
use crate::account_comparison::AccountComparison;
use crate::reported_delays::NamedDelay;
use onoff_trace::{LogChannel, Losses, ShutdownAccount, ShutdownRequest};
use onoff_usage::device_work::DeviceWork;
use serde::Serialize;
use thiserror::Error;

use onoff_evidence::activity::NamedActivity;
use onoff_evidence::notified::Notification;
use onoff_evidence::reason::Reason;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, DerivedInterval};
use onoff_usage::units::TimeOut;

/// Options of the shutdown analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownOptions {
    /// `WaitToKillServiceTimeout` of the recorded computer, ns; `None` for the default of its Windows version.
    pub service_time_out_ns: Option<i64>,
}

/// The interval between two phases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShutdownInterval {
    /// E.g. `request to UserSession`.
    pub name: String,
    pub start_ns: i64,
    pub end_ns: i64,
    pub duration_ns: i64,
    /// Work in the interval, ordered by start: scripts, subscribers, waits.
    pub work: Vec<NamedActivity>,
}

/// The end of the applications of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEnd {
    /// Session id: 0 is the system session, others are user sessions; `None` if not recorded.
    pub session: Option<u32>,
    pub start_ns: i64,
    /// `None` if not in the recording.
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    /// Time in which at least one of its applications was ending, ns.
    pub applications_ns: i64,
    /// Time in which no application was ending, ns.
    pub other_ns: Option<i64>,
    /// The applications, ordered by notification.
    pub applications: Vec<ApplicationEnd>,
    /// The record that set the start; empty if derived from the applications.
    pub event: String,
}

/// A request to an application to end.
pub type ApplicationEnd = Notification<EndRequest>;

/// Fields specific to a request to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndRequest {
    /// Exit of the process, ns, before or after the response; `None` if it was still running when the recording ended.
    pub process_end_ns: Option<i64>,
    /// Shutdown level, as recorded; higher levels are notified first.
    pub level: Option<u32>,
    /// Flags, as recorded.
    pub flags: Option<u32>,
    /// The kind of program, inferred from the requests to it.
    pub program: ProgramKind,
    /// True if Windows terminated the application because it did not exit.
    pub terminated: bool,
    /// Exceeded timeouts, ordered by time.
    pub time_outs: Vec<TimeOut>,
    /// Requests to the GUI threads of the application, ordered by start.
    pub threads: Vec<WindowThreadRequest>,
}

/// The kind of program that was notified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProgramKind {
    /// A GUI program: its windows were asked to end.
    Window,
    /// A console program: its control handler was called.
    Console,
    /// Unknown: requests of the window server were not recorded.
    #[default]
    Unknown,
}

/// A request to a GUI thread to end its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowThreadRequest {
    /// Thread id.
    pub tid: Option<u32>,
    /// When the request was sent, ns.
    pub start_ns: i64,
    /// When the thread responded or Windows stopped waiting, ns.
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    /// Flags, as recorded.
    pub flags: Option<u32>,
}

/// The timeout of the service control manager for services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceTimeOut {
    /// The timeout, ns; `None` if it was neither given nor follows from the Windows version.
    pub limit_ns: Option<i64>,
    /// The source of the timeout.
    pub rule: Rule,
    pub certainty: Certainty,
}

/// Kernel time by subtraction, as computed by readers of xperf's output, even if the kernel's part was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelDifference {
    /// From the start of the shutdown to its end, or to the end of the recording, ns.
    pub shutdown_ns: i64,
    /// All sessions, including the system session, ns.
    pub sessions_ns: i64,
    /// The difference, ns: kernel time plus everything between the phases.
    pub kernel_ns: i64,
    /// True if the recording contains the end; otherwise the difference is a lower bound.
    pub ended: bool,
}

/// A request to a device to power down.
pub type DeviceEnd = DeviceWork<PowerDown>;

/// Fields specific to a power-down request: none so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerDown {}

/// The exit of a process during the shutdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessExit {
    /// Image file name; empty if unknown.
    pub image: String,
    pub pid: u32,
    pub session: Option<u32>,
    /// Whether it is a service host: a child of the service control manager.
    pub is_service_host: bool,
    /// Exit, ns.
    pub end_ns: i64,
    /// Time since the first exit of the shutdown, ns.
    pub since_first_ns: i64,
    /// Time since the previous exit, ns.
    pub since_previous_ns: i64,
    /// From the first exit of one of its threads in the shutdown to the process exit, ns; `None` if no thread exit was
    /// recorded.
    pub dying_ns: Option<i64>,
    /// Number of its threads that exited in the shutdown.
    pub threads_ended: u64,
    pub images_unloaded: u64,
    /// Exit status.
    pub exit_status: Option<i32>,
}

/// Exits of processes and threads and unloads of modules during the shutdown. Always inferred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exits {
    /// Process exits, in order.
    pub processes: Vec<ProcessExit>,
    /// First exit, ns.
    pub first_ns: Option<i64>,
    /// Last exit, ns.
    pub last_ns: Option<i64>,
    /// From the first to the last exit, ns.
    pub duration_ns: Option<i64>,
    /// Processes that were still running when the recording ended, except system processes.
    pub still_running: u64,
    /// Names of the losses that can affect exits.
    pub affecting_losses: Vec<String>,
}

/// The kind of the longest work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LongestKind {
    Application,
    Service,
    KernelStep,
    Script,
    /// A Winlogon notification subscriber.
    Subscriber,
    /// The last process to exit, after a long time without exits; always inferred.
    Exit,
}

/// The work that took the largest part of the shutdown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongestWork {
    pub kind: LongestKind,
    pub name: String,
    pub pid: Option<u32>,
    pub start_ns: i64,
    /// Duration, ns; up to the end of the recording if it did not finish.
    pub duration_ns: i64,
    /// Percentage of the shutdown.
    pub percent: f64,
    /// Why it took so long; `none` if unknown.
    pub reason: Reason,
    pub certainty: Certainty,
}

/// A Windows shutdown.
pub type ShutdownReport = Transition<WindowsShutdown>;

/// Fields specific to a Windows shutdown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowsShutdown {
    /// The rule that set the variant.
    pub variant_rule: Rule,
    pub starts: Boundary,
    pub ends: Boundary,
    /// The work that took longest; `None` if unknown.
    pub longest: Option<LongestWork>,
    /// The intervals between the phases, ordered by start.
    pub intervals: Vec<ShutdownInterval>,
    /// Sessions, ordered by start.
    pub sessions: Vec<SessionEnd>,
    /// Names of the losses that can affect sessions and applications.
    pub losses_affecting_sessions: Vec<String>,
    /// The interval in which pre-shutdown services were notified.
    pub pre_shutdown: DerivedInterval,
    /// The interval in which all other services were notified.
    pub service_shutdown: DerivedInterval,
    /// The service shutdown timeout.
    pub service_time_out: ServiceTimeOut,
    /// Names of the losses that can affect services.
    pub losses_affecting_units: Vec<String>,
    /// Notifications from Winlogon to its subscribers, ordered by start.
    pub notifications: Vec<NamedActivity>,
    /// Winlogon subscribers, longest first.
    pub subscribers: Vec<NamedActivity>,
    /// Policy scripts, longest first.
    pub scripts: Vec<NamedActivity>,
    /// Steps of ending the sessions, ordered by start.
    pub session_steps: Vec<NamedActivity>,
    /// Kernel steps, ordered by start.
    pub kernel_steps: Vec<NamedActivity>,
    /// Devices that were asked to power down, longest first.
    pub devices: Vec<DeviceEnd>,
    /// Kernel time by subtraction, as computed by readers of xperf's output.
    pub difference: KernelDifference,
    /// Process exits.
    pub exits: Exits,
    /// Windows' own account of the shutdown, from its event log; `None` if there is none.
    pub windows_account: Option<ShutdownAccount>,
    /// Windows' own account beside the phases of a trace; `None` if no event logs accompany the trace.
    pub account_comparison: Option<AccountComparison>,
    /// Who requested the shutdown, from event logs; `None` if they do not say.
    pub request: Option<ShutdownRequest>,
    /// Delays that Windows itself reported, longest excess first.
    pub reported_delays: Vec<NamedDelay>,
    /// Channels of the event logs, by name; empty for other recordings.
    pub channels: Vec<LogChannel>,
}

/// The recording contains no shutdown. Describes what it contains instead.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("no shutdown in this recording ({reason}): {found}")]
pub struct NoShutdown {
    /// The evidence of a shutdown that was not found.
    pub reason: String,
    /// What the recording contains instead, as a clause.
    pub found: String,
    pub recorder: String,
    /// Length of the recording, ns.
    pub duration_ns: i64,
    /// Processes that were running when the recording started.
    pub processes_before: u64,
    pub processes_started: u64,
    /// Processes that exited during the recording.
    pub processes_ended: u64,
    /// All losses.
    pub losses: Losses,
}
