//! Hits and misses of an LRU page cache by size.

use hashbrown::HashMap;
use serde::Serialize;

use super::stack_distance::StackDistances;

/// Hits and misses of an LRU page cache by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheCurve {
    /// Number of page accesses.
    pub accesses: u64,
    /// Number of first touches, which miss in every cache.
    pub first_touches: u64,
    /// Points at powers of two, up to a cache that holds everything.
    pub points: Vec<CachePoint>,
    /// Size of the smallest cache with 50 % of the achievable hits, pages; `None` without hits.
    pub pages_for_50_percent: Option<u64>,
    /// Size of the smallest cache with 90 % of the achievable hits, pages.
    pub pages_for_90_percent: Option<u64>,
    /// Size of the smallest cache with 99 % of the achievable hits, pages.
    pub pages_for_99_percent: Option<u64>,
    /// How the curve was sampled; `None` if exact.
    pub sampled: Option<SampledCurve>,
}

/// A cache of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CachePoint {
    /// Cache size, pages.
    pub pages: u64,
    /// Number of hits.
    pub hits: u64,
    /// Share of accesses that miss, 0 to 1.
    pub miss_ratio: f64,
}

/// How a curve was sampled (SHARDS: a hashed subset of the pages represents all). It has no points for caches smaller
/// than the number of pages that one sampled page represents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampledCurve {
    /// Share of the pages that were sampled, 0 to 1.
    pub share: f64,
    /// Number of accesses for which the exact curve was also computed.
    pub compared_accesses: u64,
    /// Largest difference in miss ratio between the sampled and the exact curve of these accesses.
    pub max_error: f64,
}

/// Number of occurrences by distance minus one. There is one counter per touched page; most counts are small.
#[derive(Clone, Debug, Default)]
struct DistanceCounts {
    counts: Vec<u32>,
    /// Overflow of the 32-bit counters.
    overflow: HashMap<usize, u64>,
}

impl DistanceCounts {
    #[inline]
    fn add(&mut self, index: usize) {
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        let Some(count) = self.counts.get_mut(index) else { return };
        match count.checked_add(1) {
            Some(sum) => *count = sum,
            None => *self.overflow.entry(index).or_insert(0) += 1,
        }
    }

    fn add_many(&mut self, index: usize, count: u64) {
        if count > 0 {
            self.add(index);
            *self.overflow.entry(index).or_insert(0) += count - 1;
        }
    }

    fn get(&self, index: usize) -> u64 {
        let overflow = if self.overflow.is_empty() { 0 } else { self.overflow.get(&index).copied().unwrap_or(0) };
        u64::from(self.counts.get(index).copied().unwrap_or(0)) + overflow
    }
}

/// Number of item kinds that share a cache: pages, and key blocks of files.
const KINDS: usize = 2;
const PAGE: usize = 0;
const KEY: usize = 1;

/// Distances counted per batch: incrementing a counter usually misses the CPU cache, and the processor overlaps such
/// misses only in a tight loop.
const BATCH_LEN: usize = 1 << 11;

/// An LRU stack of pages and key blocks, with the occurrences of each distance.
#[derive(Clone, Debug)]
struct DistanceTracker {
    stack: StackDistances<KINDS>,
    /// Distances of pages and of key blocks that are not counted yet.
    pending: [Vec<[u32; KINDS]>; KINDS],
    tally: Tally,
}

/// Occurrences of each distance.
#[derive(Clone, Debug)]
struct Tally {
    /// One page in this many is tracked. All key blocks are tracked because they are few and accessed often.
    interval: u32,
    accesses: [u64; KINDS],
    first_touches: [u64; KINDS],
    /// Distances of pages in a page cache.
    pages: DistanceCounts,
    /// Distances of pages and of key blocks in a cache of both.
    combined: [DistanceCounts; KINDS],
}

impl DistanceTracker {
    fn new(interval: u32) -> Self {
        Self {
            stack: StackDistances::default(),
            pending: [Vec::new(), Vec::new()],
            tally: Tally {
                interval,
                accesses: [0; KINDS],
                first_touches: [0; KINDS],
                pages: DistanceCounts::default(),
                combined: [DistanceCounts::default(), DistanceCounts::default()],
            },
        }
    }

    #[inline]
    fn touch(&mut self, kind: usize, number: u32) {
        if let Some(accesses) = self.tally.accesses.get_mut(kind) {
            *accesses += 1;
        }
        match (self.stack.touch(kind, number), self.pending.get_mut(kind)) {
            (Some(distances), Some(pending)) => {
                pending.push(distances);
                if pending.len() >= BATCH_LEN {
                    self.count();
                }
            }
            _ => {
                if let Some(first_touches) = self.tally.first_touches.get_mut(kind) {
                    *first_touches += 1;
                }
            }
        }
    }

    /// Counts the pending distances.
    fn count(&mut self) {
        let Tally { interval, pages, combined, accesses, .. } = &mut self.tally;
        let combined_distance = |&[pages, keys]: &[u32; KINDS]| (pages + keys / *interval) as usize;
        let [page_distances, key_distances] = &mut self.pending;
        page_distances.iter().for_each(|distances| pages.add(distances[PAGE] as usize));
        // The combined distances are needed only with key blocks.
        if accesses[KEY] > 0 {
            let [pages, keys] = combined;
            page_distances.iter().for_each(|distances| pages.add(combined_distance(distances)));
            key_distances.iter().for_each(|distances| keys.add(combined_distance(distances)));
        }
        page_distances.clear();
        key_distances.clear();
    }
}

/// Numbers of accesses that a tally represents.
#[derive(Clone, Copy, Debug)]
struct Totals {
    accesses: [u64; KINDS],
}

impl Tally {
    /// Returns the number of accesses that one counted access represents.
    fn weight(&self, totals: Totals) -> f64 {
        totals.accesses[PAGE] as f64 / self.accesses[PAGE].max(1) as f64
    }

    fn page_curve(&self, totals: Totals) -> CacheCurve {
        let weight = self.weight(totals);
        self.curve(&[(&self.pages, weight)], totals.accesses[PAGE], self.first_touches[PAGE] as f64 * weight)
    }

    fn combined_curve(&self, totals: Totals) -> CacheCurve {
        let weight = self.weight(totals);
        let [pages, keys] = &self.combined;
        let first_touches = self.first_touches[PAGE] as f64 * weight + self.first_touches[KEY] as f64;
        self.curve(&[(pages, weight), (keys, 1.0)], totals.accesses.iter().sum(), first_touches)
    }

    fn curve(&self, counts: &[(&DistanceCounts, f64)], accesses: u64, first_touches: f64) -> CacheCurve {
        let to_pages = |distance: u64| distance.saturating_mul(self.interval.into());
        let largest = counts.iter().map(|(counts, _)| counts.counts.len()).max().unwrap_or(0) as u64;
        let hits_by_distance = || {
            let mut sum = 0.0;
            (1..=largest).map(move |distance| {
                let index = distance as usize - 1;
                sum += counts.iter().map(|(counts, weight)| counts.get(index) as f64 * weight).sum::<f64>();
                // Sums of weights may deviate from integers by rounding.
                (distance, (sum.round() as u64).min(accesses))
            })
        };
        let max_hits = hits_by_distance().fold(0, |_, (_, hits)| hits);
        let required_hits =
            [50_u64, 90, 99].map(|percent| (u128::from(max_hits) * u128::from(percent)).div_ceil(100) as u64);
        let mut smallest = [None; 3];
        let mut points = Vec::new();
        for (distance, hits) in hits_by_distance() {
            for (smallest, required_hits) in smallest.iter_mut().zip(required_hits) {
                if smallest.is_none() && max_hits > 0 && hits >= required_hits {
                    *smallest = Some(to_pages(distance));
                }
            }
            if distance.is_power_of_two() || distance == largest {
                let miss_ratio = 1.0 - hits as f64 / accesses.max(1) as f64;
                points.push(CachePoint { pages: to_pages(distance), hits, miss_ratio });
            }
        }
        let [pages_for_50_percent, pages_for_90_percent, pages_for_99_percent] = smallest;
        CacheCurve {
            accesses,
            first_touches: first_touches.round() as u64,
            points,
            pages_for_50_percent,
            pages_for_90_percent,
            pages_for_99_percent,
            sampled: None,
        }
    }
}

/// One page in this many is sampled.
const SAMPLING_INTERVAL: u32 = 16;

/// When sampling, as many accesses as the limit divided by this number are also tracked exactly.
const COMPARED_DIVISOR: u64 = 8;

/// The sampled tracker for too many accesses.
#[derive(Clone, Debug)]
struct Sample {
    tracker: DistanceTracker,
    /// Number of page accesses that are also tracked exactly.
    compared: u64,
    /// The sample's tally after `compared` accesses.
    compared_tally: Option<Tally>,
}

/// Computes the curves of a page cache and of a cache that also holds key blocks: exactly, or from a sample of the
/// pages that is compared with the exact curves of the first accesses.
#[derive(Clone, Debug)]
pub(super) struct CacheModel {
    exact: DistanceTracker,
    sample: Option<Box<Sample>>,
    accesses: [u64; KINDS],
}

impl CacheModel {
    /// Creates a model for up to `accesses` page accesses; more than `max_exact` are sampled.
    pub(super) fn new(accesses: u64, max_exact: u64) -> Self {
        let sample = || {
            Box::new(Sample {
                tracker: DistanceTracker::new(SAMPLING_INTERVAL),
                compared: max_exact.div_ceil(COMPARED_DIVISOR),
                compared_tally: None,
            })
        };
        Self { exact: DistanceTracker::new(1), sample: (accesses > max_exact).then(sample), accesses: [0; KINDS] }
    }

    /// Prefetches the data for accesses to `pages` into the CPU caches.
    pub(super) fn prepare(&self, pages: impl Iterator<Item = u32> + Clone) {
        match &self.sample {
            Some(sample) => {
                let sampled = pages.filter(|&page| is_sampled(page)).map(|page| page / SAMPLING_INTERVAL);
                sample.tracker.stack.prepare(sampled);
            }
            None => self.exact.stack.prepare(pages),
        }
    }

    #[inline]
    pub(super) fn access(&mut self, page: u32) {
        if self.is_exact() {
            self.exact.touch(PAGE, page);
        }
        self.accesses[PAGE] += 1;
        if let Some(sample) = &mut self.sample
            && is_sampled(page)
        {
            sample.tracker.touch(PAGE, page / SAMPLING_INTERVAL);
        }
    }

    /// Records accesses to the page that was accessed last. The model must be exact.
    pub(super) fn add_repeats(&mut self, count: u64) {
        self.accesses[PAGE] += count;
        let tally = &mut self.exact.tally;
        tally.accesses[PAGE] += count;
        tally.pages.add_many(0, count);
    }

    /// Records an access to the key block with this number.
    #[inline]
    pub(super) fn access_key(&mut self, key: u32) {
        if self.is_exact() {
            self.exact.touch(KEY, key);
        }
        self.accesses[KEY] += 1;
        if let Some(sample) = &mut self.sample {
            sample.tracker.touch(KEY, key);
        }
    }

    /// True if the next access is tracked exactly. At the end of the exact part, saves the sample's tally.
    #[inline]
    fn is_exact(&mut self) -> bool {
        let Some(sample) = &mut self.sample else { return true };
        if sample.compared_tally.is_some() {
            return false;
        }
        let is_exact = self.accesses[PAGE] < sample.compared;
        if !is_exact {
            for tracker in [&mut self.exact, &mut sample.tracker] {
                tracker.count();
            }
            sample.compared_tally = Some(sample.tracker.tally.clone());
            self.exact.stack = StackDistances::default();
        }
        is_exact
    }

    /// Returns the curves of a page cache, and of a cache of pages and key blocks.
    pub(super) fn finish(mut self) -> (CacheCurve, CacheCurve) {
        self.exact.count();
        let exact = &self.exact.tally;
        let totals = Totals { accesses: exact.accesses };
        let (page_curve, combined_curve) = (exact.page_curve(totals), exact.combined_curve(totals));
        let Some(mut sample) = self.sample else { return (page_curve, combined_curve) };
        sample.tracker.count();
        let total_accesses = Totals { accesses: self.accesses };
        let compared = sample.compared_tally.as_ref().unwrap_or(&sample.tracker.tally);
        let with_error = |curve: CacheCurve, exact: &CacheCurve, compared: &CacheCurve| {
            let sampling = SampledCurve {
                share: 1.0 / f64::from(SAMPLING_INTERVAL),
                compared_accesses: exact.accesses,
                max_error: largest_error(exact, compared),
            };
            CacheCurve { sampled: Some(sampling), ..curve }
        };
        let tally = &sample.tracker.tally;
        (
            with_error(tally.page_curve(total_accesses), &page_curve, &compared.page_curve(totals)),
            with_error(tally.combined_curve(total_accesses), &combined_curve, &compared.combined_curve(totals)),
        )
    }
}

/// True if a page is sampled: one of each [`SAMPLING_INTERVAL`] consecutive numbers, chosen by a hash (the finalizer of
/// MurmurHash3).
fn is_sampled(page: u32) -> bool {
    let mut hash = u64::from(page / SAMPLING_INTERVAL).wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (hash ^ (hash >> 33)) % u64::from(SAMPLING_INTERVAL) == u64::from(page % SAMPLING_INTERVAL)
}

/// Returns the largest difference in miss ratio at sizes that both curves have. A sample has no caches smaller than the
/// number of pages that one sampled page represents.
fn largest_error(exact: &CacheCurve, sampled: &CacheCurve) -> f64 {
    let smallest_miss_ratio = |curve: &CacheCurve| curve.points.last().map_or(1.0, |point| point.miss_ratio);
    let errors = exact.points.iter().filter_map(|point| {
        let sampled_point = sampled.points.iter().find(|sampled_point| sampled_point.pages == point.pages)?;
        Some((point.miss_ratio - sampled_point.miss_ratio).abs())
    });
    // Start with a cache that holds everything, whatever its size.
    errors.fold((smallest_miss_ratio(exact) - smallest_miss_ratio(sampled)).abs(), f64::max)
}

impl CacheCurve {
    /// Returns the hits of a cache of `pages` pages, from the largest point at or below that size.
    #[must_use]
    pub fn hits(&self, pages: u64) -> u64 {
        self.points.iter().take_while(|point| point.pages <= pages).last().map_or(0, |point| point.hits)
    }

    /// Scales the curve from groups of `group_pages` pages to pages.
    pub(super) fn in_pages(mut self, group_pages: u64) -> Self {
        for point in &mut self.points {
            point.pages = point.pages.saturating_mul(group_pages);
        }
        for pages in [&mut self.pages_for_50_percent, &mut self.pages_for_90_percent, &mut self.pages_for_99_percent] {
            *pages = pages.map(|pages| pages.saturating_mul(group_pages));
        }
        self
    }

    /// Returns a lower bound of the hits of a cache of `pages` pages, which may be the size for 99 %.
    pub(super) fn min_hits(&self, pages: u64) -> u64 {
        let percent = if self.pages_for_99_percent == Some(pages) { 99 } else { 0 };
        let min_hits = (u128::from(self.max_hits()) * percent).div_ceil(100) as u64;
        self.hits(pages).max(min_hits)
    }

    /// Returns the hits of a cache that holds everything.
    #[must_use]
    pub fn max_hits(&self) -> u64 {
        self.points.last().map_or(0, |point| point.hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_curve(accesses: impl IntoIterator<Item = u32>, accesses_bound: u64, max_exact: u64) -> CacheCurve {
        let mut model = CacheModel::new(accesses_bound, max_exact);
        accesses.into_iter().for_each(|page| model.access(page));
        model.finish().0
    }

    #[test]
    fn computes_curve_of_loop() {
        // A loop over 10 pages always misses with fewer than 10 pages, and always hits from there on.
        let curve = page_curve((0..100).map(|access| access % 10), 100, 100);
        assert_eq!((curve.accesses, curve.first_touches, curve.max_hits()), (100, 10, 90));
        assert_eq!((curve.pages_for_50_percent, curve.pages_for_99_percent), (Some(10), Some(10)));
        assert_eq!((curve.hits(8), curve.hits(10), curve.hits(100)), (0, 90, 90));
        assert_eq!(page_curve([], 0, 5), CacheCurve::default());
    }

    #[test]
    fn counts_beyond_32_bits() {
        let mut counts = DistanceCounts::default();
        counts.add(3);
        counts.counts[3] = u32::MAX;
        counts.add(3);
        counts.add(3);
        assert_eq!((counts.get(3), counts.get(2), counts.get(9)), (u64::from(u32::MAX) + 2, 0, 0));
    }

    /// Returns page accesses with hot pages and sequential reads.
    fn synthetic_accesses(accesses: u64) -> impl Iterator<Item = u32> {
        let mut state = 1_u64;
        (0..accesses).map(move |access| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let random = |range: u64| u32::try_from((state >> 33) % range).unwrap();
            match access % 4 {
                // A quarter each: 1,000 pages, 20,000 pages, one page repeatedly, and pages in sequence.
                0 => random(1000),
                1 => 1000 + random(20_000),
                2 => 21_000 + u32::try_from(access / 400 % 3000).unwrap(),
                _ => 24_000 + u32::try_from(access / 4 % 5000).unwrap(),
            }
        })
    }

    #[test]
    fn sampled_curve_approximates_exact_curve() {
        const ACCESSES: u64 = 400_000;
        let exact = page_curve(synthetic_accesses(ACCESSES), ACCESSES, ACCESSES);
        let sampled = page_curve(synthetic_accesses(ACCESSES), ACCESSES, ACCESSES - 1);
        let sampling = sampled.sampled.unwrap();
        assert_eq!((exact.sampled, sampling.compared_accesses), (None, ACCESSES / COMPARED_DIVISOR));
        assert_eq!((sampled.accesses, sampling.share), (exact.accesses, 0.0625));
        assert!(sampling.max_error < 0.05, "{sampling:?}");
        let error = largest_error(&exact, &sampled);
        assert!(error < 0.05, "{error}");
        // Every size in the sample except the largest is also in the exact curve.
        let shared = sampled.points.iter().filter(|point| exact.points.iter().any(|exact| exact.pages == point.pages));
        assert!(shared.count() >= sampled.points.len() - 1, "{sampled:?}");
        let assert_near = |sampled: Option<u64>, exact: Option<u64>| {
            let (sampled, exact) = (sampled.unwrap() as f64, exact.unwrap() as f64);
            assert!((sampled - exact).abs() < 0.1 * exact + 32.0, "{sampled} {exact}");
        };
        assert_near(sampled.pages_for_90_percent, exact.pages_for_90_percent);
        assert_near(sampled.pages_for_99_percent, exact.pages_for_99_percent);
        let first_touch_ratio = sampled.first_touches as f64 / exact.first_touches as f64;
        assert!((0.9..1.1).contains(&first_touch_ratio), "{first_touch_ratio}");
    }

    /// A few key blocks, each accessed with every fourth access: all are tracked.
    #[test]
    fn sample_includes_all_key_blocks() {
        let combined_curve = |max_exact: u64| {
            let mut model = CacheModel::new(400_000, max_exact);
            for (index, page) in (0_u32..).zip(synthetic_accesses(400_000)) {
                if index % 4 == 0 {
                    model.access_key(index / 4 % 7);
                }
                model.access(page);
            }
            model.finish().1
        };
        let (exact, sampled) = (combined_curve(400_000), combined_curve(399_999));
        assert_eq!((exact.accesses, sampled.accesses), (500_000, 500_000));
        assert_eq!((exact.sampled, sampled.sampled.map(|sampling| sampling.compared_accesses)), (None, Some(62_500)));
        // A cache of 16 pages is one sampled page: the error is largest there, and it is reported.
        let (error, reported) = (largest_error(&exact, &sampled), sampled.sampled.unwrap().max_error);
        assert!(error < 0.1 && (error - reported).abs() < 0.02, "{error} {reported}");
        // Larger caches are accurate.
        let hit_ratio = |curve: &CacheCurve, pages: u64| curve.hits(pages) as f64 / curve.accesses as f64;
        for pages in [256, 1024, 4096, 16_384] {
            assert!((hit_ratio(&exact, pages) - hit_ratio(&sampled, pages)).abs() < 0.03, "{pages}");
        }
    }

    /// Decoy: each page is accessed twice in a row, so a cache of one page suffices, which the sample cannot show.
    #[test]
    fn sample_has_no_caches_below_its_resolution() {
        let curve = page_curve((0..200_000).map(|access| access / 2), 200_000, 100_000);
        assert_eq!(curve.points.first().map(|point| point.pages), Some(u64::from(SAMPLING_INTERVAL)));
        assert_eq!((curve.hits(1), curve.hits(16)), (0, 100_000));
        assert!(curve.sampled.unwrap().max_error < 1e-9, "{curve:?}");
    }
}
