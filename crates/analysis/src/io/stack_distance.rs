//! Exact LRU stack distances: how many different pages were touched since a page was touched last.
//!
//! A cache of N pages that evicts what was used longest ago has a page exactly when its distance is at most N (R. Mattson and
//! others, 1970), so one pass answers for every size. The last touches are bits in their order, counted in blocks of three sizes:
//! a touch changes one number of each, and a distance sums a few neighbours of each. A Fenwick tree has a step for every power of
//! two instead, most of them somewhere else in memory. The touches are renumbered when their places are used up, so memory grows
//! with the pages and not with the accesses.

/// Distances of a sequence of accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct StackDistances {
    /// By page: where its last touch is in the order, plus one; 0 for a page not touched yet.
    place: Vec<u32>,
    /// By place: the page touched there.
    page: Vec<u32>,
    /// By place, a bit: whether it is a page's last touch.
    live_bits: Vec<u64>,
    /// By small block of places: how many last touches it has; likewise the others.
    small: Vec<u16>,
    middle: Vec<u32>,
    large: Vec<u32>,
    /// Pages touched.
    live: u32,
    /// By distance less one: how often.
    counts: Vec<u64>,
    first_touches: u64,
    accesses: u64,
}

/// Places before the first renumbering.
const FEWEST_PLACES: usize = 1 << 12;
/// Pages above which there are two places for each page in place of four: the memory counts more than the renumbering.
const MANY_PAGES: usize = 1 << 20;
/// Places of a word of bits.
const WORD: usize = 64;
/// Places of a small block: one cache line of bits.
const SMALL: usize = WORD * 8;
/// Places of a middle block.
const MIDDLE: usize = SMALL * 32;
/// Places of a large block.
const LARGE: usize = MIDDLE * 32;

impl StackDistances {
    /// Brings what a touch of `page` will need near the processor. It changes nothing.
    #[inline]
    pub(super) fn prepare(&self, page: u32) {
        let place = self.place.get(page as usize).copied().unwrap_or(0) as usize;
        std::hint::black_box(self.live_bits.get(place / WORD).copied());
    }

    /// A touch of page `page`, whose number is small.
    #[inline]
    pub(super) fn access(&mut self, page: u32) {
        self.accesses += 1;
        let index = page as usize;
        if index >= self.place.len() {
            self.place.resize(index + 1, 0);
        }
        let place = self.place.get(index).copied().unwrap_or(0);
        if place != 0 && place as usize == self.page.len() {
            // The page touched last: it stays where it is.
            self.count(1);
            return;
        }
        if place != 0 && place as usize + 1 == self.page.len() {
            // The one before: the two change places, both of which stay last touches.
            self.swap_last_two();
            self.count(2);
            return;
        }
        if self.page.len() >= self.live_bits.len() * WORD {
            self.renumber();
        }
        match self.place.get(index).copied().unwrap_or(0) {
            0 => {
                self.first_touches += 1;
                self.live += 1;
            }
            place => {
                let at = place as usize - 1;
                let since = self.after(at);
                self.count(since as usize + 1);
                self.change(at, u32::MAX);
            }
        }
        let at = self.page.len();
        self.page.push(page);
        self.change(at, 1);
        if let (Some(slot), Ok(place)) = (self.place.get_mut(index), u32::try_from(at + 1)) {
            *slot = place;
        }
    }

    fn swap_last_two(&mut self) {
        let length = self.page.len();
        if let [.., before, last] = self.page.as_mut_slice() {
            std::mem::swap(before, last);
            for (page, place) in [(*before, length - 1), (*last, length)] {
                if let (Some(slot), Ok(place)) = (self.place.get_mut(page as usize), u32::try_from(place)) {
                    *slot = place;
                }
            }
        }
    }

    #[inline]
    fn count(&mut self, distance: usize) {
        if distance > self.counts.len() {
            self.counts.resize(distance, 0);
        }
        if let Some(count) = distance.checked_sub(1).and_then(|at| self.counts.get_mut(at)) {
            *count += 1;
        }
    }

    /// Live places after `at`.
    fn after(&self, at: usize) -> u32 {
        let next = at + 1;
        if self.page.len() - next < SMALL {
            return self.between(next, self.page.len());
        }
        let (small, middle, large) = (next / SMALL, next / MIDDLE, next / LARGE);
        let in_small = self.small.get(middle * (MIDDLE / SMALL)..small).unwrap_or_default();
        let in_middle = self.middle.get(large * (LARGE / MIDDLE)..middle).unwrap_or_default();
        let in_large = self.large.get(..large).unwrap_or_default();
        let before = self.between(small * SMALL, next)
            + in_small.iter().map(|&count| u32::from(count)).sum::<u32>()
            + in_middle.iter().sum::<u32>()
            + in_large.iter().sum::<u32>();
        self.live.wrapping_sub(before)
    }

    /// Live places from `start` up to, not including, `end`, counted bit by bit.
    fn between(&self, start: usize, end: usize) -> u32 {
        let (first, last) = (start / WORD, end / WORD);
        let words = self.live_bits.get(first..=last.min(self.live_bits.len().saturating_sub(1))).unwrap_or_default();
        let mut sum = 0;
        for (at, &word) in (first..).zip(words) {
            let mut word = word;
            if at == first {
                word &= u64::MAX << (start % WORD);
            }
            if at == last {
                word &= !(u64::MAX << (end % WORD));
            }
            sum += word.count_ones();
        }
        sum
    }

    /// Sets (1) or clears (minus one in its wrapped form) the bit of a place.
    #[inline]
    fn change(&mut self, at: usize, change: u32) {
        if let Some(word) = self.live_bits.get_mut(at / WORD) {
            *word ^= 1 << (at % WORD);
        }
        if let Some(count) = self.small.get_mut(at / SMALL) {
            *count = count.wrapping_add(change as u16);
        }
        for (counts, block) in [(&mut self.middle, MIDDLE), (&mut self.large, LARGE)] {
            if let Some(count) = counts.get_mut(at / block) {
                *count = count.wrapping_add(change);
            }
        }
    }

    /// Leaves out the places that are no page's last touch any more.
    fn renumber(&mut self) {
        let mut kept = 0;
        for (at, &word) in self.live_bits.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let from = at * WORD + left.trailing_zeros() as usize;
                left &= left - 1;
                let Some(&page) = self.page.get(from) else { break };
                kept += 1;
                if let Some(place) = self.place.get_mut(page as usize) {
                    *place = u32::try_from(kept).unwrap_or(u32::MAX);
                }
                if let Some(slot) = self.page.get_mut(kept - 1) {
                    *slot = page;
                }
            }
        }
        self.page.truncate(kept);
        let places = if kept < MANY_PAGES { kept * 4 } else { kept * 2 };
        let places = places.max(FEWEST_PLACES).next_multiple_of(SMALL);
        self.page.reserve_exact(places - kept);
        self.live_bits.clear();
        self.live_bits.resize(places / WORD, 0);
        for (at, word) in self.live_bits.iter_mut().enumerate() {
            let ones = kept.saturating_sub(at * WORD).min(WORD);
            *word = if ones == WORD { u64::MAX } else { !(u64::MAX << ones) };
        }
        let held = |at: usize, block: usize| kept.saturating_sub(at * block).min(block);
        self.small = (0..places.div_ceil(SMALL)).map(|at| held(at, SMALL) as u16).collect();
        self.middle = (0..places.div_ceil(MIDDLE)).map(|at| held(at, MIDDLE) as u32).collect();
        self.large = (0..places.div_ceil(LARGE)).map(|at| held(at, LARGE) as u32).collect();
    }

    pub(super) const fn accesses(&self) -> u64 {
        self.accesses
    }

    pub(super) const fn first_touches(&self) -> u64 {
        self.first_touches
    }

    /// By distance less one: how often.
    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A stack, moved by hand.
    fn by_hand(accesses: &[u32]) -> (u64, Vec<u64>) {
        let mut stack: Vec<u32> = Vec::new();
        let (mut first, mut counts) = (0, Vec::new());
        for &page in accesses {
            match stack.iter().rev().position(|&other| other == page) {
                Some(depth) => {
                    stack.retain(|&other| other != page);
                    if counts.len() <= depth {
                        counts.resize(depth + 1, 0);
                    }
                    counts[depth] += 1;
                }
                None => first += 1,
            }
            stack.push(page);
        }
        (first, counts)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn as_a_stack_moved_by_hand(
            accesses in prop_oneof![
                prop::collection::vec(0..40_u32, 0..400),
                // Across blocks, and past a renumbering.
                prop::collection::vec(0..2500_u32, 4000..6000),
                // Two pages in turn, as a file's key block and its page are.
                prop::collection::vec((0..3_u32, 3..9_u32), 0..300)
                    .prop_map(|pairs| pairs.into_iter().flat_map(|(key, page)| [key, page]).collect()),
            ],
        ) {
            let mut distances = StackDistances::default();
            for &page in &accesses {
                distances.access(page);
            }
            let (first, counts) = by_hand(&accesses);
            prop_assert_eq!(distances.first_touches(), first);
            prop_assert_eq!(distances.counts(), counts);
        }
    }

    /// Pages enough for blocks of every size, met again in both orders.
    #[test]
    fn distances_across_large_blocks() {
        let pages = 2 * u32::try_from(LARGE).unwrap() + 700;
        let mut distances = StackDistances::default();
        for page in (0..pages).chain(0..pages) {
            distances.access(page);
        }
        // A loop: every distance is the number of pages.
        assert_eq!(distances.counts().last(), Some(&u64::from(pages)));
        assert_eq!(distances.counts().iter().sum::<u64>(), u64::from(pages));
        for page in (0..pages).rev() {
            distances.prepare(page);
            distances.access(page);
        }
        // Back: the page met at step s is at distance s + 1.
        assert!(distances.counts()[..pages as usize - 1].iter().all(|&count| count == 1));
        assert_eq!(distances.counts().last(), Some(&(u64::from(pages) + 1)));
    }

    #[test]
    fn renumbering_changes_no_distance() {
        let mut distances = StackDistances::default();
        // Many more accesses than places, and more pages than the first tree has places.
        for round in 0..20_u32 {
            for page in 0..5000 {
                distances.access(if round % 2 == 0 { page } else { 4999 - page });
            }
        }
        assert_eq!(distances.accesses(), 100_000);
        assert_eq!(distances.first_touches(), 5000);
        // Back and forth: in each later round the page met at step s is at distance s + 1.
        assert_eq!(distances.counts().iter().sum::<u64>(), 95_000);
        assert!(distances.counts().iter().all(|&count| count == 19));
    }
}
