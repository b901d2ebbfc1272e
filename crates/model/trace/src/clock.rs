//! The time axis of a recording and its relation to real time.

use serde::Serialize;

/// Relates times on the axis to real time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// Real time of time zero, ns since 1970-01-01 UTC; `None` when not recorded.
    pub start_unix_ns: Option<i64>,
    /// Minutes to add to local time to get UTC, as recorded.
    pub utc_bias_minutes: Option<i32>,
    /// The clock that stamped the events, e.g. `performance counter`.
    pub source: &'static str,
    /// Ticks per second of that clock; 0 when unknown.
    pub ticks_per_second: u64,
}

impl Clock {
    /// Converts `time_ns` on the axis to real time, in ns since 1970-01-01 UTC.
    #[must_use]
    pub fn unix_ns(&self, time_ns: i64) -> Option<i64> {
        self.start_unix_ns?.checked_add(time_ns)
    }
}

/// How times of another clock were converted to the axis, from pairs of readings of both clocks at the same moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockConversion {
    /// The other clock, e.g. `kernel log`.
    pub from: &'static str,
    /// Offset added to its times, ns; the median where the offset varies.
    pub offset_ns: i64,
    /// Largest minus smallest offset, ns: drift, or a sleep during which one of the clocks stopped.
    pub spread_ns: i64,
    /// Number of pairs compared.
    pub pairs: u64,
    /// What was compared.
    pub how: &'static str,
}
