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
    /// Locations of the stacks, indexed by id.
    locations: Chunks<Location>,
    /// Ids with the hash of their stacks. The table grows without reading the stacks again.
    index: HashTable<(u32, u32)>,
    hasher: DefaultHashBuilder,
    dropped: u64,
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

    /// Creates a pool that spills its contents to `spill_store`.
    #[must_use]
    pub fn with_spill_store(spill_store: Option<Arc<dyn SpillStore>>) -> Self {
        let mut locations = Chunks::with_spill_store(spill_store.clone());
        locations.append(&[Location { start: 0, length: 0 }]);
        Self {
            frames: Chunks::with_spill_store(spill_store),
            locations,
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            dropped: 0,
        }
    }

    /// Returns the id of the stack with these return addresses; adds the stack if it is new.
    pub fn intern(&mut self, frames: &[u64]) -> StackId {
        if frames.is_empty() {
            return StackId::EMPTY;
        }
        let hash = self.hasher.hash_one(frames) as u32;
        let is_same = |&(id, stored_hash): &(u32, u32)| stored_hash == hash && self.get(StackId(id)) == frames;
        if let Some(&(id, _)) = self.index.find(spread(hash), is_same) {
            return StackId(id);
        }
        let Some(id) = self.add(frames) else {
            self.dropped += 1;
            return StackId::EMPTY;
        };
        self.index.insert_unique(spread(hash), (id, hash), |&(_, stored_hash)| spread(stored_hash));
        StackId(id)
    }

    /// Appends a stack; `None` if its offset or id does not fit.
    fn add(&mut self, frames: &[u64]) -> Option<u32> {
        let length = u32::try_from(frames.len()).ok()?;
        let id = u32::try_from(self.locations.next_index()).ok()?;
        // Check the offset first: frames without a valid offset would waste space.
        u32::try_from(self.frames.next_index()).ok()?;
        let start = u32::try_from(self.frames.append(frames)?).ok()?;
        self.locations.append(&[Location { start, length }])?;
        Some(id)
    }

    /// Returns the return addresses of `id`, innermost first.
    #[must_use]
    pub fn get(&self, id: StackId) -> &[u64] {
        let location = self.locations.get(id.0 as usize, 1).first();
        location.map_or(&[], |location| self.frames.get(location.start as usize, location.length as usize))
    }

    /// Returns the number of distinct stacks, including the empty stack.
    #[must_use]
    pub fn len(&self) -> usize {
        self.locations.next_index()
    }

    /// True if the pool contains only the empty stack.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// Returns the number of stacks that did not fit and became empty.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    #[must_use]
    pub fn memory(&self) -> usize {
        self.frames.memory() + self.locations.memory() + self.index.allocation_size()
    }
}

/// Spreads a 32-bit hash over 64 bits, because the table uses the high and the low bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
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
