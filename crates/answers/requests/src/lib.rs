//! How programs ask for their data: sizes, pages, patterns, and what a buffer, a cache or a filter makes of them.
//!
//! The table is that of the paper *The Curious Case of the Four-byte Writes*: a filter between a program and its file that
//! keeps nothing reads a key block and every touched block again for each request, so 4 bytes cost 8,192.
//!
//! A cached read that misses shows twice in a recording: as the program's request, and as the request of the memory manager for
//! the missing pages. The two, and what reached the disk, are kept apart ([`Level`](onoff_trace::IoLevel)).

#![forbid(unsafe_code)]

mod accumulate;
mod cache;
mod compare;
mod filter;
mod findings;
mod groups;
mod histogram;
mod on_path;
mod pages;
mod patterns;
mod request;
mod stack_distance;
mod table;
#[cfg(test)]
mod tests;

use onoff_trace::{Losses, TableName, Tables, Trace};
use serde::Serialize;

use onoff_blame::waits::TransitionPhase;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_evidence::touched_by;

pub use cache::{CacheCurve, CachePoint, SampledCurve};
pub use compare::{IoChange, IoComparison, compare};
pub use filter::{DeviceOrigin, FilterCost, FilterCosts, StorageDevice};
pub use findings::{FindingCode, IoFinding};
pub use groups::{GroupKey, IoGroup};
pub use histogram::{ExactCount, Histogram, SizeBin};
pub use on_path::add_path_time;
pub use patterns::Patterns;
pub use table::RequestTable;

/// The tables that [`analyze`] reads.
pub const TABLES: Tables = Tables::of(&[TableName::FileIos, TableName::DiskIos, TableName::Processes]);

/// How to answer.
#[derive(Clone, Debug)]
pub struct IoOptions {
    /// Bytes of a page, or of a block of the filter; a power of two is not needed.
    pub page_bytes: u64,
    /// Blocks that the filter reads besides the requested ones, for each request.
    pub key_blocks: u64,
    /// What the groups share.
    pub by: Vec<GroupKey>,
    /// Length of a slice of time, ns, where groups are by slice.
    pub slice_ns: i64,
    /// The phases, where groups are by phase; a request belongs to the first that holds its begin.
    pub phases: Vec<TransitionPhase>,
    /// Pages that a read-ahead reads at a time; 1 is none.
    pub read_ahead_pages: u64,
    /// Bytes of the buffer that a program could read or write through.
    pub buffer_bytes: u64,
    /// The device: given, or fitted from the recording when `None`.
    pub device: Option<StorageDevice>,
    /// Accesses above which the cache's curve is sampled.
    pub exact_accesses: u64,
}

impl Default for IoOptions {
    fn default() -> Self {
        Self {
            page_bytes: 4096,
            key_blocks: 1,
            by: vec![GroupKey::Process, GroupKey::File],
            slice_ns: 1_000_000_000,
            phases: Vec::new(),
            read_ahead_pages: 8,
            buffer_bytes: 64 * 1024,
            device: None,
            exact_accesses: 50_000_000,
        }
    }
}

/// The answer of `onoff io`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoReport {
    /// The time asked about.
    pub range: Interval,
    /// Bytes of a page, or of a block of the filter.
    pub page_bytes: u64,
    /// Blocks that a filter reads besides the requested ones, for each request.
    pub key_blocks: u64,
    /// Bytes of the buffer that programs could read or write through.
    pub buffer_bytes: u64,
    /// What the groups share.
    pub by: Vec<GroupKey>,
    /// Requests by who made them, and by direction; those of programs first. A kind without requests is left out.
    pub views: Vec<IoView>,
    /// What is worth changing, most requests first.
    pub findings: Vec<IoFinding>,
    /// Reads at or beyond the end of a file; they move nothing and are in no table.
    pub reads_at_end: u64,
    /// Reads and writes that failed; they are in no table.
    pub failed: u64,
    /// Pages that were not followed one by one because requests were larger than anything that exists.
    pub pages_not_followed: u64,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
    /// What was lost.
    pub losses: Losses,
}

/// Requests of one level and direction.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoView {
    /// Who made the requests: `application`, `paging` or `device`.
    pub level: &'static str,
    /// `read` or `write`.
    pub direction: &'static str,
    /// All of them.
    pub table: RequestTable,
    /// Their sizes.
    pub histogram: Histogram,
    /// How each request of a file follows the one before.
    pub patterns: Patterns,
    /// What a cache of pages would save.
    pub cache: CacheCurve,
    /// The same, when a miss reads the whole aligned group of `read_ahead_pages` pages.
    pub cache_with_read_ahead: Option<CacheCurve>,
    /// The same, when the filter's key blocks are cached with the pages.
    pub cache_with_key_blocks: Option<CacheCurve>,
    /// What a filter would cost.
    pub filter: Option<FilterCosts>,
    /// Requests that share what is grouped by, most requests first.
    pub groups: Vec<IoGroup>,
}

/// How programs in `scope` ask for their data.
#[must_use]
pub fn analyze(trace: &Trace, scope: &Scope, options: &IoOptions) -> IoReport {
    let mut all = accumulate::Accumulation::of(trace, scope, options);
    let device = options.device.or_else(|| all.fit_device());
    let findings = findings::find(trace, &mut all, options);
    let (reads_at_end, failed, pages_not_followed) = (all.reads_at_end, all.failed, all.pages_not_followed);
    IoReport {
        range: scope.range,
        page_bytes: options.page_bytes.max(1),
        key_blocks: options.key_blocks,
        buffer_bytes: options.buffer_bytes,
        by: options.by.clone(),
        views: all.finish(trace, options, device),
        findings,
        reads_at_end,
        failed,
        pages_not_followed,
        touched_by: touched_by(trace, &[TableName::FileIos, TableName::DiskIos, TableName::Processes]),
        losses: trace.losses.clone(),
    }
}
