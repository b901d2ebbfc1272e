//! Histogram of request sizes.

use serde::Serialize;

/// Sizes that are counted individually.
const EXACT_SIZES: [u64; 6] = [1, 2, 4, 8, 512, 4096];

/// Requests of one exact size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeCount {
    /// Request size, bytes.
    pub size_bytes: u64,
    /// Number of requests.
    pub requests: u64,
    /// Bytes transferred.
    pub bytes: u64,
}

/// Requests between two powers of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeBin {
    /// Smallest size, bytes.
    pub from_bytes: u64,
    /// Largest size, bytes.
    pub to_bytes: u64,
    /// Number of requests.
    pub requests: u64,
    /// Bytes transferred.
    pub bytes: u64,
}

/// Histogram of request sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Histogram {
    /// Requests of 1, 2, 4, 8, 512 and 4,096 bytes.
    pub exact: Vec<SizeCount>,
    /// All requests in bins between powers of two, without empty bins at the ends.
    pub bins: Vec<SizeBin>,
}

/// Accumulates a histogram.
#[derive(Clone, Debug)]
pub(super) struct HistogramBuilder {
    exact: [u64; EXACT_SIZES.len()],
    /// (requests, bytes) by the number of bits of the size.
    bins: [(u64, u64); 65],
}

impl Default for HistogramBuilder {
    fn default() -> Self {
        Self { exact: [0; EXACT_SIZES.len()], bins: [(0, 0); 65] }
    }
}

impl HistogramBuilder {
    pub(super) fn add(&mut self, length: u64) {
        for (count, size) in self.exact.iter_mut().zip(EXACT_SIZES) {
            *count += u64::from(length == size);
        }
        let bits = (u64::BITS - length.leading_zeros()) as usize;
        if let Some((requests, bytes)) = self.bins.get_mut(bits) {
            *requests += 1;
            *bytes = bytes.saturating_add(length);
        }
    }

    pub(super) fn finish(&self) -> Histogram {
        let exact = EXACT_SIZES.iter().zip(self.exact).map(|(&size_bytes, requests)| SizeCount {
            size_bytes,
            requests,
            bytes: size_bytes.saturating_mul(requests),
        });
        let is_used = |bin: &usize| self.bins.get(*bin).is_some_and(|bin| bin.0 > 0);
        let (first, last) = ((0..65).find(is_used), (0..65).rev().find(is_used));
        let bins = match (first, last) {
            (Some(first), Some(last)) => (first..=last)
                .zip(self.bins.iter().skip(first))
                .map(|(bits, &(requests, bytes))| SizeBin {
                    from_bytes: if bits == 0 { 0 } else { 1 << (bits - 1) },
                    to_bytes: if bits == 0 { 0 } else { u64::MAX >> (64 - bits) },
                    requests,
                    bytes,
                })
                .collect(),
            _ => Vec::new(),
        };
        Histogram { exact: exact.collect(), bins }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_sizes_exclude_neighboring_sizes() {
        let mut builder = HistogramBuilder::default();
        for (times, size) in (1..).zip([1, 2, 4, 8, 512, 4096]) {
            for length in [size; 6].into_iter().take(times) {
                builder.add(length);
            }
            // Decoys: one byte more, in the same bin or the next.
            builder.add(size + 2);
        }
        builder.add(511);
        let exact: Vec<_> =
            builder.finish().exact.iter().map(|exact| (exact.size_bytes, exact.requests, exact.bytes)).collect();
        // The decoy of 2 bytes has 4.
        assert_eq!(exact, [(1, 1, 1), (2, 2, 4), (4, 4, 16), (8, 4, 32), (512, 5, 2560), (4096, 6, 24_576)]);
        let bytes: u64 = builder.finish().bins.iter().map(|bin| bin.bytes).sum();
        assert_eq!(bytes, 1 + 4 + 12 + 32 + 2560 + 24_576 + (3 + 4 + 6 + 10 + 514 + 4098) + 511);
    }

    #[test]
    fn puts_every_size_into_one_bin() {
        let mut builder = HistogramBuilder::default();
        for length in [0, 1, 4, 4, 7, 8, 512, 513, u64::MAX] {
            builder.add(length);
        }
        let histogram = builder.finish();
        assert_eq!(histogram.exact.iter().map(|exact| exact.requests).collect::<Vec<_>>(), [1, 0, 2, 1, 1, 0]);
        assert_eq!(histogram.bins.iter().map(|bin| bin.requests).sum::<u64>(), 9);
        assert_eq!((histogram.bins[3].from_bytes, histogram.bins[3].to_bytes, histogram.bins[3].requests), (4, 7, 3));
        assert_eq!(histogram.bins.last().map(|bin| (bin.from_bytes, bin.to_bytes)), Some((1 << 63, u64::MAX)));
        assert_eq!(HistogramBuilder::default().finish().bins, []);
    }
}
