//! Column storage: values are in memory, or spilled to disk when they exceed the memory budget.

use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A type for which every bit pattern is valid, which allows reading a column in place from spilled bytes.
pub trait Plain: Copy + Debug + FromBytes + IntoBytes + Immutable + KnownLayout + 'static {}

impl<T: Copy + Debug + FromBytes + IntoBytes + Immutable + KnownLayout + 'static> Plain for T {}

/// Destination for data that exceeds the memory budget. Spilled data stays readable as a slice.
pub trait SpillStore: Debug + Send + Sync {
    /// Spills `bytes`. `None` if they should stay in memory, because the budget is not exceeded or there is no space.
    fn spill(&self, bytes: &[u8]) -> Option<Arc<dyn Spilled>>;
}

/// A chunk of spilled data.
pub trait Spilled: Debug + Send + Sync {
    /// Returns the bytes, aligned to [`SPILL_ALIGNMENT`] in memory.
    fn bytes(&self) -> &[u8];
}

/// Alignment of spilled data in bytes, enough for any number.
pub const SPILL_ALIGNMENT: usize = 8;

/// The values of a column, readable as a slice in memory or in a spill file. Modification loads them into memory.
#[derive(Clone)]
pub struct Values<T> {
    /// Empty while the values are spilled.
    resident: Vec<T>,
    spilled: Option<SpilledRange>,
}

/// Location of a column's values in a chunk of spilled data.
#[derive(Clone)]
struct SpilledRange {
    chunk: Arc<dyn Spilled>,
    start: usize,
    end: usize,
}

impl SpilledRange {
    fn values<T: Plain>(&self) -> Option<&[T]> {
        <[T]>::ref_from_bytes(self.chunk.bytes().get(self.start..self.end)?).ok()
    }
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for Values<T> {
    fn from(resident: Vec<T>) -> Self {
        Self { resident, spilled: None }
    }
}

impl<T: Plain> Values<T> {
    #[inline]
    pub fn push(&mut self, value: T) {
        self.make_mut().push(value);
    }

    /// Returns the values as a vector in memory, for modification.
    #[inline]
    pub fn make_mut(&mut self) -> &mut Vec<T> {
        if self.spilled.is_some() {
            self.load();
        }
        &mut self.resident
    }

    #[cold]
    fn load(&mut self) {
        if let Some(range) = self.spilled.take() {
            self.resident = range.values().unwrap_or_default().to_vec();
        }
    }

    /// Appends `values` to a column of `rows` rows. A column of zeros stays empty until [`Self::pad`].
    pub(crate) fn append_sparse(&mut self, rows: usize, values: &[T]) {
        let resident = self.make_mut();
        if resident.is_empty() && values.as_bytes().iter().all(|&byte| byte == 0) {
            return;
        }
        self.pad(rows);
        self.resident.extend_from_slice(values);
    }

    /// Appends zeros up to `rows` rows. The memory of a whole column of zeros is never touched, so it costs nothing.
    pub(crate) fn pad(&mut self, rows: usize) {
        let resident = self.make_mut();
        if resident.is_empty() {
            *resident = T::new_vec_zeroed(rows).unwrap_or_default();
        }
        resident.resize_with(rows, T::new_zeroed);
    }

    #[must_use]
    pub fn memory(&self) -> usize {
        self.resident.capacity() * size_of::<T>()
    }

    /// Returns the bytes to spill; empty if the values are already spilled.
    #[must_use]
    pub fn resident_bytes(&self) -> &[u8] {
        self.resident.as_bytes()
    }

    /// Replaces the values in memory by the values in `chunk`, which start at byte `start`. Ignored if `chunk` is too
    /// short.
    pub fn read_spilled(&mut self, chunk: &Arc<dyn Spilled>, start: usize) {
        let range =
            SpilledRange { chunk: Arc::clone(chunk), start, end: start.saturating_add(self.resident_bytes().len()) };
        if self.spilled.is_none() && range.values::<T>().is_some_and(|values| values.len() == self.resident.len()) {
            self.spilled = Some(range);
            self.resident = Vec::new();
        }
    }

    /// Spills the values to `spill_store`, if it accepts them.
    pub fn spill(&mut self, spill_store: &dyn SpillStore) {
        if let Some(chunk) = spill_store.spill(self.resident_bytes()) {
            self.read_spilled(&chunk, 0);
        }
    }
}

impl<T: Plain> Deref for Values<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match &self.spilled {
            None => &self.resident,
            // The range was checked when the values were spilled.
            Some(range) => range.values().unwrap_or_default(),
        }
    }
}

impl<T: Plain> DerefMut for Values<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.make_mut()
    }
}

impl<T: Plain> Debug for Values<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.deref().fmt(formatter)
    }
}

impl<'a, T: Plain> IntoIterator for &'a Values<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Plain> IntoIterator for &'a mut Values<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: Plain> FromIterator<T> for Values<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::from(values.into_iter().collect::<Vec<T>>())
    }
}

/// An append-only sequence of values in chunks. Full chunks are spilled.
#[derive(Clone, Debug)]
pub(crate) struct Chunks<T: Plain> {
    full: Vec<Values<T>>,
    open: Vec<T>,
    spill_store: Option<Arc<dyn SpillStore>>,
}

impl<T: Plain> Default for Chunks<T> {
    fn default() -> Self {
        Self { full: Vec::new(), open: Vec::new(), spill_store: None }
    }
}

/// Values per chunk. Small enough that reading a value loads little else, and large enough that there are few chunks.
const CHUNK_VALUES: usize = 1 << 18;

impl<T: Plain> Chunks<T> {
    pub(crate) fn with_spill_store(spill_store: Option<Arc<dyn SpillStore>>) -> Self {
        Self { spill_store, ..Self::default() }
    }

    /// Appends `values` contiguously and returns the index of the first, for [`Self::get`]. `None` for more values than
    /// fit in a chunk. Indexes increase, with gaps.
    pub(crate) fn append(&mut self, values: &[T]) -> Option<usize> {
        if values.len() > CHUNK_VALUES {
            return None;
        }
        if self.open.len() + values.len() > CHUNK_VALUES {
            let mut chunk = Values::from(std::mem::take(&mut self.open));
            if let Some(spill_store) = &self.spill_store {
                chunk.spill(&**spill_store);
            }
            self.full.push(chunk);
        }
        let index = self.full.len() * CHUNK_VALUES + self.open.len();
        self.open.extend_from_slice(values);
        Some(index)
    }

    /// Returns a lower bound of the index that the next values will get.
    pub(crate) fn next_index(&self) -> usize {
        self.full.len() * CHUNK_VALUES + self.open.len()
    }

    /// Returns `length` values from `index` on; empty if the chunk has fewer.
    pub(crate) fn get(&self, index: usize, length: usize) -> &[T] {
        let (chunk, start) = (index / CHUNK_VALUES, index % CHUNK_VALUES);
        let values =
            if chunk == self.full.len() { &self.open } else { self.full.get(chunk).map_or(&[][..], |full| full) };
        start.checked_add(length).and_then(|end| values.get(start..end)).unwrap_or_default()
    }

    pub(crate) fn memory(&self) -> usize {
        self.full.iter().map(Values::memory).sum::<usize>() + self.open.capacity() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spills data larger than this number of bytes to a [`MemoryChunk`].
    #[derive(Debug)]
    struct MemoryStore {
        max_resident_bytes: usize,
    }

    /// A chunk in memory, aligned like spilled data.
    #[derive(Debug)]
    struct MemoryChunk {
        words: Vec<u64>,
        bytes: usize,
    }

    impl Spilled for MemoryChunk {
        fn bytes(&self) -> &[u8] {
            self.words.as_bytes().get(..self.bytes).unwrap_or_default()
        }
    }

    impl SpillStore for MemoryStore {
        fn spill(&self, bytes: &[u8]) -> Option<Arc<dyn Spilled>> {
            let words = bytes.chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            });
            (bytes.len() > self.max_resident_bytes)
                .then(|| Arc::new(MemoryChunk { words: words.collect(), bytes: bytes.len() }) as Arc<dyn Spilled>)
        }
    }

    /// Returns chunks that are shorter than the spilled data.
    #[derive(Debug)]
    struct TruncatingStore;

    impl SpillStore for TruncatingStore {
        fn spill(&self, bytes: &[u8]) -> Option<Arc<dyn Spilled>> {
            Some(Arc::new(MemoryChunk { words: vec![0; bytes.len() / 8], bytes: bytes.len() / 8 * 8 }))
        }
    }

    #[test]
    fn spilled_values_are_readable_and_load_on_modification() {
        let mut values: Values<u32> = (0..1000).collect();
        values.spill(&MemoryStore { max_resident_bytes: 4000 });
        assert_ne!(values.memory(), 0, "not above the limit");
        values.spill(&MemoryStore { max_resident_bytes: 3999 });
        assert_eq!(values.memory(), 0);
        assert_eq!((values.len(), values[999], values.iter().max()), (1000, 999, Some(&999)));
        values.spill(&MemoryStore { max_resident_bytes: 0 });
        assert_eq!(values.len(), 1000, "spilled once");
        let copy = values.clone();
        values[3] = 7;
        values.push(1000);
        assert_eq!((values[3], values.len(), copy[3], copy.len()), (7, 1001, 3, 1000));
        assert_ne!(values.memory(), 0);
    }

    #[test]
    fn truncated_spill_keeps_values_in_memory() {
        let mut values: Values<u32> = (0..3).collect();
        values.spill(&TruncatingStore);
        assert_eq!(values[..], [0, 1, 2]);
        assert_ne!(values.memory(), 0);
    }

    #[test]
    fn chunks_keep_appended_values_contiguous() {
        let mut chunks: Chunks<u64> = Chunks::with_spill_store(Some(Arc::new(MemoryStore { max_resident_bytes: 0 })));
        let appended: Vec<(usize, Vec<u64>)> = (0..1000_u64)
            .map(|number| {
                let values: Vec<u64> = (0..number * 7 % 1999).map(|value| value * number).collect();
                (chunks.append(&values).unwrap(), values)
            })
            .collect();
        assert!(chunks.full.len() > 2, "{}", chunks.full.len());
        assert!(chunks.full.iter().all(|full| full.memory() == 0));
        for (index, values) in appended {
            assert_eq!(chunks.get(index, values.len()), values);
        }
        assert_eq!(chunks.append(&vec![0; CHUNK_VALUES + 1]), None);
        assert_eq!(chunks.get(chunks.next_index(), 1), &[] as &[u64]);
        assert_eq!(chunks.get(usize::MAX, usize::MAX), &[] as &[u64]);
    }
}
