//! Cost of requests with and without an uncached filter, on a device with known latency and bandwidth.

use serde::Serialize;

use super::cache::CacheCurve;
use super::table::RequestTable;

/// A device model: a fixed time per request, and a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StorageDevice {
    /// Time per request without its bytes, ns.
    pub latency_ns: i64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Source of these numbers.
    pub origin: DeviceOrigin,
}

/// Source of a device model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceOrigin {
    /// Given by the caller.
    Given,
    /// Fitted to the durations of the recorded requests.
    Fitted,
}

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

impl StorageDevice {
    fn time_ns(&self, operations: u64, bytes: u64) -> i64 {
        let bytes_ns = bytes as f64 / self.bytes_per_second.max(1.0) * 1e9;
        let time_ns = operations as f64 * self.latency_ns as f64 + bytes_ns;
        // Saturates at 292 years.
        time_ns as i64
    }
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

/// Sums for a linear fit of duration over size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeviceFit {
    count: f64,
    bytes: f64,
    ns: f64,
    bytes_squared: f64,
    bytes_ns: f64,
}

/// Minimum number of requests for a fit.
const MIN_FIT_REQUESTS: f64 = 100.0;

impl DeviceFit {
    pub(super) fn add(&mut self, bytes: u64, duration_ns: i64) {
        let (bytes, ns) = (bytes as f64, duration_ns as f64);
        self.count += 1.0;
        self.bytes += bytes;
        self.ns += ns;
        self.bytes_squared += bytes * bytes;
        self.bytes_ns += bytes * ns;
    }

    /// Returns the least-squares fit; `None` with too few requests, a single size, or if larger requests are not
    /// slower.
    pub(super) fn device(&self) -> Option<StorageDevice> {
        let spread = self.count * self.bytes_squared - self.bytes * self.bytes;
        if self.count < MIN_FIT_REQUESTS || spread <= f64::EPSILON * self.bytes_squared * self.count {
            return None;
        }
        let ns_per_byte = (self.count * self.bytes_ns - self.bytes * self.ns) / spread;
        let latency_ns = (self.ns - ns_per_byte * self.bytes) / self.count;
        (ns_per_byte > 0.0 && latency_ns >= 0.0).then_some(StorageDevice {
            latency_ns: latency_ns as i64,
            bytes_per_second: 1e9 / ns_per_byte,
            origin: DeviceOrigin::Fitted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_device_only_with_enough_evidence() {
        let mut fit = DeviceFit::default();
        for index in 0..200_u64 {
            // 100 µs and 100 MB/s.
            let bytes = 4096 * (1 + index % 16);
            fit.add(bytes, 100_000 + bytes as i64 * 10);
        }
        let device = fit.device().unwrap();
        assert!((device.latency_ns - 100_000).abs() < 100, "{device:?}");
        assert!((device.bytes_per_second / 1e8 - 1.0).abs() < 1e-3, "{device:?}");
        // A single size does not determine a rate.
        let mut fit = DeviceFit::default();
        (0..200).for_each(|_| fit.add(4096, 100_000));
        assert_eq!(fit.device(), None);
        assert_eq!(DeviceFit::default().device(), None);
    }
}
