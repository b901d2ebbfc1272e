//! What is worth changing in how programs ask for their data. Each names its evidence; what was not recorded is not guessed.

use onoff_trace::{StringId, Trace, codes};
use serde::Serialize;

use super::IoOptions;
use super::accumulate::Accumulation;
use super::groups::IoGroup;

codes! {
    /// A kind of finding.
    pub enum FindingCode {
        /// More than a quarter of more than 1,000 requests are smaller than 512 bytes.
        SmallRequests = "small_requests",
        /// A filter that keeps nothing would move more than eight times the bytes.
        Amplification = "amplification",
        /// Most touched pages were touched before.
        ReadAgain = "read_again",
        /// The cache is passed by with requests of less than a page.
        Unbuffered = "unbuffered",
        /// More than 1,000 requests, more than a tenth of all, straddle pages, and are large enough to be aligned.
        Misaligned = "misaligned",
        /// More than 1,000 writes, more than a fifth of all, follow no order.
        ScatteredWrites = "scattered_writes",
        /// A flush follows at least every second write.
        FlushAfterWrite = "flush_after_write",
    }
}

/// Something worth changing, with its evidence. What does not apply is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoFinding {
    /// What it is.
    pub code: FindingCode,
    /// `read` or `write`.
    pub direction: &'static str,
    /// Process id; `None` when it is not known.
    pub pid: Option<u32>,
    /// Image file name of the process; empty when it is not known.
    pub process: String,
    /// File; empty when it is not known.
    pub file: String,
    /// Requests that show it.
    pub requests: u64,
    /// All requests of the process to the file in that direction.
    pub of_requests: u64,
    /// Sum of the durations of all those requests, ns, where each was recorded; not the time that a change would save.
    pub time_ns: Option<i64>,
    /// The part of that time in which somebody waited for it: on the critical path of a phase of the recorded boot, shutdown or sleep,
    /// ns. `None` where no path is known.
    pub on_path_ns: Option<i64>,
    /// Bytes moved for each byte asked for, with a filter that keeps nothing.
    pub amplification: Option<f64>,
    /// Requests through a buffer of `buffer_bytes`.
    pub buffered_requests: Option<u64>,
    /// Pages of the smallest cache with 99 % of the hits that can be had.
    pub cache_pages: Option<u64>,
    /// Share of the page accesses that such a cache has, percent of all accesses.
    pub cache_hit_percent: Option<f64>,
    /// Flushes.
    pub flushes: Option<u64>,
    /// Sum of the durations of the flushes, ns, where they were recorded.
    pub flush_ns: Option<i64>,
    /// The file as the recording has it.
    #[serde(skip)]
    pub(super) recorded_file: StringId,
}

/// Fewer requests than this are no finding (source: Drishti's absolute threshold).
const MIN_COUNT: u64 = 1000;
/// Share of small requests, percent (source: the threshold for desktops and boots in the project's facts).
const SMALL_PERCENT: u64 = 25;
/// Amplification (source: the same).
const AMPLIFICATION: f64 = 8.0;
/// Share of misaligned requests, percent (source: Drishti).
const MISALIGNED_PERCENT: u64 = 10;
/// Share of requests in no order, percent (source: Drishti).
const UNORDERED_PERCENT: u64 = 20;
/// Share of page accesses that were there before, percent: ten times as many reads as pages.
const AGAIN_PERCENT: f64 = 90.0;
/// Writes and flushes from which a habit is seen.
const MIN_FLUSHES: u64 = 100;

/// What is worth changing, most requests first.
pub(super) fn find(trace: &Trace, all: &mut Accumulation, options: &IoOptions) -> Vec<IoFinding> {
    let mut findings = Vec::new();
    let page_bytes = options.page_bytes.max(1);
    for is_write in [false, true] {
        let groups = all.subjects(trace, options, is_write);
        for group in groups.iter().filter(|group| group.table.requests >= MIN_FLUSHES) {
            let flushes = all.flushes.get(&(group.pid, group.recorded_file)).copied();
            of_group(group, is_write, flushes, page_bytes, &mut findings);
        }
    }
    findings.sort_by(|a, b| (b.requests, a.code, &a.process, &a.file).cmp(&(a.requests, b.code, &b.process, &b.file)));
    findings
}

/// Whether `part` is more than `percent` of `whole`.
const fn is_more(part: u64, percent: u64, whole: u64) -> bool {
    part as u128 * 100 > percent as u128 * whole as u128
}

fn of_group(
    group: &IoGroup,
    is_write: bool,
    flushes: Option<(u64, i64)>,
    page_bytes: u64,
    findings: &mut Vec<IoFinding>,
) {
    let (table, patterns) = (&group.table, &group.patterns);
    let all = table.requests;
    let base = IoFinding {
        code: FindingCode::SmallRequests,
        direction: if is_write { "write" } else { "read" },
        pid: group.pid,
        process: group.process.clone(),
        file: group.file.clone(),
        recorded_file: group.recorded_file,
        requests: 0,
        of_requests: all,
        time_ns: (table.timed_requests == all && all > 0).then_some(table.time_ns),
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
        curve.hits_within(pages) as f64 * 100.0 / curve.accesses as f64
    });
    let cached = IoFinding {
        cache_pages: cache.and_then(|curve| curve.pages_for_99_percent),
        cache_hit_percent: hit_percent,
        ..base.clone()
    };
    if all > MIN_COUNT && is_more(table.small_requests, SMALL_PERCENT, all) {
        findings.push(IoFinding {
            requests: table.small_requests,
            buffered_requests: Some(patterns.buffered_requests),
            ..cached.clone()
        });
    }
    if all > MIN_COUNT && table.amplification > AMPLIFICATION {
        findings.push(IoFinding {
            code: FindingCode::Amplification,
            requests: all,
            amplification: Some(table.amplification),
            ..cached.clone()
        });
    }
    let again = hit_percent.is_some_and(|percent| percent > AGAIN_PERCENT);
    // Reading on in small steps touches a page again each time; that is the finding of small requests.
    let steps_back = patterns.backward + patterns.overlapping + patterns.strided;
    if !is_write && all > MIN_COUNT && again && is_more(steps_back, UNORDERED_PERCENT, all) {
        findings.push(IoFinding { code: FindingCode::ReadAgain, requests: steps_back, ..cached.clone() });
    }
    if all > MIN_COUNT && table.unbuffered_small_requests > MIN_COUNT {
        findings.push(IoFinding {
            code: FindingCode::Unbuffered,
            requests: table.unbuffered_small_requests,
            buffered_requests: Some(patterns.buffered_requests),
            ..base.clone()
        });
    }
    if table.average_bytes >= page_bytes as f64
        && table.misaligned_requests > MIN_COUNT
        && is_more(table.misaligned_requests, MISALIGNED_PERCENT, all)
    {
        findings.push(IoFinding { code: FindingCode::Misaligned, requests: table.misaligned_requests, ..base.clone() });
    }
    if is_write && patterns.unordered() > MIN_COUNT && is_more(patterns.unordered(), UNORDERED_PERCENT, all) {
        findings.push(IoFinding { code: FindingCode::ScatteredWrites, requests: patterns.unordered(), ..base.clone() });
    }
    if let Some((count, time_ns)) = flushes
        && is_write
        && count >= MIN_FLUSHES
        && count * 2 >= all
    {
        findings.push(IoFinding {
            code: FindingCode::FlushAfterWrite,
            requests: all,
            flushes: Some(count),
            flush_ns: Some(time_ns).filter(|&time_ns| time_ns > 0),
            ..base
        });
    }
}
