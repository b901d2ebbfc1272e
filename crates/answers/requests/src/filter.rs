//! Cost of requests with and without an uncached filter, on a device with known latency and bandwidth.

use serde::Serialize;

use super::cache::CacheCurve;
use super::device::StorageDevice;
use super::table::RequestTable;

/// Device operations, bytes and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilterCost {
    /// Number of device operations.
    pub operations: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Total time if executed sequentially, ns; `None` without a device.
    pub time_ns: Option<i64>,
}

/// Cost of the same requests in four configurations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilterCosts {
    /// The device used for the times; `None` if unknown.
    pub device: Option<StorageDevice>,
    /// Cache size in the cached configurations, pages: the smallest with 99 % of the achievable hits.
    pub cache_pages: u64,
    /// No filter, no cache.
    pub plain: FilterCost,
    /// No filter, pages cached.
    pub plain_cached: FilterCost,
    /// Filter, no cache: each request reads its key blocks and every block it touches.
    pub filtered: FilterCost,
    /// Filter with a page cache above it: each miss reads its key blocks and one block.
    pub filtered_cached: FilterCost,
}

/// Computes the costs of the requests in `table`.
pub(super) fn costs(
    table: &RequestTable,
    cache: &CacheCurve,
    page_bytes: u64,
    key_blocks: u64,
    device: Option<StorageDevice>,
) -> FilterCosts {
    let cost = |operations: u64, bytes: u64| FilterCost {
        operations,
        bytes,
        time_ns: device.map(|device| device.time_ns(operations, bytes)),
    };
    let key_pages = key_blocks.saturating_mul(table.requests);
    let data_pages = table.exact_pages.saturating_sub(key_pages);
    let cache_pages = cache.pages_for_99_percent.unwrap_or(0);
    let misses = cache.accesses.saturating_sub(cache.min_hits(cache_pages));
    // The key blocks of a file are contiguous: one additional operation, whatever their number.
    let operations_per_request = 1 + u64::from(key_blocks > 0);
    FilterCosts {
        device,
        cache_pages,
        plain: cost(table.requests, data_pages.saturating_mul(page_bytes)),
        plain_cached: cost(misses, misses.saturating_mul(page_bytes)),
        filtered: cost(
            table.requests.saturating_mul(operations_per_request),
            table.exact_pages.saturating_mul(page_bytes),
        ),
        filtered_cached: cost(
            misses.saturating_mul(operations_per_request),
            misses.saturating_mul(key_blocks + 1).saturating_mul(page_bytes),
        ),
    }
}
