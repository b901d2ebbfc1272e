//! Why work took as long as it did, or what shows that it ran into its time-out: a code with its arguments, and the words of each.

use std::fmt::{Display, Formatter, Result};

use onoff_trace::Duration;
use serde::Serialize;

/// A reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reason {
    /// Nothing tells.
    #[default]
    None,
    /// An application ran into its time-out, or was terminated.
    Application {
        /// Whether it has windows; `None` when that is not known.
        has_windows: Option<bool>,
        /// Whether it was terminated.
        terminated: bool,
        /// The time-out that it ran into, ns; `None` when it ran into none, or into one of unknown length.
        limit_ns: Option<i64>,
        /// Whether it ran into a time-out.
        ran_out: bool,
    },
    /// A service stopped after the time that services have.
    ServiceStoppedLate {
        /// That time, ns; `None` when it is not known.
        limit_ns: Option<i64>,
    },
    /// A service did not stop in the time that services have.
    ServiceDidNotStopInTime {
        /// That time, ns; `None` when it is not known.
        limit_ns: Option<i64>,
    },
    /// A service did not stop.
    ServiceDidNotStop,
    /// A service is notified before all others, which wait for it.
    NotifiedFirst,
    /// A unit's time was up, and it was ended by force.
    UnitEndedByForce {
        /// Its time, ns; `None` when it is not known.
        limit_ns: Option<i64>,
    },
    /// A unit had not stopped when the recording ended.
    UnitNotStopped,
    /// A process of a unit ran for most of the time.
    UnitProcessRan {
        /// Whether it is the process that stops the unit; otherwise the unit's main process.
        stops: bool,
        /// File name of its image.
        image: String,
        /// Process id.
        pid: u32,
        /// How long it ran, ns.
        ran_ns: i64,
    },
    /// It had not ended when the recording did.
    NotEnded,
    /// No process ended meanwhile.
    NoProcessEnded,
    /// It was asked once more, and then terminated.
    AskedAgainAndTerminated,
    /// It was asked once more after its time-out.
    AskedAgain,
    /// Its window did not answer for 5 s or longer, and then once more.
    WindowSilentTwice,
    /// Its window did not answer for 5 s or longer, and it was then terminated.
    WindowSilentAndTerminated,
    /// Its window did not answer for 5 s or longer.
    WindowSilent,
    /// It was terminated 5 s or longer after it was notified.
    TerminatedAfterNotification,
    /// Its record ends with the status of a time-out.
    StatusOfTimeOut,
    /// It did not answer for 5 s or longer.
    Silent,
    /// It stopped after its time-out.
    StoppedAfterTimeOut,
    /// It never stopped, and was waited for until then.
    NeverStopped,
    /// It had not stopped when the wait for services was over.
    NotStoppedWhenWaitWasOver,
    /// It had not stopped after its time-out, when the recording ended.
    NotStoppedWhenRecordingEnded,
    /// The service manager says so.
    ServiceManagerSays,
    /// It was ended by force.
    EndedByForce,
    /// It took its time-out or longer.
    TookTimeOut,
    /// It took its time-out or longer, of which there is no record.
    TookUnrecordedTimeOut,
}

impl Display for Reason {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let text = match self {
            Self::Application { has_windows, terminated, limit_ns, ran_out } => {
                let program = match has_windows {
                    Some(true) => "program with windows, ",
                    Some(false) => "console program, ",
                    None => "",
                };
                return match (ran_out, terminated) {
                    (true, true) => write!(formatter, "{program}killed after its {} time-out", length(*limit_ns)),
                    (true, false) => write!(formatter, "{program}ran into its {} time-out", length(*limit_ns)),
                    (false, _) => write!(formatter, "{program}killed"),
                };
            }
            Self::ServiceStoppedLate { limit_ns } => {
                return write!(formatter, "stopped after the {} that services have", length(*limit_ns));
            }
            Self::ServiceDidNotStopInTime { limit_ns } => {
                return write!(formatter, "did not stop in the {} that services have", length(*limit_ns));
            }
            Self::UnitEndedByForce { limit_ns: Some(limit_ns) } => {
                let limit = Duration::from_ns(*limit_ns);
                return write!(formatter, "its time of {limit} was up and it was ended by force");
            }
            Self::UnitEndedByForce { limit_ns: None } => "its time was up and it was ended by force",
            Self::UnitProcessRan { stops, image, pid, ran_ns } => {
                let what = if *stops { "the process that stops it" } else { "its main process" };
                return write!(formatter, "{what}, {image} ({pid}), ran for {} of it", Duration::from_ns(*ran_ns));
            }
            Self::None => "",
            Self::ServiceDidNotStop => "did not stop",
            Self::NotifiedFirst => "notified before all others, which wait for it",
            Self::UnitNotStopped => "it had not stopped when the recording ended",
            Self::NotEnded => "it had not ended when the recording did",
            Self::NoProcessEnded => "no process ended meanwhile",
            Self::AskedAgainAndTerminated => "it was asked once more, and then terminated",
            Self::AskedAgain => "it was asked once more after its time-out",
            Self::WindowSilentTwice => "its window did not answer for 5 s or longer, and then once more",
            Self::WindowSilentAndTerminated => {
                "its window did not answer for 5 s or longer, and it was then terminated"
            }
            Self::WindowSilent => "its window did not answer for 5 s or longer",
            Self::TerminatedAfterNotification => "it was terminated 5 s or longer after it was notified",
            Self::StatusOfTimeOut => "its record ends with the status of a time-out",
            Self::Silent => "it did not answer for 5 s or longer",
            Self::StoppedAfterTimeOut => "it stopped after its time-out",
            Self::NeverStopped => "it never stopped, and was waited for until then",
            Self::NotStoppedWhenWaitWasOver => "it had not stopped when the wait for services was over",
            Self::NotStoppedWhenRecordingEnded => "it had not stopped after its time-out, when the recording ended",
            Self::ServiceManagerSays => "the service manager says so",
            Self::EndedByForce => "it was ended by force",
            Self::TookTimeOut => "it took its time-out or longer",
            Self::TookUnrecordedTimeOut => "it took its time-out or longer; a time-out itself is not recorded",
        };
        formatter.write_str(text)
    }
}

/// How long a time-out is.
fn length(limit_ns: Option<i64>) -> String {
    limit_ns.map_or_else(|| "unknown".to_owned(), |ns| Duration::from_ns(ns).to_string())
}
