//! Where a column's values are: in memory, or on a shelf outside of it for what is too much.

use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A value that any bytes of its size are one of, so that a column of it can be read from wherever its bytes are.
pub trait Plain: Copy + Debug + FromBytes + IntoBytes + Immutable + KnownLayout + 'static {}

impl<T: Copy + Debug + FromBytes + IntoBytes + Immutable + KnownLayout + 'static> Plain for T {}

/// Takes what is too much for memory, and lends it as if it were there.
pub trait Shelf: Debug + Send + Sync {
    /// Takes `bytes`. `None` where they are to stay in memory: there is little of everything so far, or no room.
    fn keep(&self, bytes: &[u8]) -> Option<Arc<dyn Shelved>>;
}

/// What a shelf took, in one piece.
pub trait Shelved: Debug + Send + Sync {
    /// The bytes, the first of which is at a multiple of [`SHELF_ALIGNMENT`] in memory.
    fn bytes(&self) -> &[u8];
}

/// What is put on a shelf begins at multiples of so many bytes: enough for any number.
pub const SHELF_ALIGNMENT: usize = 8;

/// The values of a column. They read as a slice wherever they are; to change them brings them back into memory.
#[derive(Clone)]
pub struct Values<T> {
    /// Empty while a shelf has them.
    held: Vec<T>,
    shelved: Option<Part>,
}

/// Bytes of a piece on a shelf.
#[derive(Clone)]
struct Part {
    piece: Arc<dyn Shelved>,
    start: usize,
    end: usize,
}

impl Part {
    fn values<T: Plain>(&self) -> Option<&[T]> {
        <[T]>::ref_from_bytes(self.piece.bytes().get(self.start..self.end)?).ok()
    }
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for Values<T> {
    fn from(held: Vec<T>) -> Self {
        Self { held, shelved: None }
    }
}

impl<T: Plain> Values<T> {
    /// Appends one value.
    #[inline]
    pub fn push(&mut self, value: T) {
        self.vector().push(value);
    }

    /// The values as a vector in memory, to be changed.
    #[inline]
    pub fn vector(&mut self) -> &mut Vec<T> {
        if let Some(part) = self.shelved.take() {
            self.held = part.values().unwrap_or_default().to_vec();
        }
        &mut self.held
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.held.capacity() * size_of::<T>()
    }

    /// The bytes that a shelf would take; none when one has them.
    #[must_use]
    pub fn held_bytes(&self) -> &[u8] {
        self.held.as_bytes()
    }

    /// Reads the values that are held from `piece` from now on, which has them from byte `start` on. Nothing happens
    /// where it does not.
    pub fn read_from(&mut self, piece: &Arc<dyn Shelved>, start: usize) {
        let part = Part { piece: Arc::clone(piece), start, end: start.saturating_add(self.held_bytes().len()) };
        if self.shelved.is_none() && part.values::<T>().is_some_and(|values| values.len() == self.held.len()) {
            self.shelved = Some(part);
            self.held = Vec::new();
        }
    }

    /// Puts the values on `shelf`, if it takes them.
    pub fn shelve(&mut self, shelf: &dyn Shelf) {
        if let Some(piece) = shelf.keep(self.held_bytes()) {
            self.read_from(&piece, 0);
        }
    }
}

impl<T: Plain> Deref for Values<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match &self.shelved {
            None => &self.held,
            // That it has them was checked when they were put there.
            Some(part) => part.values().unwrap_or_default(),
        }
    }
}

impl<T: Plain> DerefMut for Values<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.vector()
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

/// Values that only come and never go, in chunks: full ones go to a shelf, where there is one.
#[derive(Clone, Debug)]
pub(crate) struct Chunks<T: Plain> {
    full: Vec<Values<T>>,
    open: Vec<T>,
    shelf: Option<Arc<dyn Shelf>>,
}

impl<T: Plain> Default for Chunks<T> {
    fn default() -> Self {
        Self { full: Vec::new(), open: Vec::new(), shelf: None }
    }
}

/// Values in a chunk: few enough that a shelf brings little else with what is read again, and many enough that chunks
/// are few.
const CHUNK_VALUES: usize = 1 << 18;

impl<T: Plain> Chunks<T> {
    pub(crate) fn on(shelf: Option<Arc<dyn Shelf>>) -> Self {
        Self { shelf, ..Self::default() }
    }

    /// Appends `values`, which stay together, and says the number of the first, which [`Self::get`] takes. `None` for
    /// more than a chunk holds. Numbers grow, and may leave some out.
    pub(crate) fn append(&mut self, values: &[T]) -> Option<usize> {
        if values.len() > CHUNK_VALUES {
            return None;
        }
        if self.open.len() + values.len() > CHUNK_VALUES {
            let mut chunk = Values::from(std::mem::take(&mut self.open));
            if let Some(shelf) = &self.shelf {
                chunk.shelve(&**shelf);
            }
            self.full.push(chunk);
        }
        let at = self.full.len() * CHUNK_VALUES + self.open.len();
        self.open.extend_from_slice(values);
        Some(at)
    }

    /// The number that a value would get that is appended next, or one below it.
    pub(crate) fn next(&self) -> usize {
        self.full.len() * CHUNK_VALUES + self.open.len()
    }

    /// `length` values from `at` on; none where there are not as many in its chunk.
    pub(crate) fn get(&self, at: usize, length: usize) -> &[T] {
        let (chunk, start) = (at / CHUNK_VALUES, at % CHUNK_VALUES);
        let values =
            if chunk == self.full.len() { &self.open } else { self.full.get(chunk).map_or(&[][..], |full| full) };
        start.checked_add(length).and_then(|end| values.get(start..end)).unwrap_or_default()
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.full.iter().map(Values::memory).sum::<usize>() + self.open.capacity() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all that is more than so many bytes, into memory of its own.
    #[derive(Debug)]
    struct Over(usize);

    /// Aligned as a shelf's pieces are.
    #[derive(Debug)]
    struct Taken(Vec<u64>, usize);

    impl Shelved for Taken {
        fn bytes(&self) -> &[u8] {
            self.0.as_bytes().get(..self.1).unwrap_or_default()
        }
    }

    impl Shelf for Over {
        fn keep(&self, bytes: &[u8]) -> Option<Arc<dyn Shelved>> {
            let words = bytes.chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            });
            (bytes.len() > self.0).then(|| Arc::new(Taken(words.collect(), bytes.len())) as Arc<dyn Shelved>)
        }
    }

    /// Gives back less than it took.
    #[derive(Debug)]
    struct Short;

    impl Shelf for Short {
        fn keep(&self, bytes: &[u8]) -> Option<Arc<dyn Shelved>> {
            Some(Arc::new(Taken(vec![0; bytes.len() / 8], bytes.len() / 8 * 8)))
        }
    }

    #[test]
    fn values_read_the_same_on_a_shelf_and_come_back_to_be_changed() {
        let mut values: Values<u32> = (0..1000).collect();
        values.shelve(&Over(4000));
        assert_ne!(values.memory(), 0, "too few for it");
        values.shelve(&Over(3999));
        assert_eq!(values.memory(), 0);
        assert_eq!((values.len(), values[999], values.iter().max()), (1000, 999, Some(&999)));
        values.shelve(&Over(0));
        assert_eq!(values.len(), 1000, "shelved once");
        let copy = values.clone();
        values[3] = 7;
        values.push(1000);
        assert_eq!((values[3], values.len(), copy[3], copy.len()), (7, 1001, 3, 1000));
        assert_ne!(values.memory(), 0);
    }

    #[test]
    fn what_a_shelf_does_not_have_stays_in_memory() {
        let mut values: Values<u32> = (0..3).collect();
        values.shelve(&Short);
        assert_eq!(values[..], [0, 1, 2]);
        assert_ne!(values.memory(), 0);
    }

    #[test]
    fn chunks_keep_together_what_was_appended_together() {
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
