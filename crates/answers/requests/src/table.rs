//! The request table of the paper.

use serde::Serialize;

use super::pages::BlockSize;

/// Requests, bytes and pages. A page is a block of an uncached filter that also reads key blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestTable {
    /// Number of requests.
    pub requests: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Average request size, bytes.
    pub average_bytes: f64,
    /// Largest request, bytes.
    pub largest_bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Number of distinct pages.
    pub unique_pages: u64,
    /// Pages transferred if each file is read in one operation: its distinct pages and key blocks.
    pub one_operation_pages: u64,
    /// Pages transferred if each distinct page is requested once, with its key blocks.
    pub minimum_pages: u64,
    /// Pages transferred by the recorded requests if each touches one page, with its key blocks: the paper's "your
    /// pages".
    pub optimistic_pages: u64,
    /// Pages transferred by the recorded requests, with all pages they touch and their key blocks.
    pub exact_pages: u64,
    /// Bytes in the exact pages per requested byte.
    pub amplification: f64,
    /// Minimum number of pages that could contain the requested bytes.
    pub ideal_pages: u64,
    /// Number of requests smaller than 512 bytes.
    pub small_requests: u64,
    /// Number of requests whose offset or length is not a multiple of the page size.
    pub misaligned_requests: u64,
    /// Number of requests smaller than a page that bypassed the cache.
    pub unbuffered_small_requests: u64,
    /// Number of requests with a known duration.
    pub timed_requests: u64,
    /// Sum of the known durations, ns; concurrent requests count separately.
    pub time_ns: i64,
}

/// Size below which a request is small, bytes (source: the threshold for desktops and boots in the project's facts;
/// storage benchmarks use 1 MiB, but nearly all requests of a boot are smaller).
pub(super) const SMALL_BYTES: u64 = 512;

impl RequestTable {
    /// Counts a request that touches `touched_pages` pages.
    pub(super) fn add(&mut self, request: &super::request::Request, touched_pages: u64, page: BlockSize) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(request.length);
        self.largest_bytes = self.largest_bytes.max(request.length);
        self.exact_pages = self.exact_pages.saturating_add(touched_pages);
        self.small_requests += u64::from(request.length < SMALL_BYTES);
        let is_misaligned = !page.is_start(request.offset) || !page.is_start(request.length);
        self.misaligned_requests += u64::from(is_misaligned);
        self.unbuffered_small_requests += u64::from(request.unbuffered && request.length < page.bytes());
        if let Some(duration_ns) = request.duration_ns {
            self.timed_requests += 1;
            self.time_ns = self.time_ns.saturating_add(duration_ns.max(0));
        }
    }

    /// Computes the derived values. Before this, `exact_pages` excludes key blocks.
    pub(super) fn finish(&mut self, page_bytes: u64, key_blocks: u64) {
        let requests = self.requests as f64;
        self.average_bytes = if self.requests == 0 { 0.0 } else { self.bytes as f64 / requests };
        self.one_operation_pages = self.unique_pages.saturating_add(key_blocks.saturating_mul(self.files));
        self.minimum_pages = self.unique_pages.saturating_mul(key_blocks.saturating_add(1));
        self.optimistic_pages = self.requests.saturating_mul(key_blocks.saturating_add(1));
        self.exact_pages = self.exact_pages.saturating_add(key_blocks.saturating_mul(self.requests));
        self.ideal_pages = self.bytes.div_ceil(page_bytes);
        self.amplification =
            if self.bytes == 0 { 0.0 } else { self.exact_pages as f64 * page_bytes as f64 / self.bytes as f64 };
    }
}
