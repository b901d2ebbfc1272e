//! Findings about data access, with evidence. Nothing is inferred from data that was not recorded.

use onoff_trace::{StringId, Trace, codes};
use serde::Serialize;

use super::IoOptions;
use super::accumulate::Accumulation;
use super::groups::IoGroup;

codes! {
    /// Kind of a finding.
    pub enum FindingCode {
        /// More than a quarter of more than 1,000 requests are smaller than 512 bytes.
        SmallRequests = "small_requests",
        /// An uncached filter would transfer more than eight times the bytes.
        Amplification = "amplification",
        /// Most page accesses are to pages accessed before.
        RepeatedReads = "repeated_reads",
        /// Requests smaller than a page bypass the cache.
        SmallUnbuffered = "small_unbuffered",
        /// More than 1,000 requests, over a tenth of all, are misaligned although they are large enough to be aligned.
        Misaligned = "misaligned",
        /// More than 1,000 writes, over a fifth of all, are in random order.
        ScatteredWrites = "scattered_writes",
        /// At least every second write is followed by a flush.
        FlushAfterWrite = "flush_after_write",
    }
}

/// A finding with its evidence. Values that do not apply are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoFinding {
    /// Kind of the finding.
    pub code: FindingCode,
    /// `read` or `write`.
    pub direction: &'static str,
    /// Process id; `None` if unknown.
    pub pid: Option<u32>,
    /// Image file name of the process; empty if unknown.
    pub process: String,
    /// File; empty if unknown.
    pub file: String,
    /// Number of affected requests.
    pub requests: u64,
    /// Number of all requests of the process to the file in that direction.
    pub total_requests: u64,
    /// Total duration of all those requests, ns, if all were recorded; not the time that a fix would save.
    pub time_ns: Option<i64>,
    /// Part of that time on the critical path of a recorded phase, ns; `None` if no path is known.
    pub on_path_ns: Option<i64>,
    /// Bytes transferred per requested byte with an uncached filter.
    pub amplification: Option<f64>,
    /// Number of requests through a buffer of `buffer_bytes`.
    pub buffered_requests: Option<u64>,
    /// Size of the smallest cache with 99 % of the achievable hits, pages.
    pub cache_pages: Option<u64>,
    /// Hit rate of such a cache, percent of all page accesses.
    pub cache_hit_percent: Option<f64>,
    /// Number of flushes.
    pub flushes: Option<u64>,
    /// Total duration of the flushes, ns, if recorded.
    pub flush_ns: Option<i64>,
    /// The file as recorded.
    #[serde(skip)]
    pub(super) recorded_file: StringId,
}

/// Number of requests that a finding must exceed (source: Drishti's absolute threshold).
const MIN_REQUESTS: u64 = 1000;
/// Share of small requests, percent (source: the threshold for desktops and boots in the project's facts).
const SMALL_PERCENT: u64 = 25;
/// Amplification that a finding must exceed (source: the same facts).
const AMPLIFICATION: f64 = 8.0;
/// Share of misaligned requests, percent (source: Drishti).
const MISALIGNED_PERCENT: u64 = 10;
/// Share of requests in random order, percent (source: Drishti).
const UNORDERED_PERCENT: u64 = 20;
/// Share of repeated page accesses, percent: ten accesses per page.
const REPEATED_PERCENT: f64 = 90.0;
/// Minimum number of writes and of flushes that show a pattern.
const MIN_FLUSHES: u64 = 100;

/// Returns the findings, most requests first.
pub(super) fn find(trace: &Trace, accumulation: &mut Accumulation, options: &IoOptions) -> Vec<IoFinding> {
    let mut findings = Vec::new();
    let page_bytes = options.page_bytes.max(1);
    for is_write in [false, true] {
        let groups = accumulation.subjects(trace, options, is_write);
        for group in groups.iter().filter(|group| group.table.requests >= MIN_FLUSHES) {
            let flushes = accumulation.flushes.get(&(group.pid, group.recorded_file)).copied();
            check_group(group, is_write, flushes, page_bytes, &mut findings);
        }
    }
    findings.sort_by(|a, b| (b.requests, a.code, &a.process, &a.file).cmp(&(a.requests, b.code, &b.process, &b.file)));
    findings
}

/// True if `part` exceeds `percent` of `total`.
const fn exceeds(part: u64, percent: u64, total: u64) -> bool {
    part as u128 * 100 > percent as u128 * total as u128
}

fn check_group(
    group: &IoGroup,
    is_write: bool,
    flushes: Option<(u64, i64)>,
    page_bytes: u64,
    findings: &mut Vec<IoFinding>,
) {
    let (table, patterns) = (&group.table, &group.patterns);
    let total = table.requests;
    let base = IoFinding {
        code: FindingCode::SmallRequests,
        direction: if is_write { "write" } else { "read" },
        pid: group.pid,
        process: group.process.clone(),
        file: group.file.clone(),
        recorded_file: group.recorded_file,
        requests: 0,
        total_requests: total,
        time_ns: (table.timed_requests == total && total > 0).then_some(table.time_ns),
        on_path_ns: None,
        amplification: None,
        buffered_requests: None,
        cache_pages: None,
        cache_hit_percent: None,
        flushes: None,
        flush_ns: None,
    };
    let cache = group.cache.as_ref();
    let hit_percent = cache.filter(|curve| curve.accesses > 0).map(|curve| {
        let pages = curve.pages_for_99_percent.unwrap_or(0);
        curve.min_hits(pages) as f64 * 100.0 / curve.accesses as f64
    });
    let cached = IoFinding {
        cache_pages: cache.and_then(|curve| curve.pages_for_99_percent),
        cache_hit_percent: hit_percent,
        ..base.clone()
    };
    if total > MIN_REQUESTS && exceeds(table.small_requests, SMALL_PERCENT, total) {
        findings.push(IoFinding {
            requests: table.small_requests,
            buffered_requests: Some(patterns.buffered_requests),
            ..cached.clone()
        });
    }
    if total > MIN_REQUESTS && table.amplification > AMPLIFICATION {
        findings.push(IoFinding {
            code: FindingCode::Amplification,
            requests: total,
            amplification: Some(table.amplification),
            ..cached.clone()
        });
    }
    let is_repeated = hit_percent.is_some_and(|percent| percent > REPEATED_PERCENT);
    // Sequential small reads also touch pages repeatedly, but are reported as small requests.
    let steps_back = patterns.backward + patterns.overlapping + patterns.strided;
    if !is_write && total > MIN_REQUESTS && is_repeated && exceeds(steps_back, UNORDERED_PERCENT, total) {
        findings.push(IoFinding { code: FindingCode::RepeatedReads, requests: steps_back, ..cached.clone() });
    }
    if total > MIN_REQUESTS && table.unbuffered_small_requests > MIN_REQUESTS {
        findings.push(IoFinding {
            code: FindingCode::SmallUnbuffered,
            requests: table.unbuffered_small_requests,
            buffered_requests: Some(patterns.buffered_requests),
            ..base.clone()
        });
    }
    if table.average_bytes >= page_bytes as f64
        && table.misaligned_requests > MIN_REQUESTS
        && exceeds(table.misaligned_requests, MISALIGNED_PERCENT, total)
    {
        findings.push(IoFinding { code: FindingCode::Misaligned, requests: table.misaligned_requests, ..base.clone() });
    }
    if is_write && patterns.unordered() > MIN_REQUESTS && exceeds(patterns.unordered(), UNORDERED_PERCENT, total) {
        findings.push(IoFinding { code: FindingCode::ScatteredWrites, requests: patterns.unordered(), ..base.clone() });
    }
    if let Some((count, time_ns)) = flushes
        && is_write
        && count >= MIN_FLUSHES
        && count * 2 >= total
    {
        findings.push(IoFinding {
            code: FindingCode::FlushAfterWrite,
            requests: total,
            flushes: Some(count),
            flush_ns: Some(time_ns).filter(|&time_ns| time_ns > 0),
            ..base
        });
    }
}
