//! What Windows itself wrote about a boot and its end, and which logs say so.

use serde::Serialize;

/// A channel of Windows event logs, and the time it covers. What happened outside is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogChannel {
    /// Name, e.g. `System`.
    pub name: String,
    /// Time of the earliest record, ns since 1970-01-01 UTC.
    pub first_unix_ns: i64,
    /// Time of the latest record, ns since 1970-01-01 UTC.
    pub last_unix_ns: i64,
    /// Number of records.
    pub records: u64,
}

impl LogChannel {
    /// The channels that record changes of a computer, and what they record.
    pub const OF_CHANGES: [(&'static str, &'static str); 4] = [
        ("System", "updates and services"),
        ("Setup", "packages"),
        ("Microsoft-Windows-Kernel-PnP/Configuration", "drivers"),
        ("Application", "programs"),
    ];
}

/// Windows' own account of a boot: event 100 of Diagnostics-Performance. The sums are Windows' own; the time a
/// person took is in none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowsAccount {
    /// `BootTime`: main path plus PostBoot, ns.
    pub boot_ns: i64,
    /// `MainPathBootTime`: from the kernel's start to the desktop, ns.
    pub main_path_ns: i64,
    /// `BootPostBootTime`: from the desktop until the computer was idle, ns.
    pub post_boot_ns: i64,
    /// True if `post_boot_ns` leaves out the idle time that was waited for; otherwise it is wall time. Only values of
    /// the same kind can be compared.
    pub is_post_boot_without_idle: bool,
    /// `SessionInitStartTimeMS`: the end of PreSMSS, ns after the kernel's start; `None` before Windows 7.
    pub session_manager_ns: Option<i64>,
    /// `WinLogonStartTimeMS`: the end of SMSSInit, ns after the kernel's start; `None` before Windows 7.
    pub logon_process_ns: Option<i64>,
    /// `OSLoaderDuration`: the loader, before the kernel, ns; `None` before Windows 7.
    pub os_loader_ns: Option<i64>,
    /// `UserLogonWaitDuration`: waiting for a person at the logon screen, ns.
    pub user_wait_ns: Option<i64>,
    /// `BootExplorerInitTime`, ns; `None` if Windows did not measure it and its time is part of the logon.
    pub explorer_ns: Option<i64>,
    /// Processing of the user's and the computer's profile, ns; part of WinLogonInit.
    pub profiles_ns: i64,
    /// Initialization of the system's session, ns; part of SMSSInit.
    pub session_0_ns: Option<i64>,
    /// Initialization of the user's session, ns; part of SMSSInit.
    pub session_1_ns: Option<i64>,
    /// The rest of SMSSInit, ns.
    pub session_other_ns: Option<i64>,
    /// Number of this boot since Windows was installed. A missing number is a boot without an account.
    pub system_boot_number: Option<u64>,
    /// True for the restart after an update or an installation, which is slower.
    pub is_after_installation: bool,
    /// True if Windows judged the boot slower than earlier ones.
    pub is_degradation: bool,
    /// The record.
    pub event: String,
}

/// How a boot ended, according to the event logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoggedEnd {
    /// Windows' own account of the shutdown; `None` if the logs have none.
    pub account: Option<ShutdownAccount>,
    /// Who requested the shutdown; `None` if no request was recorded.
    pub request: Option<ShutdownRequest>,
    /// What the next boot recorded about an end without a shutdown.
    pub unclean_end: Option<UncleanEnd>,
}

/// Windows' own account of a shutdown: event 200 of Diagnostics-Performance, which the next boot writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShutdownAccount {
    /// `ShutdownTime`: the sum of the next three, ns.
    pub shutdown_ns: i64,
    /// `ShutdownUserSessionTime`: UserSession, ns.
    pub user_session_ns: i64,
    /// `ShutdownSystemSessionsTime`: SystemSession, ns.
    pub system_session_ns: i64,
    /// `ShutdownKernelTime`: KernelShutdown, ns.
    pub kernel_ns: i64,
    /// Steps of the clock that Windows counted as time of the kernel, ns; subtracted from `shutdown_ns` and `kernel_ns`.
    pub clock_steps_ns: i64,
    /// `ShutdownUserPolicyTime`: Group Policy of the user, ns; part of UserSession.
    pub user_policy_ns: Option<i64>,
    /// `ShutdownUserProfilesTime`: saving the user's profile, ns; part of UserSession.
    pub user_profiles_ns: Option<i64>,
    /// `ShutdownPreShutdownNotificationsTime`: services that are notified first, ns; part of SystemSession.
    pub pre_shutdown_ns: Option<i64>,
    /// `ShutdownServicesTime`: all other services, ns; part of SystemSession.
    pub services_ns: Option<i64>,
    /// True if Windows judged the shutdown slower than earlier ones.
    pub is_degradation: bool,
    /// The record.
    pub event: String,
}

/// The request that led to a shutdown (`User32`, event 1074): the first of several for the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShutdownRequest {
    /// When it was recorded, ns.
    pub time_ns: i64,
    /// Path of the program, followed by the computer in parentheses.
    pub program: String,
    /// Account on whose behalf the program made the request.
    pub user: String,
    /// Reason in the language of that Windows.
    pub reason: String,
    /// Reason code, hexadecimal.
    pub reason_code: String,
    /// Comment of the program or person; empty for none.
    pub comment: String,
    /// The record.
    pub event: String,
}

/// The end of a boot without a shutdown, as the next boot recorded it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UncleanEnd {
    /// Code of the bug check; 0 if Windows did not crash or could not record it: power was lost, or the computer was
    /// reset. `None` if only the log service noticed the end.
    pub bugcheck_code: Option<u64>,
    /// True if the power button was pressed shortly before.
    pub is_power_button_pressed: bool,
    /// True if the computer was about to sleep or to resume.
    pub is_sleep_in_progress: bool,
    /// The record.
    pub event: String,
}

/// Whether the event logs that accompany a trace have Windows' own account of its boot or shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccountSearch {
    /// The logs have the account.
    Found,
    /// The logs have the boot or shutdown, and the log of accounts has later records, but no account of it.
    NotWritten,
    /// The logs have the boot or shutdown, but the log of accounts does not cover the time after its start.
    NotCovered,
    /// The logs have the boot or shutdown, but the log of accounts is not among them.
    NoAccountLog,
    /// The only boot that starts with the trace, or shutdown within its time, is of another computer.
    OtherComputer,
    /// No boot in the logs starts with the trace, or no shutdown in the logs starts with the shutdown in the trace.
    NoTransitionNear,
    /// The logs have no start of a boot, or no shutdown.
    #[default]
    NoTransition,
}

impl AccountSearch {
    /// Returns whether the logs have the boot or shutdown of the trace, with or without an account.
    #[must_use]
    pub const fn has_transition(self) -> bool {
        matches!(self, Self::Found | Self::NotWritten | Self::NotCovered | Self::NoAccountLog)
    }
}

/// A step of the computer's clock that was not the passing of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockStep {
    /// Time since the start of the boot, ns.
    pub time_ns: i64,
    /// Length of the step, ns; negative if the clock was set back.
    pub step_ns: i64,
}

/// What event logs that accompany a trace recorded of its boot or shutdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoggedAccount {
    /// Whether the logs have the account, and otherwise why not.
    pub search: AccountSearch,
    /// Computer of the boot or shutdown in the logs, or of the nearest one.
    pub computer: String,
    /// Start of the boot or shutdown in the logs, or of the nearest one, ns since 1970-01-01 UTC. Without an account of
    /// a shutdown: its first record in the System log.
    pub start_unix_ns: Option<i64>,
    /// `start_unix_ns` minus the start of the trace or of its shutdown, ns.
    pub start_difference_ns: Option<i64>,
    /// The record with the start.
    pub start_event: String,
    /// Windows' own account of a boot.
    pub account: Option<WindowsAccount>,
    /// Windows' own account of a shutdown, and who requested it; `None` for a boot, or if the logs do not have the
    /// shutdown.
    pub end: Option<LoggedEnd>,
    /// Steps of the clock by at least 1 s during the boot, or during the nearest boot; empty for a shutdown.
    pub clock_steps: Vec<ClockStep>,
    /// Channels of the logs of that computer, by name.
    pub channels: Vec<LogChannel>,
}
