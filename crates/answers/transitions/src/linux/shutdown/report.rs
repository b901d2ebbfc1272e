//! Result of the Linux shutdown analysis. The serialized names are the documented interface of `shutdown --format json`
//! for Linux recordings.

use crate::Transition;
use serde::Serialize;

use onoff_evidence::reason::Reason;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// A Linux shutdown.
pub type LinuxShutdownReport = Transition<LinuxShutdown>;

/// Fields specific to a Linux shutdown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxShutdown {
    /// The rule that set the variant.
    pub variant_rule: Rule,
    pub starts: Boundary,
    pub ends: Boundary,
    /// The longest stop.
    pub longest: Option<LongestStop>,
    /// The critical path of stopping units, latest first: the unit that stopped last, the unit it waited for, and so
    /// on.
    pub path: Vec<StopStep>,
    /// Processes that were signaled to exit, longest first.
    pub processes: Vec<ProcessStop>,
    /// Processes that were killed after their timeout, ordered by time.
    pub killed: Vec<KilledProcess>,
}

/// The longest stop: a unit, or a phase without unit stops.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongestStop {
    pub name: String,
    pub is_unit: bool,
    pub start_ns: i64,
    /// Duration, ns; a lower bound if it did not end in the recording.
    pub duration_ns: i64,
    /// Percentage of `total_ns`, or of `total_at_least_ns` if the total is unknown.
    pub percent: f64,
    /// Whether it is on the critical path: the shutdown waited for it.
    pub on_path: bool,
    /// Why it took so long; `none` if not recorded.
    pub reason: Reason,
}

/// A unit on the critical path of stopping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopStep {
    pub name: String,
    /// When it was asked to stop, ns.
    pub start_ns: i64,
    /// When it finished stopping, ns.
    pub end_ns: i64,
    pub duration_ns: i64,
    /// From its stop until the next unit on the path was asked to stop, ns; for the last unit, until the end of
    /// stopping.
    pub gap_ns: i64,
    /// Measured if the order is declared (`After=`), inferred if the unit was only the last to stop before the next
    /// unit.
    pub certainty: Certainty,
}

/// A process that was signaled to exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessStop {
    pub pid: u32,
    /// Image file name or process name.
    pub image: String,
    /// The unit it belongs to; empty if unknown.
    pub unit: String,
    /// When it was signaled, ns.
    pub signaled_ns: i64,
    /// Signal number, 15 for `SIGTERM`; `None` if not recorded.
    pub signal: Option<u32>,
    /// Exit, ns; `None` if not in the recording.
    pub end_ns: Option<i64>,
    /// From the signal to the exit, ns.
    pub duration_ns: Option<i64>,
    pub killed: bool,
}

/// A process that was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KilledProcess {
    pub pid: Option<u32>,
    /// The unit, if the service manager killed it; otherwise the process name.
    pub name: String,
    /// Image file name, if known.
    pub image: String,
    /// When it was killed, ns.
    pub time_ns: i64,
    /// The record.
    pub event: String,
}
