//! Exact LRU stack distances: how many different pages were touched since a page was touched last.
//!
//! A cache of N pages that evicts what was used longest ago has a page exactly when its distance is at most N (R. Mattson and
//! others, 1970), so one pass answers for every size. A Fenwick tree over the order of last touches counts the pages in between;
//! it is renumbered when full, so memory grows with the pages and not with the accesses.

/// Distances of a sequence of accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct StackDistances {
    /// By page: where its last touch is in the order, plus one; 0 for a page not touched yet.
    place: Vec<u32>,
    /// By place: the page touched there.
    page: Vec<u32>,
    /// Fenwick tree over the places: 1 where a page's last touch is.
    tree: Vec<u32>,
    /// Pages touched.
    live: u32,
    /// By distance less one: how often.
    counts: Vec<u64>,
    first_touches: u64,
    accesses: u64,
}

/// Places before the first renumbering.
const FEWEST_PLACES: usize = 1 << 12;

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
        if self.page.len() >= self.tree.len() {
            self.renumber();
        }
        match self.place.get(index).copied().unwrap_or(0) {
            0 => {
                self.first_touches += 1;
                self.live += 1;
            }
            place => {
                let at = place as usize - 1;
                let since = self.live - self.before(at + 1);
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

    /// Live places before `end`.
    fn before(&self, end: usize) -> u32 {
        let mut sum = 0_u32;
        let mut at = end;
        while at > 0 {
            sum = sum.wrapping_add(self.tree.get(at - 1).copied().unwrap_or(0));
            at &= at - 1;
        }
        sum
    }

    /// Adds `change` (1, or minus one as its wrapped form) at a place.
    fn change(&mut self, at: usize, change: u32) {
        let mut at = at + 1;
        while let Some(slot) = self.tree.get_mut(at - 1) {
            *slot = slot.wrapping_add(change);
            at += at & at.wrapping_neg();
        }
    }

    /// Leaves out the places that are no page's last touch any more.
    fn renumber(&mut self) {
        let mut kept = Vec::with_capacity(self.live as usize);
        for (at, &page) in self.page.iter().enumerate() {
            if let Some(place) = self.place.get_mut(page as usize)
                && *place as usize == at + 1
            {
                kept.push(page);
                *place = u32::try_from(kept.len()).unwrap_or(u32::MAX);
            }
        }
        let places = (kept.len() * 4).max(FEWEST_PLACES);
        self.tree.clear();
        self.tree.resize(places, 0);
        // A tree over ones at its start, built in one pass.
        for at in 1..=places {
            let own = u32::from(at <= kept.len());
            let sum = self.tree.get(at - 1).copied().unwrap_or(0).wrapping_add(own);
            if let Some(slot) = self.tree.get_mut(at - 1) {
                *slot = sum;
            }
            let parent = at + (at & at.wrapping_neg());
            if let Some(slot) = self.tree.get_mut(parent - 1) {
                *slot = slot.wrapping_add(sum);
            }
        }
        self.page = kept;
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
        #[test]
        fn as_a_stack_moved_by_hand(accesses in prop::collection::vec(0..40_u32, 0..400)) {
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
