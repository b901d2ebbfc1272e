//! Deduplicated call stacks: tables contain a four-byte [`StackId`].

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::values::{Chunks, SpillStore};

/// Id of a stack in a [`StackPool`]; [`StackId::EMPTY`] means "not recorded".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct StackId(u32);

impl StackId {
    pub const EMPTY: StackId = StackId(0);
}

/// Distinct call stacks of a recording: return addresses, innermost first.
///
/// Capacity: 2³² addresses. A stack that does not fit becomes the empty stack and is counted in [`StackPool::dropped`].
#[derive(Clone, Debug)]
pub struct StackPool {
    frames: Chunks<u64>,
    /// Indexed by id.
    spans: Chunks<Location>,
    /// Ids with the hash of their stacks, so that growing the table does not read the stacks again.
    index: HashTable<(u32, u32)>,
    hasher: DefaultHashBuilder,
    refused: u64,
}

/// Location of a stack's addresses.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Location {
    start: u32,
    length: u32,
}

impl Default for StackPool {
    fn default() -> Self {
        Self::with_spill_store(None)
    }
}

impl StackPool {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A pool that spills its contents to `spill_store`.
    #[must_use]
    pub fn with_spill_store(spill_store: Option<Arc<dyn SpillStore>>) -> Self {
        let mut spans = Chunks::on(spill_store.clone());
        spans.append(&[Location { start: 0, length: 0 }]);
        Self {
            frames: Chunks::on(spill_store),
            spans,
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            refused: 0,
        }
    }

    /// The id of the stack with these return addresses; adds it if it is new.
    pub fn intern(&mut self, frames: &[u64]) -> StackId {
        if frames.is_empty() {
            return StackId::EMPTY;
        }
        let short = self.hasher.hash_one(frames) as u32;
        let same = |&(id, hash): &(u32, u32)| hash == short && self.get(StackId(id)) == frames;
        if let Some(&(found, _)) = self.index.find(spread(short), same) {
            return StackId(found);
        }
        let Some(id) = self.add(frames) else {
            self.refused += 1;
            return StackId::EMPTY;
        };
        self.index.insert_unique(spread(short), (id, short), |&(_, hash)| spread(hash));
        StackId(id)
    }

    /// Appends a stack; `None` when its offset or id does not fit.
    fn add(&mut self, frames: &[u64]) -> Option<u32> {
        let length = u32::try_from(frames.len()).ok()?;
        let id = u32::try_from(self.spans.next()).ok()?;
        // Checked first: appending frames without a valid offset would waste the space.
        u32::try_from(self.frames.next()).ok()?;
        let start = u32::try_from(self.frames.append(frames)?).ok()?;
        self.spans.append(&[Location { start, length }])?;
        Some(id)
    }

    /// Return addresses of `id`, innermost first.
    #[must_use]
    pub fn get(&self, id: StackId) -> &[u64] {
        let span = self.spans.get(id.0 as usize, 1).first();
        span.map_or(&[], |span| self.frames.get(span.start as usize, span.length as usize))
    }

    /// Number of distinct stacks, including the empty one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.next()
    }

    /// True if the pool contains only the empty stack.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// Number of stacks that did not fit and became empty.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.refused
    }

    #[must_use]
    pub fn memory(&self) -> usize {
        self.frames.memory() + self.spans.memory() + self.index.allocation_size()
    }
}

/// Spreads a 32-bit hash over 64 bits, because the table uses both ends of it.
fn spread(short: u32) -> u64 {
    u64::from(short) << 32 | u64::from(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deduplicates_stacks() {
        let mut pool = StackPool::new();
        let stack = pool.intern(&[1, 2, 3]);
        assert_eq!(pool.intern(&[1, 2, 3]), stack);
        assert_ne!(pool.intern(&[1, 2]), stack);
        assert_eq!(pool.get(stack), [1, 2, 3]);
        assert_eq!(pool.intern(&[]), StackId::EMPTY);
    }
}
