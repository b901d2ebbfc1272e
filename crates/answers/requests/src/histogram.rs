//! The sizes of requests.

use serde::Serialize;

/// Sizes that are counted exactly.
const EXACT: [u64; 6] = [1, 2, 4, 8, 512, 4096];

/// Requests of exactly one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExactCount {
    /// Bytes of a request.
    pub size_bytes: u64,
    /// Requests of exactly that.
    pub requests: u64,
    /// Bytes they moved.
    pub bytes: u64,
}

/// Requests between two powers of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeBin {
    /// Smallest size in it, bytes.
    pub from_bytes: u64,
    /// Largest size in it, bytes.
    pub to_bytes: u64,
    /// Requests.
    pub requests: u64,
    /// Bytes they moved.
    pub bytes: u64,
}

/// Requests by size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Histogram {
    /// Requests of 1, 2, 4, 8, 512 and 4,096 bytes.
    pub exact: Vec<ExactCount>,
    /// All requests, by powers of two; empty bins at the ends are left out.
    pub bins: Vec<SizeBin>,
}

/// Counts as they grow.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    exact: [u64; EXACT.len()],
    /// By the number of bits of the size: 0 bytes first.
    bins: [(u64, u64); 65],
}

impl Default for Sizes {
    fn default() -> Self {
        Self { exact: [0; EXACT.len()], bins: [(0, 0); 65] }
    }
}

impl Sizes {
    pub(super) fn add(&mut self, length: u64) {
        for (count, size) in self.exact.iter_mut().zip(EXACT) {
            *count += u64::from(length == size);
        }
        let bits = (u64::BITS - length.leading_zeros()) as usize;
        if let Some((requests, bytes)) = self.bins.get_mut(bits) {
            *requests += 1;
            *bytes = bytes.saturating_add(length);
        }
    }

    pub(super) fn finish(&self) -> Histogram {
        let exact = EXACT.iter().zip(self.exact).map(|(&size_bytes, requests)| ExactCount {
            size_bytes,
            requests,
            bytes: size_bytes.saturating_mul(requests),
        });
        let used = |at: &usize| self.bins.get(*at).is_some_and(|bin| bin.0 > 0);
        let (first, last) = ((0..65).find(used), (0..65).rev().find(used));
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
    fn sizes_that_are_counted_exactly_have_no_neighbors_in_them() {
        let mut sizes = Sizes::default();
        for (times, size) in (1..).zip([1, 2, 4, 8, 512, 4096]) {
            for length in [size; 6].into_iter().take(times) {
                sizes.add(length);
            }
            // Decoys: one byte more, in the same bin or the next.
            sizes.add(size + 2);
        }
        sizes.add(511);
        let exact: Vec<_> =
            sizes.finish().exact.iter().map(|exact| (exact.size_bytes, exact.requests, exact.bytes)).collect();
        // The decoy of 2 bytes has 4.
        assert_eq!(exact, [(1, 1, 1), (2, 2, 4), (4, 4, 16), (8, 4, 32), (512, 5, 2560), (4096, 6, 24_576)]);
        let bytes: u64 = sizes.finish().bins.iter().map(|bin| bin.bytes).sum();
        assert_eq!(bytes, 1 + 4 + 12 + 32 + 2560 + 24_576 + (3 + 4 + 6 + 10 + 514 + 4098) + 511);
    }

    #[test]
    fn every_size_is_in_one_bin() {
        let mut sizes = Sizes::default();
        for length in [0, 1, 4, 4, 7, 8, 512, 513, u64::MAX] {
            sizes.add(length);
        }
        let histogram = sizes.finish();
        assert_eq!(histogram.exact.iter().map(|exact| exact.requests).collect::<Vec<_>>(), [1, 0, 2, 1, 1, 0]);
        assert_eq!(histogram.bins.iter().map(|bin| bin.requests).sum::<u64>(), 9);
        assert_eq!((histogram.bins[3].from_bytes, histogram.bins[3].to_bytes, histogram.bins[3].requests), (4, 7, 3));
        assert_eq!(histogram.bins.last().map(|bin| (bin.from_bytes, bin.to_bytes)), Some((1 << 63, u64::MAX)));
        assert_eq!(Sizes::default().finish().bins, []);
    }
}
