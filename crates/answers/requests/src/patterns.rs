//! Access patterns: how each request of an open file follows the previous one.

use hashbrown::HashMap;
use serde::Serialize;

use super::pages::BlockSize;

/// Requests by how they follow the previous request of the same process for the same file. Each request counts in
/// exactly one of the first six fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Patterns {
    /// First requests.
    pub first: u64,
    /// Requests that start where the previous one ended.
    pub consecutive: u64,
    /// Requests at the file's usual stride, which at least half of its other requests have.
    pub strided: u64,
    /// Requests further on, after a gap.
    pub forward: u64,
    /// Requests that start before the previous one.
    pub backward: u64,
    /// Requests that start inside the previous one, reading data again.
    pub overlapping: u64,
    /// The most frequent stride over all files, bytes; `None` if no file has one.
    pub stride_bytes: Option<i64>,
    /// Number of runs of consecutive requests.
    pub runs: u64,
    /// Requests in the longest run.
    pub longest_run: u64,
    /// Number of open files whose first request is small and at the start, and whose second request is elsewhere: a
    /// header, then the body.
    pub header_then_body: u64,
    /// Number of requests if consecutive ones were merged into whole pages.
    pub merged_requests: u64,
    /// Number of requests if each file were accessed through a buffer of `buffer_bytes`.
    pub buffered_requests: u64,
}

/// Maximum number of distinct strides per open file; with more, its stride is unknown.
const MAX_STRIDES: usize = 1024;

/// Tracks the requests of one open file.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    started: bool,
    requests: u64,
    offset: u64,
    end: u64,
    is_first_small: bool,
    run: u64,
    run_page: Option<u64>,
    buffered: Option<u64>,
    strides: HashMap<i64, u64>,
    strides_overflow: bool,
    counts: Patterns,
}

impl Stream {
    pub(super) fn add(&mut self, offset: u64, length: u64, page: BlockSize, buffer: BlockSize) {
        let end = offset.saturating_add(length);
        let counts = &mut self.counts;
        let is_consecutive = self.started && offset == self.end;
        if !self.started {
            counts.first += 1;
            self.is_first_small = offset == 0 && length < page.bytes();
        } else if is_consecutive {
            counts.consecutive += 1;
        } else {
            if offset > self.end {
                counts.forward += 1;
            } else if offset < self.offset {
                counts.backward += 1;
            } else {
                counts.overlapping += 1;
            }
            let stride = i64::try_from(i128::from(offset) - i128::from(self.offset));
            if let Ok(stride) = stride
                && !self.strides_overflow
            {
                *self.strides.entry(stride).or_insert(0) += 1;
                if self.strides.len() > MAX_STRIDES {
                    // The stride will be unknown: stop counting.
                    self.strides_overflow = true;
                    self.strides = HashMap::new();
                }
            }
        }
        if self.requests == 1 && self.is_first_small && !is_consecutive && offset >= page.bytes() {
            counts.header_then_body += 1;
        }
        if is_consecutive {
            self.run += 1;
        } else {
            counts.runs += 1;
            self.run = 1;
            self.run_page = None;
        }
        counts.longest_run = counts.longest_run.max(self.run);
        if let Some((first, last)) = page.first_and_last(offset, length) {
            // The page in which the previous request ended already counts.
            let new_pages = (last - first).saturating_add(u64::from(self.run_page != Some(first)));
            counts.merged_requests = counts.merged_requests.saturating_add(new_pages);
            self.run_page = Some(last);
        }
        if length >= buffer.bytes() {
            counts.buffered_requests += 1;
        } else if let Some((first, last)) = buffer.first_and_last(offset, length) {
            counts.buffered_requests += (last - first) + u64::from(self.buffered != Some(first));
            self.buffered = Some(last);
        }
        self.started = true;
        self.requests += 1;
        self.offset = offset;
        self.end = end;
    }

    /// Returns the stride of at least half of the non-consecutive requests, if any, and their number.
    fn stride(&self) -> Option<(i64, u64)> {
        let counts = &self.counts;
        let steps = counts.forward + counts.backward + counts.overlapping;
        let (&stride, &count) =
            self.strides.iter().max_by_key(|&(&stride, &count)| (count, std::cmp::Reverse(stride)))?;
        (!self.strides_overflow && steps >= 4 && count * 2 >= steps && stride != 0).then_some((stride, count))
    }

    /// Returns the counts, with strided requests moved from the other classes, and the stride.
    pub(super) fn finish(&self) -> (Patterns, Option<(i64, u64)>) {
        let mut counts = self.counts.clone();
        let stride = self.stride();
        if let Some((stride, count)) = stride {
            // Backward strides are negative; a short forward one may start inside or after the previous request.
            let mut remaining = count;
            let classes: [&mut u64; 2] = if stride < 0 {
                [&mut counts.backward, &mut counts.overlapping]
            } else {
                [&mut counts.forward, &mut counts.overlapping]
            };
            for class in classes {
                let moved = remaining.min(*class);
                *class -= moved;
                remaining -= moved;
            }
            counts.strided = count - remaining;
        }
        (counts, stride)
    }
}

impl Patterns {
    /// Adds the counts of another open file.
    pub(super) fn merge(&mut self, other: &Patterns) {
        let Patterns { stride_bytes: _, longest_run, .. } = *other;
        for (sum, count) in [
            (&mut self.first, other.first),
            (&mut self.consecutive, other.consecutive),
            (&mut self.strided, other.strided),
            (&mut self.forward, other.forward),
            (&mut self.backward, other.backward),
            (&mut self.overlapping, other.overlapping),
            (&mut self.runs, other.runs),
            (&mut self.header_then_body, other.header_then_body),
            (&mut self.merged_requests, other.merged_requests),
            (&mut self.buffered_requests, other.buffered_requests),
        ] {
            *sum = sum.saturating_add(count);
        }
        self.longest_run = self.longest_run.max(longest_run);
    }

    /// Returns the number of requests that are neither consecutive nor strided.
    #[must_use]
    pub const fn unordered(&self) -> u64 {
        self.forward + self.backward + self.overlapping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(requests: &[(u64, u64)]) -> (Patterns, Option<i64>) {
        let mut stream = Stream::default();
        for &(offset, length) in requests {
            stream.add(offset, length, BlockSize::new(4096), BlockSize::new(65_536));
        }
        let (patterns, stride) = stream.finish();
        (patterns, stride.map(|(stride, _)| stride))
    }

    #[test]
    fn sequential_small_reads_fit_in_one_buffer() {
        let requests: Vec<(u64, u64)> = (0..2000).map(|index| (index * 4, 4)).collect();
        let (patterns, stride) = stream(&requests);
        assert_eq!((patterns.first, patterns.consecutive, patterns.runs, patterns.longest_run), (1, 1999, 1, 2000));
        assert_eq!((patterns.merged_requests, patterns.buffered_requests, stride), (2, 1, None));
    }

    #[test]
    fn detects_header_then_body() {
        let header_count = |requests: &[(u64, u64)]| stream(requests).0.header_then_body;
        // The header, then data in a later page.
        assert_eq!(header_count(&[(0, 64), (8192, 4096), (12_288, 4096)]), 1);
        assert_eq!(header_count(&[(0, 64), (4096, 64)]), 1);
        // Consecutive, and within the same page.
        assert_eq!(header_count(&[(0, 64), (64, 4096), (8192, 4096)]), 0);
        assert_eq!(header_count(&[(0, 64), (512, 64), (8192, 4096)]), 0);
        // Decoys: a large first request, one not at the start, a single request.
        assert_eq!(header_count(&[(0, 4096), (16_384, 4096)]), 0);
        assert_eq!(header_count(&[(512, 64), (8192, 4096)]), 0);
        assert_eq!(header_count(&[(0, 64)]), 0);
        assert_eq!(header_count(&[]), 0);
    }

    #[test]
    fn classifies_each_request_once() {
        // First, consecutive, forward, backward, inside the previous one, and the same place again.
        let requests =
            [(4096, 512), (4608, 512), (16_384, 512), (0, 512), (100, 512), (100, 512), (100, 512), (612, 4)];
        let (patterns, stride) = stream(&requests);
        let Patterns { first, consecutive, strided, forward, backward, overlapping, .. } = patterns;
        assert_eq!((first, consecutive, strided, forward, backward, overlapping), (1, 2, 0, 1, 1, 3));
        assert_eq!(stride, None);
        assert_eq!((patterns.runs, patterns.longest_run), (6, 2));
    }

    #[test]
    fn stride_needs_half_of_the_steps() {
        let step = |index: u64| (index * 10_000, 512);
        // Three of six steps.
        let (patterns, stride) = stream(&[step(0), step(1), step(2), step(3), (0, 512), step(7), (5, 512)]);
        assert_eq!((stride, patterns.strided), (Some(10_000), 3));
        // Two of six.
        let (patterns, stride) = stream(&[step(0), step(1), step(2), step(7), (0, 512), step(9), (5, 512)]);
        assert_eq!((stride, patterns.strided), (None, 0));
        // Decoy: a constant distance without gaps is consecutive.
        let (patterns, stride) =
            stream(&[(0, 10_000), (10_000, 10_000), (20_000, 10_000), (30_000, 10_000), (40_000, 10_000)]);
        assert_eq!((stride, patterns.strided, patterns.consecutive), (None, 0, 4));
    }

    #[test]
    fn distinguishes_stride_from_random_access() {
        let requests: Vec<(u64, u64)> = (0..100).map(|index| (index * 65_536, 512)).collect();
        let (patterns, stride) = stream(&requests);
        assert_eq!((patterns.strided, patterns.forward, stride), (99, 0, Some(65_536)));
        let (patterns, stride) = stream(&[(0, 4), (9000, 4), (100, 4), (50_000, 4), (7, 4), (90_000, 4)]);
        assert_eq!((patterns.strided, patterns.forward, patterns.backward, stride), (0, 3, 2, None));
        assert_eq!(patterns.header_then_body, 1);
        // Constant backward distance.
        let requests: Vec<(u64, u64)> = (0..10).rev().map(|index| (index * 8192, 4096)).collect();
        assert_eq!(stream(&requests).0.strided, 9);
        // Repeated access to the same place is no stride.
        let (patterns, stride) = stream(&[(64, 4); 10]);
        assert_eq!((patterns.overlapping, stride), (9, None));
    }
}
