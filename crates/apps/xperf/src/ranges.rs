//! The part of a recording that a `-range` means.

use onoff_evidence::Scope;
use onoff_trace::{Clock, Trace};

use crate::command_words::{Range, usage};
use crate::failure::Failure;

/// A range on the axis of `trace`, all of it when there is none.
pub fn range_of(trace: &Trace, range: Option<Range>) -> Result<(i64, i64), Failure> {
    let clock: &Clock = &trace.clock;
    match range {
        Some(range) => range.resolve(clock),
        None => Ok((i64::MIN, i64::MAX)),
    }
}

/// The part of `trace` in a range, all of it when there is none.
pub fn scope_of(trace: &Trace, range: Option<Range>) -> Result<Scope, Failure> {
    let Some(range) = range else { return Ok(Scope::whole(trace)) };
    let (from, until) = range.resolve(&trace.clock)?;
    Scope::between(trace, from, until).ok_or_else(|| usage("-range: the time holds none of the recording"))
}
