//! Scenario keys of transitions after a boot or on a running machine: which applications and services are notified of a
//! shutdown or sleep, and how they respond.

use serde::Deserialize;

use super::NamedDuration;
use super::power::NotificationResponse;
use crate::units::TickDuration;
use crate::work::WorkStep;

/// A machine that is already running: its boot is not recorded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunningMachine {
    /// No user is logged on.
    pub without_user: bool,
    /// Work of a kernel thread that runs all the time.
    pub background: Vec<WorkStep>,
}

/// A program that already runs in a session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    pub image: String,
    /// Command line; the image if absent.
    pub command: Option<String>,
    #[serde(default = "user_session")]
    pub session: u32,
    /// Process id, if a document gives it.
    pub id: Option<u32>,
    /// Id of the responding thread, if a document gives it.
    pub thread_id: Option<u32>,
    /// A console program: it has no windows and is notified through its console control handler.
    #[serde(default)]
    pub console: bool,
    /// Work of another thread that runs all the time.
    #[serde(default)]
    pub background: Vec<WorkStep>,
    /// How the application ends; `None` if it is not notified of a shutdown.
    pub shutdown: Option<ApplicationShutdown>,
    /// Response to the suspend query; `None` if it is not queried.
    pub query: Option<NotificationResponse>,
    /// Response to the suspend notification.
    pub suspend: Option<NotificationResponse>,
    /// Response to the resume notification.
    pub resume: Option<NotificationResponse>,
}

const fn user_session() -> u32 {
    1
}

/// How an application responds to WM_QUERYENDSESSION and WM_ENDSESSION.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationShutdown {
    /// Shutdown level. Higher levels are notified first.
    #[serde(default = "default_level")]
    pub level: u32,
    /// Recorded flags.
    #[serde(default)]
    pub flags: u32,
    /// Duration of the handshake.
    #[serde(default)]
    pub time: TickDuration,
    /// Work before the response, within `time`.
    #[serde(default)]
    pub work: Vec<WorkStep>,
    /// Time from the query to the end of the process; `None` if it stays.
    pub gone: Option<TickDuration>,
    /// Never responds, so it is terminated after the timeout.
    #[serde(default)]
    pub hangs: bool,
}

const fn default_level() -> u32 {
    0x280
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceStop {
    /// A pre-shutdown service: it is notified first, and the shutdown waits for it.
    #[serde(default)]
    pub pre_shutdown: bool,
    /// In the pre-shutdown order list: notified before the other pre-shutdown services.
    #[serde(default)]
    pub ordered: bool,
    /// Time from the stop request to SERVICE_STOP_PENDING; `None` if it never reports this state.
    pub pending: Option<TickDuration>,
    /// Time from the stop request to SERVICE_STOPPED.
    #[serde(default)]
    pub time: TickDuration,
    /// Work within `time`.
    #[serde(default)]
    pub work: Vec<WorkStep>,
    /// Never stops.
    #[serde(default)]
    pub hangs: bool,
}

/// A shutdown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shutdown {
    /// Time of the request.
    #[serde(default)]
    pub at: TickDuration,
    /// Only the user session ends; a `[[power]]` entry of kind `fast_startup` writes the system session to disk.
    #[serde(default)]
    pub fast_startup: bool,
    /// Terminate applications that do not respond, without asking the user.
    #[serde(default)]
    pub forced: bool,
    /// Action of the kernel: 4 shutdown, 5 restart, 6 power off.
    #[serde(default = "power_off")]
    pub action: u32,
    #[serde(default)]
    pub flags: u32,
    /// Reason as recorded.
    #[serde(default)]
    pub reason: u32,
    #[serde(default)]
    pub message: String,
    /// Winlogon requests the shutdown, on behalf of a user at the welcome screen.
    #[serde(default)]
    pub by_winlogon: bool,
    /// Duration of the broadcast to all applications before the first is asked to end.
    pub broadcast: Option<TickDuration>,
    /// Notify the applications of a level in parallel, as current versions do.
    #[serde(default)]
    pub parallel: bool,
    /// Time an application may take to respond.
    #[serde(default = "application_timeout")]
    pub application_timeout: TickDuration,
    /// Time until the user answers the dialog about applications that do not respond.
    #[serde(default)]
    pub dialog: TickDuration,
    /// Earliest time at which the user's applications are notified.
    pub user_session_at: Option<TickDuration>,
    /// Earliest time at which the user's applications have ended.
    pub user_session_end_at: Option<TickDuration>,
    /// Duration of the logoff scripts.
    pub logoff_script: Option<TickDuration>,
    /// Duration of the shutdown scripts.
    pub shutdown_script: Option<TickDuration>,
    /// Number of the Winlogon notification.
    #[serde(default = "logoff")]
    pub notification: u32,
    /// Subscribers of the Winlogon notification.
    #[serde(default)]
    pub subscriber: Vec<NamedDuration>,
    /// Earliest time at which pre-shutdown services are notified.
    pub pre_shutdown_at: Option<TickDuration>,
    /// Earliest time at which the applications and services of the system session are notified.
    pub system_session_at: Option<TickDuration>,
    /// Earliest time at which the applications and services of the system session have ended.
    pub system_session_end_at: Option<TickDuration>,
    /// Time the service manager waits for services.
    #[serde(default = "service_timeout")]
    pub service_timeout: TickDuration,
    /// Shutdown level of the service control manager's process.
    #[serde(default = "default_level")]
    pub manager_level: u32,
    /// Flags of the notification to the service control manager's process.
    #[serde(default)]
    pub manager_flags: u32,
    /// Duration of shutting down System Restore.
    pub system_restore: Option<TickDuration>,
    /// The kernel's steps.
    #[serde(default)]
    pub kernel: KernelShutdown,
    /// Earliest end of the kernel's steps.
    pub end_at: Option<TickDuration>,
}

const fn power_off() -> u32 {
    6
}

const fn application_timeout() -> TickDuration {
    TickDuration(50_000_000)
}

const fn service_timeout() -> TickDuration {
    TickDuration(120_000_000)
}

/// Microsoft does not publish Winlogon's number for "logoff". Known ones: 0 "create session", 2 "logon", 8
/// "disconnect", 12 "start shell".
const fn logoff() -> u32 {
    3
}

/// Durations of the kernel's shutdown steps.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelShutdown {
    pub processes: TickDuration,
    /// Overwriting the page file with zeros.
    pub page_file: Option<TickDuration>,
    /// Shutting down drivers.
    pub io_system: TickDuration,
    /// Shutting down file systems.
    pub file_systems: Option<TickDuration>,
    /// Closing the registry.
    pub registry: TickDuration,
    /// Work while the registry is closed, within `registry`.
    pub work: Vec<WorkStep>,
    /// Close the registry and the file systems after the record that ends the graceful part.
    pub closes_late: bool,
}
