//! Which pages requests touch: a small number for each (file, page), so that everything else can count by index.

use hashbrown::HashMap;

/// A size that much is divided by. Powers of two, which nearly all are, divide by a shift.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSize {
    bytes: u64,
    shift: Option<u32>,
}

impl BlockSize {
    /// A block of `bytes`; none is one byte.
    pub(super) const fn new(bytes: u64) -> Self {
        let bytes = if bytes == 0 { 1 } else { bytes };
        Self { bytes, shift: if bytes.is_power_of_two() { Some(bytes.trailing_zeros()) } else { None } }
    }

    pub(super) const fn bytes(self) -> u64 {
        self.bytes
    }

    /// The number of the block that holds byte `offset`.
    pub(super) const fn of(self, offset: u64) -> u64 {
        match self.shift {
            Some(shift) => offset >> shift,
            None => offset / self.bytes,
        }
    }

    /// Whether a block starts at byte `offset`.
    pub(super) const fn is_start(self, offset: u64) -> bool {
        match self.shift {
            Some(_) => offset & (self.bytes - 1) == 0,
            None => offset.is_multiple_of(self.bytes),
        }
    }

    /// Blocks from the first to the last that a request touches, both included; `None` for a request of no bytes.
    pub(super) fn span(self, offset: u64, length: u64) -> Option<(u64, u64)> {
        let last_byte = offset.saturating_add(length.checked_sub(1)?);
        Some((self.of(offset), self.of(last_byte)))
    }
}

/// Bits of a page in a key of one word.
const PAGE_BITS: u32 = 40;

/// Numbers of pages, given out by who asks, in the order in which they are first touched.
#[derive(Clone, Debug, Default)]
pub(super) struct PageNumbers {
    /// By file and page in one word: all that real recordings have.
    near: HashMap<u64, u32>,
    /// Files and pages beyond.
    far: HashMap<(u32, u64), u32>,
    last: Option<((u32, u64), u32)>,
}

impl PageNumbers {
    /// The number of a page of a file, and whether it is new: then it is `next`.
    pub(super) fn of(&mut self, file: u32, page: u64, next: u32) -> (u32, bool) {
        // Small requests touch one page many times in a row.
        if let Some((key, number)) = self.last
            && key == (file, page)
        {
            return (number, false);
        }
        let known = if page >> PAGE_BITS == 0 && file >> (u64::BITS - PAGE_BITS) == 0 {
            self.near.entry(u64::from(file) << PAGE_BITS | page).or_insert(next)
        } else {
            self.far.entry((file, page)).or_insert(next)
        };
        let number = *known;
        self.last = Some(((file, page), number));
        (number, number == next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_size_divide_alike() {
        for bytes in [0, 1, 3, 512, 4096, 4097, 1 << 40] {
            let block = BlockSize::new(bytes);
            for offset in [0, 1, 511, 512, 4095, 4096, 4097, 1 << 41, u64::MAX] {
                assert_eq!(
                    (block.of(offset), block.is_start(offset)),
                    (offset / bytes.max(1), offset % bytes.max(1) == 0)
                );
            }
        }
        assert_eq!(BlockSize::new(4096).span(4095, 2), Some((0, 1)));
        assert_eq!(BlockSize::new(4096).span(4095, 0), None);
    }

    #[test]
    fn pages_near_and_far_have_numbers_of_their_own() {
        let mut numbers = PageNumbers::default();
        for (next, page) in [0, 1, u64::MAX >> 12, 1 << PAGE_BITS].into_iter().enumerate() {
            let next = next as u32;
            assert_eq!(numbers.of(7, page, next), (next, true));
            assert_eq!(numbers.of(7, page, 99), (next, false));
        }
        assert_eq!(numbers.of(1 << 24, 0, 4), (4, true));
        assert_eq!(numbers.of(7, 1, 99), (1, false));
    }
}
