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

/// Pages whose numbers lie together. Real programs touch neighbors, and eight numbers are half a cache line.
pub(super) const CHUNK_PAGES: u64 = 8;

/// Bits of a chunk in a key of one word.
const CHUNK_BITS: u32 = 37;

/// File and chunk in one word; `None` where they are too large.
fn near_key(file: u32, chunk: u64) -> Option<u64> {
    let fits = chunk >> CHUNK_BITS == 0 && file >> (u64::BITS - CHUNK_BITS) == 0;
    fits.then_some(u64::from(file) << CHUNK_BITS | chunk)
}

/// Chunks that are near the processor anyhow.
const LARGE: usize = 1 << 14;

/// No number was given yet.
const NONE: u32 = u32::MAX;

/// A page by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageNumber {
    /// Its own.
    pub(super) number: u32,
    /// That of the [`CHUNK_PAGES`] it is among, counted from 0 in the order in which they are first touched.
    pub(super) chunk: u32,
    /// Whether the page is touched for the first time.
    pub(super) is_new: bool,
}

/// Numbers of pages, given out by who asks, in the order in which they are first touched.
#[derive(Clone, Debug, Default)]
pub(super) struct PageNumbers {
    /// By file and chunk in one word: all that real recordings have.
    near: HashMap<u64, u32>,
    /// Files and chunks beyond.
    far: HashMap<(u32, u64), u32>,
    /// By chunk: the numbers of its pages.
    chunks: Vec<[u32; CHUNK_PAGES as usize]>,
    last: Option<((u32, u64), u32)>,
}

impl PageNumbers {
    /// The number of a page of a file; if it is new, it is `next`.
    pub(super) fn of(&mut self, file: u32, page: u64, next: u32) -> PageNumber {
        let key = (file, page / CHUNK_PAGES);
        let chunk = match self.last {
            // Small requests touch one page many times in a row, and its neighbors.
            Some((last, chunk)) if last == key => chunk,
            _ => self.chunk(key),
        };
        self.last = Some((key, chunk));
        let slot = self.chunks.get_mut(chunk as usize).and_then(|pages| pages.get_mut((page % CHUNK_PAGES) as usize));
        match slot {
            Some(number) if *number != NONE => PageNumber { number: *number, chunk, is_new: false },
            Some(number) => {
                *number = next;
                PageNumber { number: next, chunk, is_new: true }
            }
            None => PageNumber { number: next, chunk, is_new: true },
        }
    }

    /// Whether there are so many that looking one up waits for memory.
    pub(super) fn is_large(&self) -> bool {
        self.chunks.len() > LARGE
    }

    /// The chunk of a page; `None` where it was not touched yet, or is beyond what real recordings have.
    pub(super) fn chunk_of(&self, file: u32, page: u64) -> Option<u32> {
        self.near.get(&near_key(file, page / CHUNK_PAGES)?).copied()
    }

    /// The number of the first page of a chunk.
    pub(super) fn first_of(&self, chunk: u32) -> Option<u32> {
        self.chunks.get(chunk as usize).map(|pages| pages[0])
    }

    fn chunk(&mut self, (file, chunk): (u32, u64)) -> u32 {
        let next = u32::try_from(self.chunks.len()).unwrap_or(NONE);
        let found = match near_key(file, chunk) {
            Some(key) => *self.near.entry(key).or_insert(next),
            None => *self.far.entry((file, chunk)).or_insert(next),
        };
        if found == next {
            self.chunks.push([NONE; CHUNK_PAGES as usize]);
        }
        found
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
        let far = CHUNK_PAGES << CHUNK_BITS;
        for (next, page) in (0_u32..).zip([0, 8, u64::MAX, far, far + 1]) {
            assert_eq!((numbers.of(7, page, next).number, numbers.of(7, page, 99).number), (next, next));
            assert!(!numbers.of(7, page, 99).is_new);
        }
        assert_eq!(numbers.of(1 << 27, 0, 5), PageNumber { number: 5, chunk: 4, is_new: true });
        assert_eq!(numbers.of(7, 7, 6), PageNumber { number: 6, chunk: 0, is_new: true });
        assert_eq!(numbers.of(7, far + 1, 99), PageNumber { number: 4, chunk: 3, is_new: false });
    }
}
