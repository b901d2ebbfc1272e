//! Block numbers have 16 bits; files have more blocks. Which block a number means follows from those seen before.

/// Blocks behind the highest that are distinguished.
const REMEMBERED: u64 = 1 << 15;
const WORDS: usize = (1 << 16) / 64;

/// The blocks of one transfer.
#[derive(Clone, Debug, Default)]
pub struct BlockNumbers {
    /// One bit for each of the last 65,536 blocks, by the low bits of its position; as long as the highest needs, for
    /// most files are short and a capture may hold thousands.
    seen: Vec<u64>,
    highest: u64,
    any: bool,
    /// What follows 65,535: 0, or with some servers 1.
    follows_last: Option<u16>,
    wraps: u32,
}

impl BlockNumbers {
    /// The position, from 1, of the block that `number` means in a DATA packet, and whether it is seen for the first
    /// time.
    pub fn see(&mut self, number: u16) -> (u64, bool) {
        if self.follows_last.is_none() && self.any && number_of(self.highest, 0) == u16::MAX {
            // The first time round decides: a server that goes on with 1 has no block 0.
            match number {
                0 => self.follows_last = Some(0),
                1 => self.follows_last = Some(1),
                _ => {}
            }
        }
        let position = self.position(number);
        if position > self.highest || !self.any {
            // What a jump passes over has not been seen, whatever the ring holds there.
            let first = self.highest.saturating_add(1).max(position.saturating_sub(1 << 16));
            for passed in first..=position {
                self.clear(passed);
            }
            let before = self.rounds(self.highest);
            self.highest = position;
            self.any = true;
            self.wraps = self.wraps.saturating_add((self.rounds(position) - before) as u32);
        }
        let new = !self.is_set(position);
        self.set(position);
        (position, new)
    }

    /// The position that `number` means in an ACK: the one nearest the highest block seen.
    #[must_use]
    pub fn position(&self, number: u16) -> u64 {
        let period = self.period();
        let start = u64::from(number) + if number == 0 && period == 65_535 { period } else { 0 };
        // The candidates are `start` plus whole rounds; the nearest to `highest` lies in this one or a neighbor.
        let round = self.highest / period;
        let candidates = [round.checked_sub(1), Some(round), round.checked_add(1)];
        candidates
            .into_iter()
            .flatten()
            .map(|round| start.saturating_add(round.saturating_mul(period)))
            .min_by_key(|position| position.abs_diff(self.highest))
            .unwrap_or(start)
    }

    /// The highest position seen; 0 before the first block.
    #[must_use]
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// How often the number began anew.
    #[must_use]
    pub fn wraps(&self) -> u32 {
        self.wraps
    }

    /// What the server sends after 65,535, once it has: 0, or 1.
    #[must_use]
    pub fn after_last(&self) -> Option<u16> {
        self.follows_last
    }

    fn period(&self) -> u64 {
        match self.follows_last {
            Some(1) => 65_535,
            _ => 65_536,
        }
    }

    fn rounds(&self, position: u64) -> u64 {
        match self.period() {
            65_535 => position.saturating_sub(1) / 65_535,
            period => position / period,
        }
    }

    fn is_set(&self, position: u64) -> bool {
        // Older than what is remembered: it must have been seen, or it would be missing from the file.
        position + REMEMBERED * 2 <= self.highest
            || self.seen.get(word(position)).is_some_and(|word| word & bit(position) != 0)
    }

    fn set(&mut self, position: u64) {
        let word = word(position);
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        self.seen[word] |= bit(position);
    }

    fn clear(&mut self, position: u64) {
        if let Some(word) = self.seen.get_mut(word(position)) {
            *word &= !bit(position);
        }
    }
}

fn number_of(position: u64, round: u64) -> u16 {
    (position.wrapping_sub(round) & 0xFFFF) as u16
}

fn word(position: u64) -> usize {
    (position as usize / 64) % WORDS
}

fn bit(position: u64) -> u64 {
    1 << (position % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_rounds_in_order_with_repeats() {
        let mut blocks = BlockNumbers::default();
        for position in 1..200_000_u64 {
            assert_eq!(blocks.see(position as u16), (position, true));
            assert_eq!(blocks.position(position as u16), position);
            if position % 1000 == 0 && position > 40 {
                assert_eq!(blocks.see((position - 40) as u16), (position - 40, false));
            }
        }
        assert_eq!(blocks.wraps(), 3);
        assert_eq!(blocks.after_last(), Some(0));
    }

    #[test]
    fn servers_that_go_on_with_one() {
        let mut blocks = BlockNumbers::default();
        for position in 1..200_000_u64 {
            let number = ((position - 1) % 65_535 + 1) as u16;
            assert_eq!(blocks.see(number), (position, true), "{position}");
        }
        assert_eq!(blocks.after_last(), Some(1));
        assert_eq!(blocks.wraps(), 3);
    }

    #[test]
    fn a_lost_block_is_new_when_it_comes_at_last() {
        let mut blocks = BlockNumbers::default();
        for number in [1, 2, 4, 5] {
            assert!(blocks.see(number).1);
        }
        assert_eq!(blocks.see(3), (3, true));
        assert_eq!(blocks.see(3), (3, false));
    }

    proptest! {
        #[test]
        fn any_numbers_keep_the_highest_highest(numbers in proptest::collection::vec(any::<u16>(), 1..2000)) {
            let mut blocks = BlockNumbers::default();
            for number in numbers {
                let (position, _) = blocks.see(number);
                prop_assert!(position <= blocks.highest());
                prop_assert!(!blocks.see(number).1, "the same number again means the same block");
            }
        }
    }
}
