//! Why work took as long as it did, or how we know that it ran into its timeout. Each reason is a code with arguments
//! and a phrase.

use std::fmt::{Display, Formatter, Result};

use onoff_trace::Duration;
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reason {
    /// No reason recorded.
    #[default]
    None,
    /// An application ran into its timeout, or was terminated.
    Application {
        /// `None` if unknown.
        has_windows: Option<bool>,
        terminated: bool,
        /// The timeout it ran into, ns; `None` if it ran into none or the length is unknown.
        limit_ns: Option<i64>,
        /// Whether it ran into its timeout.
        timed_out: bool,
    },
    /// A service stopped after the service shutdown timeout.
    ServiceStoppedLate {
        /// The timeout, ns; `None` if unknown.
        limit_ns: Option<i64>,
    },
    /// A service did not stop within the service shutdown timeout.
    ServiceDidNotStopInTime {
        /// The timeout, ns; `None` if unknown.
        limit_ns: Option<i64>,
    },
    ServiceDidNotStop,
    /// A pre-shutdown service: all other services wait for it.
    PreShutdownService,
    /// A unit exceeded its stop timeout and was killed.
    UnitKilled {
        /// The timeout, ns; `None` if unknown.
        limit_ns: Option<i64>,
    },
    /// A unit was still stopping when the recording ended.
    UnitNotStopped,
    /// A process of the unit ran for most of the stop.
    UnitProcessRan {
        /// True for the unit's stop command, false for its main process.
        is_stop_command: bool,
        /// Image file name.
        image: String,
        pid: u32,
        /// Time it ran, ns.
        ran_ns: i64,
    },
    /// Still unfinished when the recording ended.
    Unfinished,
    /// No process exited in that time.
    NoProcessExited,
    /// Asked a second time, then terminated.
    AskedAgainAndTerminated,
    /// Asked a second time after its timeout.
    AskedAgain,
    /// Its window did not respond for at least 5 s, twice.
    WindowUnresponsiveTwice,
    /// Its window did not respond for at least 5 s; it was then terminated.
    WindowUnresponsiveAndTerminated,
    /// Its window did not respond for at least 5 s.
    WindowUnresponsive,
    /// Terminated at least 5 s after the notification.
    TerminatedAfterNotification,
    /// Its record has a timeout status.
    TimeOutStatus,
    /// Did not respond for at least 5 s.
    Unresponsive,
    /// Stopped after its timeout.
    StoppedAfterTimeOut,
    /// Never stopped; the shutdown waited until then.
    NeverStopped,
    /// Still running when the wait for services ended.
    NotStoppedWhenWaitEnded,
    /// Exceeded its timeout and was still running when the recording ended.
    NotStoppedWhenRecordingEnded,
    /// Reported by the service manager.
    ReportedByServiceManager,
    /// Killed.
    Killed,
    /// Used its whole timeout or more.
    TookTimeOut,
    /// Used its whole timeout or more; timeouts are not recorded.
    TookUnrecordedTimeOut,
}

impl Display for Reason {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let text = match self {
            Self::Application { has_windows, terminated, limit_ns, timed_out } => {
                let program = match has_windows {
                    Some(true) => "GUI program, ",
                    Some(false) => "console program, ",
                    None => "",
                };
                return match (timed_out, terminated) {
                    (true, true) => {
                        write!(formatter, "{program}terminated after {}", timeout_text(*limit_ns))
                    }
                    (true, false) => write!(formatter, "{program}exceeded {}", timeout_text(*limit_ns)),
                    (false, _) => write!(formatter, "{program}terminated"),
                };
            }
            Self::ServiceStoppedLate { limit_ns } => {
                return write!(formatter, "stopped after {}", service_timeout_text(*limit_ns));
            }
            Self::ServiceDidNotStopInTime { limit_ns } => {
                return write!(formatter, "did not stop within {}", service_timeout_text(*limit_ns));
            }
            Self::UnitKilled { limit_ns: Some(limit_ns) } => {
                let limit = Duration::from_ns(*limit_ns);
                return write!(formatter, "it exceeded its stop timeout of {limit} and was killed");
            }
            Self::UnitKilled { limit_ns: None } => "it exceeded its stop timeout and was killed",
            Self::UnitProcessRan { is_stop_command, image, pid, ran_ns } => {
                let process = if *is_stop_command { "its stop command" } else { "its main process" };
                return write!(formatter, "{} in {process}: {image}, pid {pid}", Duration::from_ns(*ran_ns));
            }
            Self::None => "",
            Self::ServiceDidNotStop => "did not stop",
            Self::PreShutdownService => "preshutdown service: all other services wait for it",
            Self::UnitNotStopped => "it was still stopping when the recording ended",
            Self::Unfinished => "it was still running when the recording ended",
            Self::NoProcessExited => "no process exited in that time",
            Self::AskedAgainAndTerminated => "it was asked to close a second time, then terminated",
            Self::AskedAgain => "it was asked to close a second time after its timeout",
            Self::WindowUnresponsiveTwice => "its window did not respond for at least 5 s, twice",
            Self::WindowUnresponsiveAndTerminated => {
                "its window did not respond for at least 5 s; it was then terminated"
            }
            Self::WindowUnresponsive => "its window did not respond for at least 5 s",
            Self::TerminatedAfterNotification => "it was terminated at least 5 s after the notification",
            Self::TimeOutStatus => "the recorded status is a timeout",
            Self::Unresponsive => "it did not respond for at least 5 s",
            Self::StoppedAfterTimeOut => "it stopped after its timeout",
            Self::NeverStopped => "it never stopped; the shutdown waited until the timeout",
            Self::NotStoppedWhenWaitEnded => "it was still running when the wait for services ended",
            Self::NotStoppedWhenRecordingEnded => {
                "it exceeded its timeout and was still running when the recording ended"
            }
            Self::ReportedByServiceManager => "reported by the service manager",
            Self::Killed => "it was killed",
            Self::TookTimeOut => "it used its whole timeout or more",
            Self::TookUnrecordedTimeOut => "it used its whole timeout or more (timeouts are not recorded)",
        };
        formatter.write_str(text)
    }
}

fn timeout_text(limit_ns: Option<i64>) -> String {
    limit_ns.map_or_else(|| "its timeout".to_owned(), |ns| format!("its {} timeout", Duration::from_ns(ns)))
}

fn service_timeout_text(limit_ns: Option<i64>) -> String {
    limit_ns.map_or_else(
        || "the service timeout".to_owned(),
        |ns| format!("the service timeout of {}", Duration::from_ns(ns)),
    )
}
