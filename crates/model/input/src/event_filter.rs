//! Which events of a stream are shown, and how a stream ends.

use std::ops::ControlFlow;

use onoff_trace::{Losses, Pattern};

/// Which events to show. Empty lists choose all.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Names or GUIDs of providers.
    pub providers: Vec<Pattern>,
    /// Names of events, tasks, or event ids; for kernel events also the hook, as in `0x0524`.
    pub events: Vec<Pattern>,
    /// Image names or ids of processes.
    pub processes: Vec<Pattern>,
    /// No event before this time, ns since the recording's begin.
    pub from_ns: Option<i64>,
    /// No event at or after this time, ns since the recording's begin.
    pub until_ns: Option<i64>,
}

/// How a stream ended.
#[derive(Debug)]
#[must_use]
pub struct StreamEnd<B> {
    /// What the visitor broke off with, if it did.
    pub outcome: ControlFlow<B>,
    /// Events shown.
    pub shown: u64,
    /// What was lost, as far as the stream came.
    pub losses: Losses,
}
