//! Resolves `-range` to a part of a recording.

use onoff_evidence::Scope;
use onoff_trace::{Clock, Trace};

use crate::command_words::{Range, usage};
use crate::failure::Failure;

/// Start and end of `range` in ns since the start of `trace`; unbounded without a range.
pub fn range_of(trace: &Trace, range: Option<Range>) -> Result<(i64, i64), Failure> {
    let clock: &Clock = &trace.clock;
    match range {
        Some(range) => range.resolve(clock),
        None => Ok((i64::MIN, i64::MAX)),
    }
}

/// The part of `trace` in `range`; all of it without a range.
pub fn scope_of(trace: &Trace, range: Option<Range>) -> Result<Scope, Failure> {
    let Some(range) = range else { return Ok(Scope::whole(trace)) };
    let (from, until) = range.resolve(&trace.clock)?;
    Scope::between(trace, from, until).ok_or_else(|| usage("-range: the range is outside the recording"))
}
