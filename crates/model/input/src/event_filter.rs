//! Selection of events of a stream, and the result of a stream.

use std::ops::ControlFlow;

use onoff_trace::{Losses, Pattern};

/// Selects events. Empty lists select everything.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Provider names or GUIDs.
    pub providers: Vec<Pattern>,
    /// Event names, tasks or ids; for kernel events also the hook, as in `0x0524`.
    pub events: Vec<Pattern>,
    /// Process image names or ids.
    pub processes: Vec<Pattern>,
    /// Activity ids: events of these activities, and of all activities that events of them started.
    pub activities: Vec<u128>,
    /// Earliest time, ns since the start of the recording.
    pub from_ns: Option<i64>,
    /// End of the range (exclusive), ns since the start of the recording.
    pub until_ns: Option<i64>,
}

/// Result of a stream.
#[derive(Debug)]
#[must_use]
pub struct StreamResult<B> {
    /// The visitor's break value, if it stopped the stream.
    pub outcome: ControlFlow<B>,
    /// Number of events visited.
    pub visited: u64,
    /// Losses up to the end of the stream.
    pub losses: Losses,
}
