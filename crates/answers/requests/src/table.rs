//! The paper's table.

use serde::Serialize;

use super::pages::BlockSize;

/// Requests, bytes and pages. A page is a block of a filter that keeps nothing and reads key blocks besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestTable {
    /// Requests.
    pub requests: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Bytes of a request on average.
    pub average_bytes: f64,
    /// Bytes of the largest request.
    pub largest_bytes: u64,
    /// Files they went to.
    pub files: u64,
    /// Different pages they touched.
    pub unique_pages: u64,
    /// Pages when each file is read in one operation: the different pages, and the key blocks of each file.
    pub one_operation_pages: u64,
    /// Pages when each different page is asked for once, with its key blocks.
    pub minimum_pages: u64,
    /// Pages as the requests were made, each taken to touch one page, with its key blocks: the paper's "your pages".
    pub optimistic_pages: u64,
    /// Pages as the requests were made, each with all pages it touches and its key blocks.
    pub exact_pages: u64,
    /// Bytes of the exact pages for each byte that was asked for.
    pub amplification: f64,
    /// Pages that would hold the bytes if they lay together.
    pub ideal_pages: u64,
    /// Requests of less than 512 bytes.
    pub small_requests: u64,
    /// Requests whose offset or length is no multiple of the page.
    pub misaligned_requests: u64,
    /// Requests of less than a page that passed the cache by.
    pub unbuffered_small_requests: u64,
    /// Requests whose duration is known.
    pub timed_requests: u64,
    /// Sum of the known durations, ns; requests at the same time count each.
    pub time_ns: i64,
}

/// Requests of less than this are small (source: the threshold for desktops and boots in the project's facts; storage people
/// use 1 MiB, which nearly every request of a boot is below).
pub(super) const SMALL_BYTES: u64 = 512;

impl RequestTable {
    /// Counts a request that spans `span` pages.
    pub(super) fn add(&mut self, request: &super::request::Request, span: u64, page: BlockSize) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(request.length);
        self.largest_bytes = self.largest_bytes.max(request.length);
        self.exact_pages = self.exact_pages.saturating_add(span);
        self.small_requests += u64::from(request.length < SMALL_BYTES);
        let misaligned = !page.is_start(request.offset) || !page.is_start(request.length);
        self.misaligned_requests += u64::from(misaligned);
        self.unbuffered_small_requests += u64::from(request.unbuffered && request.length < page.bytes());
        if let Some(duration_ns) = request.duration_ns {
            self.timed_requests += 1;
            self.time_ns = self.time_ns.saturating_add(duration_ns.max(0));
        }
    }

    /// What follows from the counts. `exact_pages` holds the touched pages without key blocks until now.
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
