//! The processes of a transition, sorted by how long they lived.
//!
//! xperf's summary has four classes and keeps its thresholds to itself; these are the choices made here, which agree
//! with every published sample: *expected* are `Idle` and `System` and those that the caller names; of the others, those
//! that outlive the recording are *long-lived*, those that end within [`VERY_SHORT_LIVED_NS`] of their start are *very
//! short-lived*, and the rest is *short-lived*.

use serde::Serialize;

/// A process that lived less than this, ns, is very short-lived: 1 s.
pub const VERY_SHORT_LIVED_NS: i64 = 1_000_000_000;

/// How long a process lived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Part of every system, or named by the caller.
    Expected,
    /// Outlived the recording.
    LongLived,
    /// Ended during the recording.
    ShortLived,
    /// Ended within [`VERY_SHORT_LIVED_NS`].
    VeryShortLived,
}

/// One life of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessLife {
    /// Process id.
    pub pid: u32,
    /// Process id of the creator.
    pub parent_pid: Option<u32>,
    /// Image file name.
    pub image: String,
    /// Command line; empty when not recorded.
    pub command_line: String,
    /// Session.
    pub session: Option<u32>,
    /// Creation, ns; `None` when it existed before the recording.
    pub start_ns: Option<i64>,
    /// Exit, ns; `None` when it outlived the recording.
    pub end_ns: Option<i64>,
    /// Length of life, ns, counted from the recording's begin for a process that existed before; `None` when it
    /// outlived the recording.
    pub lifetime_ns: Option<i64>,
    /// Exit status.
    pub exit_status: Option<i32>,
    /// Its class.
    pub lifetime: Lifetime,
}

/// How many processes of each class; the classes are disjoint and complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessSummary {
    /// All processes.
    pub total: u64,
    /// Expected.
    pub expected: u64,
    /// Long-lived, not expected.
    pub long_lived: u64,
    /// Short-lived, not expected.
    pub short_lived: u64,
    /// Very short-lived, not expected.
    pub very_short_lived: u64,
    /// The threshold used for very short-lived, ns.
    pub very_short_lived_below_ns: i64,
}
