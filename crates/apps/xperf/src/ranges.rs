//! Resolves `-range` to a part of a recording.

use onoff_evidence::Scope;
use onoff_trace::{Clock, Trace};

use crate::command_words::{Range, usage};
use crate::failure::Failure;

/// Returns start and end of `range` in ns since the start of `trace`; unbounded without a range.
pub fn resolve_range(trace: &Trace, range: Option<Range>) -> Result<(i64, i64), Failure> {
    let clock: &Clock = &trace.clock;
    match range {
        Some(range) => range.resolve(clock),
        None => Ok((i64::MIN, i64::MAX)),
    }
}

/// Returns the part of `trace` in `range`, or the whole trace without a range.
pub fn resolve_scope(trace: &Trace, range: Option<Range>) -> Result<Scope, Failure> {
    let Some(range) = range else { return Ok(Scope::whole_recording(trace)) };
    let (from_ns, until_ns) = range.resolve(&trace.clock)?;
    Scope::between(trace, from_ns, until_ns).ok_or_else(|| usage("-range: the range is outside the recording"))
}
