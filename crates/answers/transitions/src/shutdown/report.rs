//! The result of the shutdown analysis. Its serialized names are the documented contract of `shutdown --format json`.

use crate::Transition;
use onoff_trace::Losses;
use onoff_usage::device_work::DeviceWork;
use serde::Serialize;
use thiserror::Error;

use onoff_evidence::activity::Work;
use onoff_evidence::notified::Notified;
use onoff_evidence::reason::Reason;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, Span};
use onoff_usage::units::TimeOut;

/// What a caller can choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownOptions {
    /// How long the recorded computer waits for its services, ns (its `WaitToKillServiceTimeout`); `None` for what its
    /// version does by default.
    pub service_time_out_ns: Option<i64>,
}

/// What lies between two phases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShutdownInterval {
    /// Between what, e.g. `request to UserSession`.
    pub name: String,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// Work that was under way in it, by start: scripts, subscribers, waits.
    pub work: Vec<Work>,
}

/// The applications of one session were ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEnd {
    /// Session: 0 is the system's, 1 and more are users'; `None` when the recording does not tell.
    pub session: Option<u32>,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns; `None` when it is not in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: Option<i64>,
    /// Time in which at least one of its applications was being ended, ns.
    pub applications_ns: i64,
    /// The rest of its length, ns: nobody was being asked.
    pub other_ns: Option<i64>,
    /// Its applications, in the order in which they were notified.
    pub applications: Vec<ApplicationEnd>,
    /// The record that set the start; empty when the applications stand in for it.
    pub event: String,
}

/// An application was asked to end.
pub type ApplicationEnd = Notified<EndRequest>;

/// What only a request to end has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndRequest {
    /// Its process's end, ns; `None` when it outlived the recording. It may lie before or after the answer.
    pub process_end_ns: Option<i64>,
    /// Shutdown level as recorded: higher levels are notified first.
    pub level: Option<u32>,
    /// Flags as recorded.
    pub flags: Option<u32>,
    /// What kind of program the questions to it show.
    pub program: ProgramKind,
    /// It was terminated because it did not end by itself.
    pub terminated: bool,
    /// Time-outs it ran into, by time.
    pub time_outs: Vec<TimeOut>,
    /// Threads with windows that were asked, by start.
    pub threads: Vec<ThreadAsked>,
}

/// What kind of program was notified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProgramKind {
    /// Its threads have windows, which were asked.
    Window,
    /// It has none: its console handler was called.
    Console,
    /// The recording does not tell: the window server's questions were not recorded.
    #[default]
    Unknown,
}

/// A thread with windows was asked to end its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadAsked {
    /// Thread id.
    pub tid: Option<u32>,
    /// Asked, ns.
    pub start_ns: i64,
    /// It answered or was given up, ns.
    pub end_ns: Option<i64>,
    /// From one to the other, ns.
    pub duration_ns: Option<i64>,
    /// Flags as recorded.
    pub flags: Option<u32>,
}

/// How long the service control manager waits for services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceTimeOut {
    /// Length, ns; `None` when neither the caller nor the version of the system tells.
    pub limit_ns: Option<i64>,
    /// Where it comes from.
    pub rule: Rule,
    /// How certain it is.
    pub certainty: Certainty,
}

/// How xperf's readers work out the kernel's part, whether it was recorded or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelDifference {
    /// From the start of the shutdown to its end or the recording's, ns.
    pub shutdown_ns: i64,
    /// All sessions, the system's too, ns.
    pub sessions_ns: i64,
    /// The difference, ns: the kernel's part and everything between the phases.
    pub kernel_ns: i64,
    /// Whether the recording holds the end: if not, the difference is a lower bound.
    pub ended: bool,
}

/// A device was asked to power down.
pub type DeviceEnd = DeviceWork<PowerDown>;

/// What only a device's end has: nothing so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerDown {}

/// A process ended in the shutdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessExit {
    /// Image file name; empty when not known.
    pub image: String,
    /// Process id.
    pub pid: u32,
    /// Session.
    pub session: Option<u32>,
    /// Whether it is a service's host: a child of the service control manager.
    pub is_service_host: bool,
    /// End, ns.
    pub end_ns: i64,
    /// Since the first end of the shutdown, ns.
    pub since_first_ns: i64,
    /// Since the end before, ns: nobody ended meanwhile.
    pub since_previous_ns: i64,
    /// From the end of its first thread in the shutdown to its own, ns; `None` when no end of a thread was recorded.
    pub dying_ns: Option<i64>,
    /// Threads of it that ended in the shutdown.
    pub threads_ended: u64,
    /// Modules of it that were unloaded in the shutdown.
    pub images_unloaded: u64,
    /// Exit status.
    pub exit_status: Option<i32>,
}

/// What the ends of processes, threads and modules tell, whatever else was recorded. Always inferred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exits {
    /// Processes that ended in the shutdown, by end.
    pub processes: Vec<ProcessExit>,
    /// First end, ns.
    pub first_ns: Option<i64>,
    /// Last end, ns.
    pub last_ns: Option<i64>,
    /// From the first to the last, ns.
    pub duration_ns: Option<i64>,
    /// Processes that still ran at the recording's end, the system's own left out.
    pub still_running: u64,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
}

/// What kind of work was the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LongestKind {
    /// An application.
    Application,
    /// A service.
    Service,
    /// A step of the kernel.
    KernelStep,
    /// A policy script.
    Script,
    /// A subscriber of the logon process's notifications.
    Subscriber,
    /// A process that ended last after nobody had ended for long; always inferred.
    Exit,
}

/// The one piece of work that took most of the shutdown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongestWork {
    /// What it was.
    pub kind: LongestKind,
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: Option<u32>,
    /// Begin, ns.
    pub start_ns: i64,
    /// Length, ns; up to the recording's end for work that did not end in it.
    pub duration_ns: i64,
    /// Percentage of the shutdown.
    pub percent: f64,
    /// Why it took so long; `none` when nothing tells.
    pub because: Reason,
    /// How certain it is.
    pub certainty: Certainty,
}

/// Where the time of a shutdown of Windows went.
pub type ShutdownReport = Transition<WindowsShutdown>;

/// What only a shutdown of Windows has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowsShutdown {
    /// What says so, as a phrase.
    pub variant_rule: Rule,
    /// The begin.
    pub starts: Boundary,
    /// The end.
    pub ends: Boundary,
    /// The work that took most; `None` when nothing tells.
    pub longest: Option<LongestWork>,
    /// What lies between the phases, by start.
    pub intervals: Vec<ShutdownInterval>,
    /// Sessions, by start.
    pub sessions: Vec<SessionEnd>,
    /// Names of the losses that touch sessions and applications.
    pub sessions_touched_by: Vec<String>,
    /// Services that ask for it are notified before all others: when that was.
    pub pre_shutdown: Span,
    /// All other services are notified: when that was.
    pub service_shutdown: Span,
    /// How long the service control manager waits for them.
    pub service_time_out: ServiceTimeOut,
    /// Names of the losses that touch services.
    pub units_touched_by: Vec<String>,
    /// Notifications of the logon process to its subscribers, by start.
    pub notifications: Vec<Work>,
    /// Those subscribers, longest first.
    pub subscribers: Vec<Work>,
    /// Policy scripts, longest first.
    pub scripts: Vec<Work>,
    /// Steps of ending the sessions, by start.
    pub session_steps: Vec<Work>,
    /// Steps of the kernel, by start.
    pub kernel_steps: Vec<Work>,
    /// Devices that were told to power down, longest first.
    pub devices: Vec<DeviceEnd>,
    /// The kernel's part by subtraction, as xperf's readers work it out.
    pub difference: KernelDifference,
    /// What the ends of processes tell.
    pub exits: Exits,
}

/// The recording holds no shutdown. Says what it holds instead.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("the recording holds no shutdown ({reason}); {found}")]
pub struct NotAShutdown {
    /// Why it is no shutdown: what was looked for.
    pub reason: String,
    /// What it holds instead, as a clause.
    pub found: String,
    /// Name of the recorder or session.
    pub recorder: String,
    /// Length of the recording, ns.
    pub duration_ns: i64,
    /// Processes that were there when the recording began.
    pub processes_before: u64,
    /// Processes that started in it.
    pub processes_started: u64,
    /// Processes that ended in it.
    pub processes_ended: u64,
    /// Everything that was lost.
    pub losses: Losses,
}
