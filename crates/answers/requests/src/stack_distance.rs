//! Exact LRU stack distances: the number of distinct pages accessed since the last access to a page.
//!
//! An LRU cache of N pages contains a page if and only if its distance is at most N (R. Mattson et al., 1970), so one
//! pass covers every cache size. The last accesses are bits in chronological order, counted in blocks of three sizes:
//! an access changes one counter per size, and a distance sums a few neighboring counters. A Fenwick tree would need
//! one step per power of two, and most steps would miss the CPU cache. Positions are renumbered when they run out, so
//! memory grows with the number of pages, not with the number of accesses.
//!
//! Items of several kinds can share the stack: pages, and key blocks of files. Distances are counted per kind, so one
//! pass covers a page cache and a cache of both.

/// The accessed items, in the order of their last accesses.
#[derive(Clone, Debug)]
pub(super) struct StackDistances<const KINDS: usize> {
    /// Position of the last access plus one, by kind and number; 0 if never accessed.
    positions: [Vec<u32>; KINDS],
    /// Item number by position.
    numbers: Vec<u32>,
    /// One bit by position and kind: set if it is the last access of an item of that kind.
    live_bits: Vec<[u64; KINDS]>,
    /// Number of last accesses by kind and block of positions, for each of three block sizes.
    small: [Vec<u16>; KINDS],
    middle: [Vec<u32>; KINDS],
    large: [Vec<u32>; KINDS],
    /// Number of accessed items by kind.
    live: [u32; KINDS],
}

/// Positions before the first renumbering.
const MIN_POSITIONS: usize = 1 << 12;
/// Number of items above which there are two positions per item instead of four, to save memory.
const MIN_COMPACT_ITEMS: usize = 1 << 20;
/// Positions per word of bits.
const WORD: usize = 64;
/// Positions per small block: two words, because counting bits is slow on processors without an instruction for it.
const SMALL: usize = WORD * 2;
/// Positions per middle block.
const MIDDLE: usize = SMALL * 32;
/// Positions per large block.
const LARGE: usize = MIDDLE * 32;
/// Number of items up to which everything fits in the CPU caches.
const MAX_CACHED_ITEMS: usize = 1 << 16;

impl<const KINDS: usize> Default for StackDistances<KINDS> {
    fn default() -> Self {
        Self {
            positions: std::array::from_fn(|_| Vec::new()),
            numbers: Vec::new(),
            live_bits: Vec::new(),
            small: std::array::from_fn(|_| Vec::new()),
            middle: std::array::from_fn(|_| Vec::new()),
            large: std::array::from_fn(|_| Vec::new()),
            live: [0; KINDS],
        }
    }
}

impl<const KINDS: usize> StackDistances<KINDS> {
    /// Prefetches the data for accesses to items of the first kind into the CPU caches, without side effects. In a
    /// separate loop the processor overlaps the cache misses.
    pub(super) fn prepare(&self, numbers: impl Iterator<Item = u32> + Clone) {
        let Some(positions) = self.positions.first().filter(|positions| positions.len() > MAX_CACHED_ITEMS) else {
            return;
        };
        let position = |number: u32| positions.get(number as usize).copied().unwrap_or(0);
        let touched = numbers.clone().fold(0, |sum, number| sum ^ position(number));
        std::hint::black_box(touched);
        let bits = |position: u32| self.live_bits.get(position as usize / WORD).and_then(|bits| bits.first().copied());
        let touched = numbers.fold(0, |sum, number| sum ^ bits(position(number)).unwrap_or(0));
        std::hint::black_box(touched);
    }

    /// Records an access to item `number` (small) of `kind`. Returns the number of other items of each kind accessed
    /// since its last access; `None` for the first access.
    #[inline]
    pub(super) fn touch(&mut self, kind: usize, number: u32) -> Option<[u32; KINDS]> {
        let index = number as usize;
        let positions = self.positions.get_mut(kind)?;
        if index >= positions.len() {
            positions.resize(index + 1, 0);
        }
        let position = positions.get(index).copied().unwrap_or(0) as usize;
        if position != 0 && position == self.numbers.len() {
            // The most recent item stays where it is.
            return Some([0; KINDS]);
        }
        if position != 0 && position + 1 == self.numbers.len() {
            // The second most recent: the two swap positions.
            return Some(self.swap_last_two(kind));
        }
        if self.numbers.len() >= self.live_bits.len() * WORD {
            self.renumber();
        }
        let distances = match self.position_of(kind, number).checked_sub(1) {
            Some(old_position) => {
                let distances = self.count_after(old_position as usize);
                self.change(kind, old_position as usize, u32::MAX);
                Some(distances)
            }
            None => {
                if let Some(live) = self.live.get_mut(kind) {
                    *live += 1;
                }
                None
            }
        };
        let position = self.numbers.len();
        self.numbers.push(number);
        self.change(kind, position, 1);
        self.set_position(kind, number, position + 1);
        distances
    }

    fn position_of(&self, kind: usize, number: u32) -> u32 {
        self.positions.get(kind).and_then(|positions| positions.get(number as usize)).copied().unwrap_or(0)
    }

    fn set_position(&mut self, kind: usize, number: u32, position: usize) {
        let slot = self.positions.get_mut(kind).and_then(|positions| positions.get_mut(number as usize));
        if let (Some(slot), Ok(position)) = (slot, u32::try_from(position)) {
            *slot = position;
        }
    }

    /// Returns the kind of the item at a live position.
    fn kind_at(&self, position: usize) -> usize {
        let bits = self.live_bits.get(position / WORD);
        bits.and_then(|bits| bits.iter().position(|bits| bits >> (position % WORD) & 1 != 0)).unwrap_or(0)
    }

    /// Moves the second most recent item, of `kind`, to the top and returns its distance.
    fn swap_last_two(&mut self, kind: usize) -> [u32; KINDS] {
        let Some(last) = self.numbers.len().checked_sub(1) else { return [0; KINDS] };
        let second_last = last.saturating_sub(1);
        let last_kind = self.kind_at(last);
        if let [.., second_last_number, last_number] = self.numbers.as_mut_slice() {
            std::mem::swap(second_last_number, last_number);
        }
        for (kind, position) in [(last_kind, second_last), (kind, last)] {
            if let Some(&number) = self.numbers.get(position) {
                self.set_position(kind, number, position + 1);
            }
        }
        if last_kind != kind {
            self.move_bit(kind, second_last, last);
            self.move_bit(last_kind, last, second_last);
        }
        std::array::from_fn(|index| u32::from(index == last_kind))
    }

    fn move_bit(&mut self, kind: usize, old_position: usize, new_position: usize) {
        if old_position / SMALL == new_position / SMALL {
            // No count changes.
            self.flip(kind, old_position);
            self.flip(kind, new_position);
        } else {
            self.change(kind, old_position, u32::MAX);
            self.change(kind, new_position, 1);
        }
    }

    /// Counts the set bits after position `position`, by kind.
    fn count_after(&self, position: usize) -> [u32; KINDS] {
        let next = position + 1;
        if self.numbers.len() - next < SMALL {
            return self.count_range(next, self.numbers.len());
        }
        let (small, middle, large) = (next / SMALL, next / MIDDLE, next / LARGE);
        let bits = self.count_range(small * SMALL, next);
        std::array::from_fn(|kind| {
            let sum = |blocks: &[Vec<u32>; KINDS], start: usize, end: usize| -> u32 {
                blocks.get(kind).and_then(|counts| counts.get(start..end)).unwrap_or_default().iter().sum()
            };
            let in_small = self.small.get(kind).and_then(|counts| counts.get(middle * (MIDDLE / SMALL)..small));
            let in_small: u32 = in_small.unwrap_or_default().iter().map(|&count| u32::from(count)).sum();
            let preceding = bits.get(kind).copied().unwrap_or(0)
                + in_small
                + sum(&self.middle, large * (LARGE / MIDDLE), middle)
                + sum(&self.large, 0, large);
            self.live.get(kind).copied().unwrap_or(0).wrapping_sub(preceding)
        })
    }

    /// Counts the set bits from `start` up to, but not including, `end`, by kind.
    fn count_range(&self, start: usize, end: usize) -> [u32; KINDS] {
        let (first, last) = (start / WORD, end / WORD);
        let words = self.live_bits.get(first..=last.min(self.live_bits.len().saturating_sub(1))).unwrap_or_default();
        let mut sums = [0; KINDS];
        for (index, words) in (first..).zip(words) {
            let mut mask = u64::MAX;
            if index == first {
                mask &= u64::MAX << (start % WORD);
            }
            if index == last {
                mask &= !(u64::MAX << (end % WORD));
            }
            for (sum, word) in sums.iter_mut().zip(words) {
                *sum += (word & mask).count_ones();
            }
        }
        sums
    }

    fn flip(&mut self, kind: usize, position: usize) {
        if let Some(word) = self.live_bits.get_mut(position / WORD).and_then(|bits| bits.get_mut(kind)) {
            *word ^= 1 << (position % WORD);
        }
    }

    /// Sets (1) or clears (wrapped −1) the bit of a position.
    #[inline]
    fn change(&mut self, kind: usize, position: usize, change: u32) {
        self.flip(kind, position);
        if let Some(count) = self.small.get_mut(kind).and_then(|counts| counts.get_mut(position / SMALL)) {
            *count = count.wrapping_add(change as u16);
        }
        for (counts, block) in [(&mut self.middle, MIDDLE), (&mut self.large, LARGE)] {
            if let Some(count) = counts.get_mut(kind).and_then(|counts| counts.get_mut(position / block)) {
                *count = count.wrapping_add(change);
            }
        }
    }

    /// Removes positions that are no longer last accesses.
    fn renumber(&mut self) {
        let mut live_count = 0;
        for word in 0..self.live_bits.len() {
            let bits = self.live_bits.get(word).copied().unwrap_or([0; KINDS]);
            // Remaining items move to the front, over positions already processed.
            if let Some(bits) = self.live_bits.get_mut(word) {
                *bits = [0; KINDS];
            }
            let mut remaining_bits = bits.iter().fold(0, |set_bits, bits| set_bits | bits);
            while remaining_bits != 0 {
                let bit = remaining_bits.trailing_zeros();
                remaining_bits &= remaining_bits - 1;
                let Some(&number) = self.numbers.get(word * WORD + bit as usize) else { break };
                let kind = bits.iter().position(|bits| bits >> bit & 1 != 0).unwrap_or(0);
                if let Some(slot) = self.numbers.get_mut(live_count) {
                    *slot = number;
                }
                self.flip(kind, live_count);
                live_count += 1;
                self.set_position(kind, number, live_count);
            }
        }
        self.numbers.truncate(live_count);
        let positions = if live_count < MIN_COMPACT_ITEMS { live_count * 4 } else { live_count * 2 };
        let positions = positions.max(MIN_POSITIONS).next_multiple_of(SMALL);
        self.numbers.reserve_exact(positions - live_count);
        self.live_bits.resize(positions / WORD, [0; KINDS]);
        for kind in 0..KINDS {
            let counts: Vec<u16> = self
                .live_bits
                .chunks(SMALL / WORD)
                .map(|words| words.iter().filter_map(|bits| bits.get(kind)).map(|bits| bits.count_ones() as u16).sum())
                .collect();
            let middle: Vec<u32> = counts
                .chunks(MIDDLE / SMALL)
                .map(|counts| counts.iter().map(|&count| u32::from(count)).sum())
                .collect();
            let large = middle.chunks(LARGE / MIDDLE).map(|counts| counts.iter().sum()).collect();
            for (slots, counts) in [(&mut self.middle, middle), (&mut self.large, large)] {
                if let Some(slot) = slots.get_mut(kind) {
                    *slot = counts;
                }
            }
            if let Some(slot) = self.small.get_mut(kind) {
                *slot = counts;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts the distances of pages of one kind: first accesses, and occurrences by distance minus one.
    fn count_distances(accesses: impl IntoIterator<Item = u32>) -> (u64, Vec<u64>) {
        let mut stack = StackDistances::<1>::default();
        let (mut first_accesses, mut counts) = (0, Vec::new());
        for page in accesses {
            stack.prepare([page].into_iter());
            let Some([distance]) = stack.touch(0, page) else {
                first_accesses += 1;
                continue;
            };
            let index = distance as usize;
            if counts.len() <= index {
                counts.resize(index + 1, 0);
            }
            counts[index] += 1;
        }
        (first_accesses, counts)
    }

    /// Counts, with a naive LRU stack, the items of each kind above the accessed item, for each access.
    fn naive_distances(accesses: &[(usize, u32)]) -> Vec<Option<[u32; 2]>> {
        let mut stack: Vec<(usize, u32)> = Vec::new();
        let mut distances = Vec::new();
        for &access in accesses {
            let position = stack.iter().position(|&item| item == access);
            distances.push(position.map(|position| {
                stack.remove(position);
                [0, 1].map(|kind| stack[position..].iter().filter(|item| item.0 == kind).count() as u32)
            }));
            stack.push(access);
        }
        distances
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn matches_naive_stack(
            accesses in prop_oneof![
                prop::collection::vec((0..2_usize, 0..40_u32), 0..400),
                // One kind only.
                prop::collection::vec((Just(0_usize), 0..40_u32), 0..400),
                // Across blocks, with renumbering.
                prop::collection::vec((prop_oneof![9 => Just(0_usize), 1 => Just(1)], 0..2500_u32), 4000..6000),
                // Two alternating, like a file's key block and its page.
                prop::collection::vec((0..3_u32, 3..9_u32), 0..300)
                    .prop_map(|pairs| pairs.into_iter().flat_map(|(key, page)| [(1, key), (0, page)]).collect()),
            ],
        ) {
            let mut stack = StackDistances::<2>::default();
            let distances: Vec<_> = accesses.iter().map(|&(kind, number)| stack.touch(kind, number)).collect();
            prop_assert_eq!(distances, naive_distances(&accesses));
        }
    }

    /// Enough pages for blocks of every size, accessed again in both orders.
    #[test]
    fn counts_across_large_blocks() {
        let pages = 2 * u32::try_from(LARGE).unwrap() + 700;
        // A loop: every distance is the number of pages.
        let (first, counts) = count_distances((0..pages).chain(0..pages));
        assert_eq!(
            (first, counts.len(), counts.iter().sum::<u64>()),
            (u64::from(pages), pages as usize, u64::from(pages))
        );
        // Reversed: the page accessed at step s is at distance s + 1.
        let (_, counts) = count_distances((0..pages).chain((0..pages).rev()));
        assert!(counts.len() == pages as usize && counts.iter().all(|&count| count == 1));
    }

    #[test]
    fn renumbering_preserves_distances() {
        // Many more accesses than positions, and more pages than the initial positions.
        let round =
            |round: u32| (0..5000_u32).map(move |page| if round.is_multiple_of(2) { page } else { 4999 - page });
        let (first, counts) = count_distances((0..20).flat_map(round));
        assert_eq!(first, 5000);
        // Alternating directions: in each later round the page accessed at step s is at distance s + 1.
        assert_eq!(counts.iter().sum::<u64>(), 95_000);
        assert!(counts.iter().all(|&count| count == 19));
    }
}
