//! What requests cost with and without a filter that keeps nothing, on a device of which latency and bandwidth are known.

use serde::Serialize;

use super::cache::CacheCurve;
use super::table::RequestTable;

/// A device: a fixed time for each request, and a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StorageDevice {
    /// Time of a request besides its bytes, ns.
    pub latency_ns: i64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Where the two are from.
    pub origin: DeviceOrigin,
}

/// Where a device's numbers are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceOrigin {
    /// The caller gave them.
    Given,
    /// Fitted to the durations of the recording's own requests.
    Fitted,
}

/// Operations on the device, bytes, and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilterCost {
    /// Operations on the device.
    pub operations: u64,
    /// Bytes it moves.
    pub bytes: u64,
    /// Time they take one after the other, ns; `None` when no device is known.
    pub time_ns: Option<i64>,
}

/// The same requests in four worlds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilterCosts {
    /// The device the times are for; `None` when it is not known.
    pub device: Option<StorageDevice>,
    /// Pages of the cache of the two cached worlds: the smallest with 99 % of the hits that can be had.
    pub cache_pages: u64,
    /// No filter, no cache.
    pub plain: FilterCost,
    /// No filter, pages cached.
    pub plain_cached: FilterCost,
    /// The filter, no cache: each request reads its key blocks and every block it touches.
    pub filtered: FilterCost,
    /// The filter with a cache of pages above it: each miss reads its key blocks and a block.
    pub filtered_cached: FilterCost,
}

impl StorageDevice {
    fn time_ns(&self, operations: u64, bytes: u64) -> i64 {
        let bytes_ns = bytes as f64 / self.bytes_per_second.max(1.0) * 1e9;
        let time_ns = operations as f64 * self.latency_ns as f64 + bytes_ns;
        // Saturates; a time beyond 292 years is none that anybody waits for.
        time_ns as i64
    }
}

/// The four worlds of `table`.
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
    let keys = key_blocks.saturating_mul(table.requests);
    let data_pages = table.exact_pages.saturating_sub(keys);
    let cache_pages = cache.pages_for_99_percent.unwrap_or(0);
    let misses = cache.accesses.saturating_sub(cache.hits_within(cache_pages));
    // The key blocks of a file lie together: one more operation, whatever their number.
    let operations_each = 1 + u64::from(key_blocks > 0);
    FilterCosts {
        device,
        cache_pages,
        plain: cost(table.requests, data_pages.saturating_mul(page_bytes)),
        plain_cached: cost(misses, misses.saturating_mul(page_bytes)),
        filtered: cost(table.requests.saturating_mul(operations_each), table.exact_pages.saturating_mul(page_bytes)),
        filtered_cached: cost(
            misses.saturating_mul(operations_each),
            misses.saturating_mul(key_blocks + 1).saturating_mul(page_bytes),
        ),
    }
}

/// Durations by size, for a line through them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fit {
    count: f64,
    bytes: f64,
    ns: f64,
    bytes_squared: f64,
    bytes_ns: f64,
}

/// Fewest requests that a device is fitted to.
const MIN_COUNT: f64 = 100.0;

impl Fit {
    pub(super) fn add(&mut self, bytes: u64, duration_ns: i64) {
        let (bytes, ns) = (bytes as f64, duration_ns as f64);
        self.count += 1.0;
        self.bytes += bytes;
        self.ns += ns;
        self.bytes_squared += bytes * bytes;
        self.bytes_ns += bytes * ns;
    }

    /// Least squares; `None` for too few requests, for requests of one size, or where larger ones are not slower.
    pub(super) fn device(&self) -> Option<StorageDevice> {
        let spread = self.count * self.bytes_squared - self.bytes * self.bytes;
        if self.count < MIN_COUNT || spread <= f64::EPSILON * self.bytes_squared * self.count {
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
    fn a_device_is_found_again_and_not_made_up() {
        let mut fit = Fit::default();
        for at in 0..200_u64 {
            // 100 µs and 100 MB/s.
            let bytes = 4096 * (1 + at % 16);
            fit.add(bytes, 100_000 + bytes as i64 * 10);
        }
        let device = fit.device().unwrap();
        assert!((device.latency_ns - 100_000).abs() < 100, "{device:?}");
        assert!((device.bytes_per_second / 1e8 - 1.0).abs() < 1e-3, "{device:?}");
        // One size tells no rate.
        let mut fit = Fit::default();
        (0..200).for_each(|_| fit.add(4096, 100_000));
        assert_eq!(fit.device(), None);
        assert_eq!(Fit::default().device(), None);
    }
}
