//! Sorting that is compiled once, whatever is sorted.
//!
//! The standard library's sort is compiled again for each type and each closure, some ten functions and 10 KB of code every time: three
//! hundred copies of it were a sixth of the program and of the time it took to build. Here places in the slice are sorted, by one copy
//! of the standard library's sort, and the slice is put in that order afterwards.
//!
//! Meant for the lists of an answer. It takes eight bytes more for each item and a call for each comparison, so columns with a row for
//! each event keep the standard library's own sort.

use std::cmp::Ordering;

/// Puts a slice in order. All of these are stable: what is equal stays as it was.
pub trait InOrder<T> {
    /// By `compare`.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// By what `key` makes of each item, which it is asked for at each comparison.
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// By the items themselves.
    fn order(&mut self)
    where
        T: Ord;
}

impl<T> InOrder<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let places = in_order(self.len(), &mut |left, right| compare(&self[left], &self[right]));
        arrange(self, places);
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        let places = in_order(self.len(), &mut |left, right| key(&self[left]).cmp(&key(&self[right])));
        arrange(self, places);
    }

    fn order(&mut self)
    where
        T: Ord,
    {
        let places = in_order(self.len(), &mut |left, right| self[left].cmp(&self[right]));
        arrange(self, places);
    }
}

/// The places 0 to `count` in the order of what `compare` says of two of them. The one sort that is compiled.
#[inline(never)]
fn in_order(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    if count < 2 {
        return Vec::new();
    }
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|&left, &right| compare(left, right));
    places
}

/// Puts what is at `places[n]` at `n`, circle by circle.
fn arrange<T>(items: &mut [T], mut places: Vec<usize>) {
    for start in 0..places.len() {
        let mut at = start;
        loop {
            let from = places[at];
            places[at] = at;
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_and_one_are_in_order() {
        let mut none: [u8; 0] = [];
        none.order();
        let mut one = ["a".to_owned()];
        one.order_by_key(String::len);
        assert_eq!(one, ["a"]);
    }

    proptest! {
        /// Pairs of a key and where they were: sorted by the key alone, only a stable sort agrees with the standard library's.
        #[test]
        fn order_is_that_of_the_standard_library(keys in proptest::collection::vec(0_u8..20, 0..300)) {
            let items: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            let mut by_key = items.clone();
            by_key.order_by_key(|item| item.0);
            prop_assert_eq!(&by_key, &expected);
            let mut by = items.clone();
            by.order_by(|left, right| left.0.cmp(&right.0));
            prop_assert_eq!(&by, &expected);

            let mut reversed: Vec<(u8, usize)> = items.into_iter().rev().collect();
            reversed.order();
            prop_assert_eq!(&reversed, &expected);
        }
    }
}
