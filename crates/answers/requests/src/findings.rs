//! Findings about data access, with evidence. Nothing is inferred from data that was not recorded.
//!
//! One cause is one finding: small requests, the amplification they cause and the pages they repeat are reported
//! together, and the files of a program are listed below it.

use hashbrown::HashMap;
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
    /// Further effects of the same cause.
    pub also: Vec<FindingCode>,
    /// `read` or `write`.
    pub direction: &'static str,
    /// Process id; `None` if unknown.
    pub pid: Option<u32>,
    /// Image file name of the process; empty if unknown.
    pub process: String,
    /// File; empty if unknown, or if there are several.
    pub file: String,
    /// Number of files.
    pub file_count: u64,
    /// The files with the most requests, at most 1,000.
    pub files: Vec<IoFindingFile>,
    /// Number of affected requests.
    pub requests: u64,
    /// Number of all requests of the process to the files in that direction.
    pub total_requests: u64,
    /// Total duration of all those requests, ns, if all were recorded; not the time that a fix would save.
    pub time_ns: Option<i64>,
    /// Tracer that stopped the program at each request, so that the times are too long: `strace`; `None` if the
    /// recorder did not slow the requests down.
    pub tracer: Option<&'static str>,
    /// Part of that time on the critical path of a recorded phase, ns; `None` if no path is known.
    pub on_path_ns: Option<i64>,
    /// Bytes transferred per requested byte with an uncached filter.
    pub amplification: Option<f64>,
    /// Number of requests through a buffer of `buffer_bytes` per open file.
    pub buffered_requests: Option<u64>,
    /// What such a buffer would do, from replaying the recorded requests through it.
    pub cure: Option<IoCure>,
    /// Size of the smallest cache with 99 % of the achievable hits, pages; for several files, of caches for each.
    pub cache_pages: Option<u64>,
    /// Hit rate of such a cache, percent of all page accesses.
    pub cache_hit_percent: Option<f64>,
    /// Number of flushes.
    pub flushes: Option<u64>,
    /// Total duration of the flushes, ns, if recorded.
    pub flush_ns: Option<i64>,
    /// The files as recorded.
    #[serde(skip)]
    pub(super) recorded_files: Vec<StringId>,
}

/// The result of replaying recorded requests through a buffer per open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoCure {
    /// Size of the buffer, bytes.
    pub buffer_bytes: u64,
    /// Number of requests that remain.
    pub requests: u64,
    /// Bytes that they transfer. A read fills the whole buffer, up to the end of what was read of the file.
    pub bytes: u64,
    /// True if at most half of the requests remain and they transfer at most four times the bytes, or at most whole
    /// pages.
    pub helps: bool,
}

/// A file of a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoFindingFile {
    /// File; empty if unknown.
    pub file: String,
    /// Number of affected requests.
    pub requests: u64,
    /// Number of all requests of the process to the file in that direction.
    pub total_requests: u64,
    /// Total duration of all those requests, ns, if all were recorded.
    pub time_ns: Option<i64>,
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
/// Maximum number of files listed for a finding.
const MAX_FILES: usize = 1000;

/// Kinds with the same cause, the size of the requests: the first one that applies names the finding.
const SIZE_CODES: [FindingCode; 4] =
    [FindingCode::SmallRequests, FindingCode::SmallUnbuffered, FindingCode::Amplification, FindingCode::RepeatedReads];

/// A cause in the requests of one program, in one or more files.
struct Cause<'g> {
    codes: Vec<FindingCode>,
    /// Groups with the number of affected requests.
    parts: Vec<(&'g IoGroup, u64)>,
    flushes: Option<(u64, i64)>,
}

/// Returns the findings, most requests first.
pub(super) fn find(trace: &Trace, accumulation: &mut Accumulation, options: &IoOptions) -> Vec<IoFinding> {
    let mut findings = Vec::new();
    let page_bytes = options.page_bytes.max(1);
    let tracer = trace.recorder.starts_with("strace").then_some("strace");
    for is_write in [false, true] {
        let groups = accumulation.subjects(trace, options, is_write);
        let mut causes: Vec<Cause<'_>> = Vec::new();
        // Groups of each process without a finding about the size of their requests.
        let mut rest: HashMap<Option<u32>, Vec<&IoGroup>> = HashMap::new();
        for group in &groups {
            let flushes = accumulation.flushes.get(&(group.pid, group.recorded_file)).copied();
            let found = check_group(group, is_write, flushes, page_bytes);
            if !found.iter().any(|cause| cause.codes.iter().any(|code| SIZE_CODES.contains(code))) {
                rest.entry(group.pid).or_default().push(group);
            }
            causes.extend(found);
        }
        causes.extend(rest.into_values().filter_map(|groups| check_program(&groups, page_bytes)));
        for cause in merge_files(causes) {
            findings.push(finding(&cause, is_write, page_bytes, tracer));
        }
    }
    findings.sort_by(|a, b| {
        (b.requests, a.code, &a.process, a.pid, &a.file).cmp(&(a.requests, b.code, &b.process, b.pid, &b.file))
    });
    findings
}

/// Joins the same cause in several files of a process.
fn merge_files(causes: Vec<Cause<'_>>) -> Vec<Cause<'_>> {
    let mut merged: Vec<Cause<'_>> = Vec::new();
    let mut index: HashMap<(Option<u32>, String, FindingCode), usize> = HashMap::new();
    for cause in causes {
        let (Some((group, _)), Some(&code)) = (cause.parts.first(), cause.codes.first()) else { continue };
        let next = merged.len();
        let position = *index.entry((group.pid, group.process.clone(), code)).or_insert(next);
        match merged.get_mut(position) {
            None => merged.push(cause),
            Some(existing) => {
                for code in cause.codes {
                    if !existing.codes.contains(&code) {
                        existing.codes.push(code);
                    }
                }
                existing.parts.extend(cause.parts);
                existing.flushes = match (existing.flushes, cause.flushes) {
                    (Some(a), Some(b)) => Some((a.0 + b.0, a.1.saturating_add(b.1))),
                    (a, b) => a.or(b),
                };
            }
        }
    }
    merged
}

/// True if `part` exceeds `percent` of `total`.
const fn exceeds(part: u64, percent: u64, total: u64) -> bool {
    part as u128 * 100 > percent as u128 * total as u128
}

/// Checks files of a program together, each of which has too few requests for a finding. Reading many small files once
/// each is normal, so a buffer must save at least half of the requests.
fn check_program<'g>(groups: &[&'g IoGroup], page_bytes: u64) -> Option<Cause<'g>> {
    let sum = |value: fn(&IoGroup) -> u64| groups.iter().fold(0_u64, |sum, group| sum.saturating_add(value(group)));
    let total = sum(|group| group.table.requests);
    let buffered = sum(|group| group.patterns.buffered_requests);
    if total <= MIN_REQUESTS || buffered.saturating_mul(2) > total || groups.len() < 2 {
        return None;
    }
    let amplification = amplification(sum(|group| group.table.exact_pages), page_bytes, sum(|group| group.table.bytes));
    let mut codes = Vec::new();
    if exceeds(sum(|group| group.table.small_requests), SMALL_PERCENT, total) {
        codes.push(FindingCode::SmallRequests);
    }
    if amplification > AMPLIFICATION {
        codes.push(FindingCode::Amplification);
    }
    let is_small = *codes.first()? == FindingCode::SmallRequests;
    let affected = |group: &IoGroup| if is_small { group.table.small_requests } else { group.table.requests };
    let parts = groups.iter().map(|&group| (group, affected(group))).filter(|part| part.1 > 0).collect();
    Some(Cause { codes, parts, flushes: None })
}

fn amplification(exact_pages: u64, page_bytes: u64, bytes: u64) -> f64 {
    if bytes == 0 { 0.0 } else { exact_pages as f64 * page_bytes as f64 / bytes as f64 }
}

/// Returns the number of pages of the smallest caches with 99 % of the achievable hits, one for each group, and their hit
/// rate, percent; `None` if the curve of a group is unknown.
fn caches<'g>(groups: impl Iterator<Item = &'g IoGroup>) -> Option<(u64, f64)> {
    let (mut pages, mut hits, mut accesses) = (0_u64, 0_u64, 0_u64);
    for group in groups {
        let curve = group.cache.as_ref().filter(|curve| curve.accesses > 0)?;
        let group_pages = curve.pages_for_99_percent.unwrap_or(0);
        pages = pages.saturating_add(group_pages);
        hits = hits.saturating_add(curve.min_hits(group_pages));
        accesses = accesses.saturating_add(curve.accesses);
    }
    (accesses > 0).then(|| (pages, hits as f64 * 100.0 / accesses as f64))
}

fn check_group(group: &IoGroup, is_write: bool, flushes: Option<(u64, i64)>, page_bytes: u64) -> Vec<Cause<'_>> {
    let (table, patterns) = (&group.table, &group.patterns);
    let total = table.requests;
    let mut causes = Vec::new();
    if total < MIN_FLUSHES {
        return causes;
    }
    let is_repeated = caches(std::iter::once(group)).is_some_and(|(_, hits)| hits > REPEATED_PERCENT);
    // Sequential small reads also touch pages repeatedly, but are reported as small requests.
    let steps_back = patterns.backward + patterns.overlapping + patterns.strided;
    let affected = |code: FindingCode| match code {
        FindingCode::SmallRequests => (total > MIN_REQUESTS && exceeds(table.small_requests, SMALL_PERCENT, total))
            .then_some(table.small_requests),
        FindingCode::SmallUnbuffered => (total > MIN_REQUESTS && table.unbuffered_small_requests > MIN_REQUESTS)
            .then_some(table.unbuffered_small_requests),
        FindingCode::Amplification => (total > MIN_REQUESTS && table.amplification > AMPLIFICATION).then_some(total),
        FindingCode::RepeatedReads => {
            (!is_write && total > MIN_REQUESTS && is_repeated && exceeds(steps_back, UNORDERED_PERCENT, total))
                .then_some(steps_back)
        }
        FindingCode::Misaligned => (table.average_bytes >= page_bytes as f64
            && table.misaligned_requests > MIN_REQUESTS
            && exceeds(table.misaligned_requests, MISALIGNED_PERCENT, total))
        .then_some(table.misaligned_requests),
        FindingCode::ScatteredWrites => {
            (is_write && patterns.unordered() > MIN_REQUESTS && exceeds(patterns.unordered(), UNORDERED_PERCENT, total))
                .then_some(patterns.unordered())
        }
        FindingCode::FlushAfterWrite => {
            (is_write && flushes.is_some_and(|(count, _)| count >= MIN_FLUSHES && count * 2 >= total)).then_some(total)
        }
    };
    let size: Vec<(FindingCode, u64)> = SIZE_CODES.iter().filter_map(|&code| Some((code, affected(code)?))).collect();
    if let Some(&(_, requests)) = size.first() {
        let codes = size.iter().map(|&(code, _)| code).collect();
        causes.push(Cause { codes, parts: vec![(group, requests)], flushes: None });
    }
    for code in [FindingCode::Misaligned, FindingCode::ScatteredWrites, FindingCode::FlushAfterWrite] {
        if let Some(requests) = affected(code) {
            let flushes = flushes.filter(|_| code == FindingCode::FlushAfterWrite);
            causes.push(Cause { codes: vec![code], parts: vec![(group, requests)], flushes });
        }
    }
    causes
}

/// Returns the total duration of a group's requests, ns, if all were recorded.
fn group_time_ns(group: &IoGroup) -> Option<i64> {
    let table = &group.table;
    (table.timed_requests == table.requests && table.requests > 0).then_some(table.time_ns)
}

fn finding(cause: &Cause<'_>, is_write: bool, page_bytes: u64, tracer: Option<&'static str>) -> IoFinding {
    let mut parts = cause.parts.clone();
    parts.sort_by(|a, b| (b.1, b.0.table.requests, &a.0.file).cmp(&(a.1, a.0.table.requests, &b.0.file)));
    let groups = || parts.iter().map(|&(group, _)| group);
    let sum = |value: fn(&IoGroup) -> u64| groups().fold(0_u64, |sum, group| sum.saturating_add(value(group)));
    let mut codes = cause.codes.clone();
    codes.sort_by_key(|code| SIZE_CODES.iter().position(|size_code| size_code == code));
    let code = codes.first().copied().unwrap_or(FindingCode::SmallRequests);
    let is_size = SIZE_CODES.contains(&code);
    let only = match parts.as_slice() {
        [(group, _)] => Some(*group),
        _ => None,
    };
    let has_buffer =
        matches!(code, FindingCode::SmallRequests | FindingCode::SmallUnbuffered | FindingCode::Amplification);
    let first = groups().next();
    let cache = if is_size { caches(groups()) } else { None };
    IoFinding {
        code,
        direction: if is_write { "write" } else { "read" },
        pid: first.and_then(|group| group.pid),
        process: first.map(|group| group.process.clone()).unwrap_or_default(),
        file: only.map(|group| group.file.clone()).unwrap_or_default(),
        file_count: parts.len() as u64,
        files: parts
            .iter()
            .take(MAX_FILES)
            .map(|&(group, requests)| IoFindingFile {
                file: group.file.clone(),
                requests,
                total_requests: group.table.requests,
                time_ns: group_time_ns(group),
            })
            .collect(),
        requests: parts.iter().map(|part| part.1).sum(),
        total_requests: sum(|group| group.table.requests),
        time_ns: groups().map(group_time_ns).sum(),
        tracer,
        on_path_ns: None,
        amplification: codes
            .contains(&FindingCode::Amplification)
            .then(|| amplification(sum(|group| group.table.exact_pages), page_bytes, sum(|group| group.table.bytes))),
        buffered_requests: has_buffer.then(|| sum(|group| group.patterns.buffered_requests)),
        cure: None,
        cache_pages: cache.map(|(pages, _)| pages).filter(|&pages| pages > 0),
        cache_hit_percent: cache.map(|(_, hits)| hits),
        flushes: cause.flushes.map(|flushes| flushes.0),
        flush_ns: cause.flushes.map(|flushes| flushes.1).filter(|&time_ns| time_ns > 0),
        also: codes.into_iter().skip(1).collect(),
        recorded_files: groups().map(|group| group.recorded_file).collect(),
    }
}
