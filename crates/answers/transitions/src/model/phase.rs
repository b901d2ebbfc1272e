//! Phases of transitions, common to all systems.

use serde::Serialize;

use onoff_evidence::phase_name::{PhaseInterval, PhaseName, SuspendStage};
use onoff_evidence::{Boundary, Certainty, DerivedInterval};
use onoff_usage::cpu::CpuUsage;
use onoff_usage::disk::DiskUsage;
use onoff_usage::user_input::{UserInputTime, without_user_input};

/// A phase: its interval, the rules that set its ends, and the activity of the machine during the phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    pub name: PhaseName,
    /// Half of a suspend and resume; `None` in other transitions.
    pub half: Option<SuspendStage>,
    /// Start, ns; negative before the kernel. `None` if no rule matched.
    pub start_ns: Option<i64>,
    /// End, ns; `None` if no rule matched or the recording ended earlier.
    pub end_ns: Option<i64>,
    /// Length, ns; `None` if unknown.
    pub duration_ns: Option<i64>,
    /// Time spent waiting for user input, ns.
    pub user_input_ns: i64,
    /// The recorded part, ns: a lower bound of the length.
    pub recorded_ns: i64,
    /// Certainty of the less certain boundary.
    pub certainty: Certainty,
    /// The boundary at the start.
    pub starts: Boundary,
    /// The boundary at the end. If only the system's own times show the phase, the rule that set its length.
    pub ends: Boundary,
    /// Detail as recorded, e.g. which CPUs; empty if there is none.
    pub detail: String,
    /// The requests to applications, services or devices in the phase.
    pub work: PhaseWork,
    /// CPU usage; `None` if not recorded or an end is unknown.
    pub cpu: Option<CpuUsage>,
    /// Disk activity; `None` if no disk request was recorded or an end is unknown.
    pub disk: Option<DiskUsage>,
    /// Names of the losses that can affect the boundaries.
    pub affecting_losses: Vec<String>,
}

/// Requests to applications, services or devices in a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseWork {
    /// Number of requests.
    pub items: u64,
    /// Sum of the durations of completed requests, ns.
    pub total_ns: i64,
    /// Time in which at least one request was in flight, ns.
    pub covered_ns: i64,
    /// Length of the phase minus `total_ns`, ns; negative if requests overlap. `None` if the length is unknown or no
    /// request completed.
    pub other_ns: Option<i64>,
    /// Windows: the request that completed last and so ended the phase.
    pub last: Option<LastFinished>,
    /// Linux: the critical path of the phase, latest first: the callback that ended last, the callback it waited for,
    /// and so on.
    pub path: Vec<CallbackStep>,
    /// Time in the callbacks of the path, ns. The remaining time is kernel work between callbacks.
    pub path_ns: i64,
}

/// The request that completed last in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastFinished {
    /// Name of the application, service or device.
    pub name: String,
    /// Driver of a device; empty if unknown.
    pub driver: String,
    pub duration_ns: i64,
    pub end_ns: i64,
    /// Time since the second-last request completed, ns: how much shorter the phase could be. `None` if there was only
    /// one request.
    pub after_others_ns: Option<i64>,
}

/// Why a callback is on the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallbackReason {
    /// It ended last in the phase.
    FinishedLast,
    /// The next callback's device is the parent of this one and waits for it: children suspend first.
    Child,
    /// The next callback's device is a child of this one and waits for it: parents resume first.
    Parent,
    /// The next callback ran on the same thread, after this one.
    SameThread,
}

/// A callback on the critical path of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallbackStep {
    pub device: String,
    /// Empty if the device has no driver.
    pub driver: String,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Time on the path, ns: its duration minus what the previous step on the path covers.
    pub duration_ns: i64,
    pub reason: CallbackReason,
}

impl Phase {
    /// A phase with unknown ends.
    pub fn unknown(name: PhaseName) -> Self {
        Self {
            name,
            half: None,
            start_ns: None,
            end_ns: None,
            duration_ns: None,
            user_input_ns: 0,
            recorded_ns: 0,
            certainty: Certainty::Missing,
            starts: Boundary::default(),
            ends: Boundary::default(),
            detail: String::new(),
            work: PhaseWork::default(),
            cpu: None,
            disk: None,
            affecting_losses: Vec::new(),
        }
    }

    pub(crate) fn from_boundaries(name: PhaseName, starts: &Boundary, ends: &Boundary) -> Self {
        let interval = DerivedInterval::between(starts, ends);
        Self {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            duration_ns: interval.duration_ns,
            recorded_ns: interval.duration_ns.unwrap_or(0).max(0),
            certainty: interval.certainty,
            starts: starts.clone(),
            ends: ends.clone(),
            ..Self::unknown(name)
        }
    }

    /// Sets the half of a suspend and resume that the phase belongs to.
    pub(crate) fn with_half(self) -> Self {
        Self { half: self.name.half(), ..self }
    }

    /// If the end is unknown, counts the time up to `until_ns` as recorded.
    pub(crate) fn recorded_until(self, until_ns: i64) -> Self {
        let recorded_ns = match (self.start_ns, self.end_ns) {
            (Some(start), None) => until_ns.saturating_sub(start).max(0),
            _ => self.recorded_ns,
        };
        Self { recorded_ns, ..self }
    }

    /// Length without the time spent waiting for user input, ns. `None` if the length is unknown.
    #[must_use]
    pub fn duration_without_input_ns(&self) -> Option<i64> {
        Some(without_user_input(self.duration_ns?, self.user_input_ns))
    }

    /// Sets the time spent waiting for user input.
    pub(crate) fn set_user_input(&mut self, input_time: &UserInputTime) {
        if let Some(window) = self.recorded_interval() {
            self.user_input_ns = input_time.ns_in(window);
        }
    }

    /// The name, start and end of the phase.
    #[must_use]
    pub const fn interval(&self) -> PhaseInterval {
        (self.name, self.start_ns, self.end_ns)
    }

    /// Start and end of the recorded part, ns. `None` if nothing was recorded, or the end is neither known nor assumed.
    #[must_use]
    pub fn recorded_interval(&self) -> Option<(i64, i64)> {
        let start = self.start_ns.filter(|&start| start >= 0)?;
        let end = self.end_ns.or((self.recorded_ns > 0).then(|| start.saturating_add(self.recorded_ns)))?;
        (start <= end).then_some((start, end))
    }

    /// Whether `time_ns` is in the phase; an unknown end counts as `until_ns`.
    pub(crate) fn contains(&self, time_ns: i64, until_ns: i64) -> bool {
        self.start_ns.is_some_and(|start| start <= time_ns) && time_ns <= self.end_ns.unwrap_or(until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_end_counts_as_recorded_only_up_to_the_assumed_end() {
        let boundary = |time_ns| Boundary { time_ns, ..Boundary::default() };
        let open = Phase::from_boundaries(PhaseName::PostBoot, &boundary(Some(10)), &boundary(None));
        assert_eq!((open.recorded_interval(), open.recorded_ns), (None, 0));
        let open = open.recorded_until(25);
        assert_eq!((open.recorded_interval(), open.recorded_ns), (Some((10, 25)), 15));
        let early = Phase::from_boundaries(PhaseName::Firmware, &boundary(Some(-10)), &boundary(Some(5)));
        assert_eq!((early.recorded_interval(), early.recorded_ns), (None, 15));
        let instant = Phase::from_boundaries(PhaseName::Sync, &boundary(Some(5)), &boundary(Some(5)));
        assert_eq!(instant.recorded_interval(), Some((5, 5)));
    }
}
