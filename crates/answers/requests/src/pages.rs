//! Maps touched pages to small consecutive numbers per (file, page), so that other modules can index arrays by page.

use hashbrown::HashMap;

/// A divisor for offsets. Powers of two, the usual case, use a shift.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSize {
    bytes: u64,
    shift: Option<u32>,
}

impl BlockSize {
    /// Creates a block of `bytes`; 0 is treated as 1.
    pub(super) const fn new(bytes: u64) -> Self {
        let bytes = if bytes == 0 { 1 } else { bytes };
        Self { bytes, shift: if bytes.is_power_of_two() { Some(bytes.trailing_zeros()) } else { None } }
    }

    pub(super) const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Returns the number of the block that contains byte `offset`.
    pub(super) const fn index(self, offset: u64) -> u64 {
        match self.shift {
            Some(shift) => offset >> shift,
            None => offset / self.bytes,
        }
    }

    /// True if a block starts at byte `offset`.
    pub(super) const fn is_start(self, offset: u64) -> bool {
        match self.shift {
            Some(_) => offset & (self.bytes - 1) == 0,
            None => offset.is_multiple_of(self.bytes),
        }
    }

    /// Returns the first and last block of a request; `None` for an empty request.
    pub(super) fn first_and_last(self, offset: u64, length: u64) -> Option<(u64, u64)> {
        let last_byte = offset.saturating_add(length.checked_sub(1)?);
        Some((self.index(offset), self.index(last_byte)))
    }
}

/// Pages per chunk of consecutive numbers. Programs tend to touch neighboring pages, and eight numbers are half a cache
/// line.
pub(super) const CHUNK_PAGES: u64 = 8;

/// Bits for the chunk in a one-word key.
const CHUNK_BITS: u32 = 37;

/// Packs file and chunk into one word; `None` if they do not fit.
fn packed_key(file: u32, chunk: u64) -> Option<u64> {
    let fits = chunk >> CHUNK_BITS == 0 && file >> (u64::BITS - CHUNK_BITS) == 0;
    fits.then_some(u64::from(file) << CHUNK_BITS | chunk)
}

/// Number of chunks that fit in the CPU caches.
const MAX_CACHED_CHUNKS: usize = 1 << 14;

/// Marks a page without an assigned number.
const UNASSIGNED: u32 = u32::MAX;

/// The number of a page and of its chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageNumber {
    /// Number of the page.
    pub(super) number: u32,
    /// Number of its chunk of [`CHUNK_PAGES`] pages, consecutive from 0 in the order of first touches.
    pub(super) chunk: u32,
    /// True on the first touch of the page.
    pub(super) is_new: bool,
}

/// Page numbers, chosen by the caller and assigned at the first touch.
#[derive(Clone, Debug, Default)]
pub(super) struct PageNumbers {
    /// Chunks by packed (file, chunk). Real recordings have no others.
    packed: HashMap<u64, u32>,
    /// Chunks whose (file, chunk) does not fit in one word.
    unpacked: HashMap<(u32, u64), u32>,
    /// Page numbers of each chunk.
    chunks: Vec<[u32; CHUNK_PAGES as usize]>,
    last: Option<((u32, u64), u32)>,
}

impl PageNumbers {
    /// Returns the number of a page of a file; a new page gets `new_number`.
    pub(super) fn get_or_insert(&mut self, file: u32, page: u64, new_number: u32) -> PageNumber {
        let key = (file, page / CHUNK_PAGES);
        let chunk = match self.last {
            // Small requests often touch one page, or its neighbors, many times in a row.
            Some((last_key, chunk)) if last_key == key => chunk,
            _ => self.chunk(key),
        };
        self.last = Some((key, chunk));
        let slot = self.chunks.get_mut(chunk as usize).and_then(|pages| pages.get_mut((page % CHUNK_PAGES) as usize));
        match slot {
            Some(number) if *number != UNASSIGNED => PageNumber { number: *number, chunk, is_new: false },
            Some(number) => {
                *number = new_number;
                PageNumber { number: new_number, chunk, is_new: true }
            }
            None => PageNumber { number: new_number, chunk, is_new: true },
        }
    }

    /// True if lookups are expected to miss the CPU caches.
    pub(super) fn is_large(&self) -> bool {
        self.chunks.len() > MAX_CACHED_CHUNKS
    }

    /// Returns the chunk of a page; `None` if not touched yet, or not packable.
    pub(super) fn chunk_of(&self, file: u32, page: u64) -> Option<u32> {
        self.packed.get(&packed_key(file, page / CHUNK_PAGES)?).copied()
    }

    pub(super) fn first_page_number(&self, chunk: u32) -> Option<u32> {
        self.chunks.get(chunk as usize).map(|pages| pages[0])
    }

    fn chunk(&mut self, (file, chunk): (u32, u64)) -> u32 {
        let new_chunk = u32::try_from(self.chunks.len()).unwrap_or(UNASSIGNED);
        let number = match packed_key(file, chunk) {
            Some(key) => *self.packed.entry(key).or_insert(new_chunk),
            None => *self.unpacked.entry((file, chunk)).or_insert(new_chunk),
        };
        if number == new_chunk {
            self.chunks.push([UNASSIGNED; CHUNK_PAGES as usize]);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_by_any_block_size() {
        for bytes in [0, 1, 3, 512, 4096, 4097, 1 << 40] {
            let block = BlockSize::new(bytes);
            for offset in [0, 1, 511, 512, 4095, 4096, 4097, 1 << 41, u64::MAX] {
                assert_eq!(
                    (block.index(offset), block.is_start(offset)),
                    (offset / bytes.max(1), offset % bytes.max(1) == 0)
                );
            }
        }
        assert_eq!(BlockSize::new(4096).first_and_last(4095, 2), Some((0, 1)));
        assert_eq!(BlockSize::new(4096).first_and_last(4095, 0), None);
    }

    #[test]
    fn numbers_packed_and_unpacked_pages() {
        let mut numbers = PageNumbers::default();
        let far_page = CHUNK_PAGES << CHUNK_BITS;
        for (number, page) in (0_u32..).zip([0, 8, u64::MAX, far_page, far_page + 1]) {
            assert_eq!(
                (numbers.get_or_insert(7, page, number).number, numbers.get_or_insert(7, page, 99).number),
                (number, number)
            );
            assert!(!numbers.get_or_insert(7, page, 99).is_new);
        }
        assert_eq!(numbers.get_or_insert(1 << 27, 0, 5), PageNumber { number: 5, chunk: 4, is_new: true });
        assert_eq!(numbers.get_or_insert(7, 7, 6), PageNumber { number: 6, chunk: 0, is_new: true });
        assert_eq!(numbers.get_or_insert(7, far_page + 1, 99), PageNumber { number: 4, chunk: 3, is_new: false });
    }
}
