//! Call stacks, each kept once: tables hold a four-byte [`StackId`].

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// A stack of a [`StackPool`]; [`StackId::EMPTY`] means "none recorded".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(u32);

impl StackId {
    /// No stack.
    pub const EMPTY: StackId = StackId(0);
}

/// Every distinct call stack of a recording: return addresses, innermost first.
///
/// Holds at most 2³² addresses; what would not fit is kept as the empty stack, and [`StackPool::refused`] counts it.
#[derive(Clone, Debug)]
pub struct StackPool {
    frames: Vec<u64>,
    spans: Vec<(u32, u32)>,
    /// Ids, each with its stack's hash: to grow without reading the stacks again.
    index: HashTable<(u32, u32)>,
    hasher: DefaultHashBuilder,
    refused: u64,
}

impl Default for StackPool {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            spans: vec![(0, 0)],
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            refused: 0,
        }
    }
}

impl StackPool {
    /// A pool that holds the empty stack only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of the stack with these return addresses, which is added if it is new.
    pub fn intern(&mut self, frames: &[u64]) -> StackId {
        if frames.is_empty() {
            return StackId::EMPTY;
        }
        let short = self.hasher.hash_one(frames) as u32;
        let Self { frames: all, spans, index, .. } = self;
        let same = |&(id, hash): &(u32, u32)| hash == short && slice(all, spans, id) == frames;
        if let Some(&(found, _)) = index.find(spread(short), same) {
            return StackId(found);
        }
        let (Ok(start), Ok(length), Ok(id)) =
            (u32::try_from(all.len()), u32::try_from(frames.len()), u32::try_from(spans.len()))
        else {
            self.refused += 1;
            return StackId::EMPTY;
        };
        all.extend_from_slice(frames);
        spans.push((start, length));
        index.insert_unique(spread(short), (id, short), |&(_, hash)| spread(hash));
        StackId(id)
    }

    /// Return addresses of `id`, innermost first.
    #[must_use]
    pub fn get(&self, id: StackId) -> &[u64] {
        slice(&self.frames, &self.spans, id.0)
    }

    /// Number of distinct stacks, the empty one included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether only the empty stack is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.len() == 1
    }

    /// Stacks that did not fit and became empty.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn memory(&self) -> usize {
        (self.frames.capacity() + self.spans.capacity()) * 8 + self.index.allocation_size()
    }
}

/// A hash for the table, which looks at both ends of it.
fn spread(short: u32) -> u64 {
    u64::from(short) << 32 | u64::from(short)
}

fn slice<'a>(frames: &'a [u64], spans: &[(u32, u32)], id: u32) -> &'a [u64] {
    spans
        .get(id as usize)
        .and_then(|&(start, length)| frames.get(start as usize..start as usize + length as usize))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_kept_once() {
        let mut pool = StackPool::new();
        let stack = pool.intern(&[1, 2, 3]);
        assert_eq!(pool.intern(&[1, 2, 3]), stack);
        assert_ne!(pool.intern(&[1, 2]), stack);
        assert_eq!(pool.get(stack), [1, 2, 3]);
        assert_eq!(pool.intern(&[]), StackId::EMPTY);
    }
}
