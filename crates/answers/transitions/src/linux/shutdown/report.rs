//! The result of the analysis of a shutdown of Linux. Its serialized names are the documented contract of
//! `shutdown --format json` for a recording of Linux.

use crate::Transition;
use serde::Serialize;

use onoff_evidence::reason::Reason;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// Where the time of a shutdown of Linux went.
pub type LinuxShutdownReport = Transition<LinuxShutdown>;

/// What only a shutdown of Linux has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxShutdown {
    /// The rule that decided it.
    pub variant_rule: Rule,
    /// What set the start.
    pub starts: Boundary,
    /// What set the end.
    pub ends: Boundary,
    /// What took longest.
    pub longest: Option<LongestStop>,
    /// What the end of stopping units waited for, latest first: the unit that stopped last, the one that it waited for, and so on.
    pub path: Vec<StopStep>,
    /// Processes that were asked to end, the longest first.
    pub processes: Vec<ProcessStop>,
    /// Processes that were ended by force after their time was up, by time.
    pub killed: Vec<KilledProcess>,
}

/// What took longest: a unit, or a phase in which no unit stops.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongestStop {
    /// Unit, or phase.
    pub name: String,
    /// Whether it is a unit.
    pub is_unit: bool,
    /// Begin, ns.
    pub start_ns: i64,
    /// Length, ns; a lower bound where it did not end in the recording.
    pub duration_ns: i64,
    /// Share of the whole shutdown, percent of `total_ns`, or of `total_at_least_ns` where that is not known.
    pub percent: f64,
    /// Whether it is on the path: whether the shutdown waited for it.
    pub on_path: bool,
    /// Why it took so long, as a clause; empty when nothing recorded says it.
    pub because: Reason,
}

/// A unit on the path of stopping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopStep {
    /// Unit.
    pub name: String,
    /// Asked to stop, ns.
    pub start_ns: i64,
    /// Stopped, ns.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// From its stop until the next unit of the path was asked, ns; to the end of stopping for the last one.
    pub gap_ns: i64,
    /// Measured where the order is declared (`After=`), inferred where it only stopped last before.
    pub certainty: Certainty,
}

/// A process that was asked to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessStop {
    /// Id.
    pub pid: u32,
    /// Image or name.
    pub image: String,
    /// Unit it belongs to; empty when not known.
    pub unit: String,
    /// Asked, ns.
    pub asked_ns: i64,
    /// Number of the signal, 15 for `SIGTERM`; `None` when not recorded.
    pub signal: Option<u32>,
    /// Ended, ns; `None` when that is not in the recording.
    pub end_ns: Option<i64>,
    /// From asked to ended, ns.
    pub duration_ns: Option<i64>,
    /// Whether it was ended by force.
    pub killed: bool,
}

/// A process that was ended by force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KilledProcess {
    /// Id.
    pub pid: Option<u32>,
    /// Unit, where the service manager did it; else the process's name.
    pub name: String,
    /// Image, where it is known.
    pub image: String,
    /// When, ns.
    pub time_ns: i64,
    /// The record.
    pub event: String,
}
