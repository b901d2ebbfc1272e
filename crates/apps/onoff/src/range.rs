//! Parts of a recording, from one time to another.

use onoff_evidence::Scope;
use onoff_report::text::quantity::duration;
use onoff_report::text::time_point::TimePoint;
use onoff_trace::Trace;

/// A range that no part of a recording lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfRange {
    /// A time that has no place on the recording's clock.
    #[error("the time is outside what the recording can hold")]
    Time,
    /// A range that ends before it starts.
    #[error("the start, {}, is not before the end, {}", duration(*from_ns), duration(*until_ns))]
    Order {
        /// The start, ns.
        from_ns: i64,
        /// The end, ns.
        until_ns: i64,
    },
    /// A range before or after the recording.
    #[error(
        "{} to {} is outside of the recording, which is from {} to {}",
        duration(*from_ns), duration(*until_ns), duration(*start_ns), duration(*end_ns)
    )]
    Range {
        /// Start of the range, ns.
        from_ns: i64,
        /// Its end, ns.
        until_ns: i64,
        /// Where the recording begins, ns.
        start_ns: i64,
        /// Its last event, ns.
        end_ns: i64,
    },
}

/// The part of a recording between two times; all of it without them.
///
/// # Errors
/// Times that are not in the recording.
pub fn scope_of(trace: &Trace, range: Option<(TimePoint, TimePoint)>) -> Result<Scope, OutOfRange> {
    let Some((from, until)) = range else { return Ok(Scope::whole(trace)) };
    let resolve = |point: TimePoint| point.resolve_on(&trace.clock).ok_or(OutOfRange::Time);
    let (from_ns, until_ns) = (resolve(from)?, resolve(until)?);
    check_order(from_ns, until_ns)?;
    let (start_ns, end_ns) = (trace.start_ns, trace.duration_ns);
    let outside = OutOfRange::Range { from_ns, until_ns, start_ns, end_ns };
    Scope::between(trace, from_ns, until_ns).ok_or(outside)
}

/// Refuses a range that ends before it starts.
///
/// # Errors
/// It does.
pub fn check_order(from_ns: i64, until_ns: i64) -> Result<(), OutOfRange> {
    if from_ns < until_ns { Ok(()) } else { Err(OutOfRange::Order { from_ns, until_ns }) }
}
