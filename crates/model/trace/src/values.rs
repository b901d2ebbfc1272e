//! Column storage: values are in memory, or spilled to disk when they exceed the memory budget.

use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A type for which every bit pattern is valid, so that a column can be read in place from spilled bytes.
pub trait Plain: Copy + Debug + FromBytes + IntoBytes + Immutable + KnownLayout + 'static {}

impl<T: Copy + Debug + FromBytes + IntoBytes + Immutable + KnownLayout + 'static> Plain for T {}

/// Destination for data that exceeds the memory budget. Spilled data stays readable as a slice.
pub trait SpillStore: Debug + Send + Sync {
    /// Spills `bytes`. `None` if they should stay in memory, because the budget is not exceeded or there is no space.
    fn spill(&self, bytes: &[u8]) -> Option<Arc<dyn Spilled>>;
}

/// A chunk of spilled data.
pub trait Spilled: Debug + Send + Sync {
    /// The bytes; the first is aligned to [`SPILL_ALIGNMENT`] in memory.
    fn bytes(&self) -> &[u8];
}

/// Alignment of spilled data in bytes, enough for any number.
pub const SPILL_ALIGNMENT: usize = 8;

/// The values of a column. They read as a slice wherever they are stored; modifying them loads them into memory.
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

    /// The values as a vector in memory, for modification.
    #[inline]
    pub fn make_mut(&mut self) -> &mut Vec<T> {
        if let Some(range) = self.spilled.take() {
            self.resident = range.values().unwrap_or_default().to_vec();
        }
        &mut self.resident
    }

    #[must_use]
    pub fn memory(&self) -> usize {
        self.resident.capacity() * size_of::<T>()
    }

    /// The bytes to spill; empty if the values are already spilled.
    #[must_use]
    pub fn resident_bytes(&self) -> &[u8] {
        self.resident.as_bytes()
    }

    /// From now on, reads the values from `chunk`, where they start at byte `start`. Ignored if `chunk` is too short.
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
            // Checked when the values were spilled.
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

/// Values per chunk: small enough that reading one brings in little else, and large enough that there are few chunks.
const CHUNK_VALUES: usize = 1 << 18;

impl<T: Plain> Chunks<T> {
    pub(crate) fn on(spill_store: Option<Arc<dyn SpillStore>>) -> Self {
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
        let at = self.full.len() * CHUNK_VALUES + self.open.len();
        self.open.extend_from_slice(values);
        Some(at)
    }

    /// The index that the next value would get, or a lower one.
    pub(crate) fn next(&self) -> usize {
        self.full.len() * CHUNK_VALUES + self.open.len()
    }

    /// `length` values from `at` on; empty if the chunk has fewer.
    pub(crate) fn get(&self, at: usize, length: usize) -> &[T] {
        let (chunk, start) = (at / CHUNK_VALUES, at % CHUNK_VALUES);
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

    /// Spills everything larger than this many bytes, to memory of its own.
    #[derive(Debug)]
    struct Over(usize);

    /// Aligned as spilled data must be.
    #[derive(Debug)]
    struct Taken(Vec<u64>, usize);

    impl Spilled for Taken {
        fn bytes(&self) -> &[u8] {
            self.0.as_bytes().get(..self.1).unwrap_or_default()
        }
    }

    impl SpillStore for Over {
        fn spill(&self, bytes: &[u8]) -> Option<Arc<dyn Spilled>> {
            let words = bytes.chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            });
            (bytes.len() > self.0).then(|| Arc::new(Taken(words.collect(), bytes.len())) as Arc<dyn Spilled>)
        }
    }

    /// Returns less than it was given.
    #[derive(Debug)]
    struct Short;

    impl SpillStore for Short {
        fn spill(&self, bytes: &[u8]) -> Option<Arc<dyn Spilled>> {
            Some(Arc::new(Taken(vec![0; bytes.len() / 8], bytes.len() / 8 * 8)))
        }
    }

    #[test]
    fn spilled_values_are_readable_and_load_on_modification() {
        let mut values: Values<u32> = (0..1000).collect();
        values.spill(&Over(4000));
        assert_ne!(values.memory(), 0, "too few for it");
        values.spill(&Over(3999));
        assert_eq!(values.memory(), 0);
        assert_eq!((values.len(), values[999], values.iter().max()), (1000, 999, Some(&999)));
        values.spill(&Over(0));
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
        values.spill(&Short);
        assert_eq!(values[..], [0, 1, 2]);
        assert_ne!(values.memory(), 0);
    }

    #[test]
    fn chunks_keep_appended_values_contiguous() {
        let mut chunks: Chunks<u64> = Chunks::on(Some(Arc::new(Over(0))));
        let appended: Vec<(usize, Vec<u64>)> = (0..1000_u64)
            .map(|number| {
                let values: Vec<u64> = (0..number * 7 % 1999).map(|value| value * number).collect();
                (chunks.append(&values).unwrap(), values)
            })
            .collect();
        assert!(chunks.full.len() > 2, "{}", chunks.full.len());
        assert!(chunks.full.iter().all(|full| full.memory() == 0));
        for (at, values) in appended {
            assert_eq!(chunks.get(at, values.len()), values);
        }
        assert_eq!(chunks.append(&vec![0; CHUNK_VALUES + 1]), None);
        assert_eq!(chunks.get(chunks.next(), 1), &[] as &[u64]);
        assert_eq!(chunks.get(usize::MAX, usize::MAX), &[] as &[u64]);
    }
}
