//! The axis of a recording and its place in real time.

use serde::Serialize;

/// How times of the axis relate to real time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
