//! Deduplicated texts: tables contain a four-byte [`StringId`].

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Id of a text in a [`StringPool`]; [`StringId::EMPTY`] is the empty text and means "not known".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct StringId(u32);

impl StringId {
    pub const EMPTY: StringId = StringId(0);

    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Returns the position in the pool.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Distinct texts of a recording, in one contiguous buffer.
///
/// Capacity: 4 GiB of text. A text that does not fit becomes the empty text and is counted in [`StringPool::dropped`].
#[derive(Clone, Debug)]
pub struct StringPool {
    text: String,
    locations: Vec<(u32, u32)>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    dropped: u64,
}

impl Default for StringPool {
    fn default() -> Self {
        Self {
            text: String::new(),
            locations: vec![(0, 0)],
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            dropped: 0,
        }
    }
}

impl StringPool {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the id of `text`; adds the text if it is new.
    pub fn intern(&mut self, text: &str) -> StringId {
        if text.is_empty() {
            return StringId::EMPTY;
        }
        let hash = self.hasher.hash_one(text);
        let Self { text: all_text, locations, index, hasher, .. } = self;
        if let Some(&id) = index.find(hash, |&id| slice(all_text, locations, id) == text) {
            return StringId(id);
        }
        let (Ok(start), Ok(length), Ok(id)) =
            (u32::try_from(all_text.len()), u32::try_from(text.len()), u32::try_from(locations.len()))
        else {
            self.dropped += 1;
            return StringId::EMPTY;
        };
        if start.checked_add(length).is_none() {
            self.dropped += 1;
            return StringId::EMPTY;
        }
        all_text.push_str(text);
        locations.push((start, length));
        index.insert_unique(hash, id, |&id| hasher.hash_one(slice(all_text, locations, id)));
        StringId(id)
    }

    /// Returns the id of `text` if the pool contains it.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<StringId> {
        if text.is_empty() {
            return Some(StringId::EMPTY);
        }
        let hash = self.hasher.hash_one(text);
        self.index.find(hash, |&id| slice(&self.text, &self.locations, id) == text).map(|&id| StringId(id))
    }

    /// Returns the text of `id`; empty for an id that is not in this pool.
    #[must_use]
    pub fn get(&self, id: StringId) -> &str {
        slice(&self.text, &self.locations, id.0)
    }

    /// Returns the number of distinct texts, including the empty text.
    #[must_use]
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// True if the pool contains only the empty text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.locations.len() == 1
    }

    /// Returns the number of texts that did not fit and became empty.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    #[must_use]
    pub fn memory(&self) -> usize {
        self.text.capacity() + self.locations.capacity() * 8 + self.index.allocation_size()
    }

    /// Returns all texts, concatenated.
    #[cfg(feature = "arrow")]
    pub(crate) fn all_text(&self) -> &str {
        &self.text
    }

    /// Returns byte offset and length of a text in [`StringPool::all_text`].
    #[cfg(feature = "arrow")]
    pub(crate) fn location(&self, id: StringId) -> Option<(u32, u32)> {
        self.locations.get(id.index()).copied()
    }
}

fn slice<'a>(text: &'a str, locations: &[(u32, u32)], id: u32) -> &'a str {
    locations
        .get(id as usize)
        .and_then(|&(start, length)| text.get(start as usize..start as usize + length as usize))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deduplicates_and_finds_texts() {
        let mut pool = StringPool::new();
        let first = pool.intern("svchost.exe");
        let second = pool.intern("a text longer than twelve bytes");
        assert_eq!(pool.intern("svchost.exe"), first);
        assert_ne!(first, second);
        assert_eq!(pool.get(second), "a text longer than twelve bytes");
        assert_eq!(pool.find("svchost.exe"), Some(first));
        assert_eq!(pool.find("absent"), None);
        assert_eq!(pool.intern(""), StringId::EMPTY);
        assert_eq!(pool.len(), 3);
    }
}
