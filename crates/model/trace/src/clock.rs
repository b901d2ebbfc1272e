//! The axis of a recording and its place in real time.

use serde::Serialize;

/// How times of the axis relate to real time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// Real time of time zero: ns since 1970-01-01 UTC; `None` when the recording does not say.
    pub start_unix_ns: Option<i64>,
    /// Minutes to add to local time to get UTC, as recorded.
    pub utc_bias_minutes: Option<i32>,
    /// The clock that stamped the events, e.g. `performance counter`.
    pub source: &'static str,
    /// Ticks per second of that clock; 0 when unknown.
    pub ticks_per_second: u64,
}

impl Clock {
    /// Real time of `time_ns` on the axis: ns since 1970-01-01 UTC.
    #[must_use]
    pub fn unix_ns(&self, time_ns: i64) -> Option<i64> {
        self.start_unix_ns?.checked_add(time_ns)
    }
}

/// How times of another clock of the recording came onto the axis: by pairs of times, one of each clock, of the same
/// moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockConversion {
    /// The other clock, e.g. `kernel log`.
    pub from: &'static str,
    /// What was added to its times, ns: the median where it is not the same all along.
    pub offset_ns: i64,
    /// Largest minus smallest of what was added, ns: drift, or a sleep in which one of the clocks stood.
    pub spread_ns: i64,
    /// Pairs of times that were compared.
    pub pairs: u64,
    /// What was compared.
    pub how: &'static str,
}
