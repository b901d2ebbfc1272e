//! A start or stop of a Windows service or systemd unit.

use onoff_trace::{Duration, ServiceChange, ServiceOutcome};
use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;

/// Evidence that a unit waited for another unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// Windows: an earlier service in the same load-order group had to start first.
    SameGroup,
    /// Windows: the previous load-order group had to finish.
    EarlierGroup,
    /// Windows: the host process of an earlier service had to be created.
    Container,
    /// Linux: the unit is ordered after the other unit (for a stop: before it), which was the last such unit to finish.
    DeclaredOrder,
    /// Linux: a device, announced after the scan for existing devices started.
    DeviceScan,
    /// Linux: no unit that precedes it was started, so it could start once the service manager had loaded its units.
    Manager,
    /// Linux: the declared order was not recorded; the other unit finished right before.
    ObservedOrder,
    /// Linux: the declared order was not recorded, and no unit finished right before. The other unit finished last, but
    /// nothing started for seconds after it.
    Unexplained,
}

/// What a unit waited for last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitWait {
    /// The other unit; empty for the service manager itself.
    pub name: String,
    pub kind: WaitKind,
    /// When the other unit finished, or its host process was created, ns.
    pub time_ns: i64,
    /// Time from `time_ns` until this unit's start or stop, ns: the service manager was busy, or the unit was requested
    /// later.
    pub gap_ns: i64,
    /// Measured only if the order is declared: an observed order of starts is evidence, not proof.
    pub certainty: Certainty,
}

impl UnitWait {
    /// Describes why the start of `unit` had to wait.
    #[must_use]
    pub fn phrase(&self, unit: &str) -> String {
        let (predecessor, gap) = (&self.name, Duration::from_ns(self.gap_ns));
        match self.kind {
            WaitKind::SameGroup => {
                format!(
                    "{unit} was requested {gap} after {predecessor} had started, and both are in the same load-order \
                     group"
                )
            }
            WaitKind::EarlierGroup => {
                format!("{unit} was requested {gap} after {predecessor}, in an earlier load-order group, had started")
            }
            WaitKind::Container => format!(
                "{unit} was requested {gap} after the host process of {predecessor} was created; host processes are \
                 created one at a time"
            ),
            WaitKind::DeclaredOrder if self.certainty == Certainty::Measured => {
                format!("{unit} is ordered after {predecessor}, which finished last, {gap} earlier")
            }
            WaitKind::DeclaredOrder => format!(
                "{unit} is ordered after {predecessor}, which finished {gap} earlier; the service manager \
                 was busy, or the unit was requested later"
            ),
            WaitKind::DeviceScan => format!("{unit} was announced after {predecessor} started the device scan"),
            WaitKind::Manager => format!(
                "none of the units that {unit} is ordered after started before it; the service manager had loaded its \
                 units {gap} earlier"
            ),
            WaitKind::ObservedOrder => {
                format!("{unit} started {gap} after {predecessor} had finished, and nothing else finished in between")
            }
            WaitKind::Unexplained => format!(
                "{unit} started {gap} after the last unit before it, {predecessor}, had finished; no unit explains the gap"
            ),
        }
    }
}

/// The kind of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeOutKind {
    /// A window did not respond within 5 s.
    Window,
    /// A console handler did not return within 5 s.
    Console,
    /// An application did not respond; in a shutdown, a window or a console application.
    Application,
    /// In a forced shutdown, a window did not respond to the query within 0.25 s or did not end within 0.5 s.
    Forced,
    /// A service or unit did not start, stop or respond before its manager stopped waiting.
    Service,
}

/// A timeout that was exceeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeOut {
    pub kind: TimeOutKind,
    /// When it expired, ns; `None` if unknown.
    pub at_ns: Option<i64>,
    /// The limit, ns; `None` if unknown.
    pub limit_ns: Option<i64>,
    /// Most timeouts are inferred, because they are not recorded as events.
    pub certainty: Certainty,
    pub evidence: Reason,
}

/// When a Windows service was notified during a shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServiceNotification {
    /// Before all other services, one at a time.
    PreShutdown,
    /// With all other services, in parallel.
    Shutdown,
    /// Not part of the shutdown: it stopped earlier, for another reason.
    Earlier,
    /// Not recorded, or not a service in a shutdown.
    #[default]
    Unknown,
}

/// A process of a stopping unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitProcess {
    pub pid: u32,
    pub image: String,
    /// Start, ns; `None` if it was running before the recording.
    pub start_ns: Option<i64>,
    /// Exit, ns; `None` if it was still running when the recording ended.
    pub end_ns: Option<i64>,
    /// Whether it is a stop command of the unit.
    pub stops: bool,
    /// How certain it is that the process belongs to the unit.
    pub certainty: Certainty,
}

/// A start or stop of a Windows service or systemd unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unit {
    /// Unit name, or short service name.
    pub name: String,
    /// Load-order group or slice; empty if there is none.
    pub group: String,
    pub kind: ServiceChange,
    /// When it was requested, ns.
    pub start_ns: i64,
    /// First checkpoint, ns. For a start, when its process existed; for a stop, when it first reported that it was
    /// stopping. `None` if not recorded.
    pub checkpoint_ns: Option<i64>,
    /// When the image was loaded, ns; `None` if not recorded.
    pub load_done_ns: Option<i64>,
    /// When it finished, ns; `None` if it was unfinished when the recording ended.
    pub end_ns: Option<i64>,
    /// Duration, ns; on Linux, the time from `systemd-analyze blame`.
    pub duration_ns: Option<i64>,
    /// Time until the first checkpoint, ns; for a start, the time to create the process.
    pub container_ns: Option<i64>,
    /// Time to load the service image, ns.
    pub image_load_ns: Option<i64>,
    /// Remaining time, ns; for a start, initialization.
    pub initialization_ns: Option<i64>,
    /// Command line of its process; empty if unknown.
    pub command: String,
    /// The service host process, or the main process of the unit.
    pub pid: Option<u32>,
    /// Image file name of that process; empty if unknown.
    pub image: String,
    /// Exit of that process, ns; `None` if it was still running when the recording ended, or unknown.
    pub process_end_ns: Option<i64>,
    pub outcome: ServiceOutcome,
    /// The service manager's result, e.g. `timeout`; empty if none.
    pub result: String,
    /// Timeout of the service manager for this unit, ns; `None` if infinite or not recorded.
    pub limit_ns: Option<i64>,
    /// The exceeded timeout, if any.
    pub time_out: Option<TimeOut>,
    /// When it was notified in a Windows shutdown.
    pub notification: ServiceNotification,
    /// Whether it is part of the boot: an automatic start on Windows, or a unit started before the end of the boot.
    pub automatic: bool,
    /// Start type as on Windows: 2 automatic, 3 demand; `None` if not recorded.
    pub start_type: Option<u32>,
    /// Whether the boot or the shutdown waited for it: it is on the critical path. False if the path is unknown.
    pub on_path: bool,
    /// What it waited for last; `None` if not recorded.
    pub waited_for: Option<UnitWait>,
    /// Whether that took less than 300 ms until the earlier service had a process, which no report calls a wait.
    #[serde(skip)]
    pub is_brief_wait: bool,
    /// Names of the units that waited for this unit.
    pub held_up: Vec<String>,
    /// Number of units that waited for this unit, directly or indirectly.
    pub held_up_total: u64,
    /// For a stop on Linux, the processes of the unit and its stop commands, ordered by end.
    pub processes: Vec<UnitProcess>,
    /// The record that set the start.
    pub event: String,
}

impl Unit {
    /// Returns what the unit waited for, if the wait was long enough to be called one.
    #[must_use]
    pub fn notable_wait(&self) -> Option<&UnitWait> {
        self.waited_for.as_ref().filter(|_| !self.is_brief_wait)
    }
}

/// A unit that was still starting when the recording ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StillStarting {
    pub unit: String,
    /// When it began to start, ns.
    pub start_ns: i64,
    /// Time until the end of the recording, ns.
    pub elapsed_ns: i64,
    /// Start timeout of the service manager, ns; `None` if infinite or unknown.
    pub limit_ns: Option<i64>,
    /// Units that are ordered after this unit and were not started; empty if dependencies were not recorded.
    pub holds_up: Vec<String>,
}

/// A load-order group, as started by the service control manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceGroup {
    pub name: String,
    /// Start, ns.
    pub start_ns: i64,
    /// `None` if it did not end in the recording.
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    /// Number of services in the group that were started.
    pub services: u64,
    /// Measured by events of the service control manager, inferred from the starts and ends of the services.
    pub certainty: Certainty,
}
