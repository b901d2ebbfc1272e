//! Time ranges within a recording.

use onoff_evidence::Scope;
use onoff_report::text::quantity::duration;
use onoff_report::text::time_point::TimePoint;
use onoff_trace::Trace;

/// An invalid time range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The recording's clock cannot represent the time.
    #[error("the time is out of range for this recording")]
    Time,
    /// The range ends before it starts.
    #[error("the start, {}, is not before the end, {}", duration(*from_ns), duration(*until_ns))]
    Order { from_ns: i64, until_ns: i64 },
    /// The range is before or after the recording.
    #[error(
        "{} to {} is outside the recording, which runs from {} to {}",
        duration(*from_ns), duration(*until_ns), duration(*start_ns), duration(*end_ns)
    )]
    Outside {
        from_ns: i64,
        until_ns: i64,
        /// Start of the recording.
        start_ns: i64,
        /// Last event of the recording.
        end_ns: i64,
    },
}

/// Returns the part of a recording between two times, or the whole recording without a range.
///
/// # Errors
/// The range is invalid, or outside the recording.
pub fn resolve_scope(trace: &Trace, range: Option<(TimePoint, TimePoint)>) -> Result<Scope, RangeError> {
    let Some((from, until)) = range else { return Ok(Scope::whole_recording(trace)) };
    let resolve = |point: TimePoint| point.resolve_on(&trace.clock).ok_or(RangeError::Time);
    let (from_ns, until_ns) = (resolve(from)?, resolve(until)?);
    check_order(from_ns, until_ns)?;
    let (start_ns, end_ns) = (trace.start_ns, trace.duration_ns);
    let outside = RangeError::Outside { from_ns, until_ns, start_ns, end_ns };
    Scope::between(trace, from_ns, until_ns).ok_or(outside)
}

/// Checks that the range does not end before it starts.
///
/// # Errors
/// [`RangeError::Order`].
pub fn check_order(from_ns: i64, until_ns: i64) -> Result<(), RangeError> {
    if from_ns < until_ns { Ok(()) } else { Err(RangeError::Order { from_ns, until_ns }) }
}
