//! Maps 16-bit TFTP block numbers, which wrap around in large files, to block positions.

/// Maximum distance behind the highest block at which blocks are distinguished.
const MAX_DISTANCE: u64 = 1 << 15;
const WORDS: usize = (1 << 16) / 64;

#[derive(Clone, Debug, Default)]
pub struct BlockNumbers {
    /// One bit for each of the last 65,536 blocks, indexed by the low bits of the position. Grows with the highest
    /// position: most files are short, and a capture may have thousands of transfers.
    seen: Vec<u64>,
    highest: u64,
    has_blocks: bool,
    /// The number after 65,535: 0, or 1 with some servers.
    wrap_number: Option<u16>,
    wraps: u32,
}

impl BlockNumbers {
    /// Records a DATA packet. Returns the position of its block, from 1, and true if the block is new.
    pub fn record(&mut self, number: u16) -> (u64, bool) {
        if self.wrap_number.is_none() && self.has_blocks && block_number(self.highest, 0) == u16::MAX {
            // The first wrap decides: a server that continues with 1 has no block 0.
            match number {
                0 => self.wrap_number = Some(0),
                1 => self.wrap_number = Some(1),
                _ => {}
            }
        }
        let position = self.position(number);
        if position > self.highest || !self.has_blocks {
            // Blocks skipped by a jump have not been seen; the ring may have stale bits for them.
            let first_skipped = self.highest.saturating_add(1).max(position.saturating_sub(1 << 16));
            for skipped in first_skipped..=position {
                self.clear(skipped);
            }
            let old_rounds = self.rounds(self.highest);
            self.highest = position;
            self.has_blocks = true;
            self.wraps = self.wraps.saturating_add((self.rounds(position) - old_rounds) as u32);
        }
        let new = !self.is_set(position);
        self.set(position);
        (position, new)
    }

    /// Returns the position of `number` in an ACK: the candidate closest to the highest block seen.
    #[must_use]
    pub fn position(&self, number: u16) -> u64 {
        let period = self.period();
        let start = u64::from(number) + if number == 0 && period == 65_535 { period } else { 0 };
        // Candidates are `start` plus whole rounds; the closest to `highest` is in the same or an adjacent round.
        let round = self.highest / period;
        let candidates = [round.checked_sub(1), Some(round), round.checked_add(1)];
        candidates
            .into_iter()
            .flatten()
            .map(|round| start.saturating_add(round.saturating_mul(period)))
            .min_by_key(|position| position.abs_diff(self.highest))
            .unwrap_or(start)
    }

    /// Returns the highest position seen; 0 before the first block.
    #[must_use]
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Returns the number of wraps.
    #[must_use]
    pub fn wraps(&self) -> u32 {
        self.wraps
    }

    /// Returns the number that followed 65,535, once reached: 0 or 1.
    #[must_use]
    pub fn number_after_wrap(&self) -> Option<u16> {
        self.wrap_number
    }

    fn period(&self) -> u64 {
        match self.wrap_number {
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
        // Too old to be distinguished: assume that it was seen, or the file would be incomplete.
        position + MAX_DISTANCE * 2 <= self.highest
            || self.seen.get(word_index(position)).is_some_and(|word| word & bit_mask(position) != 0)
    }

    fn set(&mut self, position: u64) {
        let index = word_index(position);
        if self.seen.len() <= index {
            self.seen.resize(index + 1, 0);
        }
        self.seen[index] |= bit_mask(position);
    }

    fn clear(&mut self, position: u64) {
        if let Some(word) = self.seen.get_mut(word_index(position)) {
            *word &= !bit_mask(position);
        }
    }
}

fn block_number(position: u64, round: u64) -> u16 {
    (position.wrapping_sub(round) & 0xFFFF) as u16
}

fn word_index(position: u64) -> usize {
    (position as usize / 64) % WORDS
}

fn bit_mask(position: u64) -> u64 {
    1 << (position % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_wraps_and_repeats() {
        let mut blocks = BlockNumbers::default();
        for position in 1..200_000_u64 {
            assert_eq!(blocks.record(position as u16), (position, true));
            assert_eq!(blocks.position(position as u16), position);
            if position % 1000 == 0 && position > 40 {
                assert_eq!(blocks.record((position - 40) as u16), (position - 40, false));
            }
        }
        assert_eq!(blocks.wraps(), 3);
        assert_eq!(blocks.number_after_wrap(), Some(0));
    }

    #[test]
    fn supports_servers_that_wrap_to_one() {
        let mut blocks = BlockNumbers::default();
        for position in 1..200_000_u64 {
            let number = ((position - 1) % 65_535 + 1) as u16;
            assert_eq!(blocks.record(number), (position, true), "{position}");
        }
        assert_eq!(blocks.number_after_wrap(), Some(1));
        assert_eq!(blocks.wraps(), 3);
    }

    #[test]
    fn late_block_is_new_once() {
        let mut blocks = BlockNumbers::default();
        for number in [1, 2, 4, 5] {
            assert!(blocks.record(number).1);
        }
        assert_eq!(blocks.record(3), (3, true));
        assert_eq!(blocks.record(3), (3, false));
    }

    proptest! {
        #[test]
        fn highest_is_the_maximum(numbers in proptest::collection::vec(any::<u16>(), 1..2000)) {
            let mut blocks = BlockNumbers::default();
            for number in numbers {
                let (position, _) = blocks.record(number);
                prop_assert!(position <= blocks.highest());
                prop_assert!(!blocks.record(number).1, "a repeated number is the same block");
            }
        }
    }
}
