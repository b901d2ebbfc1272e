//! Exact LRU stack distances: how many different pages were touched since a page was touched last.
//!
//! A cache of N pages that evicts what was used longest ago has a page exactly when its distance is at most N (R. Mattson and
//! others, 1970), so one pass answers for every size. The last touches are bits in their order, counted in blocks of three sizes:
//! a touch changes one number of each, and a distance sums a few neighbors of each. A Fenwick tree has a step for every power of
//! two instead, most of them somewhere else in memory. The touches are renumbered when their places are used up, so memory grows
//! with the pages and not with the accesses.
//!
//! Things of several kinds can share the stack: pages, and the key blocks of files. How many of each kind were touched since is
//! counted apart, so one pass answers for a cache of pages and for one that holds both.

/// The things that were touched, in the order of their last touches.
#[derive(Clone, Debug)]
pub(super) struct StackDistances<const KINDS: usize> {
    /// By kind and number: where its last touch is in the order, plus one; 0 for what was not touched yet.
    place: [Vec<u32>; KINDS],
    /// By place: the number of what was touched there.
    number: Vec<u32>,
    /// By place and kind, a bit: whether it is the last touch of something of that kind.
    live_bits: Vec<[u64; KINDS]>,
    /// By kind and small block of places: how many last touches it has; likewise the others.
    small: [Vec<u16>; KINDS],
    middle: [Vec<u32>; KINDS],
    large: [Vec<u32>; KINDS],
    /// By kind: how many were touched.
    live: [u32; KINDS],
}

/// Places before the first renumbering.
const MIN_PLACES: usize = 1 << 12;
/// Things above which there are two places for each in place of four: the memory counts more than the renumbering.
const MANY: usize = 1 << 20;
/// Places of a word of bits.
const WORD: usize = 64;
/// Places of a small block: two words, because counting the bits of one is dear on processors without an instruction for it.
const SMALL: usize = WORD * 2;
/// Places of a middle block.
const MIDDLE: usize = SMALL * 32;
/// Places of a large block.
const LARGE: usize = MIDDLE * 32;
/// Numbers up to which everything is near the processor anyhow.
const NEAR: usize = 1 << 16;

impl<const KINDS: usize> Default for StackDistances<KINDS> {
    fn default() -> Self {
        Self {
            place: std::array::from_fn(|_| Vec::new()),
            number: Vec::new(),
            live_bits: Vec::new(),
            small: std::array::from_fn(|_| Vec::new()),
            middle: std::array::from_fn(|_| Vec::new()),
            large: std::array::from_fn(|_| Vec::new()),
            live: [0; KINDS],
        }
    }
}

impl<const KINDS: usize> StackDistances<KINDS> {
    /// Brings what touches of pages of the first kind will need near the processor. It changes nothing. In a separate loop a
    /// processor waits for many of them at a time.
    pub(super) fn prepare(&self, numbers: impl Iterator<Item = u32> + Clone) {
        let Some(places) = self.place.first().filter(|places| places.len() > NEAR) else { return };
        let place = |number: u32| places.get(number as usize).copied().unwrap_or(0);
        let touched = numbers.clone().fold(0, |sum, number| sum ^ place(number));
        std::hint::black_box(touched);
        let bits = |place: u32| self.live_bits.get(place as usize / WORD).and_then(|bits| bits.first().copied());
        let touched = numbers.fold(0, |sum, number| sum ^ bits(place(number)).unwrap_or(0));
        std::hint::black_box(touched);
    }

    /// A touch of page `number`, which is small, of `kind`: how many other pages of each kind were touched since it was touched last;
    /// `None` for its first touch.
    #[inline]
    pub(super) fn touch(&mut self, kind: usize, number: u32) -> Option<[u32; KINDS]> {
        let index = number as usize;
        let places = self.place.get_mut(kind)?;
        if index >= places.len() {
            places.resize(index + 1, 0);
        }
        let place = places.get(index).copied().unwrap_or(0) as usize;
        if place != 0 && place == self.number.len() {
            // What was touched last: it stays where it is.
            return Some([0; KINDS]);
        }
        if place != 0 && place + 1 == self.number.len() {
            // The one before: the two change places, both of which stay last touches.
            return Some(self.swap_last_two(kind));
        }
        if self.number.len() >= self.live_bits.len() * WORD {
            self.renumber();
        }
        let after = match self.place_of(kind, number).checked_sub(1) {
            Some(at) => {
                let after = self.after(at as usize);
                self.change(kind, at as usize, u32::MAX);
                Some(after)
            }
            None => {
                if let Some(live) = self.live.get_mut(kind) {
                    *live += 1;
                }
                None
            }
        };
        let at = self.number.len();
        self.number.push(number);
        self.change(kind, at, 1);
        self.set_place(kind, number, at + 1);
        after
    }

    fn place_of(&self, kind: usize, number: u32) -> u32 {
        self.place.get(kind).and_then(|places| places.get(number as usize)).copied().unwrap_or(0)
    }

    fn set_place(&mut self, kind: usize, number: u32, place: usize) {
        let slot = self.place.get_mut(kind).and_then(|places| places.get_mut(number as usize));
        if let (Some(slot), Ok(place)) = (slot, u32::try_from(place)) {
            *slot = place;
        }
    }

    /// The kind of what was touched at a live place.
    fn kind_at(&self, at: usize) -> usize {
        let bits = self.live_bits.get(at / WORD);
        bits.and_then(|bits| bits.iter().position(|bits| bits >> (at % WORD) & 1 != 0)).unwrap_or(0)
    }

    /// Lets the one before the last, of `kind`, be the last; answers what was.
    fn swap_last_two(&mut self, kind: usize) -> [u32; KINDS] {
        let Some(last) = self.number.len().checked_sub(1) else { return [0; KINDS] };
        let other = self.kind_at(last);
        if let [.., before, last] = self.number.as_mut_slice() {
            std::mem::swap(before, last);
        }
        let (before, after) = (last.saturating_sub(1), last);
        for (kind, at) in [(other, before), (kind, after)] {
            if let Some(&number) = self.number.get(at) {
                self.set_place(kind, number, at + 1);
            }
        }
        if other != kind {
            self.move_bit(kind, before, after);
            self.move_bit(other, after, before);
        }
        std::array::from_fn(|at| u32::from(at == other))
    }

    fn move_bit(&mut self, kind: usize, from: usize, to: usize) {
        if from / SMALL == to / SMALL {
            // No count changes.
            self.flip(kind, from);
            self.flip(kind, to);
        } else {
            self.change(kind, from, u32::MAX);
            self.change(kind, to, 1);
        }
    }

    /// Live places after `at`, by kind.
    fn after(&self, at: usize) -> [u32; KINDS] {
        let next = at + 1;
        if self.number.len() - next < SMALL {
            return self.between(next, self.number.len());
        }
        let (small, middle, large) = (next / SMALL, next / MIDDLE, next / LARGE);
        let bits = self.between(small * SMALL, next);
        std::array::from_fn(|kind| {
            let of = |blocks: &[Vec<u32>; KINDS], from: usize, to: usize| -> u32 {
                blocks.get(kind).and_then(|counts| counts.get(from..to)).unwrap_or_default().iter().sum()
            };
            let in_small = self.small.get(kind).and_then(|counts| counts.get(middle * (MIDDLE / SMALL)..small));
            let in_small: u32 = in_small.unwrap_or_default().iter().map(|&count| u32::from(count)).sum();
            let before = bits.get(kind).copied().unwrap_or(0)
                + in_small
                + of(&self.middle, large * (LARGE / MIDDLE), middle)
                + of(&self.large, 0, large);
            self.live.get(kind).copied().unwrap_or(0).wrapping_sub(before)
        })
    }

    /// Live places from `start` up to, not including, `end`, counted bit by bit, by kind.
    fn between(&self, start: usize, end: usize) -> [u32; KINDS] {
        let (first, last) = (start / WORD, end / WORD);
        let words = self.live_bits.get(first..=last.min(self.live_bits.len().saturating_sub(1))).unwrap_or_default();
        let mut sums = [0; KINDS];
        for (at, words) in (first..).zip(words) {
            let mut mask = u64::MAX;
            if at == first {
                mask &= u64::MAX << (start % WORD);
            }
            if at == last {
                mask &= !(u64::MAX << (end % WORD));
            }
            for (sum, word) in sums.iter_mut().zip(words) {
                *sum += (word & mask).count_ones();
            }
        }
        sums
    }

    fn flip(&mut self, kind: usize, at: usize) {
        if let Some(word) = self.live_bits.get_mut(at / WORD).and_then(|bits| bits.get_mut(kind)) {
            *word ^= 1 << (at % WORD);
        }
    }

    /// Sets (1) or clears (minus one in its wrapped form) the bit of a place.
    #[inline]
    fn change(&mut self, kind: usize, at: usize, change: u32) {
        self.flip(kind, at);
        if let Some(count) = self.small.get_mut(kind).and_then(|counts| counts.get_mut(at / SMALL)) {
            *count = count.wrapping_add(change as u16);
        }
        for (counts, block) in [(&mut self.middle, MIDDLE), (&mut self.large, LARGE)] {
            if let Some(count) = counts.get_mut(kind).and_then(|counts| counts.get_mut(at / block)) {
                *count = count.wrapping_add(change);
            }
        }
    }

    /// Leaves out the places that are no last touch any more.
    fn renumber(&mut self) {
        let mut kept = 0;
        for word in 0..self.live_bits.len() {
            let bits = self.live_bits.get(word).copied().unwrap_or([0; KINDS]);
            // The kept ones move to the front, over places that were looked at already.
            if let Some(bits) = self.live_bits.get_mut(word) {
                *bits = [0; KINDS];
            }
            let mut left = bits.iter().fold(0, |all, bits| all | bits);
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let Some(&number) = self.number.get(word * WORD + bit as usize) else { break };
                let kind = bits.iter().position(|bits| bits >> bit & 1 != 0).unwrap_or(0);
                if let Some(slot) = self.number.get_mut(kept) {
                    *slot = number;
                }
                self.flip(kind, kept);
                kept += 1;
                self.set_place(kind, number, kept);
            }
        }
        self.number.truncate(kept);
        let places = if kept < MANY { kept * 4 } else { kept * 2 };
        let places = places.max(MIN_PLACES).next_multiple_of(SMALL);
        self.number.reserve_exact(places - kept);
        self.live_bits.resize(places / WORD, [0; KINDS]);
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
            for (of_kind, counts) in [(&mut self.middle, middle), (&mut self.large, large)] {
                if let Some(slot) = of_kind.get_mut(kind) {
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

    /// Distances of pages of one kind, counted: first touches, and by distance less one how often.
    fn counted(accesses: impl IntoIterator<Item = u32>) -> (u64, Vec<u64>) {
        let mut stack = StackDistances::<1>::default();
        let (mut first, mut counts) = (0, Vec::new());
        for page in accesses {
            stack.prepare([page].into_iter());
            let Some([after]) = stack.touch(0, page) else {
                first += 1;
                continue;
            };
            let at = after as usize;
            if counts.len() <= at {
                counts.resize(at + 1, 0);
            }
            counts[at] += 1;
        }
        (first, counts)
    }

    /// A stack, moved by hand: for each access how many pages of each kind are above it.
    fn by_hand(accesses: &[(usize, u32)]) -> Vec<Option<[u32; 2]>> {
        let mut stack: Vec<(usize, u32)> = Vec::new();
        let mut answers = Vec::new();
        for &access in accesses {
            let found = stack.iter().position(|&other| other == access);
            answers.push(found.map(|at| {
                stack.remove(at);
                [0, 1].map(|kind| stack[at..].iter().filter(|other| other.0 == kind).count() as u32)
            }));
            stack.push(access);
        }
        answers
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn as_a_stack_moved_by_hand(
            accesses in prop_oneof![
                prop::collection::vec((0..2_usize, 0..40_u32), 0..400),
                // One kind alone, and mostly.
                prop::collection::vec((Just(0_usize), 0..40_u32), 0..400),
                // Across blocks, and past a renumbering.
                prop::collection::vec((prop_oneof![9 => Just(0_usize), 1 => Just(1)], 0..2500_u32), 4000..6000),
                // Two in turn, as a file's key block and its page are.
                prop::collection::vec((0..3_u32, 3..9_u32), 0..300)
                    .prop_map(|pairs| pairs.into_iter().flat_map(|(key, page)| [(1, key), (0, page)]).collect()),
            ],
        ) {
            let mut stack = StackDistances::<2>::default();
            let answers: Vec<_> = accesses.iter().map(|&(kind, number)| stack.touch(kind, number)).collect();
            prop_assert_eq!(answers, by_hand(&accesses));
        }
    }

    /// Pages enough for blocks of every size, met again in both orders.
    #[test]
    fn distances_across_large_blocks() {
        let pages = 2 * u32::try_from(LARGE).unwrap() + 700;
        // A loop: every distance is the number of pages.
        let (first, counts) = counted((0..pages).chain(0..pages));
        assert_eq!(
            (first, counts.len(), counts.iter().sum::<u64>()),
            (u64::from(pages), pages as usize, u64::from(pages))
        );
        // Back: the page met at step s is at distance s + 1.
        let (_, counts) = counted((0..pages).chain((0..pages).rev()));
        assert!(counts.len() == pages as usize && counts.iter().all(|&count| count == 1));
    }

    #[test]
    fn renumbering_changes_no_distance() {
        // Many more accesses than places, and more pages than the first tree has places.
        let round =
            |round: u32| (0..5000_u32).map(move |page| if round.is_multiple_of(2) { page } else { 4999 - page });
        let (first, counts) = counted((0..20).flat_map(round));
        assert_eq!(first, 5000);
        // Back and forth: in each later round the page met at step s is at distance s + 1.
        assert_eq!(counts.iter().sum::<u64>(), 95_000);
        assert!(counts.iter().all(|&count| count == 19));
    }
}
