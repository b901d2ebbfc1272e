//! Exact LRU stack distances: how many different pages were touched since a page was touched last.
//!
//! A cache of N pages that evicts what was used longest ago has a page exactly when its distance is at most N (R. Mattson and
//! others, 1970), so one pass answers for every size. The last touches are bits in their order; a Fenwick tree over blocks of
//! them counts the pages in between. Both are small enough for a processor's cache, which a tree over single places is not.
//! They are renumbered when full, so memory grows with the pages and not with the accesses.

/// Distances of a sequence of accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct StackDistances {
    /// By page: where its last touch is in the order, plus one; 0 for a page not touched yet.
    place: Vec<u32>,
    /// By place: the page touched there.
    page: Vec<u32>,
    /// By place, a bit: whether it is a page's last touch.
    live_bits: Vec<u64>,
    /// Fenwick tree over blocks of places: how many last touches each has.
    blocks: Vec<u32>,
    /// Pages touched.
    live: u32,
    /// By distance less one: how often.
    counts: Vec<u64>,
    first_touches: u64,
    accesses: u64,
}

/// Places before the first renumbering.
const FEWEST_PLACES: usize = 1 << 12;
/// Places of a word of bits.
const WORD: usize = 64;
/// Words of a block: half a cache line of the tree stands for eight lines of bits.
const BLOCK_WORDS: usize = 16;
/// Places of a block.
const BLOCK: usize = WORD * BLOCK_WORDS;

impl StackDistances {
    /// A touch of page `page`, whose number is small.
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
        if self.page.len() - next < BLOCK {
            return self.between(next, self.page.len());
        }
        let block = next / BLOCK;
        let mut before = self.between(block * BLOCK, next);
        let mut tree = block;
        while tree > 0 {
            before = before.wrapping_add(self.blocks.get(tree - 1).copied().unwrap_or(0));
            tree &= tree - 1;
        }
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
    fn change(&mut self, at: usize, change: u32) {
        if let Some(word) = self.live_bits.get_mut(at / WORD) {
            *word ^= 1 << (at % WORD);
        }
        let mut tree = at / BLOCK + 1;
        while let Some(slot) = self.blocks.get_mut(tree - 1) {
            *slot = slot.wrapping_add(change);
            tree += tree & tree.wrapping_neg();
        }
    }

    /// Leaves out the places that are no page's last touch any more.
    fn renumber(&mut self) {
        let mut kept = 0;
        for at in 0..self.page.len() {
            let Some(&page) = self.page.get(at) else { break };
            if let Some(place) = self.place.get_mut(page as usize)
                && *place as usize == at + 1
            {
                kept += 1;
                *place = u32::try_from(kept).unwrap_or(u32::MAX);
                if let Some(slot) = self.page.get_mut(kept - 1) {
                    *slot = page;
                }
            }
        }
        self.page.truncate(kept);
        let places = (kept * 4).max(FEWEST_PLACES).next_multiple_of(BLOCK);
        self.live_bits.clear();
        self.live_bits.resize(places / WORD, 0);
        for (at, word) in self.live_bits.iter_mut().enumerate() {
            let ones = kept.saturating_sub(at * WORD).min(WORD);
            *word = if ones == WORD { u64::MAX } else { !(u64::MAX << ones) };
        }
        self.blocks.clear();
        self.blocks.resize(places / BLOCK, 0);
        // A tree over full blocks at its start, built in one pass.
        for at in 1..=self.blocks.len() {
            let own = u32::try_from(kept.saturating_sub((at - 1) * BLOCK).min(BLOCK)).unwrap_or(0);
            let sum = self.blocks.get(at - 1).copied().unwrap_or(0).wrapping_add(own);
            if let Some(slot) = self.blocks.get_mut(at - 1) {
                *slot = sum;
            }
            let parent = at + (at & at.wrapping_neg());
            if let Some(slot) = self.blocks.get_mut(parent - 1) {
                *slot = slot.wrapping_add(sum);
            }
        }
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
