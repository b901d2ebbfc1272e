//! What a cache of pages would save, by its size.

use hashbrown::HashMap;
use serde::Serialize;

use super::stack_distance::StackDistances;

/// Misses of a cache that evicts the page used longest ago, by its size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheCurve {
    /// Accesses to pages.
    pub accesses: u64,
    /// First touches, which every cache misses.
    pub first_touches: u64,
    /// Misses for sizes of powers of two, up to one that holds everything.
    pub points: Vec<CachePoint>,
    /// Pages of the smallest cache with 50 % of the hits that can be had; `None` when there are none.
    pub pages_for_50_percent: Option<u64>,
    /// Pages of the smallest cache with 90 % of the hits that can be had.
    pub pages_for_90_percent: Option<u64>,
    /// Pages of the smallest cache with 99 % of the hits that can be had.
    pub pages_for_99_percent: Option<u64>,
    /// How the curve was sampled; `None` when it is exact.
    pub sampled: Option<SampledCurve>,
}

/// A cache of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CachePoint {
    /// Pages it holds.
    pub pages: u64,
    /// Accesses it has the page for.
    pub hits: u64,
    /// Share of the accesses that miss, 0 to 1.
    pub miss_ratio: f64,
}

/// How a curve was sampled (SHARDS: a share of the pages, chosen by a hash, represents all). It has no caches of fewer pages than one page of
/// the sample represents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampledCurve {
    /// Share of the pages that were followed, 0 to 1.
    pub share: f64,
    /// Accesses of the part for which the exact curve was also found.
    pub compared_accesses: u64,
    /// Largest difference of the miss ratio between the sampled and the exact curve of that part.
    pub largest_error: f64,
}

/// How often each distance was met, by distance less one. Most counts are small, and there is one for each page that was touched.
#[derive(Clone, Debug, Default)]
struct Counts {
    counts: Vec<u32>,
    /// What did not fit.
    beyond: HashMap<usize, u64>,
}

impl Counts {
    #[inline]
    fn add(&mut self, at: usize) {
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        let Some(count) = self.counts.get_mut(at) else { return };
        match count.checked_add(1) {
            Some(sum) => *count = sum,
            None => *self.beyond.entry(at).or_insert(0) += 1,
        }
    }

    fn get(&self, at: usize) -> u64 {
        let beyond = if self.beyond.is_empty() { 0 } else { self.beyond.get(&at).copied().unwrap_or(0) };
        u64::from(self.counts.get(at).copied().unwrap_or(0)) + beyond
    }
}

/// Kinds that share a cache: pages, and the key blocks of files.
const KINDS: usize = 2;
const PAGE: usize = 0;
const KEY: usize = 1;

/// Distances that are counted at a time: a count for each page is somewhere in memory, and a processor waits for many at a time only in
/// a loop that does nothing else.
const TOGETHER: usize = 1 << 11;

/// A stack of pages and key blocks, and how often each distance was met.
#[derive(Clone, Debug)]
struct Followed {
    stack: StackDistances<KINDS>,
    /// Distances met lately, of pages and of key blocks.
    met: [Vec<[u32; KINDS]>; KINDS],
    tally: Tally,
}

/// How often each distance was met.
#[derive(Clone, Debug)]
struct Tally {
    /// One page in so many is followed. Key blocks all are: they are few, and each is touched often.
    one_in: u32,
    accesses: [u64; KINDS],
    first_touches: [u64; KINDS],
    /// Of pages, in a cache of pages.
    pages: Counts,
    /// Of pages and of key blocks, in a cache that holds both.
    of_both: [Counts; KINDS],
}

impl Followed {
    fn new(one_in: u32) -> Self {
        Self {
            stack: StackDistances::default(),
            met: [Vec::new(), Vec::new()],
            tally: Tally {
                one_in,
                accesses: [0; KINDS],
                first_touches: [0; KINDS],
                pages: Counts::default(),
                of_both: [Counts::default(), Counts::default()],
            },
        }
    }

    #[inline]
    fn touch(&mut self, kind: usize, number: u32) {
        if let Some(accesses) = self.tally.accesses.get_mut(kind) {
            *accesses += 1;
        }
        match (self.stack.touch(kind, number), self.met.get_mut(kind)) {
            (Some(distances), Some(met)) => {
                met.push(distances);
                if met.len() >= TOGETHER {
                    self.count();
                }
            }
            _ => {
                if let Some(first) = self.tally.first_touches.get_mut(kind) {
                    *first += 1;
                }
            }
        }
    }

    /// Counts the distances met lately.
    fn count(&mut self) {
        let Tally { one_in, pages, of_both, accesses, .. } = &mut self.tally;
        let both = |&[pages, keys]: &[u32; KINDS]| (pages + keys / *one_in) as usize;
        let [of_pages, of_keys] = &mut self.met;
        of_pages.iter().for_each(|distances| pages.add(distances[PAGE] as usize));
        // Without key blocks nobody asks.
        if accesses[KEY] > 0 {
            let [pages, keys] = of_both;
            of_pages.iter().for_each(|distances| pages.add(both(distances)));
            of_keys.iter().for_each(|distances| keys.add(both(distances)));
        }
        of_pages.clear();
        of_keys.clear();
    }
}

/// Accesses in total, for a tally of all of them or of some.
#[derive(Clone, Copy, Debug)]
struct Totals {
    accesses: [u64; KINDS],
}

impl Tally {
    /// How many pages a counted one represents.
    fn weight(&self, totals: Totals) -> f64 {
        totals.accesses[PAGE] as f64 / self.accesses[PAGE].max(1) as f64
    }

    /// The curve of a cache of pages.
    fn of_pages(&self, totals: Totals) -> CacheCurve {
        let weight = self.weight(totals);
        self.curve(&[(&self.pages, weight)], totals.accesses[PAGE], self.first_touches[PAGE] as f64 * weight)
    }

    /// The curve of a cache of pages and key blocks.
    fn of_both(&self, totals: Totals) -> CacheCurve {
        let weight = self.weight(totals);
        let [pages, keys] = &self.of_both;
        let first_touches = self.first_touches[PAGE] as f64 * weight + self.first_touches[KEY] as f64;
        self.curve(&[(pages, weight), (keys, 1.0)], totals.accesses.iter().sum(), first_touches)
    }

    fn curve(&self, counts: &[(&Counts, f64)], accesses: u64, first_touches: f64) -> CacheCurve {
        let pages_of = |distance: u64| distance.saturating_mul(self.one_in.into());
        let largest = counts.iter().map(|(counts, _)| counts.counts.len()).max().unwrap_or(0) as u64;
        let hits_by_distance = || {
            let mut sum = 0.0;
            (1..=largest).map(move |distance| {
                let at = distance as usize - 1;
                sum += counts.iter().map(|(counts, weight)| counts.get(at) as f64 * weight).sum::<f64>();
                // Sums of weights may miss whole numbers by their last bits.
                (distance, (sum.round() as u64).min(accesses))
            })
        };
        let total = hits_by_distance().fold(0, |_, (_, hits)| hits);
        let wanted = [50_u64, 90, 99].map(|percent| (u128::from(total) * u128::from(percent)).div_ceil(100) as u64);
        let mut smallest = [None; 3];
        let mut points = Vec::new();
        for (distance, hits) in hits_by_distance() {
            for (smallest, wanted) in smallest.iter_mut().zip(wanted) {
                if smallest.is_none() && total > 0 && hits >= wanted {
                    *smallest = Some(pages_of(distance));
                }
            }
            if distance.is_power_of_two() || distance == largest {
                let miss_ratio = 1.0 - hits as f64 / accesses.max(1) as f64;
                points.push(CachePoint { pages: pages_of(distance), hits, miss_ratio });
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

/// One page in so many is sampled.
const ONE_IN: u32 = 16;

/// Of the accesses above which a curve is sampled, the first one in so many are also followed exactly.
const COMPARED: u64 = 8;

/// The sample of a curve with too many accesses.
#[derive(Clone, Debug)]
struct Sample {
    followed: Followed,
    /// Accesses to pages that are also followed exactly.
    compared: u64,
    /// What the sample had when these ended.
    of_compared: Option<Tally>,
}

/// Curves in the making, of a cache of pages and of one that holds the files' key blocks as well: exact, or of a sample of the pages that
/// is compared with the exact curves of its first part.
#[derive(Clone, Debug)]
pub(super) struct CacheModel {
    exact: Followed,
    sample: Option<Box<Sample>>,
    accesses: [u64; KINDS],
}

impl CacheModel {
    /// For `accesses` to pages at most; with more than `most` a sample of the pages is followed.
    pub(super) fn new(accesses: u64, most: u64) -> Self {
        let sample = || {
            Box::new(Sample { followed: Followed::new(ONE_IN), compared: most.div_ceil(COMPARED), of_compared: None })
        };
        Self { exact: Followed::new(1), sample: (accesses > most).then(sample), accesses: [0; KINDS] }
    }

    /// Brings what accesses to `pages` will need near the processor.
    pub(super) fn prepare(&self, pages: impl Iterator<Item = u32> + Clone) {
        match &self.sample {
            Some(sample) => {
                let sampled = pages.filter(|&page| is_sampled(page)).map(|page| page / ONE_IN);
                sample.followed.stack.prepare(sampled);
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
            sample.followed.touch(PAGE, page / ONE_IN);
        }
    }

    /// An access to the key block of file `file`.
    #[inline]
    pub(super) fn access_key(&mut self, file: u32) {
        if self.is_exact() {
            self.exact.touch(KEY, file);
        }
        self.accesses[KEY] += 1;
        if let Some(sample) = &mut self.sample {
            sample.followed.touch(KEY, file);
        }
    }

    /// Whether the next access is followed exactly. Where that ends, what the sample has until then is kept.
    #[inline]
    fn is_exact(&mut self) -> bool {
        let Some(sample) = &mut self.sample else { return true };
        if sample.of_compared.is_some() {
            return false;
        }
        let goes_on = self.accesses[PAGE] < sample.compared;
        if !goes_on {
            for followed in [&mut self.exact, &mut sample.followed] {
                followed.count();
            }
            sample.of_compared = Some(sample.followed.tally.clone());
            self.exact.stack = StackDistances::default();
        }
        goes_on
    }

    /// The curves of a cache of pages, and of one that holds both.
    pub(super) fn finish(mut self) -> (CacheCurve, CacheCurve) {
        self.exact.count();
        let exact = &self.exact.tally;
        let totals = Totals { accesses: exact.accesses };
        let (pages, both) = (exact.of_pages(totals), exact.of_both(totals));
        let Some(mut sample) = self.sample else { return (pages, both) };
        sample.followed.count();
        let all = Totals { accesses: self.accesses };
        let of_part = sample.of_compared.as_ref().unwrap_or(&sample.followed.tally);
        let sampled = |of_all: CacheCurve, exact: &CacheCurve, of_part: &CacheCurve| {
            let how = SampledCurve {
                share: 1.0 / f64::from(ONE_IN),
                compared_accesses: exact.accesses,
                largest_error: largest_error(exact, of_part),
            };
            CacheCurve { sampled: Some(how), ..of_all }
        };
        let tally = &sample.followed.tally;
        (
            sampled(tally.of_pages(all), &pages, &of_part.of_pages(totals)),
            sampled(tally.of_both(all), &both, &of_part.of_both(totals)),
        )
    }
}

/// Whether a page is among those that are sampled: of each [`ONE_IN`] numbers in a row one, which a hash says (the finalizer of MurmurHash3).
fn is_sampled(page: u32) -> bool {
    let mut hash = u64::from(page / ONE_IN).wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (hash ^ (hash >> 33)) % u64::from(ONE_IN) == u64::from(page % ONE_IN)
}

/// The largest difference of the miss ratio at a size that both curves have. A sample does not tell caches of fewer pages than one page
/// of it represents.
fn largest_error(exact: &CacheCurve, sampled: &CacheCurve) -> f64 {
    let last = |curve: &CacheCurve| curve.points.last().map_or(1.0, |point| point.miss_ratio);
    let at_sizes = exact.points.iter().filter_map(|point| {
        let other = sampled.points.iter().find(|other| other.pages == point.pages)?;
        Some((point.miss_ratio - other.miss_ratio).abs())
    });
    // A cache that holds everything, whatever its size.
    at_sizes.fold((last(exact) - last(sampled)).abs(), f64::max)
}

impl CacheCurve {
    /// Hits of a cache of `pages` pages, as far as the curve has a point at or below it.
    #[must_use]
    pub fn hits(&self, pages: u64) -> u64 {
        self.points.iter().take_while(|point| point.pages <= pages).last().map_or(0, |point| point.hits)
    }

    /// The same curve where each access is to a group of `group` pages.
    pub(super) fn in_pages(mut self, group: u64) -> Self {
        for point in &mut self.points {
            point.pages = point.pages.saturating_mul(group);
        }
        for pages in [&mut self.pages_for_50_percent, &mut self.pages_for_90_percent, &mut self.pages_for_99_percent] {
            *pages = pages.map(|pages| pages.saturating_mul(group));
        }
        self
    }

    /// Hits of the cache of 50, 90 or 99 % that has `pages` pages: at least that share, as far as the points tell.
    pub(super) fn hits_within(&self, pages: u64) -> u64 {
        let share = if self.pages_for_99_percent == Some(pages) { 99 } else { 0 };
        let at_least = (u128::from(self.most_hits()) * share).div_ceil(100) as u64;
        self.hits(pages).max(at_least)
    }

    /// Hits of a cache that holds everything.
    #[must_use]
    pub fn most_hits(&self) -> u64 {
        self.points.last().map_or(0, |point| point.hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_pages(accesses: impl IntoIterator<Item = u32>, at_most: u64, most: u64) -> CacheCurve {
        let mut model = CacheModel::new(at_most, most);
        accesses.into_iter().for_each(|page| model.access(page));
        model.finish().0
    }

    #[test]
    fn the_smallest_caches_of_a_loop() {
        // A loop over 10 pages misses always below 10 and hits always from there.
        let curve = of_pages((0..100).map(|access| access % 10), 100, 100);
        assert_eq!((curve.accesses, curve.first_touches, curve.most_hits()), (100, 10, 90));
        assert_eq!((curve.pages_for_50_percent, curve.pages_for_99_percent), (Some(10), Some(10)));
        assert_eq!((curve.hits(8), curve.hits(10), curve.hits(100)), (0, 90, 90));
        assert_eq!(of_pages([], 0, 5), CacheCurve::default());
    }

    #[test]
    fn counts_go_on_where_32_bits_end() {
        let mut counts = Counts::default();
        counts.add(3);
        counts.counts[3] = u32::MAX;
        counts.add(3);
        counts.add(3);
        assert_eq!((counts.get(3), counts.get(2), counts.get(9)), (u64::from(u32::MAX) + 2, 0, 0));
    }

    /// Pages of which some are hot, and reads that go on.
    fn made(accesses: u64) -> impl Iterator<Item = u32> {
        let mut state = 1_u64;
        (0..accesses).map(move |access| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let random = |range: u64| u32::try_from((state >> 33) % range).unwrap();
            match access % 4 {
                // A quarter each to 1,000 pages, to 20,000, to one page again and again, and to the pages one after the other.
                0 => random(1000),
                1 => 1000 + random(20_000),
                2 => 21_000 + u32::try_from(access / 400 % 3000).unwrap(),
                _ => 24_000 + u32::try_from(access / 4 % 5000).unwrap(),
            }
        })
    }

    #[test]
    fn a_sample_comes_near_the_exact_curve_and_says_how_near() {
        const ACCESSES: u64 = 400_000;
        let exact = of_pages(made(ACCESSES), ACCESSES, ACCESSES);
        let sampled = of_pages(made(ACCESSES), ACCESSES, ACCESSES - 1);
        let how = sampled.sampled.unwrap();
        assert_eq!((exact.sampled, how.compared_accesses), (None, ACCESSES / COMPARED));
        assert_eq!((sampled.accesses, how.share), (exact.accesses, 0.0625));
        assert!(how.largest_error < 0.05, "{how:?}");
        let found = largest_error(&exact, &sampled);
        assert!(found < 0.05, "{found}");
        // Each size that the sample has is a size of the exact curve, but for the largest.
        let shared = sampled.points.iter().filter(|point| exact.points.iter().any(|other| other.pages == point.pages));
        assert!(shared.count() >= sampled.points.len() - 1, "{sampled:?}");
        let near = |sampled: Option<u64>, exact: Option<u64>| {
            let (sampled, exact) = (sampled.unwrap() as f64, exact.unwrap() as f64);
            assert!((sampled - exact).abs() < 0.1 * exact + 32.0, "{sampled} {exact}");
        };
        near(sampled.pages_for_90_percent, exact.pages_for_90_percent);
        near(sampled.pages_for_99_percent, exact.pages_for_99_percent);
        let first = sampled.first_touches as f64 / exact.first_touches as f64;
        assert!((0.9..1.1).contains(&first), "{first}");
    }

    /// Few key blocks, each touched at every fourth access, would be in a sample or not: they are all followed.
    #[test]
    fn a_sample_with_key_blocks_has_all_of_them() {
        let both = |most: u64| {
            let mut model = CacheModel::new(400_000, most);
            for (at, page) in (0_u32..).zip(made(400_000)) {
                if at % 4 == 0 {
                    model.access_key(at / 4 % 7);
                }
                model.access(page);
            }
            model.finish().1
        };
        let (exact, sampled) = (both(400_000), both(399_999));
        assert_eq!((exact.accesses, sampled.accesses), (500_000, 500_000));
        assert_eq!((exact.sampled, sampled.sampled.map(|how| how.compared_accesses)), (None, Some(62_500)));
        // A cache of 16 pages is one page of the sample: that error is the largest, and it is said.
        let (found, said) = (largest_error(&exact, &sampled), sampled.sampled.unwrap().largest_error);
        assert!(found < 0.1 && (found - said).abs() < 0.02, "{found} {said}");
        // All but the key blocks of 7 files are lost where none of them is in the sample.
        let at = |curve: &CacheCurve, pages: u64| curve.hits(pages) as f64 / curve.accesses as f64;
        for pages in [256, 1024, 4096, 16_384] {
            assert!((at(&exact, pages) - at(&sampled, pages)).abs() < 0.03, "{pages}");
        }
    }

    /// A decoy: what a sample cannot know, it says. Each page is touched twice in a row, so one page is cache enough.
    #[test]
    fn a_sample_has_no_caches_smaller_than_its_share() {
        let curve = of_pages((0..200_000).map(|access| access / 2), 200_000, 100_000);
        assert_eq!(curve.points.first().map(|point| point.pages), Some(u64::from(ONE_IN)));
        assert_eq!((curve.hits(1), curve.hits(16)), (0, 100_000));
        assert!(curve.sampled.unwrap().largest_error < 1e-9, "{curve:?}");
    }
}
