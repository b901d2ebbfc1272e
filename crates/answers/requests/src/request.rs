//! A request of a program for data.

use onoff_trace::{IoOrigin, StringId};

/// A read or write that transferred data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) start_ns: i64,
    pub(super) duration_ns: Option<i64>,
    pub(super) pid: Option<u32>,
    pub(super) process: StringId,
    pub(super) file: StringId,
    pub(super) handle: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) level: IoOrigin,
    pub(super) is_write: bool,
    /// True if the request bypassed the cache.
    pub(super) unbuffered: bool,
}
