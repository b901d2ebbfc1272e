//! What a prediction says, what it rests on, and why there is none.

use std::fmt;

use onoff_evidence::transition_kind::TransitionKind;
use onoff_trace::{Duration, Losses};
use serde::Serialize;
use thiserror::Error;

use crate::bottleneck::Bottleneck;
use crate::changes::{Change, ChangeError};
use crate::identity::Identity;

/// Largest share of unknown time on the critical path with which a prediction is made, percent.
pub const MAX_UNKNOWN_PERCENT: f64 = 20.0;

/// A predicted duration. Waits for something outside the computer give the range; on Linux also the order of ready
/// threads, and the competition of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictedDuration {
    /// Duration if external waits take as long as recorded, ns.
    pub ns: i64,
    /// Shortest duration, ns.
    pub min_ns: i64,
    /// Longest duration, ns.
    pub max_ns: i64,
}

/// A phase as measured and as predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictedPhase {
    pub phase: String,
    /// Duration in the recording, ns, without required idle time and time asleep.
    pub measured_ns: i64,
    /// Predicted duration; `None` if the replay did not reach the end of the phase.
    pub predicted: Option<PredictedDuration>,
}

/// Smallest range that is shown, ns: 1 ms.
const MIN_RANGE_NS: i64 = 1_000_000;

impl PredictedDuration {
    /// Formats the range, e.g. `4.8 s to 5.3 s`; `None` if there is none.
    #[must_use]
    pub fn range(self) -> Option<String> {
        let (min, max) = (Duration::from_ns(self.min_ns).to_string(), Duration::from_ns(self.max_ns).to_string());
        let is_range = self.max_ns.saturating_sub(self.min_ns) >= MIN_RANGE_NS && min != max;
        is_range.then(|| format!("{min} to {max}"))
    }

    /// Returns what this saves of a measured duration.
    #[must_use]
    pub(crate) const fn saving_from(self, measured_ns: i64) -> Self {
        Self {
            ns: measured_ns.saturating_sub(self.ns),
            min_ns: measured_ns.saturating_sub(self.max_ns),
            max_ns: measured_ns.saturating_sub(self.min_ns),
        }
    }
}

/// Shows the duration with its range, e.g. `5.1 s (4.8 s to 5.3 s)`.
impl fmt::Display for PredictedDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = Duration::from_ns(self.ns);
        match self.range() {
            Some(range) => write!(formatter, "{ns} ({range})"),
            None => write!(formatter, "{ns}"),
        }
    }
}

/// What was replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WhatIfBasis"))]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Threads, from context switches.
    Threads,
    /// Linux units, from their start times and declared order.
    UnitTimes,
}

/// What a prediction assumes beyond the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WhatIfAssumption"))]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// Units that start at the same time do not affect each other, or share one processor or disk: the range.
    UnitsCompeteWithinBounds,
    /// Devices appear as long after the scan for devices as recorded.
    DevicesFollowScan,
    /// The service manager of Linux waits only for what it was recorded to wait for last.
    ManagerWaitsForLast,
    /// Everything else in user space still needs its processor time.
    OthersKeepProcessorTime,
    /// The kernel waits for the driver's devices before it mounts the root file system.
    RootWaitsForProbe,
}

/// Why there is no prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoPrediction {
    /// A replay without the change does not reproduce the recording.
    IdentityFailed,
    /// Too much of the critical path is unknown.
    PathUnknown,
    /// The replay did not reach the end of a phase.
    EndNotReached,
    /// The range is wider than 15 % of the duration, up and down.
    RangeTooWide,
}

/// The answer to a what-if question about one transition.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WhatIfPrediction"))]
pub struct Prediction {
    pub transition: TransitionKind,
    /// Number among the transitions of its kind in the recording, from 1.
    pub number: u32,
    pub basis: Basis,
    /// What the prediction assumes beyond the recording.
    pub assumptions: Vec<Assumption>,
    /// The changes, in the order given.
    pub changes: Vec<Change>,
    /// Duration of the transition in the recording, ns, without required idle time and time asleep.
    pub measured_ns: i64,
    /// Predicted duration; `None` if not known.
    pub predicted: Option<PredictedDuration>,
    /// Measured minus predicted duration, ns; negative if the change makes it slower. `None` if not known.
    pub saving: Option<PredictedDuration>,
    /// Recorded length of the work and waits that the changes remove, on all threads, ns; `None` if units were replayed.
    pub removed_ns: Option<i64>,
    /// Why there is no prediction; `None` if there is one.
    pub no_prediction: Option<NoPrediction>,
    pub phases: Vec<PredictedPhase>,
    /// The first culprit after the change: the subject with the most time on the critical path of the replay, parts of
    /// the system last. `None` if not known.
    pub bottleneck: Option<Bottleneck>,
    /// The replay without the change.
    pub identity: Identity,
    /// Share of the phases' critical path that is unknown, percent.
    pub unknown_percent: f64,
    /// Number of waits that are replayed both with their recorded length and with their recorded end, because what
    /// ended them is unknown or outside the computer, or because events that may have ended them were lost.
    pub uncertain_waits: u64,
    /// All losses of the recording.
    pub losses: Losses,
}

impl Prediction {
    /// Returns why there is no prediction, as a clause; `None` if there is one.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        Some(match (self.no_prediction?, self.identity.max_error_ns) {
            (NoPrediction::PathUnknown, _) => format!("{:.0} % of the critical path is unknown", self.unknown_percent),
            (NoPrediction::IdentityFailed, Some(error_ns)) => {
                format!("a replay without a change ends a phase up to {} early or late", Duration::from_ns(error_ns))
            }
            (NoPrediction::IdentityFailed, None) => "a replay without a change does not end".to_owned(),
            (NoPrediction::EndNotReached, _) => "a replay with the change does not end".to_owned(),
            (NoPrediction::RangeTooWide, _) => "the range of the prediction is too wide".to_owned(),
        })
    }
}

/// A what-if question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhatIfQuestion {
    pub changes: Vec<Change>,
    /// Kind of transition; `None` for the first in the recording.
    pub kind: Option<TransitionKind>,
    /// Number among the transitions of its kind, from 1; `None` for the first.
    pub number: Option<u32>,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WhatIfError {
    #[error("no boot, shutdown or sleep in this recording")]
    NoTransition,
    #[error("no context switches were recorded, so the work cannot be replayed")]
    NoSwitches,
    #[error(
        "no context switches were recorded, and the order of units is not known: \
         add the output of 'systemctl show \"*\"' or 'systemd-analyze dump'"
    )]
    NoUnitOrder,
    #[error(transparent)]
    Change(#[from] ChangeError),
}
