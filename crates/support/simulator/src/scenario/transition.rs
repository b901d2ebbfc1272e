//! Scenario keys of what happens after a boot, or in a machine that has been running: who is told
//! of a shutdown or a sleep, and how they answer.

use serde::Deserialize;

use super::Timed;
use super::power::Answer;
use crate::span::Span;
use crate::work::Work;

/// A machine that has been running since before the recording: nothing of its boot is recorded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Running {
    /// Nobody is logged on.
    pub without_user: bool,
    /// Threads of the kernel that work all the time.
    pub background: Vec<Work>,
}

/// A program that has been running in a session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Image file name.
    pub image: String,
    /// Command line; the image when absent.
    pub command: Option<String>,
    /// Session.
    #[serde(default = "user_session")]
    pub session: u32,
    /// Process id, when a document gives it.
    pub id: Option<u32>,
    /// Id of the thread that answers, when a document gives it.
    pub thread_id: Option<u32>,
    /// Whether it has no windows: it is told by its console control handler.
    #[serde(default)]
    pub console: bool,
    /// What it does all the time on a thread of its own.
    #[serde(default)]
    pub background: Vec<Work>,
    /// How it ends; absent = nobody asks it, and it stays.
    pub shutdown: Option<ApplicationShutdown>,
    /// How it answers whether the system may suspend; absent = it is not asked.
    pub query: Option<Answer>,
    /// How it answers that the system suspends.
    pub suspend: Option<Answer>,
    /// What it does when the system resumed.
    pub resume: Option<Answer>,
}

const fn user_session() -> u32 {
    1
}

/// How an application answers the question to end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationShutdown {
    /// Shutdown level: higher levels are asked first.
    #[serde(default = "usual_level")]
    pub level: u32,
    /// Flags as recorded.
    #[serde(default)]
    pub flags: u32,
    /// From the question to the end of the handshake.
    #[serde(default)]
    pub time: Span,
    /// What it does before it answers, within `time`.
    #[serde(default)]
    pub work: Vec<Work>,
    /// From the question to the process's end; absent = it stays.
    pub gone: Option<Span>,
    /// It never answers: it is terminated after the time-out.
    #[serde(default)]
    pub hangs: bool,
}

const fn usual_level() -> u32 {
    0x280
}

/// How a service stops.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceStop {
    /// It asked to be notified before all others, and is waited for.
    #[serde(default)]
    pub pre_shutdown: bool,
    /// Among those, it is in the order that is set for them: told before the others.
    #[serde(default)]
    pub ordered: bool,
    /// From being told to reporting that it is stopping; absent = it never says so.
    pub pending: Option<Span>,
    /// From being told to having stopped.
    #[serde(default)]
    pub time: Span,
    /// What it does meanwhile, within `time`.
    #[serde(default)]
    pub work: Vec<Work>,
    /// It never stops, whatever it reported.
    #[serde(default)]
    pub hangs: bool,
}

/// A shutdown of the whole machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shutdown {
    /// When it is asked for.
    #[serde(default)]
    pub at: Span,
    /// Only the user's session ends; the system's is written to disk by a `[[power]]` of the kind
    /// `fast_startup`.
    #[serde(default)]
    pub fast_startup: bool,
    /// Applications that do not answer are terminated without asking the user.
    #[serde(default)]
    pub forced: bool,
    /// Action of the kernel: 4 shutdown, 5 restart, 6 power off.
    #[serde(default = "power_off")]
    pub action: u32,
    /// Flags of the request.
    #[serde(default)]
    pub flags: u32,
    /// Reason as recorded.
    #[serde(default)]
    pub reason: u32,
    /// Message of the request.
    #[serde(default)]
    pub message: String,
    /// Winlogon asks for it, on behalf of who chose it at the screen.
    #[serde(default)]
    pub by_winlogon: bool,
    /// All are notified before the first application is asked: how long that takes.
    pub broadcast: Option<Span>,
    /// Applications of a level are asked side by side, as current versions do.
    #[serde(default)]
    pub parallel: bool,
    /// How long an application may take to answer.
    #[serde(default = "application_timeout")]
    pub application_timeout: Span,
    /// How long a person looks at the dialog about programs that do not answer.
    #[serde(default)]
    pub dialog: Span,
    /// When the user's applications are asked, at the earliest.
    pub user_session_at: Option<Span>,
    /// When all of them have been asked, at the earliest.
    pub user_session_end_at: Option<Span>,
    /// Logoff scripts: how long they run.
    pub logoff_script: Option<Span>,
    /// Shutdown scripts: how long they run.
    pub shutdown_script: Option<Span>,
    /// Number of the notification that Winlogon runs subscribers for.
    #[serde(default = "logoff")]
    pub notification: u32,
    /// Subscribers of that notification.
    #[serde(default)]
    pub subscriber: Vec<Timed>,
    /// When services that registered for it are notified before all others, at the earliest.
    pub pre_shutdown_at: Option<Span>,
    /// When the system's applications and services are told, at the earliest.
    pub system_session_at: Option<Span>,
    /// When all of them have been told, at the earliest.
    pub system_session_end_at: Option<Span>,
    /// How long the manager waits for services.
    #[serde(default = "service_timeout")]
    pub service_timeout: Span,
    /// Shutdown level of the service control manager's process.
    #[serde(default = "usual_level")]
    pub manager_level: u32,
    /// Flags with which it is asked.
    #[serde(default)]
    pub manager_flags: u32,
    /// System restore is shut down: how long that takes.
    pub system_restore: Option<Span>,
    /// The kernel's steps.
    #[serde(default)]
    pub kernel: KernelShutdown,
    /// When the kernel is done, at the earliest.
    pub end_at: Option<Span>,
}

const fn power_off() -> u32 {
    6
}

const fn application_timeout() -> Span {
    Span(50_000_000)
}

const fn service_timeout() -> Span {
    Span(120_000_000)
}

/// Winlogon's number for "logoff" is not published; the others count 0 "create session", 2
/// "logon", 8 "disconnect", 12 "start shell".
const fn logoff() -> u32 {
    3
}

/// The kernel's steps of a shutdown: how long each takes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelShutdown {
    /// Waiting for processes.
    pub processes: Span,
    /// The page file is overwritten with zeros.
    pub page_file: Option<Span>,
    /// Drivers are told.
    pub io_system: Span,
    /// File systems are shut down.
    pub file_systems: Option<Span>,
    /// The registry is closed.
    pub registry: Span,
    /// Work while the registry is closed.
    pub work: Vec<Work>,
    /// The registry and the file systems follow after the kernel has said that the orderly part is over.
    pub closes_late: bool,
}
