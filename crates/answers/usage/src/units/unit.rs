//! One start or stop of a service of Windows or of a unit of systemd.

use onoff_trace::{Duration, ServiceChange, ServiceOutcome};
use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;

/// What shows that a unit waited for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// Windows: the earlier service of the same load-order group had to finish.
    SameGroup,
    /// Windows: the load-order group before had to finish.
    EarlierGroup,
    /// Windows: the container of a service that was requested before had to be there.
    Container,
    /// Linux: it is declared to start after the other (of a stop: to stop before it is), which was the last of those to be done.
    DeclaredOrder,
    /// Linux: a device, announced after the device manager began to look for the devices that are there.
    DeviceScan,
    /// Linux: nothing that it is declared to start after was started: it was free once the service manager had read its units.
    Manager,
}

/// What a unit waited for last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitWait {
    /// The other unit; empty for the service manager itself.
    pub name: String,
    /// What makes it the cause.
    pub kind: WaitKind,
    /// When the other was done, or its container was there, ns.
    pub time_ns: i64,
    /// From then until this one's start or stop, ns: the service manager was busy, or the unit was requested later.
    pub gap_ns: i64,
    /// How certain it is; measured only where the order is declared: an order of starts alone is evidence, not proof.
    pub certainty: Certainty,
}

impl UnitWait {
    /// What shows that the start of `unit` waited for this, as a phrase.
    #[must_use]
    pub fn phrase(&self, unit: &str) -> String {
        let (other, gap) = (&self.name, Duration::from_ns(self.gap_ns));
        match self.kind {
            WaitKind::SameGroup => {
                format!("{unit} was requested {gap} after {other} was done, and both are of one load-order group")
            }
            WaitKind::EarlierGroup => {
                format!("{unit} was requested {gap} after {other} was done, whose load-order group comes first")
            }
            WaitKind::Container => {
                format!(
                    "{unit} was requested {gap} after {other} had its container: containers are made one after the other"
                )
            }
            WaitKind::DeclaredOrder if self.certainty == Certainty::Measured => {
                format!("{unit} is declared to start after {other}, the last of those to be done, {gap} before")
            }
            WaitKind::DeclaredOrder => format!(
                "{unit} is declared to start after {other}, the last of those to be done, but {gap} before: the service manager \
                 was kept, or the unit was requested later"
            ),
            WaitKind::DeviceScan => format!("{unit} was announced after {other} began to look for devices"),
            WaitKind::Manager => format!(
                "nothing that {unit} comes after was started before it; the service manager had read its units {gap} earlier"
            ),
        }
    }
}

/// Whose time-out it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeOutKind {
    /// A window did not answer in 5 s.
    Window,
    /// A console handler did not return in 5 s.
    Console,
    /// An application did not answer; of a shutdown, one of these two, and the recording does not say which.
    Application,
    /// After a forced shutdown, a window did not answer the question in 0.25 s or the order in 0.5 s.
    Forced,
    /// A service or unit had not started, stopped or answered when its manager gave up.
    Service,
}

/// A time-out that was run into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeOut {
    /// Which.
    pub kind: TimeOutKind,
    /// When it ran out, ns; `None` when not known.
    pub at_ns: Option<i64>,
    /// Its length, ns; `None` when not known.
    pub limit_ns: Option<i64>,
    /// How certain it is: most time-outs are not recorded as such.
    pub certainty: Certainty,
    /// What shows it.
    pub evidence: Reason,
}

/// When in a shutdown of Windows a service was notified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServiceNotification {
    /// Before all others, one after the other.
    PreShutdown,
    /// With all others, side by side.
    Shutdown,
    /// Before services were notified of the shutdown: it stopped for another reason.
    Earlier,
    /// Not recorded, or no service of a shutdown.
    #[default]
    Unknown,
}

/// A process of a unit that is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitProcess {
    /// Id.
    pub pid: u32,
    /// Image.
    pub image: String,
    /// Start, ns; `None` when it ran before the recording.
    pub start_ns: Option<i64>,
    /// Exit, ns; `None` when it outlived the recording.
    pub end_ns: Option<i64>,
    /// Whether it was started to stop the unit.
    pub stops: bool,
    /// How certain it is that it is the unit's.
    pub certainty: Certainty,
}

/// One start or stop of a service of Windows or of a unit of systemd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unit {
    /// Name; of a service the short one.
    pub name: String,
    /// Load-order group, or slice; empty for none.
    pub group: String,
    /// Start or stop.
    pub kind: ServiceChange,
    /// Requested, ns.
    pub start_ns: i64,
    /// First checkpoint, ns: of a start its process was there, of a stop it first reported that it was stopping. `None` when not
    /// recorded.
    pub checkpoint_ns: Option<i64>,
    /// Image loaded, ns; `None` when not recorded.
    pub load_done_ns: Option<i64>,
    /// Done, ns; `None` when it was under way at the end of the recording.
    pub end_ns: Option<i64>,
    /// All of it, ns; of Linux the time of `systemd-analyze blame`.
    pub duration_ns: Option<i64>,
    /// Until the first checkpoint, ns: of a start, making the process.
    pub container_ns: Option<i64>,
    /// Loading the service's image, ns.
    pub image_load_ns: Option<i64>,
    /// The rest, ns: of a start, its initialization.
    pub initialization_ns: Option<i64>,
    /// Command line of its process; empty when not known.
    pub command: String,
    /// Its process: a service's host, or a unit's main process.
    pub pid: Option<u32>,
    /// Image file name of that process; empty when not known.
    pub image: String,
    /// End of that process, ns; `None` when it outlived the recording, or is not known.
    pub process_end_ns: Option<i64>,
    /// How it ended.
    pub outcome: ServiceOutcome,
    /// The service manager's word for that, e.g. `timeout`; empty when it gives none.
    pub result: String,
    /// How long the service manager would have waited for this one, ns; `None` for ever, or when not recorded.
    pub limit_ns: Option<i64>,
    /// The time-out that it ran into; `None` when it ran into none.
    pub time_out: Option<TimeOut>,
    /// When in a shutdown of Windows it was notified.
    pub notification: ServiceNotification,
    /// Whether it belongs to the start of the system: Windows' automatic starts, units before the start was finished.
    pub automatic: bool,
    /// Start type as Windows numbers them: 2 automatic, 3 on demand; `None` where the recording does not say.
    pub start_type: Option<u32>,
    /// Whether the transition waited for it: it is on the way to the default target, or on the path of stopping. False where no
    /// such path is known.
    pub on_path: bool,
    /// What it waited for last; `None` when nothing recorded shows it.
    pub waited_for: Option<UnitWait>,
    /// Names of the units that waited for this one.
    pub held_up: Vec<String>,
    /// Units that waited for this one, or for one that waited for it, and so on.
    pub held_up_in_turn: u64,
    /// Of a stop of Linux, processes that were its own or ran to stop it, by end.
    pub processes: Vec<UnitProcess>,
    /// The record that set the start.
    pub event: String,
}

/// A unit whose start was not over when the recording ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StillStarting {
    /// Unit.
    pub unit: String,
    /// Began to start, ns.
    pub start_ns: i64,
    /// From then until the recording's end, ns.
    pub for_ns: i64,
    /// When the service manager gives up, counted from the begin, ns; `None` for never or not known.
    pub limit_ns: Option<i64>,
    /// Units that are declared to start after it and were not started; none where dependencies were not recorded.
    pub holds_up: Vec<String>,
}

/// A load-order group as the service control manager started it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceGroup {
    /// Name.
    pub name: String,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns; `None` when it did not end in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: Option<i64>,
    /// Services of the group that were started.
    pub services: u64,
    /// How certain the ends are: measured from the manager's own events, inferred from its services' starts and ends.
    pub certainty: Certainty,
}
