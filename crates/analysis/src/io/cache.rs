//! What a cache of pages would save, by its size.

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

/// How a curve was sampled (SHARDS: a share of the pages, chosen by a hash, stands in for all).
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

/// A curve in the making: exact until there are too many accesses, sampled throughout.
#[derive(Clone, Debug)]
pub(super) struct CacheModel {
    exact: StackDistances,
    sampled: StackDistances,
    /// The sampled distances when the exact ones ended.
    sampled_part: Option<StackDistances>,
    /// Accesses followed exactly.
    most: u64,
    accesses: u64,
    /// Pages that are sampled have a hash below this, of 2^16.
    threshold: u64,
}

/// Share of pages that are sampled, of 2^16: one in 16.
const THRESHOLD: u64 = 1 << 12;

impl CacheModel {
    pub(super) fn new(most: u64) -> Self {
        Self {
            exact: StackDistances::default(),
            sampled: StackDistances::default(),
            sampled_part: None,
            most,
            accesses: 0,
            threshold: THRESHOLD,
        }
    }

    /// Brings what an access to `page` will need near the processor.
    #[inline]
    pub(super) fn prepare(&self, page: u32) {
        if self.sampled_part.is_none() {
            self.exact.prepare(page);
        }
    }

    #[inline]
    pub(super) fn access(&mut self, page: u32) {
        self.accesses += 1;
        if self.accesses <= self.most {
            self.exact.access(page);
            // A curve that is never sampled needs no sample.
            if self.most == u64::MAX {
                return;
            }
        } else if self.sampled_part.is_none() {
            self.sampled_part = Some(self.sampled.clone());
        }
        if self.is_sampled(page) {
            self.sampled.access(page);
        }
    }

    /// Spreads page numbers evenly (the finalizer of MurmurHash3).
    fn is_sampled(&self, page: u32) -> bool {
        let mut hash = u64::from(page).wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        (hash ^ (hash >> 33)) & 0xffff < self.threshold
    }

    pub(super) fn finish(&self) -> CacheCurve {
        let Some(part) = &self.sampled_part else {
            return curve(self.exact.counts(), self.exact.accesses(), self.exact.first_touches(), 1.0, None);
        };
        let share = self.threshold as f64 / 65_536.0;
        let of_exact = curve(self.exact.counts(), self.exact.accesses(), self.exact.first_touches(), 1.0, None);
        let of_part = scaled(part, self.exact.accesses(), share);
        let largest_error = of_exact
            .points
            .iter()
            .map(|point| (point.miss_ratio - miss_ratio_at(&of_part, point.pages)).abs())
            .fold(0.0, f64::max);
        let sampled = SampledCurve { share, compared_accesses: self.exact.accesses(), largest_error };
        CacheCurve { sampled: Some(sampled), ..scaled(&self.sampled, self.accesses, share) }
    }
}

/// The curve of a sample, scaled to all accesses.
fn scaled(sample: &StackDistances, accesses: u64, share: f64) -> CacheCurve {
    let of_sample = curve(sample.counts(), sample.accesses(), sample.first_touches(), share, None);
    let factor = accesses as f64 / (sample.accesses().max(1)) as f64;
    let scale = |count: u64| (count as f64 * factor).round() as u64;
    let points = of_sample.points.iter().map(|point| CachePoint { hits: scale(point.hits), ..*point }).collect();
    CacheCurve { accesses, first_touches: scale(of_sample.first_touches), points, ..of_sample }
}

/// The miss ratio of the largest cache of a curve that is no larger than `pages`.
fn miss_ratio_at(curve: &CacheCurve, pages: u64) -> f64 {
    curve.points.iter().take_while(|point| point.pages <= pages).last().map_or(1.0, |point| point.miss_ratio)
}

/// The curve of distances of which each counts as `1 / share` pages.
fn curve(counts: &[u64], accesses: u64, first_touches: u64, share: f64, sampled: Option<SampledCurve>) -> CacheCurve {
    let pages_of = |distance: u64| (distance as f64 / share).ceil() as u64;
    let total: u64 = counts.iter().sum();
    let smallest = |percent: u64| {
        let wanted = (u128::from(total) * u128::from(percent)).div_ceil(100) as u64;
        let mut hits = 0;
        let found = (1..).zip(counts).find(|&(_, &count)| {
            hits += count;
            hits >= wanted
        });
        found.filter(|_| total > 0).map(|(distance, _)| pages_of(distance))
    };
    let mut points = Vec::new();
    let mut hits = 0;
    let mut next = 1;
    let largest = counts.len() as u64;
    for (distance, &count) in (1..).zip(counts) {
        hits += count;
        if distance == next || distance == largest {
            let miss_ratio = 1.0 - hits as f64 / accesses.max(1) as f64;
            points.push(CachePoint { pages: pages_of(distance), hits, miss_ratio });
        }
        if distance == next {
            next *= 2;
        }
    }
    CacheCurve {
        accesses,
        first_touches,
        points,
        pages_for_50_percent: smallest(50),
        pages_for_90_percent: smallest(90),
        pages_for_99_percent: smallest(99),
        sampled,
    }
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

    #[test]
    fn the_smallest_caches_of_a_loop() {
        let mut model = CacheModel::new(1000);
        // A loop over 10 pages misses always below 10 and hits always from there.
        for access in 0..100 {
            model.access(access % 10);
        }
        let curve = model.finish();
        assert_eq!((curve.accesses, curve.first_touches, curve.most_hits()), (100, 10, 90));
        assert_eq!((curve.pages_for_50_percent, curve.pages_for_99_percent), (Some(10), Some(10)));
        assert_eq!((curve.hits(8), curve.hits(10), curve.hits(100)), (0, 90, 90));
        assert_eq!(CacheModel::new(5).finish(), CacheCurve::default());
    }

    #[test]
    fn a_sample_comes_near_the_exact_curve_and_says_how_near() {
        let (mut exact, mut sampled) = (CacheModel::new(u64::MAX), CacheModel::new(200_000));
        let mut state = 1_u64;
        for access in 0..400_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Half of the accesses to 1,000 pages, half to 20,000.
            let range = if access % 2 == 0 { 1000 } else { 20_000 };
            let page = u32::try_from((state >> 33) % range).unwrap();
            exact.access(page);
            sampled.access(page);
        }
        let (exact, sampled) = (exact.finish(), sampled.finish());
        let how = sampled.sampled.unwrap();
        assert_eq!((exact.sampled, how.compared_accesses), (None, 200_000));
        assert!(how.largest_error < 0.1, "{how:?}");
        for point in &exact.points {
            // Between two points of the sample the curve is not known better than their difference.
            if point.pages >= 4096 {
                assert!((miss_ratio_at(&sampled, point.pages) - point.miss_ratio).abs() < 0.2, "{point:?}");
            }
        }
    }
}
