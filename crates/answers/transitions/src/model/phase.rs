//! Phases: one struct for all transitions of all systems.

use serde::Serialize;

use onoff_evidence::phase_name::{Half, PhaseName, PhaseSpan};
use onoff_evidence::{Boundary, Certainty, Span};
use onoff_usage::cpu::CpuUsage;
use onoff_usage::disk::DiskUsage;
use onoff_usage::person::{PersonTime, without_person};

/// A phase: when it was, what set that, and what the machine did in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Which.
    pub name: PhaseName,
    /// Its part of a sleep; `None` in other transitions.
    pub half: Option<Half>,
    /// Start, ns; negative before the kernel; `None` when no rule found it.
    pub start_ns: Option<i64>,
    /// End, ns; `None` when no rule found it or it is not in the recording.
    pub end_ns: Option<i64>,
    /// Length, ns; `None` when it is not known.
    pub duration_ns: Option<i64>,
    /// Time of it in which a person was waited for, ns: the computer did not take that.
    pub person_ns: i64,
    /// How much of it is in the recording, ns: a lower bound of its length.
    pub recorded_ns: i64,
    /// How certain the weaker end is.
    pub certainty: Certainty,
    /// What set the start.
    pub starts: Boundary,
    /// What set the end; of a phase that only an account of the system names, what set its length.
    pub ends: Boundary,
    /// Detail as recorded, e.g. which processors; empty when there is none.
    pub detail: String,
    /// The applications, services or devices' callbacks in it.
    pub work: PhaseWork,
    /// Who used the processors; `None` when that was not recorded or an end is unknown.
    pub cpu: Option<CpuUsage>,
    /// What the disks did; `None` when no disk request was recorded or an end is unknown.
    pub disk: Option<DiskUsage>,
    /// Names of the losses that touch its ends.
    pub touched_by: Vec<String>,
}

/// What was asked of applications, services or devices in a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseWork {
    /// How many.
    pub items: u64,
    /// Lengths of those that ended, added up, ns.
    pub total_ns: i64,
    /// Time of the phase in which at least one of them was under way, ns.
    pub covered_ns: i64,
    /// The phase's length less `total_ns`, ns; negative where they overlap. `None` when the length is unknown or none ended.
    pub beyond_ns: Option<i64>,
    /// What ended last, and so ended the phase; of Windows.
    pub last: Option<LastEnded>,
    /// What the phase's end waited for, latest first: the callback that ended last, what that one waited for, and so on; of Linux.
    pub path: Vec<CallbackStep>,
    /// Time of the phase that the path's callbacks took, ns; the rest is the kernel's own work between them.
    pub path_ns: i64,
}

/// What ended last in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastEnded {
    /// Its name.
    pub name: String,
    /// Its driver, of a device; empty when not known.
    pub driver: String,
    /// Its length, ns.
    pub duration_ns: i64,
    /// Its end, ns.
    pub end_ns: i64,
    /// How much earlier the second last ended, ns: what the phase would gain if this one took no longer; `None` for an only one.
    pub after_others_ns: Option<i64>,
}

/// Why a callback is on a phase's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallbackReason {
    /// It ended last in the phase.
    EndedLast,
    /// The next one hangs on the device below this one, and waits for it: on the way down children come first.
    Child,
    /// The next one's device hangs on this one, and waits for it: on the way up parents come first.
    Parent,
    /// The next one ran on the same thread, after this one.
    SameThread,
}

/// A callback on a phase's path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallbackStep {
    /// Device.
    pub device: String,
    /// Driver; empty when the device has none.
    pub driver: String,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Its time on the path, ns: its length, but what the step before it on the path covers.
    pub duration_ns: i64,
    /// Why it is on the path.
    pub because: CallbackReason,
}

impl Phase {
    /// A phase of which nothing is known.
    pub fn unknown(name: PhaseName) -> Self {
        Self {
            name,
            half: None,
            start_ns: None,
            end_ns: None,
            duration_ns: None,
            person_ns: 0,
            recorded_ns: 0,
            certainty: Certainty::Missing,
            starts: Boundary::default(),
            ends: Boundary::default(),
            detail: String::new(),
            work: PhaseWork::default(),
            cpu: None,
            disk: None,
            touched_by: Vec::new(),
        }
    }

    /// The phase between two boundaries.
    pub(crate) fn between(name: PhaseName, starts: &Boundary, ends: &Boundary) -> Self {
        let span = Span::between(starts, ends);
        Self {
            start_ns: span.start_ns,
            end_ns: span.end_ns,
            duration_ns: span.duration_ns,
            recorded_ns: span.duration_ns.unwrap_or(0).max(0),
            certainty: span.certainty,
            starts: starts.clone(),
            ends: ends.clone(),
            ..Self::unknown(name)
        }
    }

    /// The same as a part of a sleep.
    pub(crate) fn of_sleep(self) -> Self {
        Self { half: self.name.half(), ..self }
    }

    /// The same, recorded up to `until_ns` where its end is not known.
    pub(crate) fn recorded_until(self, until_ns: i64) -> Self {
        let recorded_ns = match (self.start_ns, self.end_ns) {
            (Some(start), None) => until_ns.saturating_sub(start).max(0),
            _ => self.recorded_ns,
        };
        Self { recorded_ns, ..self }
    }

    /// What the computer took of it, ns: its length without the time in which a person was waited for. `None` when its length is not
    /// known.
    #[must_use]
    pub fn took_ns(&self) -> Option<i64> {
        Some(without_person(self.duration_ns?, self.person_ns))
    }

    /// Sets the time in which a person was waited for.
    pub(crate) fn set_person_time(&mut self, person: &PersonTime) {
        if let Some(window) = self.recorded() {
            self.person_ns = person.within(window);
        }
    }

    /// Its name and its ends.
    #[must_use]
    pub const fn span(&self) -> PhaseSpan {
        (self.name, self.start_ns, self.end_ns)
    }

    /// Start and end of what is recorded of it, ns; `None` when there is none, or its end is neither known nor assumed.
    #[must_use]
    pub fn recorded(&self) -> Option<(i64, i64)> {
        let start = self.start_ns.filter(|&start| start >= 0)?;
        let end = self.end_ns.or((self.recorded_ns > 0).then(|| start.saturating_add(self.recorded_ns)))?;
        (start <= end).then_some((start, end))
    }

    /// Whether something that starts at `time_ns` starts in it; an open end reaches to `until_ns`.
    pub(crate) fn holds(&self, time_ns: i64, until_ns: i64) -> bool {
        self.start_ns.is_some_and(|start| start <= time_ns) && time_ns <= self.end_ns.unwrap_or(until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_end_is_recorded_only_as_far_as_it_is_assumed() {
        let at = |time_ns| Boundary { time_ns, ..Boundary::default() };
        let open = Phase::between(PhaseName::PostBoot, &at(Some(10)), &at(None));
        assert_eq!((open.recorded(), open.recorded_ns), (None, 0));
        let open = open.recorded_until(25);
        assert_eq!((open.recorded(), open.recorded_ns), (Some((10, 25)), 15));
        let before = Phase::between(PhaseName::Firmware, &at(Some(-10)), &at(Some(5)));
        assert_eq!((before.recorded(), before.recorded_ns), (None, 15));
        let moment = Phase::between(PhaseName::Sync, &at(Some(5)), &at(Some(5)));
        assert_eq!(moment.recorded(), Some((5, 5)));
    }
}
