//! How programs access their data: request sizes, pages, access patterns, and the effect of a buffer, a cache or a
//! filter.
//!
//! The table follows the paper *The Curious Case of the Four-byte Writes*: an uncached filter between a program and its
//! file reads a key block and every touched block again for each request, so reading 4 bytes costs 8,192.
//!
//! A cached read that misses appears twice in a recording: as the program's request, and as the memory manager's
//! request for the missing pages. These levels, and the requests that reached the disk, are kept separate
//! ([`Level`](onoff_trace::IoOrigin)).

#![forbid(unsafe_code)]

mod accumulate;
mod cache;
mod compare;
mod cure;
mod device;
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

use onoff_trace::{Losses, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_blame::waits::TransitionPhase;
use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;

pub use cache::{CacheCurve, CachePoint, SampledCurve};
pub use compare::{IoChange, IoComparison, IoFileChange, compare};
pub use device::{DeviceFit, DeviceOrigin, StorageDevice};
pub use filter::{FilterCost, FilterCosts};
pub use findings::{FindingCode, IoCure, IoFinding, IoFindingFile};
pub use groups::{GroupKey, IoGroup};
pub use histogram::{Histogram, SizeBin, SizeCount};
pub use on_path::add_path_time;
pub use patterns::Patterns;
pub use table::RequestTable;

/// The tables that [`analyze`] reads.
pub const TABLES: TableSet = TableSet::from_names(&[TableName::FileIos, TableName::DiskIos, TableName::Processes]);

/// Options of [`analyze`].
#[derive(Clone, Debug)]
pub struct IoOptions {
    /// Page size, or block size of the filter, bytes. It need not be a power of two.
    pub page_bytes: u64,
    /// Additional blocks that the filter reads per request.
    pub key_blocks: u64,
    /// How requests are grouped.
    pub group_by: Vec<GroupKey>,
    /// Slice duration, ns, when grouping by slice.
    pub slice_ns: i64,
    /// Phases, when grouping by phase; a request belongs to the first phase that contains its start.
    pub phases: Vec<TransitionPhase>,
    /// Pages per read-ahead; 1 means none.
    pub read_ahead_pages: u64,
    /// Size of a buffer that a program could use, bytes.
    pub buffer_bytes: u64,
    /// The device; `None` to fit it to the recording.
    pub device: Option<StorageDevice>,
    /// Number of page accesses above which cache curves are sampled.
    pub exact_accesses: u64,
}

impl Default for IoOptions {
    fn default() -> Self {
        Self {
            page_bytes: 4096,
            key_blocks: 1,
            group_by: vec![GroupKey::Process, GroupKey::File],
            slice_ns: 1_000_000_000,
            phases: Vec::new(),
            read_ahead_pages: 8,
            buffer_bytes: 64 * 1024,
            device: None,
            exact_accesses: 50_000_000,
        }
    }
}

/// The result of `onoff io`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoReport {
    /// The analyzed interval.
    pub range: Interval,
    /// Page size, or block size of the filter, bytes.
    pub page_bytes: u64,
    /// Additional blocks that a filter reads per request.
    pub key_blocks: u64,
    /// Size of a buffer that programs could use, bytes.
    pub buffer_bytes: u64,
    /// How requests are grouped.
    pub by: Vec<GroupKey>,
    /// Requests by level and direction, application requests first, without empty views.
    pub views: Vec<IoView>,
    /// Findings, most requests first.
    pub findings: Vec<IoFinding>,
    /// The device model that fits the recorded reads, or why there is none; `None` without reads of a device.
    pub device_fit: Option<DeviceFit>,
    /// Number of reads at or beyond the end of a file. They transfer nothing and are in no table.
    pub reads_at_end: u64,
    /// Number of reads and writes of 0 bytes. They transfer nothing and are in no table.
    pub empty_requests: u64,
    /// Number of failed reads and writes. They are in no table.
    pub failed: u64,
    /// Number of pages not counted individually, because of implausibly large requests.
    pub uncounted_pages: u64,
    /// Tracer that stopped the programs at each request, so that times are too long: `strace`; `None` if the recorder
    /// did not slow the requests down.
    pub tracer: Option<&'static str>,
    /// Names of the losses that affect this report.
    pub affecting_losses: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

/// Requests of one level and direction.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoView {
    /// Level of the requests: `application`, `paging` or `device`.
    pub level: &'static str,
    /// `read` or `write`.
    pub direction: &'static str,
    /// Totals.
    pub table: RequestTable,
    /// Request sizes.
    pub histogram: Histogram,
    /// How each request to a file follows the previous one.
    pub patterns: Patterns,
    /// Hits of a page cache by size.
    pub cache: CacheCurve,
    /// Hits of a page cache if each miss reads the whole aligned group of `read_ahead_pages` pages.
    pub cache_with_read_ahead: Option<CacheCurve>,
    /// Hits of a cache that holds the filter's key blocks and the pages; `None` without key blocks, or with more than 64
    /// per file.
    pub cache_with_key_blocks: Option<CacheCurve>,
    /// Cost of a filter.
    pub filter: Option<FilterCosts>,
    /// Request groups, most requests first.
    pub groups: Vec<IoGroup>,
}

/// Analyzes how programs in `scope` access their data.
#[must_use]
pub fn analyze(trace: &Trace, scope: &Scope, options: &IoOptions) -> IoReport {
    let mut accumulation = accumulate::Accumulation::new(trace, scope, options);
    let device_fit = accumulation.fit_device();
    let device = options.device.or_else(|| device_fit?.device);
    let mut findings = findings::find(trace, &mut accumulation, options);
    cure::add(trace, &mut findings, options);
    let (reads_at_end, failed, uncounted_pages) =
        (accumulation.reads_at_end, accumulation.failed, accumulation.uncounted_pages);
    let empty_requests = accumulation.empty_requests;
    IoReport {
        range: scope.range,
        page_bytes: options.page_bytes.max(1),
        key_blocks: options.key_blocks,
        buffer_bytes: options.buffer_bytes,
        by: options.group_by.clone(),
        views: accumulation.finish(trace, options, device),
        findings,
        device_fit,
        reads_at_end,
        empty_requests,
        failed,
        uncounted_pages,
        tracer: trace.recorder.starts_with("strace").then_some("strace"),
        affecting_losses: affecting_losses(trace, &[TableName::FileIos, TableName::DiskIos, TableName::Processes]),
        losses: trace.losses.clone(),
    }
}
