//! The question of `onoff why`, and the phases that it may name.

use onoff_evidence::interval::Interval;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_trace::{Pattern, Trace};
use thiserror::Error;

use crate::waits::{PathOptions, RecordedPhases, TransitionPhase};

/// What to explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyTarget {
    /// The long waits of the threads of a process: its image name or id.
    Process(Pattern),
    /// The long waits of a thread.
    Thread(u32),
    /// The start or stop of a service.
    Service(Pattern),
    /// The requests to a device, matched by instance, description, friendly name or driver.
    Device(Pattern),
    /// Phases of transitions, by name and transition kind.
    Phase(Option<Pattern>, Option<TransitionKind>),
    /// The longest phase of the transitions of this kind.
    LongestPhase(Option<TransitionKind>),
}

/// The input of [`crate::why::why`].
#[derive(Clone, Debug)]
pub struct WhyQuestion {
    pub target: WhyTarget,
    /// Only intervals that contain this time, ns.
    pub at_ns: Option<i64>,
    /// Only intervals that overlap this one, e.g. a phase.
    pub within: Option<Interval>,
    /// Minimum duration, ns.
    pub min_duration_ns: i64,
    /// Maximum number of intervals, longest first; `None` for all. Does not apply to phases.
    pub max_intervals: Option<usize>,
    /// Include waits for work items, in which threads are idle.
    pub include_work_waits: bool,
    pub path: PathOptions,
}

/// Why nothing can be explained.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WhyError {
    /// Nothing with that name or id was recorded.
    #[error("{0}")]
    NotFound(String),
    /// Nothing matches the minimum duration or the time.
    #[error("{0}")]
    NoMatch(String),
}

pub(crate) fn not_found(message: &str) -> WhyError {
    WhyError::NotFound(message.to_owned())
}

pub(crate) fn no_such_phase(trace: &Trace) -> String {
    let mut names: Vec<String> = RecordedPhases::new(trace).all().map(|phase| phase.name).collect();
    names.dedup();
    match names.as_slice() {
        [] => "no phase with a known start and end in this recording".to_owned(),
        names => format!("no such phase; the recorded phases are {}", names.join(", ")),
    }
}

pub(crate) fn matching_phases(
    trace: &Trace,
    pattern: Option<&Pattern>,
    kind: Option<TransitionKind>,
) -> impl Iterator<Item = TransitionPhase> {
    RecordedPhases::new(trace).of_kind(kind).all().filter(move |phase| {
        // The name in JSON, and as shown in text.
        let display_name = phase.name.replace('_', " ");
        pattern.is_none_or(|pattern| pattern.matches(&phase.name) || pattern.matches(&display_name))
    })
}

/// Returns the intervals of the phases with that name, or of all.
///
/// # Errors
/// There is no such phase.
pub(crate) fn phases_named(
    trace: &Trace,
    pattern: Option<&Pattern>,
    kind: Option<TransitionKind>,
) -> Result<Vec<Interval>, WhyError> {
    let ranges: Vec<Interval> = matching_phases(trace, pattern, kind).map(|phase| phase.range).collect();
    if ranges.is_empty() { Err(not_found(&no_such_phase(trace))) } else { Ok(ranges) }
}
